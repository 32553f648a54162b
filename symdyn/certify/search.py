"""The lines of a proof: what the search finds, Rocq checks.

The search looks for the square roots that the others are made of, and for a product that shows a sign. It may err: then
the proof fails. Nothing that it finds is supposed.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import mpmath
import sympy as sp

from symdyn.calculus.parts import plain
from symdyn.lemmas.page import DIGITS, EARLY, RELATIONS, Lemma, Page, compare_at, coq, value_at
from symdyn.proof.claim import tower
from symdyn.proof.undecided import Undecided

EQUAL = "first [ring | (field_simplify_eq; [ring [{eqs}] | nonzero ..]) | ring [{eqs}]]"


POINTS = 5
"""So many points, the last ones that are drawn, say which sign is worth looking for."""


class Proof:
    """Writes the proof of one lemma."""

    def __init__(self, page: Page, lemma: Lemma, points: list[dict[sp.Symbol, Any]]) -> None:
        self.page, self.lemma = page, lemma
        self.points = points[-POINTS:]
        self.squares: dict[sp.Symbol, Any] = {}
        self.tower = tower(page.cell)
        self.back_names = {
            page.meanings[s]: s
            for k, s in page.symbols.items()
            if isinstance(k, sp.Symbol) and page.meanings[s] == k
        }
        self.table: list[tuple[Any, sp.Symbol]] = []
        self.equations: list[str] = []
        self.lines: list[str] = []
        self.fresh = 0
        self.known: dict[sp.Symbol, Any] = {}
        self.roots = set(page.roots)
        self.larger_than_one: set[sp.Symbol] = set()

    def write(self) -> list[str]:
        stated = {h.name for h in self.lemma.parts}
        early = [h.name for h in self.lemma.parts if h.kind in EARLY]
        names = " ".join([*map(str, self.lemma.variables), *early])
        self.lines += [f"intros {names}."] if names else []
        for h in self.page.entries:
            if h.name not in stated:
                continue
            if h.kind == "debt":
                self._debt(h)
                continue
            if h.kind not in EARLY:
                self.lines.append(f"intro {h.name}.")
            if h.kind == "definition":
                self._definition(h)
            elif h.kind == "case":
                self._case(h)
            elif h.kind == "rate":
                self.lines.append(f"solve_for {h.name} {h.subject}.")
            elif h.kind == "bound" and h.given:
                if all(compare_at(h.given[0], point) for point in self.points):
                    self.lines.append(f"try use {h.name}.")
                    self.larger_than_one |= {h.left} if h.relation == ">" else set()
            elif h.kind == "root":
                if h.given:
                    self.lines.append(f"try use {h.name}.")
                self._root(h)
        self._conclusion()
        return self.lines

    def _case(self, h: Any) -> None:
        """What a modulus, a sign, a piece is where its condition holds throughout."""
        if not all(compare_at(c, point) for c in h.given for point in self.points):
            return
        ways = ["holds"]
        if len(h.given) == 1 and (found := _relation(h.given[0])) is not None:
            gap, relation = found
            if relation == "=":
                ways.append(self.equal())
            elif (meant := self._meant(gap)) is not None:
                turn = {">": "unfold Rgt; ", ">=": "apply Rle_ge; "}.get(relation, "")
                ways += [f"({turn}{way})" for way in self._ways(meant, relation)]
        self.lines.append(
            f"try (use_by {h.name} ltac:(idtac; first [{' | '.join(ways)}]); subst {h.subject})."
        )

    def _meant(self, e: Any) -> Any:
        """What an expression of the lemma means in the independent quantities, or None."""
        meanings = {s: self.page.meanings.get(s) for s in e.free_symbols}
        return None if None in meanings.values() else plain(e.xreplace(meanings))

    def _debt(self, h: Any) -> None:
        """That what is written is defined, shown before it is used; from there on it is known."""
        ways = ["quickly"]
        if h.relation == "=":
            ways = [self.equal()]
        elif not self._evident(h.left, h.relation) and (meant := self._meant(h.left)) is not None:
            ways += self._ways(meant, h.relation)
        if h.relation != "=":
            ways.append("owed")
        given = "intros; " if h.given else ""
        self.lines += [
            "refine (debt _ _ _ _).",
            f"{{ {given}first [{' | '.join(ways)}]. }}",
            f"intro {h.name}.",
        ]

    def _evident(self, e: Any, relation: str) -> bool:
        """Whether a product or a sum is seen to be positive, or at least not zero, from its parts."""
        if e.is_Rational:
            return bool(e > 0) or (relation == "<>" and e != 0)
        if e.is_Symbol:
            known = [
                h.relation for h in self.lemma.hypotheses if h.left == e and h.right == 0 and not h.given
            ]
            return bool(set(known) & ({">", "<", "<>"} if relation == "<>" else {">", relation}))
        if e.is_Pow and e.exp.is_Integer:
            even = e.exp % 2 == 0
            return (even and relation == ">=") or self._evident(e.base, "<>" if even else relation)
        if e.is_Mul:
            return all(self._evident(a, relation) for a in e.args)
        if e.is_Add:
            strict = relation != ">="
            return all(self._evident(a, ">=") for a in e.args) and (
                not strict or any(self._evident(a, ">") for a in e.args)
            )
        return False

    def _definition(self, h: Any) -> None:
        """x = e: x is replaced by e, or by what e reduces to where that is shorter."""
        value = self.now(h.right)
        simple = shorter(value)
        if simple != value:
            shown = f"assert ({h.name}e : {h.subject} = {coq(simple)}) by (rewrite {h.name}; {self.equal()})"
            self.lines.append(f"try ({shown}; clear {h.name}).")
            value = simple
        self._replace(h.subject, value)

    def _root(self, h: Any) -> None:
        symbol = h.subject
        radicand, order = self.page.radicands[symbol]
        if order != 2:
            self.equations.append(h.name)
            return
        try:
            expression = self.tower.expression(
                self.tower.convert(self.page.meaning(self.page.meanings[symbol]))
            )
            known = len(self.table)
            form = shorter(self.now(self.back(expression, symbol)))
        except (Undecided, KeyError, NotImplementedError, ValueError):
            self.lines.append(f"try positive_root {h.name} {symbol}.")
            self.equations.append(h.name)
            return
        if form == symbol:
            square = self.table[-1][0] if len(self.table) > known else None
            self.equations.append(h.name)
            if square is not None:
                plain = self.now(self.back(square))
                text = coq(plain)
                self.squares[symbol] = plain
                self.hint(plain)
                if text != coq(radicand):
                    shown = (
                        f"assert ({h.name}s : {symbol} ^ 2 = {text}) by (rewrite {h.name}; {self.equal()})"
                    )
                    self.lines.append(f"try ({shown}; clear {h.name}; rename {h.name}s into {h.name}).")
            self.lines.append(f"try positive_root {h.name} {symbol}.")
            return
        unique = f"apply root_unique; [assumption | pos | rewrite {h.name}; {self.equal()}]"
        self.lines.append(f"assert ({h.name}e : {symbol} = {coq(form)}) by ({unique}).")
        self._replace(symbol, form)

    def equal(self) -> str:
        eqs = " ".join(self.equations)
        return EQUAL.format(eqs=eqs) if eqs else "first [ring | (field_simplify_eq; [ring | nonzero ..])]"

    def back(self, e: Any, root: sp.Symbol | None = None) -> Any:
        """An expression of the search in the variables of the lemma. `root` is the variable it is to be equal to."""
        if e.is_Rational:
            return e
        if e in self.back_names:
            return self.now(self.back_names[e])
        if isinstance(e, sp.exp):
            return self._exponential(e)
        if e.is_Pow and e.exp.is_Rational and e.exp.q == 2:
            return self._base_root(e.base, root if e.exp == sp.Rational(1, 2) else None) ** e.exp.p
        if e.is_Pow and e.exp.is_Rational and e.exp.q in (4, 8, 16):
            return (
                self._base_root(e.base ** sp.Rational(2, e.exp.q), root if e.exp.p == 1 else None) ** e.exp.p
            )
        if e.is_Add or e.is_Mul or (e.is_Pow and e.exp.is_Integer):
            alone = e.is_Mul and root is not None
            args = [self.back(a, None) if not alone else self._factor(a, e, root) for a in e.args]
            return e.func(*args)
        for key, symbol in self.page.symbols.items():
            if isinstance(key, sp.Basic) and self.page.meanings.get(symbol) == e:
                return self.now(symbol)
        raise KeyError(e)

    def _replace(self, symbol: sp.Symbol, value: Any) -> None:
        """Replace a variable of the lemma from here on."""
        self.lines.append(f"subst {symbol}.")
        self.known[symbol] = value
        for mapping in (self.known, self.squares):
            mapping.update({s: x.xreplace({symbol: value}) for s, x in mapping.items()})

    def now(self, e: Any) -> Any:
        """An expression in the variables that are left."""
        return e.xreplace(self.known)

    def _factor(self, a: Any, product: Any, root: sp.Symbol) -> Any:
        """A factor c of c √q = root: a new √q may be defined as root / c."""
        if a.is_Pow and a.exp.is_Rational and a.exp.p == 1 and a.exp.q in (2, 4, 8, 16):
            return self._base_root(a.base ** sp.Rational(2, a.exp.q), None, of=(root, product / a))
        return self.back(a)

    def _exponential(self, e: Any) -> Any:
        from symdyn.proof.zero.hyperbolic import exponent_terms

        out: Any = sp.Integer(1)
        for c, monomial in exponent_terms(e.args[0]):
            out *= self.page.symbols[("exp", monomial)] ** int(c * self.page.exponents[monomial])
        return out

    def _base_root(self, radicand: Any, root: sp.Symbol | None, of: Any = None) -> sp.Symbol:
        for known, symbol in self.table:
            if known == radicand or sp.expand(known - radicand) == 0:
                return symbol
        if root is not None:
            self.table.append((radicand, root))
            return root
        plain = self.now(self.back(radicand))
        text = coq(plain)
        self.hint(plain)
        ways = ["(apply root_exists; pos)"]
        if of is not None:
            quotient = coq(of[0] / self.now(self.back(of[1])))
            ways.append(f"(exists {quotient}; split; [pos | {self.equal_with(of[0])}])")
        self.fresh += 1
        symbol, name = sp.Symbol(f"base{self.fresh}"), f"B{self.fresh}"
        there = f"assert (exists b, 0 <= b /\\ b ^ 2 = {text}) as [{symbol} [{name} {name}s]]"
        self.lines.append(f"{there} by (first [{' | '.join(ways)}]).")
        self.lines.append(f"try positive_root {name}s {symbol}.")
        self.table.append((radicand, symbol))
        if plain.is_Symbol and plain not in self.squares and plain not in self.roots:
            self._replace(plain, symbol**2)  # one variable less is faster than one equation more
        else:
            self.equations.append(f"{name}s")
            self.squares[symbol] = plain
        self.roots.add(symbol)
        for point in self.points:
            with mpmath.workdps(DIGITS), suppress(KeyError, TypeError):
                point[symbol] = mpmath.sqrt(abs(value_at(plain, point)))
        return symbol

    def signs(self, e: Any) -> set[int]:
        """The signs of an expression at the points."""
        with mpmath.workdps(DIGITS):
            at = [value_at(e, point) for point in self.points]
        return {0 if abs(x) < mpmath.mpf("1e-20") else int(mpmath.sign(x)) for x in at}

    def hint(self, e: Any) -> None:
        """Show the sign of a sum beforehand, where it is not seen from its terms.

        By powers of E - 1 for exponentials E > 1; that of a + b r with a root r from that of a² - b² r².
        """
        if not e.is_Add:
            return
        e = sp.expand(e)
        found = self.signs(e)
        if found not in ({1}, {-1}):
            return
        e = e if found == {1} else -e
        if all(self.signs(term) <= {0, 1} for term in e.args):
            return
        if (form := self._by_excess(e)) is not None:
            by = f"apply (positive_as _ {coq(form)}); [ring | pos]"
            self.lines.append(f"try (assert (0 < {coq(e)}) by ({by})).")
            return
        roots = [r for r in self.squares if r in e.free_symbols]
        if not roots:
            return
        root, square = roots[-1], self.squares[roots[-1]]
        b, a = e.coeff(root, 1), e.coeff(root, 0)
        if sp.expand(a + b * root - e) != 0 or a == 0 or b == 0:
            return
        signs = [self.signs(a), self.signs(b)]
        if signs[1] not in ({1}, {-1}):
            return
        for part in (a, b):
            self.hint(part)
        rooted = signs[1] == {1}
        z = sp.factor(self._reduced(sp.expand((1 if rooted else -1) * (b**2 * square - a**2))))
        for part in z.args if z.is_Mul else (z,):
            self.hint(part)
        texts = " ".join(coq(x) for x in (e, a, b if rooted else -b, root, square, z))
        first = f"apply (root_{'dominates' if rooted else 'dominated'} {texts})"
        equal, others = self.equal(), "" if rooted else "pos | "
        self.lines.append(
            f"try (assert (0 < {coq(e)}) by ({first}; [ring | {others}pos | assumption | {equal} | {equal} | pos]))."
        )

    def _by_excess(self, e: Any) -> Any:
        """A polynomial in powers of E - 1 for exponentials E > 1, if all its terms are positive then."""
        generators = sorted(self.larger_than_one & e.free_symbols, key=str)
        excess = {g: sp.Symbol(f"excess_{g}") for g in generators}
        if not generators:
            return None
        form = sp.expand(e.xreplace({g: 1 + d for g, d in excess.items()}))
        back = {d: sp.Add(g, -1, evaluate=False) for g, d in excess.items()}
        terms = [term.xreplace(back) for term in sp.Add.make_args(form)]
        return sp.Add(*terms, evaluate=False) if all(self.signs(t) <= {0, 1} for t in terms) else None

    def _reduced(self, e: Any) -> Any:
        """A polynomial without squares of the roots."""
        for root in reversed(self.squares):
            if root in e.free_symbols:
                terms = sp.Poly(e, root).all_terms()
                e = sp.expand(
                    sp.Add(*(c * root ** (n % 2) * self.squares[root] ** (n // 2) for (n,), c in terms))
                )
        return e

    def equal_with(self, root: sp.Symbol) -> str:
        name = next(h.name for h in self.lemma.hypotheses if h.kind == "root" and h.subject == root)
        eqs = " ".join([*self.equations, name])
        rewritten = f"(rewrite {name}; field_simplify_eq; [ring [{eqs}] | nonzero ..])"
        return f"(field_simplify_eq; [first [ring [{eqs}] | {rewritten}] | nonzero ..])"

    def _conclusion(self) -> None:
        relation = self.lemma.relation
        if relation == "=":
            self.lines.append(f"{self.equal()}.")
            return
        ways = [*self._ways(self.lemma.gap, relation), "timeout 10 nra", "pos"]
        if relation == ">":
            self.lines.append("unfold Rgt.")
        elif relation == ">=":
            self.lines.append("apply Rle_ge.")
        self.lines.append(f"first [{' | '.join(ways)}].")

    def _ways(self, gap: Any, relation: str) -> list[str]:
        """Tactics for the sign of a difference, by its normal form; what they need is shown beforehand."""
        smaller = relation in ("<", "<=")
        ways = []
        try:
            found = self.tower.expression(self.tower.convert(-gap if smaller else gap))
            forms = [self.back(form) for form in dict.fromkeys((sp.factor(found), found))]
        except (Undecided, KeyError, NotImplementedError, ValueError):
            forms = []
        rule = {">": "larger", "<": "larger", "<>": "different"}.get(relation, "not_smaller")
        for form in dict.fromkeys(shorter(self.now(form)) for form in forms):
            for part in form.args if form.is_Mul else (form,):
                self.hint(part.base if part.is_Pow else part)
            ways.append(f"(apply ({rule} _ _ {coq(form)}); [{self.equal()} | pos])")
        return ways


def _relation(condition: Any) -> tuple[Any, str] | None:
    """A condition as a difference and its relation to zero, or None."""
    if isinstance(condition, sp.Not) and isinstance(condition.args[0], sp.Eq):
        return condition.args[0].lhs - condition.args[0].rhs, "<>"
    if isinstance(condition, sp.core.relational.Relational):
        return condition.lhs - condition.rhs, RELATIONS[type(condition).__name__]
    return None


def shorter(e: Any) -> Any:
    """A quotient in lowest terms, if that is shorter."""
    simple = sp.cancel(e) if e.has(sp.Pow) else e
    return simple if simple.count_ops() < e.count_ops() else e
