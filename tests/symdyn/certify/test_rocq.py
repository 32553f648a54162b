"""Scalar claims as lemmas for Rocq: what they suppose is true and named; true claims are accepted, wrong ones not."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import sympy as sp

from symdyn import certify
from symdyn.calculus.gram import Flow, inner, norm2
from symdyn.calculus.vectors import Vector
from symdyn.catalogue.registry import index, load
from symdyn.certify.claims import lemmas
from symdyn.certify.coqc import check
from symdyn.compile.named import NamedQuantity
from symdyn.lemmas.page import Lemma
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Conservation, Dynamics, Existence, Identity, Inequality, Limit, Solution

MISSING = "coqc is not installed: `make certify` installs it"
with_rocq = pytest.mark.skipif(shutil.which("coqc") is None or shutil.which("coqtop") is None, reason=MISSING)

x, y, d, n, t, k = sp.symbols("x y d n t k", real=True)
u, v = Vector("u"), Vector("v")
root = sp.sqrt(d**2 + 4 * n**2)
s = sp.sqrt(root + d)
q = (root - 2 * d) * s / 3


def on(*symbols, negative=(), where=None, vectors=()):
    signs = {symbol: -1 if symbol in negative else 1 for symbol in symbols}
    return Domain(tuple(symbols), vectors, (Cell("here", signs, where or {}),))


POSITIVE = on(x, y)
CONE = on(n, d)
BELOW = on(n, d, negative=(d,))

size_of = NamedQuantity("size_of_test", "h", (x, y), sp.sqrt(x**2 + y**2), module=__name__)
wrong_size = NamedQuantity(
    "wrong_size_of_test",
    "h",
    (x, y),
    sp.sqrt(x**2 + y**2),
    derivative=lambda p, r: (p / wrong_size(p, r), 2 * r / wrong_size(p, r)),
    module=__name__,
)
turning = Flow({x: -y, y: x})
growing = Flow({x: 0 * x, y: y})

TRUE = {
    "slope of the mirror potential": (Identity(sp.diff(q, n), 2 * n / s), CONE),
    "the same for negative balance": (Identity(sp.diff(q, n), 2 * n / s), BELOW),
    "curvature of the mirror potential": (Identity(sp.diff(q, n, 2), s / root), CONE),
    "roots of products": (Identity(sp.sqrt(x**3 * y), x * sp.sqrt(x) * sp.sqrt(y)), POSITIVE),
    "root of a quotient": (Identity(sp.sqrt(x / y), sp.sqrt(x * y) / y), POSITIVE),
    "root of a square": (Identity(sp.sqrt(x**2 - 2 * x * y + y**2) ** 2, (x - y) ** 2), POSITIVE),
    "fourth root": (Identity(sp.sqrt(sp.sqrt(x)) ** 4, x), POSITIVE),
    "modulus": (Identity(sp.Abs(x * y) * sp.sign(x), x * y), POSITIVE),
    "modulus of what is negative": (Identity(sp.Abs(d), -d), BELOW),
    "larger of two": (Identity(sp.Max(0, d), 0 * d), BELOW),
    "hyperbolic": (Identity(sp.cosh(2 * x), 1 + 2 * sp.sinh(x) ** 2), POSITIVE),
    "inverse hyperbolic": (
        Identity(sp.exp(2 * sp.atanh((x - 1) / (x + 1))), x),
        on(x),
    ),
    "exponents": (Identity(sp.exp(x + y / 2) ** 2, sp.exp(2 * x) * sp.exp(y)), POSITIVE),
    "pieces": (Identity(sp.Piecewise((1, sp.Eq(x, 0)), (y / x, True)) * x, y), POSITIVE),
    "rotation": (Dynamics(size_of(x, y), 0 * x, under=turning), POSITIVE),
    "growth": (Dynamics(size_of(x, y), y**2 / size_of(x, y), under=growing), POSITIVE),
    "balance": (
        Conservation(x**2 - norm2(u), under=Flow({x: -inner(u, v), u: -x * v})),
        Domain((x,), (u, v)),
    ),
    "logistic": (
        Solution({x: 1 / (1 + (1 / y - 1) * sp.exp(-t))}, {x: x * (1 - x)}, {x: y}, t),
        Domain((t, y, k), (), (Cell("below one", {t: 1, k: 1}, {y: k / (1 + k)}),)),
    ),
    "root above its argument": (Inequality(root, ">", -d), BELOW),
    "mean of the norms": (Inequality(root + d, ">", 0 * d), BELOW),
    "weak": (Inequality((x - y) ** 2 * x, ">="), POSITIVE),
    "different": (Inequality(x + y, "!="), POSITIVE),
    "growth of exp": (Inequality(sp.exp(x), ">", 1), POSITIVE),
    "tanh is positive": (Inequality(sp.tanh(x), ">"), POSITIVE),
    "Cauchy and Schwarz": (Inequality(inner(u, v) ** 2, "<=", 2 * norm2(u) * norm2(v)), Domain((), (u, v))),
    "denominator of a definition": (
        Identity(x * k, 2 * y),
        Domain((x, y), (), (Cell("here", {y: 1}),), let={k: 2 * y / x}),
    ),
    "expansion near zero": (Inequality(sp.sqrt(1 + x), "<", 1 + x / 2), POSITIVE),
}

FALSE = {
    "slope with a factor": (Identity(sp.diff(q, n), 3 * n / s), CONE),
    "slope with the other root": (Identity(sp.diff(q, n), 2 * n / sp.sqrt(root - d)), CONE),
    "slope off by 1e-12": (Identity(sp.diff(q, n), 2 * n / s + sp.Rational(1, 10**12)), CONE),
    "potential with a sign": (Identity(sp.diff((root + 2 * d) * s / 3, n), 2 * n / s), CONE),
    "root of a square without its sign": (Identity(sp.sqrt(d**2), d), BELOW),
    "root of a difference squared": (Identity(sp.sqrt((x - y) ** 2), x - y), POSITIVE),
    "modulus with a sign": (Identity(sp.Abs(d), d), BELOW),
    "sign": (Identity(sp.sign(d), sp.S.One), BELOW),
    "larger of two": (Identity(sp.Max(0, d), d), BELOW),
    "roots add": (Identity(sp.sqrt(x + y), sp.sqrt(x) + sp.sqrt(y)), POSITIVE),
    "hyperbolic": (Identity(sp.cosh(x) ** 2, 2 + sp.sinh(x) ** 2), POSITIVE),
    "exponents": (Identity(sp.exp(x + y), sp.exp(x) + sp.exp(y)), POSITIVE),
    "half an exponent": (Identity(sp.exp(x / 2), sp.exp(x) / 2), POSITIVE),
    "pieces": (Identity(sp.Piecewise((1, sp.Eq(x, 0)), (y / x, True)), 1 + 0 * x), POSITIVE),
    "wrong derivative of a quantity": (
        Dynamics(wrong_size(x, y), 2 * y**2 / wrong_size(x, y), under=growing),
        POSITIVE,
    ),
    "balance with a rate": (
        Conservation(x**2 - 2 * norm2(u), under=Flow({x: -inner(u, v), u: -x * v})),
        Domain((x,), (u, v)),
    ),
    "logistic with another start": (
        Solution({x: 1 / (1 + (2 / y - 1) * sp.exp(-t))}, {x: x * (1 - x)}, {x: y}, t),
        Domain((t, y, k), (), (Cell("below one", {t: 1, k: 1}, {y: k / (1 + k)}),)),
    ),
    "logistic with another rate": (
        Solution({x: 1 / (1 + (1 / y - 1) * sp.exp(-2 * t))}, {x: x * (1 - x)}, {x: y}, t),
        Domain((t, y, k), (), (Cell("below one", {t: 1, k: 1}, {y: k / (1 + k)}),)),
    ),
    "root above its argument": (Inequality(root, "<", -d), BELOW),
    "strict where it vanishes": (Inequality((x - y) ** 2, ">"), POSITIVE),
    "tanh above one": (Inequality(sp.tanh(x), ">", 1), POSITIVE),
    "tanh of any sign": (Inequality(sp.tanh(t), ">"), Domain((t,))),
    "strict Cauchy and Schwarz": (
        Inequality(inner(u, v) ** 2, "<", norm2(u) * norm2(v)),
        Domain((), (u, v)),
    ),
    "the hypothesis itself": (
        Inequality(2 * inner(u, v) ** 2, "<=", 2 * norm2(u) * norm2(v)),
        Domain((), (u, v)),
    ),
    "the sign of the cell itself": (Inequality(x, ">"), POSITIVE),
    "Cauchy and Schwarz with a half": (
        Inequality(inner(u, v) ** 2, "<=", norm2(u) * norm2(v) / 2),
        Domain((), (u, v)),
    ),
    "expansion with a third": (Inequality(sp.sqrt(1 + x), "<", 1 + x / 3), POSITIVE),
    "square of what may vanish": (Inequality(t**2, ">"), Domain((t,))),
}

ANY = Domain((t, x, y))
ABOVE, UNDER = Domain((t,), (), (Cell("here", {t: 1}),)), Domain((t,), (), (Cell("here", {t: -1}),))
WITHIN = Domain((t, y), (), (Cell("here", {t: 1, y: 1}, {t: y / (1 + y)}),))
BEYOND = Domain((t, y), (), (Cell("here", {t: 1, y: 1}, {t: 1 + y}),))
half = NamedQuantity("half_of_test", "h", (t, y), sp.sqrt(t) / (y - t), module=__name__)
rising = Flow({t: 1 + 0 * t})
chained = Flow({x: -y, y: x}, {inner(u, u): x**2 + y**2})
kept_let = Domain((x, y, d), (), (Cell("here", {x: 1, y: 1, d: 1}),), let={d: x**2 + y**2})
APART, OPPOSITE = on(t, y), on(t, y, negative=(y,))

# What Rocq would prove of its own 1/0 = 0, √-1 = 0 and ln 0 = 0: a claim, a domain on which it has no meaning, and one
# on which it is true.
UNDEFINED = {
    "a quotient that may be 1/0": (Inequality(1 / t**2, ">="), ANY, ABOVE),
    "one more than it": (Inequality(1 + 1 / t**2, ">"), ANY, UNDER),
    "partial fractions": (Identity(1 / (t**2 + t), 1 / t - 1 / (t + 1)), ANY, ABOVE),
    "one more than a pole": (Identity((t**2 - 1) / (t - 1), t + 1), ANY, UNDER),
    "0/0 at one point": (Identity(sp.Abs(t) / t, sp.sign(t)), ANY, ABOVE),
    "a sign over itself": (Identity(t * sp.sign(t) / t, 1 / sp.sign(t)), ANY, UNDER),
    "a pole within the cell": (Inequality(1 / (t - 1) ** 2, ">="), ABOVE, UNDER),
    "a difference that vanishes": (Inequality(1 / (t - sp.Abs(t)) ** 2, ">="), ABOVE, UNDER),
    "a hidden zero": (Inequality(1 / (sp.sqrt(t**2) - t) ** 2, ">="), ABOVE, UNDER),
    "a zero of exponentials": (Inequality(1 / (sp.exp(t) - 1) ** 2, ">="), ANY, ABOVE),
    "coth": (Inequality(sp.coth(t) ** 2, ">="), ANY, UNDER),
    "a root that may be √-1": (Inequality(sp.sqrt(t), ">="), ANY, ABOVE),
    "one more than a root": (Inequality(1 + sp.sqrt(t), ">"), UNDER, ABOVE),
    "a root nowhere real": (Inequality(sp.sqrt(-1 - t**2), ">="), ANY, None),
    "a root of a difference": (Inequality(sp.sqrt(1 - t), ">="), ABOVE, WITHIN),
    "a product of roots": (Identity(sp.sqrt(x) * sp.sqrt(y), sp.sqrt(x * y)), ANY, POSITIVE),
    "a root below": (Inequality(1 / sp.sqrt(t), ">="), UNDER, ABOVE),
    "a root in a root": (Inequality(sp.sqrt(2 - sp.sqrt(t)), ">="), ABOVE, WITHIN),
    "a third root": (Inequality(sp.root(t, 3) ** 2, ">="), ANY, ABOVE),
    "a logarithm": (Inequality(sp.log(t) ** 2, ">="), ANY, ABOVE),
    "a logarithm of what is negative": (Inequality(sp.log(t) ** 2, ">="), UNDER, ABOVE),
    "a logarithm of a square": (Inequality(sp.log(t**2) ** 2, ">="), ANY, UNDER),
    "atanh": (Identity(sp.exp(2 * sp.atanh(t)) * (1 - t), 1 + t), ABOVE, WITHIN),
    "acosh": (Inequality(sp.acosh(t) ** 2, ">="), WITHIN, BEYOND),
    "a piece at its end": (Inequality(sp.Piecewise((1 / t**2, t >= 0), (1, True)), ">="), ANY, ABOVE),
    "no piece": (Inequality(sp.Piecewise((1, t > 0), (1, t < 0)) ** 2, ">="), ANY, ABOVE),
    "a named quantity": (Inequality(half(t, y) ** 2, ">="), APART, OPPOSITE),
    "a root along a flow": (Dynamics(sp.sqrt(t), 1 / (2 * sp.sqrt(t)), under=rising), ANY, ABOVE),
    "an undefined velocity": (
        Dynamics(x, 1 / t, under=Flow({x: 1 / t})),
        ANY,
        Domain((x, t), (), (Cell("", {t: 1}),)),
    ),
    "a relation that is not kept": (
        Dynamics(inner(u, u), 0 * x, under=Flow({x: x, y: y}, {inner(u, u): x**2 + y**2})),
        Domain((x, y), (u,)),
        None,
    ),
    "a vector in a product that is not kept": (
        Conservation(norm2(v), under=Flow({x: x, u: 1 * u})),
        Domain((x,), (u, v), let={v: x * u}),
        None,
    ),
    "a definition that is not kept": (
        Dynamics(d, 0 * d, under=Flow({x: -y, y: x, d: 1 + 0 * x})),
        kept_let,
        None,
    ),
}


def printed(statement, domain):
    found = list(lemmas("test", statement, domain))
    assert found
    assert all(isinstance(lemma, Lemma) for lemma in found), found
    return found


@pytest.mark.parametrize("name", TRUE)
def test_what_is_supposed_is_true_on_the_domain_and_names_its_origin(name):
    for lemma in printed(*TRUE[name]):
        assert not lemma.false
        assert all(h.origin for h in lemma.hypotheses)
        assert all(h.text != lemma.goal for h in lemma.hypotheses)


@with_rocq
def test_true_claims_are_accepted(tmp_path: Path):
    found = [replace(lemma, key=name) for name, claim in TRUE.items() for lemma in printed(*claim)]
    left = {answer.lemma.key: answer.left for answer in check(found, tmp_path, "true") if not answer.accepted}
    assert left == {}
    print(f"{len(found)} lemmas of {len(TRUE)} true claims accepted")


@with_rocq
def test_false_claims_and_those_that_are_a_hypothesis_are_not_accepted(tmp_path: Path):
    found = [replace(lemma, key=name) for name, claim in FALSE.items() for lemma in printed(*claim)]
    answers = check(found, tmp_path, "false", seconds=6)
    rejected = {answer.lemma.key for answer in answers if not answer.accepted}
    assert rejected == set(FALSE)
    print(f"{len(FALSE)} false claims tried, all rejected")


def asked(claims):
    """The lemmas of named claims; what has none is not accepted by anyone."""
    found = []
    for name, (statement, domain) in claims.items():
        made = [lemma for lemma in lemmas("test", statement, domain) if isinstance(lemma, Lemma)]
        assert made, name
        found += [replace(lemma, key=name) for lemma in made]
    return found


@with_rocq
def test_what_is_not_defined_is_not_accepted_though_rocq_gives_it_a_value(tmp_path: Path):
    """1/0, √-1 and ln 0 are numbers in Rocq, so that each denominator, radicand and logarithm is a debt."""
    wrong = asked({name: (statement, domain) for name, (statement, domain, _) in UNDEFINED.items()})
    right = asked({name: (statement, domain) for name, (statement, _, domain) in UNDEFINED.items() if domain})
    refused = {a.lemma.key for a in check(wrong, tmp_path, "undefined", seconds=6) if not a.accepted}
    assert refused == set(UNDEFINED)
    told = {lemma.key for lemma in wrong if lemma.false}
    left = {a.lemma.key: a.left for a in check(right, tmp_path, "defined") if not a.accepted}
    assert left == {}
    assert not any(lemma.false for lemma in right)
    print(f"{len(UNDEFINED)} undefined claims tried, all rejected, {len(told)} with a false debt named")
    print(f"{len(right)} lemmas of the same claims where they are defined, all accepted")


@with_rocq
def test_the_debts_are_what_keeps_undefined_claims_out(tmp_path: Path):
    """Without them Rocq proves what has no meaning, so that it is they that are tested."""
    wrong = asked({name: (statement, domain) for name, (statement, domain, _) in UNDEFINED.items()})
    trusting = [_without_debts(lemma) for lemma in wrong if lemma.debts]
    accepted = [a.lemma.key for a in check(trusting, tmp_path, "trusting", seconds=6) if a.accepted]
    assert len(accepted) >= 10
    print(f"{len(accepted)} of {len(trusting)} lemmas are accepted once their debts are supposed")


def _without_debts(lemma):
    parts = [replace(h, kind="condition") if h.kind == "debt" else h for h in lemma.parts]
    script = "\n".join(lemma.proof)
    script = re.sub(r"refine \(debt _ _ _ _\)\.\n\{.*\}\n", "", script)
    return replace(lemma, parts=parts, proof=script.split("\n"))


RESULTS = (
    "conserved_delta",
    "derivative_conditions",
    "grad_potential",
    "balanced_constant",
    "upstream_fitting",
)


@with_rocq
@pytest.mark.parametrize("key", [f"single_neuron.{name}" for name in RESULTS])
def test_the_proof_of_a_result_does_not_prove_a_changed_claim(key, tmp_path: Path):
    """The hypotheses do not contradict each other: with the same proof, a claim off by one is not accepted."""
    result = load(key)
    asked = printed(result.statement, result.domain)
    opposite = {"=": "=", "<": ">", ">": "<", "<=": ">", ">=": "<", "<>": "="}
    changed = [
        replace(lemma, right=lemma.right + int(lemma.relation == "="), relation=opposite[lemma.relation])
        for lemma in asked
    ]
    assert all(answer.accepted for answer in check(asked, tmp_path, "claimed"))
    assert not any(answer.accepted for answer in check(changed, tmp_path, "changed", seconds=6))
    print(f"{len(asked)} lemmas accepted, {len(changed)} changed ones rejected")


def test_a_hypothesis_that_is_false_on_the_domain_is_told():
    never = Domain((x, y), (), (Cell("here", {x: 1, y: 1}),))
    (lemma,) = printed(Identity(y / (x - sp.Abs(x)), y), never)
    assert len(lemma.false) == 1
    assert lemma.false[0].endswith("<> 0")


def test_no_lemma_is_printed_for_other_kinds_of_claims():
    chain = Existence("words", (Limit(x, x, 0, 0), Identity(x + y, y + x)))
    assert [lemma.key for lemma in lemmas("test", chain, POSITIVE)] == ["test.2"]


def test_each_hypothesis_is_printed_with_its_origin():
    statement, domain = TRUE["slope of the mirror potential"]
    text = printed(statement, domain)[0].text("L")
    assert re.search(r"\(\* H\d+, sign on the cell \*\)\n  \(0 < d\)", text)
    assert re.search(r"\(\* H\d+, a root: d\*\*2 \+ 4\*n\*\*2", text)
    assert "Axiom" not in text
    assert "admit" not in text.lower()


STORED = "single_neuron.grad_potential"


def entry():
    return next(e for e in index("result") if e.key == STORED)


def in_the_report(use_cache=False):
    return STORED in certify.stored("derivations.single_neuron", [entry()], use_cache)


def test_what_is_stored_is_shown_as_long_as_the_claim_is_the_same(monkeypatch):
    assert in_the_report()
    result = load(STORED)
    statement, domain = result.statement, result.domain
    tried = [(mutant, domain) for _, mutant in statement.mutants()]
    cell, *others = (statement.domain or domain).cells
    for changed in (others, [replace(cell, signs={}), *others]):
        elsewhere = replace(statement.domain or domain, cells=tuple(changed))
        tried.append((replace(statement, on=None), elsewhere))
    assert len(tried) > 2
    for changed in tried:
        result = SimpleNamespace(key=STORED, statement=changed[0], domain=changed[1])
        monkeypatch.setattr(certify, "load", lambda _, result=result: result)
        assert not in_the_report()
    print(f"{len(tried)} changes of a stored claim tried, none shown as accepted")


def test_the_hash_of_an_unchanged_module_is_remembered(monkeypatch, tmp_path):
    monkeypatch.setenv("SYMDYN_CACHE", str(tmp_path))
    assert in_the_report(use_cache=True)

    def not_again(*_):
        raise AssertionError("printed again")

    monkeypatch.setattr(certify, "printed", not_again)
    assert in_the_report(use_cache=True)
    with pytest.raises(AssertionError, match="printed again"):
        in_the_report()


def test_without_a_report_nothing_is_shown():
    jobs = [e for e in index("result") if e.key.startswith("wide_linear.")]
    assert certify.stored("derivations.wide_linear", jobs, use_cache=False) == {}
