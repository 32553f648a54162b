"""A scalar claim as a lemma for Rocq: real variables, hypotheses with their origin, and the claim as it is written.

Rational operations are printed as they stand. Everything else becomes a variable that a hypothesis describes:

    √p            r with 0 ≤ r and r² = p
    |e|, sgn e    m with m = e where e ≥ 0 and m = -e where e ≤ 0, and so on; Max, Min and pieces likewise
    exp(k y)      E^k with 0 < E, one E for each independent y, and 1 < E where y > 0
    cosh, tanh, … by exponentials
    κ(δ, x)       k with k = its definition
    d√p/dt        r' with 2 r r' = p'

What else a hypothesis says comes from the domain: signs and substitutions of the cell, definitions and conditions of
the domain, which hold where they are defined, vectors that are not zero, Cauchy and Schwarz for inner products.

In Rocq 1/0 is a number. So a lemma does not only state the claim: before what it says of a quotient, a root or a
logarithm it states that the denominator does not vanish, that the radicand is not negative, that the argument is
positive, to be proved from the hypotheses that precede. These are its debts:

    H1 -> H2 -> (0 <= p) /\\ (H3 -> H4 -> (d <> 0) /\\ (H5 -> claim))
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import mpmath
import sympy as sp
from sympy.core.function import AppliedUndef

from symdyn.calculus.formula import formula
from symdyn.calculus.gram import Flow, evaluate, inner
from symdyn.calculus.parts import plain
from symdyn.calculus.vectors import Dot, Vector
from symdyn.compile.named import NamedFunction
from symdyn.kernel.signs import OF_RELATION, of_number
from symdyn.proof.signs.defined import DEMANDS
from symdyn.proof.zero.hyperbolic import HYPERBOLIC, exponent_terms, inverse_function
from symdyn.statements.domain import Cell, Domain

RESERVED = {
    "R",
    "I",
    "O",
    "S",
    "exists",
    "forall",
    "fun",
    "let",
    "match",
    "end",
    "at",
    "as",
    "using",
    "in",
    "if",
    "then",
    "else",
    "return",
    "where",
    "with",
    "by",
    "Type",
    "fix",
    "cofix",
    "for",
    "Set",
    "Prop",
}
RELATIONS = {
    "Equality": "=",
    "Unequality": "<>",
    "StrictGreaterThan": ">",
    "GreaterThan": ">=",
    "StrictLessThan": "<",
    "LessThan": "<=",
}
RELATION_SIGNS = {"==": "=", "=": "=", "!=": "<>", ">": ">", ">=": ">=", "<": "<", "<=": "<="}


EARLY = ("sign", "size", "bound", "condition", "granted")
"""Kinds of hypotheses that hold throughout the cell: they precede all that is to be shown."""


CLOSED_FORM, RELATION, CELL = "closed form of the statement", "relation of the flow", "the cell"
OWN = (CLOSED_FORM, RELATION)
"""Origins of definitions that a statement brings: that they are defined on the domain is to be shown."""


FROM_CELL = ("sign", "bound", "condition", "granted")


class Unprintable(Exception):
    """The claim has a part for which there is no lemma over the reals."""


@dataclass(frozen=True)
class Hypothesis:
    """What a lemma supposes: left relation right, where the conditions in `given` hold. `origin` says who supplies it.

    `kind` says how the proof uses it: a definition and a case determine the variable `subject`, a root gives its power,
    a rate its derivative; a size, a sign, a bound, a condition and what the domain grants are only there to be used.
    A debt is no hypothesis: it is to be proved from those that precede it.
    """

    name: str
    left: Any
    relation: str
    right: Any
    origin: str
    kind: str
    subject: sp.Symbol | None = None
    given: tuple[Any, ...] = ()

    @cached_property
    def text(self) -> str:
        turned = {">": "<", ">=": "<="}.get(self.relation)
        left, right = (self.right, self.left) if turned else (self.left, self.right)
        claim = f"{coq(left)} {turned or self.relation} {coq(right)}"
        conditions = " /\\ ".join(f"({coq(c)})" if len(self.given) > 1 else coq(c) for c in self.given)
        return f"{conditions} -> {claim}" if conditions else claim

    def true_at(self, values: Mapping[sp.Symbol, Any]) -> bool:
        """Whether it is true for some values of the variables, up to rounding for an equality."""
        if any(not compare_at(c, values) for c in self.given):
            return True
        return _related(self.left, self.relation, self.right, values)


DIGITS = 40


def _related(left: Any, relation: str, right: Any, values: Mapping[sp.Symbol, Any]) -> bool:
    with mpmath.workdps(DIGITS):
        x, y = (value_at(formula(side), values) for side in (left, right))
        equal = abs(x - y) <= mpmath.mpf("1e-25") * (1 + abs(x) + abs(y))
    if relation in ("=", "<>"):
        return bool(equal) == (relation == "=")
    return bool(equal and relation in ("<=", ">=")) or bool(x < y if relation in ("<", "<=") else x > y)


def value_at(e: Any, values: Mapping[sp.Symbol, Any]) -> Any:
    """The number that a rational expression is, where 1/0 is 0."""
    if e.is_Symbol:
        return values[e]
    if e.is_Rational:
        return mpmath.mpf(int(e.p)) / int(e.q)
    if e.is_Add:
        return mpmath.fsum(value_at(a, values) for a in e.args)
    if e.is_Mul:
        return mpmath.fprod(value_at(a, values) for a in e.args)
    if e.is_Pow and e.exp.is_Integer:
        base = value_at(e.base, values)
        return base ** int(e.exp) if base or e.exp > 0 else mpmath.mpf(0)
    raise Unprintable(f"{type(e).__name__} has no place in a lemma over the reals")


def compare_at(c: Any, values: Mapping[sp.Symbol, Any]) -> bool:
    if c in (sp.true, sp.false):
        return bool(c)
    if isinstance(c, sp.Not):
        return not compare_at(c.args[0], values)
    if isinstance(c, (sp.And, sp.Or)):
        parts = [compare_at(a, values) for a in c.args]
        return any(parts) if isinstance(c, sp.Or) else all(parts)
    return _related(c.lhs, RELATIONS[type(c).__name__], c.rhs, values)


@dataclass
class Lemma:
    """One claim on one cell. `left relation right` is the claim; the proof is a list of lines that Rocq checks.

    `parts` are the hypotheses and the debts in the order in which they are stated.
    """

    key: str
    cell: str
    label: str
    variables: list[sp.Symbol]
    parts: list[Hypothesis]
    left: Any
    relation: str
    right: Any
    meanings: dict[sp.Symbol, Any] = field(default_factory=dict)
    proof: list[str] = field(default_factory=list)
    gap: Any = None
    false: list[str] = field(default_factory=list)

    @property
    def claim(self) -> str:
        return f"{self.key}: {self.label}" if self.label else self.key

    @property
    def goal(self) -> str:
        return f"{coq(self.left)} {self.relation} {coq(self.right)}"

    @property
    def hypotheses(self) -> list[Hypothesis]:
        return [h for h in self.parts if h.kind != "debt"]

    @property
    def debts(self) -> list[Hypothesis]:
        return [h for h in self.parts if h.kind == "debt"]

    def text(self, name: str) -> str:
        """The lemma and its proof."""
        return "\n".join([self.stated(name), "Proof.", *self.proof, "Qed.", ""])

    def stated(self, name: str) -> str:
        """The lemma; each hypothesis and each debt is preceded by its origin."""
        lines = [f"(* {_comment(self.claim)}; cell: {_comment(self.cell)} *)", f"Lemma {name} :"]
        if self.variables:
            lines.append(f"  forall {' '.join(map(str, self.variables))} : R,")
        for h in self.parts:
            link = "/\\ (" if h.kind == "debt" else "->"
            lines += [f"  (* {h.name}, {_comment(h.origin)} *)", f"  ({h.text}) {link}"]
        lines.append(f"  {self.goal}{')' * len(self.debts)}.")
        return "\n".join(lines)


def _comment(text: str) -> str:
    return text.replace("(*", "( *").replace("*)", "* )").replace('"', "'")


def coq(e: Any) -> str:
    """A rational expression, or a relation between such, in the notation of Rocq."""
    e = formula(e)
    if e.is_Integer:
        return str(e) if e >= 0 else f"(- {-e})"
    if e.is_Rational:
        return f"({e.p} / {e.q})" if e > 0 else f"(- ({-e.p} / {e.q}))"
    if e.is_Symbol:
        return str(e)
    if e.is_Add:
        return "(" + " + ".join(coq(a) for a in e.args) + ")"
    if e.is_Mul:
        top = [a for a in e.args if not (a.is_Pow and a.exp.is_negative)]
        bottom = [a.base**-a.exp for a in e.args if a.is_Pow and a.exp.is_negative]
        text = " * ".join(coq(a) for a in top) or "1"
        return "(" + text + "".join(f" / {coq(b)}" for b in bottom) + ")"
    if e.is_Pow and e.exp.is_Integer:
        n = int(e.exp)
        return f"({coq(e.base)} ^ {n})" if n > 0 else f"(/ {coq(e.base**-n)})"
    if isinstance(e, sp.core.relational.Relational):
        return f"{coq(e.lhs)} {RELATIONS[type(e).__name__]} {coq(e.rhs)}"
    if isinstance(e, (sp.And, sp.Or)):
        return (" /\\ " if isinstance(e, sp.And) else " \\/ ").join(f"({coq(a)})" for a in e.args)
    if isinstance(e, sp.Not):
        return f"~ ({coq(e.args[0])})"
    if e in (sp.true, sp.false):
        return "True" if e == sp.true else "False"
    raise Unprintable(f"{type(e).__name__} has no place in a lemma over the reals")


Hint = Callable[[Cell, Any], Any]
"""What a root in an exponent may be equal to on a cell. It is not believed: that it is so is a debt."""


class Page:
    """Collects the variables and hypotheses of one lemma while the sides of a claim are written on it."""

    def __init__(
        self,
        domain: Domain,
        cell: Cell,
        flow: Flow | None = None,
        values: Mapping[Any, Any] | None = None,
        hint: Hint | None = None,
    ) -> None:
        self.domain, self.cell, self.flow, self.hint = domain, cell, flow, hint
        self.values = dict(values or {})
        self.moving = False
        self.symbols: dict[Any, sp.Symbol] = {}
        self.meanings: dict[sp.Symbol, Any] = {}
        self.bodies: dict[sp.Symbol, Any] = {}
        self.roots: list[sp.Symbol] = []
        self.radicands: dict[sp.Symbol, Any] = {}
        self.entries: list[Hypothesis] = []
        self.exponents: dict[Any, int] = {}
        self.rates: dict[sp.Symbol, Any] = {}
        self.factors: dict[sp.Symbol, tuple[Any, Any]] = {}
        self.given: tuple[Any, ...] = ()
        self.simpler: dict[Any, Any] = {}
        self.meant: dict[Any, Any] = {}
        self.granting = ""
        self.fixed: set[sp.Symbol] = set()

    # variables and hypotheses

    def _name(self, text: str) -> sp.Symbol:
        name = re.sub(r"\W+", "_", text).strip("_") or "x"
        name = name if name[0].isalpha() else f"v_{name}"
        if name in RESERVED or not name.isascii():
            name = f"{re.sub(r'[^A-Za-z0-9_]', '', name)}_"
        taken = {str(s) for s in self.meanings}
        number, base = 1, name
        while name in taken or re.fullmatch(r"H\d*", name):
            number += 1
            name = f"{base}_{number}"
        return sp.Symbol(name)

    def _new(self, key: Any, name: str, meaning: Any) -> sp.Symbol:
        symbol = self._name(name)
        self.symbols[key] = symbol
        self.meanings[symbol] = meaning
        return symbol

    def suppose(
        self,
        left: Any,
        relation: str,
        right: Any,
        origin: str,
        kind: str,
        subject: Any = None,
        given: Any = (),
    ) -> None:
        """Add a hypothesis, or a debt, unless it is there already."""
        name = f"{'D' if kind == 'debt' else 'H'}{len(self.entries) + 1}"
        made = Hypothesis(name, formula(left), relation, formula(right), origin, kind, subject, given)
        if all(h.text != made.text or (h.kind == "debt") != (kind == "debt") for h in self.entries):
            self.entries.append(made)

    def owe(self, x: Any, relation: str, place: str) -> None:
        """What is written is only defined where x > 0 (or ≥, ≠): a debt, unless the domain says that it is."""
        x = formula(x)
        if x.is_Rational:
            if not of_number(int(sp.sign(x))).within(OF_RELATION[relation]):
                raise Unprintable(f"{place} is not defined")
        elif self.granting:
            self.suppose(x, relation, 0, self.granting, "granted")
        else:
            self.suppose(x, relation, 0, place, "debt", given=self.given)

    @contextmanager
    def _granted(self, origin: str) -> Iterator[None]:
        """What is written here is defined because the domain is where it is, or, without an origin, is to be shown."""
        before = self.granting, self.given
        self.granting, self.given = origin, ()
        try:
            yield
        finally:
            self.granting, self.given = before

    @contextmanager
    def _where(self, given: tuple[Any, ...]) -> Iterator[None]:
        """What is written here need only be defined where some conditions hold, and is not used elsewhere."""
        before, symbols = self.given, dict(self.symbols)
        self.given = (*before, *given)
        try:
            yield
        finally:
            self.given = before
            if given:
                kept = {k: s for k, s in self.symbols.items() if _anywhere(k)}
                self.symbols = symbols | kept

    def _define(self, symbol: sp.Symbol, body: Any, origin: str) -> None:
        self.bodies[symbol] = body
        self.suppose(symbol, "=", body, origin, "definition", symbol)

    # what an expression means in the independent quantities of the cell

    def meaning(self, e: Any) -> Any:
        """The expression in independent quantities: what the search for a proof computes with."""
        key = (e, self.moving)
        if key not in self.meant:
            self.meant[key] = self._meaning(e)
        return self.meant[key]

    def _meaning(self, e: Any) -> Any:
        e = plain(formula(e))
        for _ in range(len(self.values) + 1):
            e = e.xreplace({k: plain(formula(v)) for k, v in self.values.items()})
        if self.flow is not None:
            e = self.flow.unfold(e)
        e = plain(formula(self.domain.unfold(e, self.cell)))
        if self.moving:
            return e
        return e.replace(
            lambda n: isinstance(n, (sp.exp, *HYPERBOLIC)), lambda n: n.func(self._simple(n.args[0]))
        )

    def exponent(self, e: Any) -> Any:
        """An exponent in which equal parts look alike; where it moves, not written in what the cell puts for it."""
        return plain(formula(e)) if self.moving else self._simple(self.meaning(e))

    def _simple(self, e: Any) -> Any:
        """An exponent without roots that can be taken on the cell. That it is the same one is a debt."""
        if e not in self.simpler:
            self.simpler[e] = self._simplified(e)
        return self.simpler[e]

    def _simplified(self, e: Any) -> Any:
        if self.hint is None or not _irrational(e):
            return e
        simple = self.hint(self.cell, e)
        return simple if _irrational(simple) < _irrational(e) else e

    def lattice(self, *expressions: Any) -> None:
        """One exponential for each independent exponent: find the common denominators of all that occur."""
        for e in expressions:
            for node in sp.preorder_traversal(plain(formula(e)) if self.moving else self.meaning(e)):
                if not isinstance(node, (sp.exp, *HYPERBOLIC)):
                    continue
                argument = formula(node).args[0]
                for c, monomial in exponent_terms(argument if self.moving else self._simple(argument)):
                    unit = sp.ilcm(self.exponents.get(monomial, 1), c.q)
                    if ("exp", monomial) in self.symbols and unit != self.exponents[monomial]:
                        raise Unprintable(f"the exponent {c}*{monomial} came too late")
                    self.exponents[monomial] = unit

    # writing

    def write(self, e: Any) -> Any:
        """The expression as a rational one in the variables of the lemma."""
        e = formula(e)
        if e.is_Rational:
            return e
        if e.is_Float or e.has(sp.I, sp.zoo, sp.nan, sp.oo):
            raise Unprintable(f"{e} is no real number that is known exactly")
        if e in self.symbols:
            return self.symbols[e]
        if e.is_Symbol:
            return self._symbol(e)
        if e.is_Add or e.is_Mul:
            return e.func(*(self.write(a) for a in e.args))
        if isinstance(e, sp.exp):
            return self._exponential(e)
        if e.is_Pow and e.exp.is_Integer:
            base = self.write(e.base)
            if e.exp < 0:
                self.owe(base, "<>", f"a denominator: {e.base}")
            return base**e.exp
        if e.is_Pow and e.exp.is_Rational:
            root = self._root(e.base, int(e.exp.q))
            if e.exp < 0:
                self.owe(root, "<>", f"a denominator: {root}")
            return root ** int(e.exp.p)
        if isinstance(e, NamedFunction):
            return self._named(e)
        return self._function(e)

    def _symbol(self, e: sp.Symbol) -> sp.Symbol:
        found = self._replaced(e)
        body = None
        if found is not None:
            origin = found[1]
            with self._granted("" if origin in OWN else f"defined on the domain: {e}"):
                body = self.write(found[0])
        symbol = self._new(e, e.name, self.meaning(e))
        if found is not None:
            self._define(symbol, body, origin)
            if origin.startswith(CELL):  # what a symbol is on the cell says nothing of how it moves
                self.fixed.add(symbol)
        sign = self.cell.signs.get(e)
        if sign:
            self.suppose(symbol, ">" if sign > 0 else "<", 0, "sign on the cell", "sign")
        elif isinstance(e, Dot) and e.left == e.right:
            self.suppose(symbol, ">=", 0, "a squared norm", "size")
        return symbol

    def _replaced(self, e: sp.Symbol) -> tuple[Any, str] | None:
        """What a symbol stands for, and who says so."""
        if e in self.values:
            return self.values[e], CLOSED_FORM
        if self.flow is not None and (unfolded := self.flow.unfold(e)) != e:
            return unfolded, RELATION
        vectors: dict[Any, Any] = {v: c for v, c in self.domain.let.items() if isinstance(v, Vector)}
        if e in self.domain.let:
            return self.domain.let[e], "definition of the domain"
        if isinstance(e, Dot) and (e.left in vectors or e.right in vectors):
            left: Any = vectors.get(e.left, e.left)
            right: Any = vectors.get(e.right, e.right)
            return inner(left, right), "definition of the domain"
        if e in self.cell.where:
            return self.cell.where[e], f"{CELL}: {self.cell.reason or self.cell.name}"
        return None

    def _root(self, base: Any, order: int) -> sp.Symbol:
        key = ("root", base, order)
        if key in self.symbols:
            symbol = self.symbols[key]
            self.owe(self.radicands[symbol][0], ">=", f"a radicand: {base}")
            return symbol
        radicand = self.write(base)
        self.owe(radicand, ">=", f"a radicand: {base}")
        symbol = self._new(key, f"root{len(self.roots) + 1}", sp.root(self.meaning(base), order))
        self.roots.append(symbol)
        self.radicands[symbol] = (radicand, order)
        origin = f"a root: {base}, to the power 1/{order}"
        self.suppose(symbol, ">=", 0, origin, "size")
        origin = f"the root {symbol}, to the power {order}"
        self.suppose(symbol**order, "=", radicand, origin, "root", symbol, self.given)
        return symbol

    def _named(self, e: Any) -> sp.Symbol:
        body = self.write(e.defined())
        symbol = self._new(e, e.quantity.name, self.meaning(e))
        self._define(symbol, body, f"definition of {e}")
        return symbol

    def _exponential(self, e: sp.exp) -> Any:
        out: Any = sp.Integer(1)
        simple = self.exponent(e.args[0])
        if not self.moving and simple != self.meaning(e.args[0]):
            gap = self.write(e.args[0]) - self.write(simple)
            self.suppose(gap, "=", 0, f"the exponent is {simple}", "debt", given=self.given)
        for c, monomial in exponent_terms(simple):
            inverse = inverse_function(monomial)
            if inverse is not None and (2 * c * inverse[1]).is_Integer:
                twice = int(2 * c * inverse[1])
                base = inverse[0]
                self._demanded(monomial)
                written = self.write(base) if twice % 2 == 0 else self._root(base, 2)
                if twice < 0:
                    self.owe(written, "<>", f"a denominator: {written}")
                out = out * written ** (twice // 2 if twice % 2 == 0 else twice)
                continue
            unit = self.exponents.setdefault(monomial, c.q)
            if unit % c.q:
                raise Unprintable(f"the exponent {c}*{monomial} came too late")
            out = out * self._generator(monomial, unit) ** int(c * unit)
        symbol = self._new(e, "exp", self.meaning(e))
        self._define(symbol, out, f"exp(a + b) = exp(a) exp(b), for {e}")
        return symbol

    def _generator(self, monomial: Any, unit: int) -> sp.Symbol:
        key = ("exp", monomial)
        if key not in self.symbols:
            with self._granted(self.granting):
                argument = self.write(monomial / unit)
            symbol = self._new(
                key,
                f"exp{len([k for k in self.symbols if isinstance(k, tuple) and k[0] == 'exp']) + 1}",
                sp.exp(monomial / unit),
            )
            self.bodies[symbol] = ("exp", argument)
            origin = f"exp({monomial / unit})"
            self.suppose(symbol, ">", 0, origin, "size")
            for given, relation in ((argument > 0, ">"), (argument < 0, "<")):
                self.suppose(symbol, relation, 1, f"exp is increasing, for {origin}", "bound", given=(given,))
        return self.symbols[key]

    def _function(self, e: Any) -> Any:
        if type(e) in HYPERBOLIC:
            body = self.write(HYPERBOLIC[type(e)](e.args[0]))
            symbol = self._new(e, type(e).__name__, self.meaning(e))
            self._define(symbol, body, f"definition of {type(e).__name__} by exp")
            return symbol
        if isinstance(e, sp.Abs):
            inside = self.write(e.args[0])
            return self._cases(
                e,
                "modulus",
                ((sp.Ge(inside, 0, evaluate=False), inside), (sp.Le(inside, 0, evaluate=False), -inside)),
            )
        if isinstance(e, sp.sign):
            inside = self.write(e.args[0])
            cases = tuple(
                (kind(inside, 0, evaluate=False), sp.Integer(v))
                for kind, v in ((sp.Gt, 1), (sp.Lt, -1), (sp.Eq, 0))
            )
            return self._cases(e, "sign", cases)
        if isinstance(e, (sp.Max, sp.Min)) and len(e.args) == 2:
            x, y = (self.write(a) for a in e.args)
            first, second = (x, y) if isinstance(e, sp.Max) else (y, x)
            return self._cases(
                e,
                type(e).__name__.lower(),
                ((sp.Le(second, first, evaluate=False), x), (sp.Le(first, second, evaluate=False), y)),
            )
        if isinstance(e, sp.Piecewise):
            return self._pieces(e)
        if isinstance(e, (AppliedUndef, sp.Derivative, sp.log, sp.atanh, sp.asinh, sp.acosh, sp.Subs)):
            self._demanded(e)
            return self._new(e, _stem(e), self.meaning(e))
        raise Unprintable(f"{type(e).__name__} has no algebraic relation here")

    def _demanded(self, e: Any) -> None:
        """What a function that is not written out demands of its arguments, and that these are defined."""
        inside = e.point if isinstance(e, sp.Subs) else e.args
        for argument in (e.expr,) if isinstance(e, sp.Derivative) else inside:
            self.write(argument)
        for x, relation in DEMANDS.get(e.func, lambda *_: ())(*e.args):
            self.owe(self.write(x), relation.replace("!=", "<>"), str(e))

    def _cases(self, e: Any, name: str, cases: Any) -> sp.Symbol:
        symbol = self._new(e, name, self.meaning(e))
        for condition, value in cases:
            given = condition if isinstance(condition, tuple) else (condition,)
            self.suppose(symbol, "=", value, f"definition of {e.func.__name__}", "case", symbol, given)
        return symbol

    def _pieces(self, e: sp.Piecewise) -> sp.Symbol:
        cases: list[Any] = []
        before: list[Any] = []
        for piece, condition in e.args:
            written = self._condition(condition)
            holds = () if written == sp.true else (written,)
            with self._where((*before, *holds)):
                cases.append(((*before, *holds), self.write(piece)))
            before.append(sp.Not(written, evaluate=False))
            if written == sp.true:
                break
        else:
            self.suppose(0, "<>", 0, "some piece applies", "debt", given=(*self.given, *before))
        return self._cases(e, "pieces", cases)

    def _condition(self, c: Any) -> Any:
        if c in (sp.true, sp.false):
            return c
        if isinstance(c, (sp.And, sp.Or)):
            return c.func(*(self._condition(a) for a in c.args), evaluate=False)
        if isinstance(c, sp.core.relational.Relational):
            return c.func(self.write(c.lhs), self.write(c.rhs), evaluate=False)
        raise Unprintable(f"the condition {c}")

    # derivatives in time

    def rate(self, e: Any, velocity: Mapping[Any, Any]) -> Any:
        """The derivative of a written expression by the chain rule, a variable for that of each root."""
        e = formula(e)
        variables = sorted(e.free_symbols, key=str)
        return sp.Add(*(sp.diff(e, v) * self._rate_of(v, velocity) for v in variables))

    def _rate_of(self, v: sp.Symbol, velocity: Mapping[Any, Any]) -> Any:
        if v in self.rates:
            return self.rates[v]
        out: Any = sp.Integer(0)
        key: Any = next((k for k, s in self.symbols.items() if s == v), None)
        if key in velocity:
            out = self.write(velocity[key])
        elif v in self.radicands:
            radicand, order = self.radicands[v]
            inside = self.rate(radicand, velocity)
            out = self._rate_variable(
                v, order * v ** (order - 1), inside, f"derivative of {v}^{order} = its radicand"
            )
        elif isinstance(self.bodies.get(v), tuple):
            inside = self.rate(self.bodies[v][1], velocity)
            out = (
                v * inside
                if inside == 0
                else self._rate_variable(v, sp.Integer(1), v * inside, "derivative of exp")
            )
        elif v in self.bodies and v not in self.fixed:
            out = self._rate_variable(
                v, sp.Integer(1), self.rate(self.bodies[v], velocity), f"derivative of {v} = its definition"
            )
        elif not isinstance(key, sp.Symbol):
            if key is None:
                raise Unprintable(f"the derivative of {v}")
            out = self._rate_of_function(key, velocity)
        self.rates[v] = out
        return out

    def _rate_variable(self, v: sp.Symbol, factor: Any, value: Any, origin: str) -> Any:
        if value == 0:
            return value
        self.owe(factor, "<>", f"{v} has a derivative")
        symbol = self._new(("rate", v), f"d_{v}", None)
        self.suppose(sp.Mul(factor, symbol, evaluate=False), "=", value, origin, "rate", symbol)
        self.factors[symbol] = (factor, value)
        return symbol

    def _rate_of_function(self, key: Any, velocity: Mapping[Any, Any]) -> Any:
        if isinstance(key, sp.log):
            return self.rate(self.write(key.args[0]), velocity) / self.write(key.args[0])
        if isinstance(key, sp.atanh):
            inside = self.write(key.args[0])
            return self.rate(inside, velocity) / (1 - inside**2)
        if any(self.rate(self.write(s), velocity) != 0 for s in getattr(key, "free_symbols", ())):
            raise Unprintable(f"the derivative of {key}")
        return sp.Integer(0)

    # what the domain adds

    def open(self, before: Page) -> None:
        """The hypotheses that the domain adds for the variables of a page on which the claim was tried."""
        self.moving, self.exponents = before.moving, dict(before.exponents)
        self.simpler, self.meant = before.simpler, before.meant
        known = [k for k in before.symbols if isinstance(k, sp.Symbol)]
        for symbol in known:
            self.write(symbol)
        self.close()
        stated = [c for c in self.domain.conditions if isinstance(c, sp.core.relational.Relational)]
        stated = [c for c in stated if c.free_symbols <= set(self.symbols)]
        self.lattice(*(side for c in stated for side in c.args))
        for condition in stated:
            with self._granted("where a condition of the domain is defined"):
                written = self._condition(condition)
            relation = RELATIONS[type(written).__name__]
            self.suppose(written.lhs, relation, written.rhs, "condition of the domain", "condition")

    def close(self) -> None:
        """What is known of the inner products that occur."""
        for dot in [k for k in self.symbols if isinstance(k, Dot)]:
            if dot.left != dot.right:
                squares = self.write(inner(dot.left, dot.left)) * self.write(inner(dot.right, dot.right))
                self.suppose(self.symbols[dot] ** 2, "<=", squares, "Cauchy and Schwarz", "bound")
        for dot in [k for k in self.symbols if isinstance(k, Dot)]:
            drawn = dot.left in self.domain.vectors and dot.left not in self.domain.let
            if dot.left == dot.right and drawn and self.domain.sampler is None:
                self.suppose(self.symbols[dot], "<>", 0, f"{dot.left} is not zero", "condition")

    def parts(self, left: Any, relation: str, right: Any) -> list[Hypothesis]:
        """The hypotheses and debts, what holds throughout the cell first; not what says what the claim says."""
        gap = sp.expand(left - right)
        weaker = ["<>"] if relation in ("<", ">") else []  # it takes more than that to show the claim
        kept = [
            h
            for h in self.entries
            if h.kind not in FROM_CELL or h.relation in weaker or not _same(h.left - h.right, gap)
        ]
        early = [h for h in kept if h.kind in EARLY]
        return early + [h for h in kept if h.kind not in EARLY]

    def values_at(self, point: Mapping[Any, Any]) -> dict[sp.Symbol, Any]:
        """The values of the variables at a point of the cell, to 40 digits."""
        values: dict[sp.Symbol, Any] = {}
        for symbol, meaning in self.meanings.items():
            if symbol in self.factors:
                factor, value = self.factors[symbol]
                with mpmath.workdps(DIGITS):
                    slope = value_at(factor, values)
                    values[symbol] = value_at(value, values) / slope if slope else mpmath.mpf(0)
            else:
                free = {
                    s: sp.Rational(3, 7)
                    for s in meaning.free_symbols
                    if s not in point and not isinstance(s, Dot)
                }
                value = sp.N(evaluate(meaning, {**point, **free}), DIGITS)
                # as in Rocq: √-1 is a number
                values[symbol] = value._to_mpmath(140) if value.is_comparable else mpmath.mpf(0)
        return values


def _same(x: Any, y: Any) -> bool:
    """Whether two differences say the same, up to a constant factor."""
    if y == 0 or x.free_symbols != y.free_symbols:
        return False
    ratio = sp.cancel(sp.expand(x) / y)
    return bool(ratio.is_Rational and ratio != 0)


def _irrational(e: Any) -> int:
    """How many roots, moduli and signs are in an expression."""
    nodes = list(sp.preorder_traversal(e))
    return sum(isinstance(x, (sp.Abs, sp.sign)) or (x.is_Pow and not x.exp.is_Integer) for x in nodes)


def _anywhere(key: Any) -> bool:
    """Whether what is written for a key is defined everywhere, whatever the conditions under which it was."""
    return isinstance(key, sp.Symbol) or (isinstance(key, tuple) and key[0] == "exp")


def _stem(e: Any) -> str:
    if isinstance(e, sp.Derivative):
        return "D" + "".join(str(n) for _, n in e.variable_count) + "_" + _stem(e.expr)
    return str(getattr(e.func, "__name__", "f"))
