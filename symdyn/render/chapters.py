"""What the book says, before it is LaTeX or HTML: a chapter for a topic, a section for a ledger entry."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy as sp

from symdyn.catalogue.auditing import AuditEntry, audit
from symdyn.catalogue.packages import PackageError
from symdyn.catalogue.paper import Entry, Paper, entry, ledger
from symdyn.catalogue.registry import index, load, printed_forms
from symdyn.render.latex import set_formula, statement_latex
from symdyn.render.prose import from_ascii
from symdyn.statements.hypothesis import Hypothesis
from symdyn.statements.inference import Rule
from symdyn.statements.kinds import Chain, Experiment, Statement
from symdyn.statements.notation import GLOSSARIES

if TYPE_CHECKING:
    from symdyn.catalogue.result import PrintedForm, Result
    from symdyn.render.steps import Step

Progress = Callable[[str, int, int], None]

BADGES = {
    "holds": "holds",
    "conditional": "holds under a hypothesis",
    "erratum": "erratum",
    "extraction": "text damaged",
    "open": "open",
}


_CAPITALS = (
    "NTK",
    "KKT",
    "Bernoulli",
    "Riccati",
    "Hessian",
    "Bregman",
    "Azulay",
    "Sherman",
    "Morrison",
    "Lyapunov",
    "RSM",
    "SVD",
    "MSE",
    "Fukumizu",
    "Gaussian",
)
_SPELLED = {
    "ode": "equation",
    "pw": "piecewise",
    "sv": "singular value",
    "ch": "$c=h$",
    "c1": "$c=1$",
    "d1": "$d=1$",
    "h1": "$h=1$",
    "delta0": r"$\delta\to0$",
    "2x2": r"$2\times2$",
    "a2": "$a^2$",
    "b0": "$b_0$",
    "c2": "$c_2$",
    "gM": "$gM$",
    "hmax": r"$h_{\max}$",
    "normw": r"$\|w\|$",
    "splus": "$S^+$",
    "mdot": r"$\dot M$",
    "uv": "$UV$",
    "ata": r"$A^\top A$",
    "AtA": r"$A^\top A$",
    "WtW": r"$W^\top W$",
    "wwT": r"$ww^\top$",
    "qqt": r"$QQ^\top$",
} | {word.lower(): word for word in _CAPITALS}
_PHRASES = {
    "c delta": r"$c_\delta$",
    "phi delta": r"$\Phi_\delta$",
    "f h": "f and h",
    "b c": "b and c",
    "mu phi": "mu and phi",
    "nu a": "nu and a",
    "a normw": "a and normw",
}
_NUMBERED = re.compile(r"(thm|lemma|prop|cor|fig|eq|assumption|phase)(\d*)")
_PANELS = re.compile(r"\b(fig \d[a-z]) ([a-z])\b")
_KINDS = {
    "thm": "Theorem",
    "lemma": "Lemma",
    "prop": "Proposition",
    "cor": "Corollary",
    "fig": "Figure",
    "eq": "Equation",
    "assumption": "assumption",
    "phase": "phase",
}


@dataclass(frozen=True)
class Formula:
    """What a statement says: a sentence, a displayed formula, or both. Either may be empty."""

    words: str
    latex: str


@dataclass(frozen=True)
class Derived:
    """A result as the book shows it."""

    key: str
    title: str
    formula: Formula
    steps: tuple[Step, ...]
    hypotheses: tuple[Hypothesis, ...] = ()


@dataclass(frozen=True)
class Section:
    """An entry of the ledger: what the paper says, what is known, and why."""

    entry: Entry
    title: str
    assumptions: tuple[str, ...]
    audit: AuditEntry
    counterexample: str
    printed: tuple[tuple[str, Formula], ...]
    results: tuple[tuple[str, Formula], ...]


@dataclass(frozen=True)
class Chapter:
    """A topic: the entries in ledger order, then the derivations of all its results."""

    topic: str
    papers: tuple[Paper, ...]
    sections: tuple[Section, ...]
    derived: tuple[Derived, ...]

    @property
    def title(self) -> str:
        return self.topic.replace("_", " ").capitalize()

    @property
    def count(self) -> dict[str, int]:
        """How many entries have each status, in the order of the statuses."""
        found = {status: sum(s.audit.status == status for s in self.sections) for status in BADGES}
        return {status: n for status, n in found.items() if n}


def formula(statement: Statement, topic: str) -> Formula:
    """A statement as a sentence and a formula, in the symbols of its topic."""
    if isinstance(statement, Experiment):
        return Formula(statement.claim, "")
    if isinstance(statement, Chain | Rule) and statement.conclusion:
        return Formula(statement.conclusion, set_formula(statement.formula) if statement.formula else "")
    return Formula("", statement_latex(statement, topic))


def chapters(progress: Progress | None = None) -> tuple[Chapter, ...]:
    """One chapter for each topic that has results: in ledger order, then those that no ledger has."""
    topics = dict.fromkeys(e.topic for e in index())
    wanted = dict.fromkeys([*(e.topic for e in ledger().values() if e.topic in topics), *topics])
    return tuple(_chapter(topic, progress) for topic in wanted)


def _chapter(topic: str, progress: Progress | None) -> Chapter:
    known = any(e.topic == topic for e in ledger().values())
    audited = audit(topic=topic, progress=progress) if known else []
    forms = printed_forms(topic)
    sections = tuple(_section(e, forms) for e in audited)
    keys = [e.key for e in index() if e.topic == topic]
    shown = []
    for done, key in enumerate(keys, start=1):
        shown.append(derived(load(key)))
        if progress is not None:
            progress(key, done, len(keys))
    papers = [s.entry.paper for s in sections] + [paper for key in keys for paper in load(key).papers]
    return Chapter(topic, tuple(dict.fromkeys(papers)), sections, tuple(shown))


def _section(audited: AuditEntry, forms: tuple[PrintedForm, ...]) -> Section:
    printed = tuple(
        (form.quote, formula(form.statement, audited.topic)) for form in forms if form.ledger_id == audited.id
    )
    topics = {e.key: e.topic for e in index()}
    shown = [(key, _loaded(key)) for key in audited.results if key in topics]
    results = tuple((key, formula(result.statement, topics[key])) for key, result in shown if result)
    e = entry(audited.id)
    assumptions = tuple(map(from_ascii, e.assumptions))
    counterexample = from_ascii(in_symbols(audited.counterexample, audited.topic))
    return Section(e, headline(e.title, e.statement), assumptions, audited, counterexample, printed, results)


def _loaded(key: str) -> Result | None:
    """A result, or None where the code of its package does not let it be imported, which the audit tells."""
    try:
        return load(key)
    except PackageError:
        return None


def in_symbols(point: str, topic: str) -> str:
    """A point in the symbols of a topic: `a0 = 1, g = Lambda(_z0, 2*_z0**2)` is $a_0$ = 1, $g(z_0) = 2 z_0^2$."""
    names = {term.name: term.latex for term in GLOSSARIES.get(topic, ())}
    for applied in re.findall(r"\w+ = Lambda\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", point):
        name, body = applied.split(" = ", 1)
        variables, expression = _polynomial(body.replace("_z", "z"))
        arguments = ", ".join(map(sp.latex, variables))
        point = point.replace(applied, f"${names.get(name, name)}({arguments}) = {sp.latex(expression)}$")
    shown = {name: f"${tex}$" for name, tex in names.items()}
    return re.sub(r"(?<![\w\\$])([A-Za-z]\w*)(?= = )", lambda m: shown.get(m.group(), m.group()), point)


def _polynomial(text: str) -> tuple[list[sp.Expr], sp.Expr]:
    """The variables and the polynomial of `Lambda(z0, 2*z0**2)`, read and not evaluated: it may be anybody's text."""
    call = ast.parse(text, mode="eval").body
    variables, expression = call.args if isinstance(call, ast.Call) else (call, call)
    listed = variables.elts if isinstance(variables, ast.Tuple) else [variables]
    return [_arithmetic(variable) for variable in listed], _arithmetic(expression)


