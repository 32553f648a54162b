"""Lies close to the truth: claims with a sign, a factor or an exponent changed.

A check that accepts a result must refute its mutants. A mutant that the check accepts is an equivalent claim
(2δ is conserved too) and is not counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy as sp

from symdyn.calculus.formula import formula
from symdyn.calculus.gram import Combination, GramOperator
from symdyn.calculus.isotropic import Isotropic
from symdyn.calculus.matrix import Expression
from symdyn.calculus.vectors import Linear

Mutation = tuple[str, Any]
Part = tuple[str, sp.Expr, Any]
MOST = 6
FEWEST = 3


def mutations(x: Any) -> list[Mutation]:
    """Changed copies of a scalar, vector or operator: of each of its parts in turn, each kind of change in turn."""
    found: list[Mutation] = []
    parts = list(_parts(x))
    streams = [kind([part]) for kind in (_signs, _factors, _exponents) for part in parts]
    most = max(MOST, 2 * len(parts))
    while streams and len(found) < most:
        for stream in list(streams):
            try:
                mutation = next(stream)
            except StopIteration:
                streams.remove(stream)
                continue
            if all(mutation[1] != old for _, old in found) and mutation[1] != x:
                found.append(mutation)
    for mutation in _multiplicands(parts) if len(found) < FEWEST else ():
        if all(mutation[1] != old for _, old in found) and mutation[1] != x:
            found.append(mutation)
    return found[:most]


def _parts(x: Any) -> Iterator[Part]:
    """The scalar coefficients of x with a function that puts a changed one back."""
    if isinstance(x, (list, tuple)):
        for i, y in enumerate(x):
            for name, c, put in _parts(y):
                yield name, c, lambda new, i=i, put=put: (*x[:i], put(new), *x[i + 1 :])
    elif isinstance(x, Linear):
        for v, c in x.terms.items():
            yield f"coefficient of {v}", c, lambda new, v=v: Combination({**x.terms, v: new})
    elif isinstance(x, GramOperator):
        yield "isotropic part", x.identity, lambda new: GramOperator(new, x.outer)
        for pair, c in x.outer.items():
            yield (
                f"coefficient of {pair}",
                c,
                lambda new, p=pair: GramOperator(x.identity, {**x.outer, p: new}),
            )
    elif isinstance(x, Expression):
        yield from _words(x)
    elif isinstance(x, Isotropic):
        yield "isotropic part", x.f, lambda new: Isotropic(new, x.h, x.x, x.vector)
        yield "radial part", x.h, lambda new: Isotropic(x.f, new, x.x, x.vector)
    elif hasattr(x, "mutable_parts"):
        yield from x.mutable_parts()
    else:
        yield "", formula(x), lambda new: new


def _words(x: Expression) -> Iterator[Part]:
    listed = x.listed()
    for i, (bound, c, word) in enumerate(listed):

        def put(new: sp.Expr, i: int = i, bound: Any = bound, word: Any = word) -> Expression:
            return Expression([*listed[:i], (bound, new, word), *listed[i + 1 :]], x.rows, x.cols)

        yield f"coefficient of word {i + 1}", c, put


def _signs(parts: list[Part]) -> Iterator[Mutation]:
    for name, c, put in parts:
        terms = sp.Add.make_args(c)
        for i, term in enumerate(terms):
            if term != 0:
                yield f"sign of {_short(term)}{_of(name)}", put(sp.Add(*terms[:i], -term, *terms[i + 1 :]))


def _factors(parts: list[Part]) -> Iterator[Mutation]:
    for name, c, put in parts:
        terms = sp.Add.make_args(c)
        if c == 0:
            yield f"one in place of zero{_of(name)}", put(sp.Integer(1))
        for i, term in enumerate(terms):
            if term != 0:
                yield f"twice {_short(term)}{_of(name)}", put(sp.Add(*terms[:i], 2 * term, *terms[i + 1 :]))


def _exponents(parts: list[Part]) -> Iterator[Mutation]:
    for name, c, put in parts:
        inner = sorted(_inside(c), key=sp.default_sort_key)
        for old, new in inner:
            yield f"{_short(new)} for {_short(old)}{_of(name)}", put(_replaced(c, old, new))


def _multiplicands(parts: list[Part]) -> Iterator[Mutation]:
    """Changes of what a single term is made of, for claims with few others: an exponent, a factor less, one more."""
    for name, c, put in parts:
        for factor in sp.Mul.make_args(c) if not c.is_Add and c != 0 else ():
            base, exponent = factor.as_base_exp()
            if not factor.is_number:
                yield f"{_short(base ** (exponent + 1))} for {_short(factor)}{_of(name)}", put(c * base)
                yield f"no {_short(factor)}{_of(name)}", put(c / factor)
        if c != 0:
            yield f"half of {_short(c)}{_of(name)}", put(c / 2)


def _replaced(c: sp.Expr, old: sp.Expr, new: sp.Expr) -> sp.Expr:
    """c with one part changed; a derivative keeps the variable it is taken in."""
    return c.subs(old, new) if c.has(sp.Derivative) else c.xreplace({old: new})


def _inside(c: sp.Expr) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """Changes inside roots, powers and functions, and one more power of a symbol."""
    for node in sp.preorder_traversal(c):
        if node.is_Pow and node.exp.is_Rational and not node.base.is_Rational:
            yield node, node.base ** (node.exp + (1 if node.exp > 0 else -1))
        elif isinstance(node, (sp.sinh, sp.tanh)):
            yield node, sp.cosh(node.args[0])
        elif isinstance(node, (sp.cosh, sp.exp)):
            yield node, node.func(2 * node.args[0])
    if not any(node.is_Pow for node in sp.preorder_traversal(c)):
        for symbol in c.free_symbols:
            yield symbol, symbol**2


def _short(x: Any) -> str:
    text = str(x)
    return text if len(text) <= 40 else f"{text[:24]} … {text[-12:]}"


def _of(name: str) -> str:
    return f" in the {name}" if name else ""
