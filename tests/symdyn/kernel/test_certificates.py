"""Certificates of real claims: accepted as they are, refused once a number, a sign or a relation in them is changed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import pytest
from flint import fmpq, fmpq_mpoly

from symdyn.catalogue.registry import load
from symdyn.kernel import Lemma, Number, Product, Proof, Refused, Relation, Root, Section, Sum, check
from symdyn.kernel.signs import Sign, of_number
from symdyn.kernel.steps import Context
from symdyn.lemmas.algebra import claimed
from symdyn.lemmas.claims import scalar_claims, written
from symdyn.proof.certificates.certificate_search import NotFound, certificate
from symdyn.proof.zero.exponents import simpler

KEYS = (
    "single_neuron.potential",
    "single_neuron.grad_potential",
    "single_neuron.stable_forms",
    "single_neuron.balanced_sign",
    "single_neuron.final_branch",
    "single_neuron.polar_dynamics",
    "single_neuron.downstream_fitting",
    "piecewise_linear.phase_boundary",
    "piecewise_linear.partition",
    "piecewise_linear.downstream_limit",
    "piecewise_linear.representable_functions",
    "piecewise_linear.movement_by_fitting",
    "wide_linear.scalar_preconditioner",
    "wide_linear.entropy",
)
MOST = 14
"""At most so many claims of a result."""


@cache
def certified() -> tuple[tuple[str, Lemma, Proof, Any], ...]:
    """Claims of results that are verified, each with its certificate."""
    found = []
    for key in KEYS:
        result = load(key)
        claims = [c for c in scalar_claims(key, result.statement, result.domain) if len(c) > 2]
        for claim in claims[:: max(1, len(claims) // MOST)][:MOST]:
            lemma, page = written(*claim, simpler)
            made = claimed(lemma)
            try:
                proof = certificate(made, 5.0)
            except NotFound:
                continue
            drawn = list(claim[2].points(claim[3], per_dimension=1))
            points = tuple({str(v): x for v, x in page.values_at(p).items()} for p in (drawn[0], drawn[-1]))
            found.append((f"{claim[0]} {claim[1]} on {claim[3].name}", made, proof, points))
    return tuple(found)


def test_certificates_of_real_claims_are_accepted() -> None:
    for _, made, proof, _ in certified():
        check(made, proof)
    kinds = {type(s).__name__ for _, _, p, _ in certified() for section in p.sections for s in section.steps}
    print(f"{len(certified())} certificates, with steps {', '.join(sorted(kinds))}")
    assert len(certified()) >= 100
    assert {"Use", "Combination", "Divisor", "Monotone", "Dominates", "Root"} <= kinds


def with_steps(proof: Proof, at: int, name: str, steps: list[Any]) -> Proof:
    changed = replace(proof.sections[at], **{name: tuple(steps)})
    return replace(proof, sections=(*proof.sections[:at], changed, *proof.sections[at + 1 :]))


def accepted(made: Lemma, proof: Proof) -> bool:
    try:
        check(made, proof)
    except Refused:
        return False
    return True


def changed(x: Any, rng: random.Random) -> Iterator[tuple[str, Any]]:
    """Copies of a part of a certificate with one number changed, and what was changed."""
    if isinstance(x, bool) or x is None:
        return
    if isinstance(x, fmpq_mpoly):
        terms = list(x.to_dict().items())
        m, c = rng.choice(terms) if terms else ((0,) * x.context().nvars(), fmpq(0))
        monomial = x.context().from_dict({m: fmpq(1)})
        yield "a coefficient", x + monomial
        yield "a part in 10^12", x + monomial * fmpq(1, 10**12)
        yield "a sign", x - 2 * c * monomial if c else x - monomial
    elif isinstance(x, (int, fmpq)):
        yield "a number", x + 1
        yield "the sign of a number", -x if x else x - 1
    elif isinstance(x, str):
        return
    elif isinstance(x, tuple):
        for k, y in enumerate(x):
            for what, z in changed(y, rng):
                yield what, (*x[:k], z, *x[k + 1 :])
    elif is_dataclass(x):
        for f in fields(x):
            for what, z in changed(getattr(x, f.name), rng):
                yield f"{what} in {f.name} of {type(x).__name__}", replace(x, **{f.name: z})


def says_nothing_false(made: Lemma, proof: Proof, points: Any, patch: pytest.MonkeyPatch) -> bool:
    """Whether all that a proof finds, outside of cases, is true at points, computed without the kernel."""
    contexts: list[Context] = []
    found: list[tuple[Any, Sign]] = []
    learn, root = Context.learn, Root.check

    def learning(self: Context, p: Any, sign: Sign) -> None:
        contexts.append(self)
        learn(self, p, sign)
        if self is contexts[0]:
            found.append((p, self.sign(p)))

    def rooting(self: Root, context: Context) -> None:
        root(self, context)
        found.append((self, Sign.NONE))

    with patch.context() as patched:
        patched.setattr(Context, "learn", learning)
        patched.setattr(Root, "check", rooting)
        if not accepted(made, proof):
            return True
    with mpmath.workdps(40):
        return all(_says_nothing_false(found, dict(point)) for point in points)


def _says_nothing_false(found: list[tuple[Any, Sign]], at: dict[str, Any]) -> bool:
    for r in (what for what, _ in found if isinstance(what, Root)):
        at[r.variable] = mpmath.root(number(r.above, at)[0] / number(r.below, at)[0], r.n)
    for p, sign in found:
        if not isinstance(p, Root):
            x, size = number(p, at)
            near = abs(x) <= size * mpmath.mpf("1e-25")
            if not (sign & Sign.ZERO if near else sign & of_number(x)):
                return False
    return True


def number(p: Any, at: dict[str, Any]) -> tuple[Any, Any]:
    """The number that a polynomial is at a point, and the size of its terms."""
    names = p.context().names()
    out = size = mpmath.mpf(0)
    for m, c in p.to_dict().items():
        term = mpmath.mpf(int(c.p)) / int(c.q)
        for name, n in zip(names, m, strict=True):
            if n:
                term *= at[name] ** int(n)
        out, size = out + term, size + abs(term)
    return out, size


def test_a_changed_certificate_is_refused_or_says_nothing_false(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accepted is only what is true all the same: twice what vanishes vanishes, another multiplier does as well."""
    rng = random.Random(1)
    tried = refused = 0
    false = []
    for name, made, proof, points in certified()[:100]:
        for at, section in enumerate(proof.sections):
            for part in ("steps", "supposing"):
                steps = list(getattr(section, part))
                for k, step in enumerate(steps):
                    changes = list(changed(step, rng))
                    for what, other in rng.sample(changes, min(len(changes), 3)):
                        tried += 1
                        changed_proof = with_steps(proof, at, part, [*steps[:k], other, *steps[k + 1 :]])
                        if not accepted(made, changed_proof):
                            refused += 1
                        elif not says_nothing_false(made, changed_proof, points, monkeypatch):
                            false.append((name, what, other))
    as_true = tried - refused - len(false)
    print(f"{tried} changed certificates: {refused} refused, {as_true} as true as before, {len(false)} false")
    assert not false, false[:3]
    assert tried > 900 and refused > 0.8 * tried


