"""Arguments are numbers: text is refused by name, and none of it is evaluated anywhere."""

from __future__ import annotations

import ast
import builtins
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
import sympy as sp
import torch

import derivations
import numerics
import symdyn
from symdyn.calculus import gram, isotropic
from symdyn.calculus.formula import formula
from symdyn.calculus.gram import Vector, inner
from symdyn.calculus.matrix import evaluate, matrix, trace
from symdyn.calculus.vectors import Entries
from symdyn.catalogue.registry import load
from symdyn.compile import Argument, NamedQuantity, build
from symdyn.compile.named import expm1_ratio
from symdyn.compile.words import CompiledWords
from symdyn.proof.check import decide
from symdyn.statements.domain import Domain
from symdyn.statements.kinds import Dynamics, Flow, Identity, Limit, Solution

x, y = sp.symbols("x y", real=True)
v, K = Vector("v"), Entries("K")
n = sp.Symbol("n", integer=True, positive=True)
A = matrix("A", n, n)
TRIP = "__import__('builtins').__dict__.update(tripped=1)"


class Text(str):
    pass


class Number:
    """What calls itself a number by a method alone."""

    def __float__(self):
        return 1.0

    def __str__(self):
        return TRIP

    __repr__ = __str__


TEXTS = [TRIP, "1", "0.5", "1/3", "nan", "oo", "", "x", Text("1"), np.str_(TRIP)]
BYTES = [b"1", bytearray(b"1"), memoryview(b"1"), np.bytes_(b"1"), np.array("1"), np.array(b"1")]
TRUTH = [True, np.bool_(True), sp.true, np.array(True), torch.tensor(True)]
OBJECTS = [None, Number(), object(), {"a": 1}, {1}, slice(1), int, len, x, x + 1]
COMPLEX = [1j, mpmath.mpc(1, 1), np.complex128(1j), sp.I, 1 + 2 * sp.I, sp.zoo]
NUMBERS = [
    (1, 1), (Fraction(1, 3), Fraction(1, 3)), (Decimal("0.1"), Fraction(1, 10)), (0.5, Fraction(1, 2)),
    (np.float32(0.5), Fraction(1, 2)), (np.float64(0.25), Fraction(1, 4)), (np.int8(3), 3), (np.uint64(2**63), 2**63),
    (np.longdouble("0.5"), Fraction(1, 2)), (np.float16(0.5), Fraction(1, 2)), (sp.Rational(1, 3), Fraction(1, 3)),
    (sp.Integer(7), 7), (sp.Float("0.5", 40), Fraction(1, 2)), (mpmath.mpf(0.75), Fraction(3, 4)),
    (np.array(0.5), Fraction(1, 2)), (torch.tensor(0.5), Fraction(1, 2)), (10**400, 10**400),
    (Decimal("1e-400"), Fraction(1, 10**400)), (2.0**-1074, Fraction(1, 2**1074)),
]  # fmt: skip

product = build(x * inner(v, v), (Argument("x", x), Argument("v", v)), name="t")
square = build(inner(K, K), (Argument("K", K),), name="t")
words = CompiledWords(x * trace(A), (Argument("A", A.letter), Argument("x", x)), "t")
BALANCE = load("wide_linear.conserved_balance")
CALLS = {
    "x of a formula": ("x", lambda bad: product.mpmath(bad, [1, 2])),
    "v of a formula": ("v", lambda bad: product.mpmath(1, [1, bad])),
    "the vector of a formula": ("v", lambda bad: product.mpmath(1, bad)),
    "an entry of a kernel": ("K", lambda bad: square.mpmath([[1, bad], [0, 1]])),
    "a kernel": ("K", lambda bad: square.mpmath(bad)),
    "x of words": ("x", lambda bad: words.mpmath([[1, 2], [3, 4]], bad)),
    "an entry of words": ("A", lambda bad: words.mpmath([[1, bad], [3, 4]], 1)),
    "an entry of words, unchecked": ("A", lambda bad: words.mpmath([[1, bad], [3, 4]], 1, check=False)),
    "the balance": ("A", lambda bad: BALANCE.mpmath(**{"A": [[bad]], "W": [[1]]})),
}


def test_what_is_no_real_number_is_refused_by_name_on_mpmath():
    counts, wrong = {"tried": 0, "refused": 0, "wrong": 0}, []
    for where, (name, call) in CALLS.items():
        for bad in (*TEXTS, *BYTES, *TRUTH, *OBJECTS, *COMPLEX):
            counts["tried"] += 1
            try:
                found = call(bad)
            except TypeError as error:
                assert str(error).startswith(f"{name} must "), (where, bad, error)
                counts["refused"] += 1
            else:
                wrong.append((where, bad, found))
    counts["wrong"] = len(wrong)
    print(f"what is no number, on mpmath: {counts}")
    assert not wrong and not hasattr(builtins, "tripped")