def _arithmetic(node: ast.expr) -> sp.Expr:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return sp.Integer(node.value)
    if isinstance(node, ast.Name):
        return sp.Symbol(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_arithmetic(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_arithmetic(node.left), _arithmetic(node.right))
    raise ValueError(f"{ast.unparse(node)} is not part of a polynomial")


_OPERATORS: dict[type, Callable[[sp.Expr, sp.Expr], sp.Expr]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def headline(words: str, statement: str = "") -> str:
    r"""The words of a ledger id as a headline: "balanced mu bernoulli" becomes "Balanced $\mu$ Bernoulli".

    Ids may have capital letters in lower case; the statement tells.
    """
    text = re.sub(r"(?<=\b[Tt]heorem )(\d) (\d)\b", r"\1.\2", _PANELS.sub(r"\1–\2", words))
    for phrase, shown in _PHRASES.items():
        text = re.sub(rf"\b{phrase}\b", shown.replace("\\", r"\\"), text)
    spelled = [_letter(word, statement) if len(word) == 1 else _spelled(word) for word in text.split()]
    return " ".join([spelled[0][0].upper() + spelled[0][1:], *spelled[1:]])


def _letter(letter: str, statement: str) -> str:
    """A formula of one letter, a capital where the statement has that alone."""
    if letter.isdigit():
        return letter
    occurs = {x: re.search(rf"(?<![A-Za-z\\]){x}(?![A-Za-z])", statement) for x in (letter, letter.upper())}
    return f"${letter.upper() if occurs[letter.upper()] and not occurs[letter] else letter}$"


def _spelled(word: str) -> str:
    if numbered := _NUMBERED.fullmatch(word):
        kind, numbers = _KINDS[numbered.group(1)], numbered.group(2)
        several = len(numbers) > 1 and word.startswith("fig")
        return f"{kind}s {', '.join(numbers)}" if several else f"{kind} {numbers}".strip()
    return from_ascii(_SPELLED.get(word, word))


def derived(result: Result) -> Derived:
    """A result for the book: its statement, and the steps to it without the statement once more."""
    stated = formula(result.statement, result.topic)
    said = (stated.latex, result.latex())
    steps = tuple(step for step in result.steps if step.latex not in said)
    return Derived(result.key, result.title, stated, steps, result.supposes)


def formulas(chapter: Chapter) -> Iterator[Any]:
    """Every formula of a chapter, for whoever wants to check them all."""
    for section in chapter.sections:
        yield from (tested.latex for _, tested in section.printed if tested.latex)
    for derived in chapter.derived:
        if derived.formula.latex:
            yield derived.formula.latex
        yield from (step.latex for step in derived.steps)
