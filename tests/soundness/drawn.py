"""Claims at random, most of them true but at degenerate points: what holds must stand on the grid."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from typing import Any

import sympy as sp
from sympy import Abs, cosh, exp, log, sign, sqrt, tanh

from symdyn.calculus.gram import Flow
from symdyn.statements.domain import Domain
from symdyn.statements.kinds import Asymptotic, Definition, Dynamics, Identity, Inequality, Limit
from tests.soundness.claims import TINY, Claim, R, a, b, negative, oo, positive, t, x, y

COEFFICIENTS = [sp.Integer(1), a, a**2, a - b, a * b, a**2 + 1, (a - b) ** 2, a + 1, sp.Integer(-2)]
RATES = [sp.Integer(1), a**2, (a - b) ** 2, a, a**2 + 1, 2 * a**2]
RADICANDS = [x, -x, y, x - y, x * y, x**2, 1 + x**2, (x - y) ** 2, x + y]
DOMAINS = [None, positive(x, y), negative(x, y), positive(x, also=(y,))]


def limits(rng: random.Random) -> Iterator[Limit]:
    """A ratio of two polynomials of two terms, with its limit for coefficients that do not vanish."""
    while True:
        low = rng.random() < 0.5
        leading = []
        for _ in "nd":
            i, j = rng.sample(range(4), 2)
            c, d = rng.choice(COEFFICIENTS), rng.choice(COEFFICIENTS)
            leading.append((min if low else max)((i, c), (j, d), key=lambda term: term[0]))
            leading.append(c * x**i + d * x**j)
        (i, c), above, (j, d), below = leading
        gap = i - j if low else j - i
        if gap >= 0:
            yield Limit(above / below, x, 0 if low else oo, c / d if gap == 0 else 0)


def decays(rng: random.Random) -> Iterator[Limit]:
    """A mean of exponentials or a hyperbolic tangent, with the limit for rates that do not vanish."""
    while True:
        c, d = rng.choice(RATES), rng.choice(RATES)
        p, q = rng.choice(COEFFICIENTS), rng.choice(COEFFICIENTS)
        yield rng.choice(
            [
                Limit(p + q * exp(-c * t), t, oo, p),
                Limit(p * tanh(c * t) + exp(-d * t), t, oo, p),
                Limit(p / (1 + exp(-c * t)), t, oo, p),
                Limit(p * c * t / (1 + c * t), t, oo, p),
            ]
        )


def orders(rng: random.Random) -> Iterator[Asymptotic]:
    """A root or a quotient to first order, for coefficients that do not vanish."""
    while True:
        c, d = rng.choice(COEFFICIENTS), rng.choice(COEFFICIENTS)
        yield rng.choice(
            [
                Asymptotic(c / (c + d * x), 1, x, 0, x),
                Asymptotic(x**2 / (c**2 + x), 0, x, 0, x**2),
                Asymptotic(sqrt(c**2 + x), Abs(c), x, 0, x),
                Asymptotic(exp(c * x), 1 + c * x, x, 0, x**2),
                Asymptotic(x * (c + log(x) * d), 0, x, 0, x),
                Asymptotic(c * x + d * x**2, c * x, x, 0, x**2),
            ]
        )


def identities(rng: random.Random) -> Iterator[Identity]:
    """Roots, logarithms, moduli and signs of two things joined or taken apart."""
    while True:
        u, v = rng.choice(RADICANDS), rng.choice(RADICANDS)
        yield rng.choice(
            [
                Identity(sqrt(u) * sqrt(v), sqrt(u * v)),
                Identity(sqrt(u**2), u),
                Identity(sqrt(u**2) * sqrt(v**2), Abs(u * v)),
                Identity(log(u * v), log(u) + log(v)),
                Identity(log(u**2), 2 * log(Abs(u))),
                Identity(sign(u) ** 2 * v, v),
                Identity(sign(u) * Abs(u), u),
                Identity(sqrt(u**2 + v**2 - 2 * u * v), u - v),
                Identity(u / v + v / u, (u**2 + v**2) / (u * v)),
                Identity(exp(u) * exp(v), exp(u + v)),
            ]
        )


def signs(rng: random.Random) -> Iterator[Inequality]:
    """Squares, moduli and roots that touch zero, or are off it by a little."""
    while True:
        u = rng.choice([x - r for r in (0, 1, R(1, 2), -2)] + [x - y, x + y, x * y])
        v = rng.choice([y, y - 1, x + 2 * y, sp.Integer(1), sp.Integer(0)])
        form = rng.choice([u**2 + v**2, u**4 + v**2, Abs(u) + v**2, sqrt(u**2 + v**2), cosh(u) - 1 + v**2])
        yield Inequality(form, rng.choice([">", ">=", "!="]), rng.choice([0, 0, TINY, -TINY]))


def definitions(rng: random.Random) -> Iterator[Definition]:
    """Quotients, roots and logarithms of what may vanish or be negative."""
    while True:
        u, v = rng.choice(RADICANDS), rng.choice(RADICANDS)
        yield Definition("d", rng.choice([u / (v + 1), 1 / v, sqrt(u), log(u), sqrt(u) * v, u / (1 + v**2)]))


def velocities(rng: random.Random) -> Iterator[Dynamics]:
    """The chain rule along a rotation, through functions that have a cusp or a pole."""
    flow = Flow({x: y, y: -x})
    while True:
        u = rng.choice(RADICANDS)
        rate = u.diff(x) * y - u.diff(y) * x
        yield rng.choice(
            [
                Dynamics(sqrt(u**2), rate, under=flow),
                Dynamics(u**2, 2 * u * rate, under=flow),
                Dynamics(log(u**2), 2 * rate / u, under=flow),
                Dynamics(sqrt(1 + u**2), u * rate / sqrt(1 + u**2), under=flow),
                Dynamics(exp(-u), -rate * exp(-u), under=flow),
            ]
        )


SORTS = {sort.__name__: sort for sort in (limits, decays, orders, identities, signs, definitions, velocities)}


def draw(sort: str, count: int, seed: int = 0) -> list[Claim]:
    """Claims of a sort, each on one of a few domains where its letters are x and y."""
    rng = random.Random(f"{sort}/{seed}")
    claims = []
    for number, statement in enumerate(islice(SORTS[sort](rng), count)):
        domain = rng.choice(DOMAINS) if sort in ("identities", "signs", "definitions", "velocities") else None
        claims.append(Claim(f"{number}: {statement} on {_words(domain)}", _said(statement), on=domain))
    return claims


def _said(statement: Any) -> Any:
    return lambda: statement


def _words(domain: Domain | None) -> str:
    return "all reals" if domain is None else str(dict(domain.cells[0].signs))