@pytest.mark.parametrize(("given", "exact"), NUMBERS)
def test_numbers_of_every_kind_are_exact_on_mpmath(given, exact):
    with mpmath.workdps(60):
        truth = mpmath.mpf(Fraction(exact).numerator) / Fraction(exact).denominator
        found = [
            product.mpmath(given, [1, 0]),
            words.mpmath([[given, 0], [0, 0]], 1),
            words.mpmath([[1]], given),
        ]
        assert all(abs(f - truth) <= abs(truth) * mpmath.mpf(10) ** -50 for f in found)


def test_what_a_masked_array_hides_has_no_value_on_mpmath():
    hidden = np.ma.masked_array([1.0, 2.0], [False, True])
    for call in (lambda: product.mpmath(1, hidden), lambda: product.mpmath(hidden[1], [1])):
        with pytest.raises(TypeError, match=r"^[xv] is a masked array that hides"):
            call()
    with pytest.raises(TypeError, match="A is a masked array that hides"):
        words.mpmath(np.ma.masked_array([[1.0]], [[True]]), 1)
    assert product.mpmath(1, np.ma.masked_array([1.0, 2.0])) == 5


def test_a_constant_of_mpmath_has_all_digits():
    with mpmath.workdps(70):
        truth = +mpmath.pi
    assert abs(product.mpmath(mpmath.pi, [1], digits=60) - truth) < mpmath.mpf(10) ** -59


def test_words_on_mpmath_are_finite():
    for bad in (float("inf"), mpmath.nan, np.float64("nan"), Decimal("Infinity"), sp.oo, sp.nan):
        with pytest.raises(ValueError, match="A must be finite"):
            words.mpmath([[1, 0], [0, bad]], 1)


SYMBOLIC = {
    "gram.evaluate, a number": lambda bad: gram.evaluate(x, {x: bad}),
    "gram.evaluate, a vector": lambda bad: gram.evaluate(v, {v: [1, bad]}),
    "isotropic": lambda bad: isotropic.Isotropic(x, x, y, v).evaluate({v: [1], x: bad}),
    "matrix.evaluate, a number": lambda bad: evaluate(x * trace(A), {x: bad, A: [[1]]}),
    "matrix.evaluate, an entry": lambda bad: evaluate(trace(A), {A: [[bad]]}),
    "matrix.evaluate, a size": lambda bad: evaluate(n * x, {x: 1}, {n: bad}),
    "a named function": expm1_ratio,
    "a named quantity": lambda bad: NamedQuantity("test_text", "q", (x,), bad, module=__name__),
    "a form of one": lambda bad: NamedQuantity("test_text", "q", (x,), x, ((x > 0, bad),), module=__name__),
    "the value of a function": lambda bad: build(bad, (Argument("x", x),), name="t"),
    "a side": lambda bad: decide(Identity(x, bad)),
    "the other side": lambda bad: decide(Identity(bad, x)),
    "a form that compiles": lambda bad: decide(Identity(x, x, compiles=bad)),
    "where a limit is": lambda bad: decide(Limit(1 / x, x, bad, sp.Integer(0))),
    "a limit": lambda bad: decide(Limit(1 / x, x, sp.oo, bad)),
    "a velocity": lambda bad: decide(Dynamics(x, bad, Flow({x: x}))),
    "a closed form": lambda bad: decide(Solution({x: bad}, {x: -x}, {x: y}, sp.Symbol("t"))),
    "what a symbol stands for": lambda bad: list(Domain((x,), let={y: bad}).points(Domain().cells[0])),
    "a pair": lambda bad: formula((x, bad)),
}


def test_no_text_becomes_a_formula():
    counts, wrong = {"tried": 0, "refused": 0, "wrong": 0}, []
    for where, call in SYMBOLIC.items():
        for bad in (TRIP, "1", "x", np.str_(TRIP), Text(TRIP), b"1"):
            counts["tried"] += 1
            try:
                wrong.append((where, bad, call(bad)))
            except TypeError:
                counts["refused"] += 1
    counts["wrong"] = len(wrong)
    print(f"text in place of a formula: {counts}")
    assert not wrong and not hasattr(builtins, "tripped")


ALLOWED = {("symdyn/calculus/formula.py", "sympify"), ("symdyn/compile/printers.py", "exec")}
EVALUATE = {
    "eval",
    "exec",
    "sympify",
    "S",
    "parse_expr",
    "sympy_parser",
    "mpmathify",
    "execfile",
}


def test_no_code_evaluates_text():
    """… but the kernels that are generated, in which arguments have names of their own."""
    found, files = set(), 0
    for package in (symdyn, derivations, numerics):
        root = Path(package.__file__).parent
        for path in root.rglob("*.py"):
            files += 1
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                called = node.func if isinstance(node, ast.Call) else None
                name = getattr(called, "attr", getattr(called, "id", None))
                whole = isinstance(called, ast.Name) or name not in (
                    "eval",
                    "exec",
                )  # a module's .eval() is none
                if name in EVALUATE and whole:
                    found.add((str(path.relative_to(root.parent)), name))
    assert found == ALLOWED and files > 150
