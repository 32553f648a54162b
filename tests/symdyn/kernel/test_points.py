"""What the kernel accepts is true at a point at which all that it was told is true: random steps, thousands of them."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from flint import fmpq

from symdyn.kernel import (
    Cases,
    Combination,
    Divisor,
    Dominates,
    Equations,
    Monomial,
    Monotone,
    Refused,
    Root,
    Rule,
    Sign,
    ring,
)
from symdyn.kernel.polynomials import Polynomial
from symdyn.kernel.signs import of_number
from symdyn.kernel.steps import Context

NAMES = ("x", "y", "z", "r", "s")
OF = ring(NAMES)
SIGNS = (Sign.NEGATIVE, Sign.ZERO, Sign.POSITIVE)


def at(p: Polynomial, point: tuple[fmpq, ...]) -> Any:
    return sum(
        (c * prod(x ** int(n) for x, n in zip(point, m, strict=True)) for m, c in p.to_dict().items()),
        fmpq(0),
    )


def prod(factors: Any) -> Any:
    out = fmpq(1)
    for x in factors:
        out *= x
    return out


class World:
    """A point, polynomials that are of interest there, and steps drawn at random."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        root = [fmpq(self.rng.choice((0, 1, 1, 2, 3)), self.rng.choice((1, 2))) for _ in range(2)]
        values = [self.rng.choice((root[0] ** 2, -root[1], fmpq(self.rng.randint(-2, 2)))) for _ in range(3)]
        self.point = (*values, *root)
        self.pool = [*OF.gens(), OF.constant(1)]
        self.pool += [self.polynomial() for _ in range(4)]
        x, y, _, r, s = OF.gens()
        self.pool += [r**2 - x, s**2 - y, x * r - s, r - s, x - y, r + s, x * y]
        self.context = Context(OF, frozenset(NAMES))

    def polynomial(self) -> Polynomial:
        out = OF.constant(0)
        for _ in range(self.rng.randint(1, 3)):
            term = OF.constant(1) * self.rng.choice((-2, -1, 1, 1, fmpq(1, 2)))
            for g in OF.gens():
                term *= g ** self.rng.choice((0, 0, 0, 1, 1, 2))
            out += term
        return out

    def told(self) -> None:
        """Something true at the point, weaker than it might be."""
        p = self.rng.choice(self.pool)
        sign = of_number(at(p, self.point))
        for other in SIGNS:
            if self.rng.random() < 0.3:
                sign |= other
        self.context.learn(p, sign)

    def monomial(self) -> Monomial:
        factors = tuple(
            (self.rng.choice(self.pool), self.rng.randint(1, 2)) for _ in range(self.rng.randint(0, 2))
        )
        return Monomial(self.rng.choice((-1, 1, 1, 2)), factors)

    def equations(self, p: Polynomial) -> Equations:
        """Rules and multiples, whether they are known or not; at times what makes p vanish in the end."""
        rules = tuple(
            Rule(self.rng.choice(self.pool), self.rng.choice(NAMES), self.rng.randint(1, 2))
            for _ in range(self.rng.choice((0, 0, 1, 2)))
        )
        zeros = [q for q in self.pool if self.context.sign(q) == Sign.ZERO] or self.pool
        multiples = tuple(
            (self.rng.choice(self.pool), self.rng.choice(zeros)) for _ in range(self.rng.choice((0, 1)))
        )
        if self.rng.random() < 0.3:
            multiples = (*multiples, (OF.constant(1), p))
        return Equations(rules, multiples)

    def step(self) -> Any:
        kind = self.rng.randrange(7)
        p, q = self.rng.choice(self.pool), self.rng.choice(self.pool)
        if kind == 0:
            terms = tuple(self.monomial() for _ in range(self.rng.randint(0, 3)))
            if self.rng.random() < 0.7:  # what the terms add up to
                p = sum((t.expanded(self.context) for t in terms), OF.constant(0))
            multiplier = self.monomial() if self.rng.random() < 0.3 else Monomial(1)
            rest = multiplier.expanded(self.context) * p - sum(
                (t.expanded(self.context) for t in terms), OF.constant(0)
            )
            return Combination(p, terms, multiplier, self.equations(rest))
        if kind == 1:
            whole = p * q if self.rng.random() < 0.7 else self.rng.choice(self.pool)
            return Divisor(p, q, whole, self.equations(p * q - whole))
        if kind == 2:
            return Monotone(p, q, self.rng.randint(1, 3))
        if kind == 3:
            return Dominates(p, q)
        if kind == 4:
            return Cases(p, q, *(tuple(self.step() for _ in range(self.rng.randint(0, 1))) for _ in range(3)))
        if kind == 5:
            return Combination(p * q, (Monomial(1, ((p, 1), (q, 1))),))
        m = p * q
        return Combination(p, (Monomial(1, ((m, 1), (q, 1))),), Monomial(1, ((q, 2),)))


def test_random_steps_that_are_accepted_are_true_at_the_point() -> None:
    accepted = refused = 0
    for seed in range(200):
        world = World(seed)
        for _ in range(8):
            world.told()
        for _ in range(25):
            step = world.step()
            try:
                step.check(world.context)
            except Refused:
                refused += 1
                continue
            accepted += 1
            assert not world.context.contradictory, (seed, step)
            for p in [*world.pool, step.p] if hasattr(step, "p") else world.pool:
                assert of_number(at(p, world.point)).within(world.context.sign(p)), (seed, step)
                world.pool.append(p) if len(world.pool) < 25 and len(p) < 6 and p not in world.pool else None
    print(f"{accepted} accepted, {refused} refused of {accepted + refused} random steps; none was false")
    assert accepted > 800 and refused > 800


def test_a_new_root_is_the_root_at_the_point() -> None:
    """r is new: what is learnt of it is true of the root, and nothing is learnt if the radicand may be negative."""
    of = ring((*NAMES, "b"))
    accepted = 0
    for seed in range(300):
        rng = random.Random(seed)
        context = Context(of, frozenset(NAMES))
        root = fmpq(rng.randint(-2, 3), rng.randint(1, 2))
        below = fmpq(rng.choice((-2, -1, 1, 2)))
        x, y = root * abs(root) * below, below
        gens = dict(zip((*NAMES, "b"), of.gens(), strict=True))
        for p, value in ((gens["x"], x), (gens["y"], y), (gens["x"] * gens["y"], x * y)):
            sign = of_number(value)
            context.learn(p, sign | rng.choice((Sign.NONE, Sign.NONE, Sign.ZERO, Sign.NEGATIVE)))
        try:
            Root("b", 2, gens["x"], gens["y"]).check(context)
        except Refused:
            continue
        accepted += 1
        assert root >= 0 and Fraction(int(below.p)) != 0
        point = (x, y, fmpq(0), fmpq(0), fmpq(0), root)
        for p in (gens["b"], gens["y"] * gens["b"] ** 2 - gens["x"]):
            assert of_number(at(p, point)).within(context.sign(p))
    assert accepted > 30
