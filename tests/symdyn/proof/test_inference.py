"""Rules of inference: what follows is proved, and nothing that is false holds by any of them."""

from __future__ import annotations

import pytest
import sympy as sp

from symdyn.calculus.gram import Flow
from symdyn.proof.check import decide, verify
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.inference import (
    AtMostOneZero,
    Characterised,
    CrossesOnce,
    Invariant,
    InvariantRegion,
    Monotone,
    SameZeros,
    UniqueMinimiser,
)
from symdyn.statements.kinds import Conjunction, Existence, Identity, Inequality

x, y, k = sp.symbols("x y k", real=True)
right = Domain((x, k), cells=(Cell("x > 0", {x: 1}),), words="x > 0")
unsaid = Domain((x, k), cells=(Cell("x > 0", {x: 1}),))
both_sides = Domain((x, k), cells=(Cell("x > 0", {x: 1}), Cell("x < 0", {x: -1})), words="x ≠ 0")
outside = Domain((x, k), conditions=(x**2 > 1,), words="|x| > 1")
strong = Domain((x, y, k), cells=(Cell("k > 0", {k: 1}),), words="k > 0")


def moving(**velocities):
    return Flow({sp.Symbol(name, real=True): v for name, v in velocities.items()})


decay, drift, spring = moving(x=-x), moving(x=sp.Integer(1)), moving(x=y, y=-x)
competing = moving(x=y, y=x)
square = lambda value: (Identity(value, x**2),)  # noqa: E731

halves = ((sp.Rational(1, 2),) * 2, (sp.Rational(1, 2), -sp.Rational(1, 2)))

TRUE = [
    Invariant(x, sp.Integer(-1), decay),
    Invariant(x, 1 - k * x, moving(x=x * (1 - k * x))),
    Invariant(x - y, sp.Integer(-1), competing),
    InvariantRegion((x, y), competing),
    InvariantRegion((-x, -y), competing),
    InvariantRegion((x,), moving(x=1 - x)),
    Monotone(x, sp.Integer(1), ">", drift),
    Monotone(x**2, -2 * x**2, "<=", decay),
    CrossesOnce(x, -y, sp.Integer(1), moving(x=1 - x * y, y=x)),
    CrossesOnce(x, sp.S.Zero, 1 + y**2, moving(x=1 + y**2)),
    AtMostOneZero(x**3 + x + k, x),
    AtMostOneZero(k - x, x, "<"),
    AtMostOneZero(sp.exp(x) + k, x),
    AtMostOneZero(x**2 + k, x, ">", right),
    UniqueMinimiser(x**2 - 2 * k * x, (x,), (k,)),
    UniqueMinimiser(x**2 + x * y + y**2 - 3 * x, (x, y), (sp.Integer(2), sp.Integer(-1))),
    UniqueMinimiser(k * x**2 - k**2 * x, (x,), (k / 2,), strong),
    SameZeros((x + y, x - y), (x, y), halves, ((1, 1), (1, -1))),
    SameZeros((k * x,), (x,), ((1 / k,),), ((k,),), strong),
]  # fmt: skip