def false_goals(goal: Relation) -> Iterator[tuple[str, Relation]]:
    """Claims that are false wherever the goal is true, and its two sides are not zero."""
    if goal.relation == "=":
        yield "one part in 10^12", replace(goal, left=Sum((goal.left, Number(Fraction(1, 10**12)))))
        yield "one", replace(goal, right=Sum((goal.right, Number(Fraction(1)))))
        yield "different", replace(goal, relation="<>")
        yield "larger", replace(goal, relation=">")
    else:
        opposite = {">": "<=", "<": ">=", ">=": "<", "<=": ">", "<>": "="}[goal.relation]
        yield "the opposite", replace(goal, relation=opposite)
        yield (
            "equal",
            replace(goal, relation="=")
            if goal.relation in ("<", ">", "<>")
            else replace(goal, relation=opposite),
        )


def test_a_false_claim_with_the_certificate_of_the_true_one_is_refused() -> None:
    tried = 0
    for name, made, proof, _ in certified():
        for what, goal in false_goals(made.goal):
            other = replace(made, goal=goal)
            tried += 1
            assert not accepted(other, proof), (name, what)
            if tried % 12 == 0:
                with pytest.raises(NotFound):
                    certificate(other, 0.3)
    print(f"{tried} false claims with the certificates of true ones: all refused")
    assert tried > 300


def test_a_proof_of_another_lemma_is_refused() -> None:
    proofs = [proof for _, _, proof, _ in certified()]
    tried = 0
    for (name, made, own, _), proof in zip(certified(), [*proofs[7:], *proofs[:7]], strict=True):
        if proof != own and Product not in (made.goal.left, made.goal.right):
            tried += 1
            empty = Proof(tuple(Section(()) for _ in own.sections), own.roots)
            if not accepted(made, empty):
                assert not accepted(made, proof), name
    assert tried > 60
