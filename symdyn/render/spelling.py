r"""Telling apart what prints alike: κ at β_0 and κ at β_∞ are spelled κ_0 and κ_∞.

A named quantity prints as its bare symbol, which says enough while a statement has it at one argument. Where it
occurs at several, each of them gets a symbol of its own: with the index of the vector that it is taken at (κ_0,
κ_∞), with the argument in which it differs (κ(x)), or with a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

import sympy as sp

from symdyn.calculus.formula import formula
from symdyn.calculus.gram import Flow, GramOperator
from symdyn.calculus.isotropic import Isotropic
from symdyn.calculus.vectors import Dot, Linear
from symdyn.compile.named import NamedFunction
from symdyn.statements.kinds import Statement, typeset

Stands = Mapping[Any, Any]
"""Quantities that need another spelling, each with the quantity, spelled so, that stands for it."""

_INDEXED = re.compile(r"(\\[A-Za-z]+|[A-Za-z])(?:_(\{[^{}]*\}|\\[A-Za-z]+|[^{}\\]))?")


def spelled_apart(statement: Statement) -> Statement:
    """The statement with different symbols for what would print alike and is not the same."""
    stands = _stands(quantities(statement))
    return _spelled(statement, stands) if stands else statement


def quantities(statement: Statement) -> tuple[Any, ...]:
    """The named quantities of a statement, and those that define them, in the order of reading."""
    seen: dict[Any, None] = {}
    waiting = [part for x in statement.expressions for part in scalars(x)]
    while waiting:
        found = (q for q in sp.preorder_traversal(waiting.pop(0)) if isinstance(q, NamedFunction))
        new = [q for q in dict.fromkeys(found) if q not in seen]
        seen.update(dict.fromkeys(new))
        waiting.extend(q.defined() for q in new)
    return tuple(seen)


def scalars(x: Any) -> Iterator[sp.Expr]:
    """The scalar expressions that a value is made of, as it prints them."""
    match x:
        case tuple() | list():
            for y in x:
                yield from scalars(y)
        case Linear():
            yield from x.terms.values()
        case GramOperator():
            yield from (x.identity, *x.outer.values())
        case Isotropic():
            yield from (_as_printed(x).f, _as_printed(x).h)
        case sp.Basic():
            yield x


def _as_printed(x: Isotropic) -> Isotropic:
    """The operator with ‖β‖² in place of its variable."""
    return x.map(lambda c: c.xreplace({x.x: Dot(x.vector, x.vector)}))


def _spelled(x: Any, stands: Stands) -> Any:
    """A statement, or anything in it, with the stand-ins in their places."""
    match x:
        case Statement():
            return replace(x, **{f.name: _spelled(getattr(x, f.name), stands) for f in fields(x)})
        case tuple() | list():
            return tuple(_spelled(y, stands) for y in x)
        case Flow():
            return Flow(_spelled(x.velocities, stands), _spelled(x.relations, stands))
        case Mapping():
            return {key: _spelled(y, stands) for key, y in x.items()}
        case Isotropic():
            return _as_printed(x).map(lambda c: c.xreplace(stands))
        case GramOperator() | Linear():
            return x.map(lambda c: c.xreplace(stands)) if hasattr(x, "map") else x
        case sp.Basic():
            return x.xreplace(stands)
    return x


def _stands(found: tuple[Any, ...]) -> dict[Any, Any]:
    """The stand-ins of the quantities that need one; what a symbol is made of comes before it."""
    stands: dict[Any, Any] = {}
    for depth in sorted(set(map(_depth, found))):
        level = [q for q in found if _depth(q) == depth]
        symbols = {q: _symbol(q, stands) for q in level}
        for several in _alike(symbols):
            symbols.update({q: symbols[q] + mark for q, mark in zip(several, _marks(several), strict=True)})
        for q, symbol in symbols.items():
            if symbol != q.quantity.latex or any(inner in stands for inner in _inner(q)):
                stands[q] = _stand(q, symbol, stands)
    return stands


def _inner(quantity: Any) -> set[Any]:
    """The named quantities by which one is defined."""
    return quantity.defined().atoms(NamedFunction)  # type: ignore[no-any-return]


def _depth(quantity: Any) -> int:
    """How many definitions lie below a quantity."""
    return 1 + max(map(_depth, _inner(quantity)), default=0)


def _symbol(quantity: Any, stands: Stands) -> str:
    r"""The symbol with the symbols in it as they are spelled: `\left(\kappa + #1\right)`."""
    text: str = quantity.quantity.latex
    for inner in _inner(quantity) & stands.keys():
        plain, spelled = inner.quantity.latex, stands[inner].quantity.latex
        if "#" not in plain:
            text = spelled.join(re.split(re.escape(plain) + r"(?![A-Za-z])", text))
    return text


def _alike(symbols: Mapping[Any, str]) -> Iterator[list[Any]]:
    """The quantities that print alike, where there are several."""
    groups: dict[str, list[Any]] = {}
    for q, symbol in symbols.items():
        shown = symbol
        for number, arg in enumerate(q.args, start=1):
            shown = shown.replace(f"#{number}", typeset(arg))
        groups.setdefault(shown, []).append(q)
    return (several for several in groups.values() if len(several) > 1)


def _marks(several: list[Any]) -> list[str]:
    """What is written behind the symbol of each: an index, an argument, or a number."""
    columns = zip(*(q.args for q in several), strict=True)
    differing = [n for n, args in enumerate(columns) if len(set(args)) > 1]
    if re.search("[#_]", several[0].quantity.latex):
        return [rf"\left({', '.join(typeset(q.args[n]) for n in differing)}\right)" for q in several]
    marks = [
        _mark(q, _letters(q).difference(*(_letters(p) for p in several if p != q)), differing)
        for q in several
    ]
    if "?" in marks or len(set(marks)) < len(marks):
        return [rf"_{{{number}}}" for number, _ in enumerate(several, start=1)]
    return marks


def _letters(quantity: Any) -> set[Any]:
    """The symbols and vectors in the arguments."""
    found: set[Any] = set()
    for symbol in quantity.free_symbols:
        found |= {symbol.left, symbol.right} if isinstance(symbol, Dot) else {symbol}
    return found


def _mark(quantity: Any, own: set[Any], differing: list[int]) -> str:
    r"""The mark of a quantity by the one letter, or the one vector, that it alone has: of β_0 the index, of x (x)."""
    candidates = {letter for letter in own if isinstance(letter, Linear)} or own
    if len(candidates) != 1:
        return "?"
    (letter,) = candidates
    if [quantity.args[n] for n in differing] == [letter]:
        return rf"\left({typeset(letter)}\right)"
    parts = _INDEXED.fullmatch(typeset(letter))
    if parts is None:
        return "?"
    return f"_{parts.group(2)}" if parts.group(2) else ""


def _stand(quantity: Any, symbol: str, stands: Stands) -> Any:
    """The quantity under another symbol, with its definition and derivative in terms of stand-ins."""
    known = quantity.quantity
    formal = {
        inner: stands[actual].func(*inner.args)
        for inner in known.definition.atoms(NamedFunction)
        if (actual := known.at(inner, quantity.args)) in stands
    }

    def derivative(*args: Any) -> list[Any]:
        return [formula(part).xreplace(stands) for part in known.derivative(*args)]

    spelled = replace(
        known,
        latex=symbol,
        definition=known.definition.xreplace(formal),
        derivative=derivative if known.derivative else None,
    )
    kind = type(quantity.func)(
        known.name, (NamedFunction,), {"quantity": spelled, "nargs": (len(known.formal),)}
    )
    return kind(*quantity.args)