FALSE = [
    Invariant(x, sp.Integer(1), decay),
    Invariant(x, sp.Integer(0), drift),
    Invariant(x, 1 / x, drift),
    Invariant(x, sp.Pow(x**2, -sp.Rational(1, 3)), moving(x=sp.cbrt(x))),
    Invariant(1 / x, -1 / x, drift),
    Invariant(x, y / x, spring),
    Invariant(x - 1, sp.Integer(-1), decay),
    InvariantRegion((x, y), spring),
    InvariantRegion((x,), decay.__class__({x: -sp.Integer(1)})),
    InvariantRegion((x,), drift.__class__({x: -x - 1})),
    InvariantRegion((x, y), moving(x=y, y=-x + y)),
    InvariantRegion((x,), moving(x=-sp.cbrt(x))),
    InvariantRegion((x - 1,), decay),
    InvariantRegion((x + y,), competing),
    InvariantRegion((-x, y), competing),
    InvariantRegion((x, x), drift),
    InvariantRegion((k,), decay),
    InvariantRegion((x,), moving(x=k)),
    InvariantRegion((), decay),
    Monotone(x, sp.Integer(1), "<", drift),
    Monotone(x, x, ">", moving(x=x)),
    Monotone(x**2, -2 * x**2, "<", decay),
    Monotone(-1 / x, x**-2, ">", drift),
    Monotone(x, sp.Integer(1), "!=", drift),
    Monotone(x, sp.Integer(2), ">", drift),
    Monotone(x, k, ">", moving(x=k)),
    CrossesOnce(x, sp.S.Zero, y, spring),
    CrossesOnce(x, sp.S.Zero, sp.Integer(-1), moving(x=-sp.Integer(1))),
    CrossesOnce(x, y / x, sp.Integer(1), moving(x=1 + y, y=x)),
    CrossesOnce(x, sp.Integer(0), y**2, moving(x=y**2)),
    CrossesOnce(x, sp.Integer(1), sp.Integer(1), drift),
    CrossesOnce(sp.tan(x), sp.tan(x), sp.Integer(1), drift),
    AtMostOneZero(x**2 - 1, x),
    AtMostOneZero(x**3, x),
    AtMostOneZero(x**3 - x, x, ">"),
    AtMostOneZero(-1 / x + k, x),
    AtMostOneZero(x - 1 / x, x),
    AtMostOneZero(sp.tan(x), x),
    AtMostOneZero(x - sp.floor(x), x),
    AtMostOneZero(x - 2 * sp.sign(x), x),
    AtMostOneZero(x + k, x, ">="),
    AtMostOneZero(x + k, x, "!="),
    AtMostOneZero(k * x, x),
    AtMostOneZero(x**2 - k, x, "<", right),
    AtMostOneZero(x**2 - k, x, ">", unsaid),
    AtMostOneZero(x - 1 / x, x, ">", both_sides),
    AtMostOneZero(x**3 - x, x, ">", outside),
    AtMostOneZero(sp.Piecewise((x, x < 0), (x - 1, True)), x),
    UniqueMinimiser(-(x**2), (x,), (sp.S.Zero,)),
    UniqueMinimiser(x**2, (x,), (sp.S.One,)),
    UniqueMinimiser(x**2 + y, (x, y), (sp.S.Zero, sp.S.Zero)),
    UniqueMinimiser(x**2 - y**2, (x, y), (sp.S.Zero, sp.S.Zero)),
    UniqueMinimiser((x + y) ** 2, (x, y), (sp.S.Zero, sp.S.Zero)),
    UniqueMinimiser(x**4 - x**2, (x,), (sp.S.Zero,)),
    UniqueMinimiser(k * x**2, (x,), (sp.S.Zero,)),
    UniqueMinimiser(x**2, (x,), (x,)),
    UniqueMinimiser(x**2, (), ()),
    UniqueMinimiser(x**2 + 2 * x, (x,), (-sp.S.One,), right),
    UniqueMinimiser((x**2 - 1) ** 2, (x,), (sp.S.One,), outside),
    UniqueMinimiser(sp.Abs(x), (x,), (sp.S.Zero,)),
    UniqueMinimiser(x + 1 / x, (x,), (sp.S.One,)),
    UniqueMinimiser(x**2 + 3 * x * y + y**2, (x, y), (sp.S.Zero, sp.S.Zero)),
    SameZeros((x**2,), (x,), ((1 / x,),), ((x,),)),
    SameZeros((x * y,), (x,), ((1 / y,),), ((y,),)),
    SameZeros((k * x,), (x,), ((1 / k,),), ((k,),)),
    SameZeros((x,), (y,), ((sp.S.One,),), ((sp.S.One,),)),
    SameZeros((x,), (x, y), ((1,), (0,)), ((1, 0),)),
    SameZeros((x,), (2 * x,), ((1,),), ((1,),)),
    SameZeros((), (x,), ((),), ()),
    SameZeros((x,), (x,), (), ()),
    SameZeros((x**2 - y**2,), (x - y,), ((1 / (x + y),),), ((x + y,),)),
    Characterised.of(x**2 + 1, square),
    Characterised.of(x, square),
    Characterised.of(x**2, lambda value: (Identity(value, x**2), Inequality(value, ">"))),
    Conjunction(Identity(x, x), Inequality(x**2, ">")),
]  # fmt: skip


@pytest.mark.parametrize("statement", TRUE, ids=str)
def test_what_follows_is_proved(statement):
    verdict = decide(statement)
    assert verdict.outcome == "PROVED", verdict.evidence
    assert statement.latex() and statement.conclusion


@pytest.mark.parametrize("number", range(len(FALSE)))
def test_nothing_false_holds(number):
    assert decide(FALSE[number]).holds is not True, FALSE[number]


def test_there_are_enough_false_instances():
    print(f"{len(FALSE)} false statements tried, {len(TRUE)} true ones")
    assert len(FALSE) >= 70


@pytest.mark.parametrize(
    "statement",
    [TRUE[i] for i in (1, 3, 8, 10, 15, 18)],
    ids=lambda statement: type(statement).__name__,
)
def test_the_premises_of_a_rule_have_mutants_that_are_refuted(statement):
    verdict = verify(statement, few_mutants="a short claim")
    assert verdict.holds and verdict.mutants and not verdict.survivors


def test_the_words_are_made_from_the_facts():
    assert AtMostOneZero(x + k, x).conclusion == "$k + x$ vanishes for at most one $x$"
    assert InvariantRegion((x, -y), spring).conclusion.endswith(r"$\{x > 0,\; - y > 0\}$")
    assert "for x > 0" in AtMostOneZero(x**2 + k, x, ">", right).conclusion
    assert Characterised.of(x**2, square, name="q").latex().startswith(r"q = x^{2} \quad\text{satisfies}")


def test_a_value_that_is_characterised_compiles_and_nothing_is_argued():
    made = Characterised.of(x**2, square)
    verdict = verify(made, Domain((x,)), few_mutants="one term")
    assert made.value == x**2 and not made.argued and verdict.holds and verdict.mutants


def test_a_value_without_its_facts_is_no_characterisation():
    with pytest.raises(TypeError, match="made from it"):
        Characterised(because=(Identity(x, x),), compiles=x)
    with pytest.raises(TypeError, match="no conclusion"):
        Conjunction(Identity(x, x), conclusion="every network learns")


def test_a_conjunction_that_compiles_has_mutants():
    both = Conjunction(
        Identity(x + k, k + x), Identity((x + k) ** 2, x**2 + 2 * x * k + k**2), compiles=(x + k) ** 2
    )
    verdict = verify(both, Domain((x, k)))
    assert verdict.holds and any("form that compiles" in label for label in verdict.mutants)


def test_words_are_argued_whatever_rule_they_stand_on():
    assert decide(Existence("so it is", (TRUE[0],))).holds is None
