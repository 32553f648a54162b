"""An argument may have any name: those of generated code, of Python and of NumPy mean nothing to it."""

from __future__ import annotations

import ast
import builtins
import keyword
import string

import mpmath
import numpy as np
import pytest
import sympy
import torch

from symdyn.calculus.gram import Dot, Vector, inner
from symdyn.calculus.matrix import eye, matrix, trace
from symdyn.calculus.matrix.arrays import _function
from symdyn.compile import Argument, build, printers
from symdyn.compile.heads import BACKENDS, OPERATIONS
from symdyn.compile.lower import Graph
from symdyn.compile.words import CompiledWords

a, plain = sympy.symbols("a plain", real=True)
A = Argument("a", a)
OPTIONS = {"check", "digits"}
"""What every call takes beside the arguments."""


def value(one, two):
    """A formula whose code has temporaries, guards, constants, choices and helpers."""
    return (
        sympy.exp(2 * one)
        + two * sympy.exp(one)
        + sympy.Piecewise((sympy.log(two) * sympy.sqrt(one), two > 1), (sympy.Max(one, two, -two), True))
        + sympy.erf(one) / (3 + sympy.cos(two)) ** 2
        + two**one
    )


def vectorial(u, v, two):
    return two * sympy.sqrt(inner(u, u)) * inner(u, v) / (1 + Dot(v, v))


def emitted() -> set[str]:
    """Every word of the code that is generated, of each operation and of formulas, and of its namespaces."""
    texts = []
    for operation, row in OPERATIONS.items():
        graph = Graph()
        for backend in BACKENDS:
            template = row.template(backend)
            if template is not None:
                fields = {int(field) for _, field, _, _ in string.Formatter().parse(template) if field}
                given = [graph.add("input", f"x{i}") for i in range(1 + max(fields, default=0))]
                texts.append(printers.source(graph, [graph.add(operation, *given)], ["x0"], backend, "t"))
    function = build(
        (value(a, plain), vectorial(Vector("u"), Vector("v"), plain)),
        (A, Argument("plain", plain), Argument("u", Vector("u")), Argument("v", Vector("v"))),
        name="t",
        domain=[("below 9", plain < 9, "plain")],
    )
    texts += [function.source(b) for b in BACKENDS] + [function._program.test_source(b) for b in BACKENDS]
    words = {
        word
        for text in texts
        for node in ast.walk(ast.parse(text))
        for word in (
            getattr(node, "id", None),
            getattr(node, "arg", None),
            getattr(node, "attr", None),
            getattr(node, "name", None),
        )
        if isinstance(word, str)
    }
    spaces = [printers.array_kernel(function.source(b), b, "t").__globals__ for b in ("numpy", "torch")]
    spaces.append(
        printers.exact_kernel(function.source("mpmath"), function._program.graph, 20, "t")[1].__globals__
    )
    return words | {word for space in spaces for word in space}


def hostile() -> list[str]:
    """Names within the code, ten more temporaries than it has, words of Python, and what a call binds."""
    found = emitted()
    last = max(int(word[1:]) for word in found if word[0] == "t" and word[1:].isdigit())
    temporaries = {f"t{i}" for i in range(last + 10)}
    assert len(temporaries & found) > 20
    python = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins)}
    return sorted((found | temporaries | python | {"self", "args", "kwargs", *OPTIONS}) - {"a", "u"})


NAMES = hostile()
KNOWN = build(value(a, plain), (A, Argument("plain", plain)), name="t")
POINTS = torch.tensor([[0.5, 0.75], [2.5, 0.3]], dtype=torch.float64)
EXPECTED = KNOWN(*POINTS)


def right(name: str) -> bool:
    """Whether a function of a number of that name is right everywhere, called by position and by name."""
    two = sympy.Symbol(name, real=True)
    tested = build(value(a, two), (A, Argument(name, two)), name="t", domain=[("below 9", two < 9, name)])
    found = [
        tested.torch(*POINTS),
        tested(*POINTS.numpy()),
        tested(**dict(zip(("a", name), POINTS, strict=True))),
    ]
    found.append(torch.func.vmap(tested)(*POINTS))
    exact = tested.mpmath(**{"a": 0.5, name: 2.5}, digits=20)
    with pytest.raises(ValueError, match=f"{name} must be below 9"):
        tested(0.5, 10.0)
    assert repr(tested).startswith("<compiled t(") and f"{name} (...)" in tested.__doc__
    return all(np.allclose(f, EXPECTED, rtol=1e-13) for f in found) and np.isclose(
        float(exact), EXPECTED[0], rtol=1e-13
    )


def right_vector(name: str) -> bool:
    """Whether a function of a vector of that name is."""
    u, v = Vector("u"), Vector(name)
    arguments = (Argument("u", u), Argument(name, v), Argument("plain", plain))
    tested = build(vectorial(u, v, plain), arguments, name="t")
    found = [tested([3.0, 4.0], [1.0, 2.0], 2.0), tested.torch([3.0, 4.0], [1.0, 2.0], 2.0)]
    found.append(tested.mpmath(**{"u": [3, 4], name: [1, 2], "plain": 2}, digits=20))
    return all(abs(float(f) - 110 / 6) < 1e-13 for f in found)


@pytest.mark.slow
def test_every_name_is_an_argument_like_any_other():
    refused, wrong = [], []
    for name in NAMES:
        try:
            good = right(name) and (not name[0].isalpha() or right_vector(name))
        except ValueError as error:
            assert "is an option of every call" in str(error)
            refused.append(name)
            continue
        if not good:
            wrong.append(name)
    counts = {"tried": len(NAMES), "right": len(NAMES) - len(refused) - len(wrong)}
    print(f"names of arguments of formulas: {counts | {'refused': len(refused), 'wrong': len(wrong)}}")
    assert (set(refused), wrong) == (OPTIONS, [])
    assert len(NAMES) > 250


def test_no_name_within_the_code_could_be_that_of_an_argument():
    """… in front of which the code writes `given_`: names that begin with it are of arguments."""
    text = build(value(a, plain), (A, Argument("plain", plain)), name="t").source("numpy")
    begins = {
        n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name) and n.id.startswith("given_")
    }
    assert begins == {"given_a", "given_plain"}
    assert {word for word in emitted() if word.startswith("given_")} <= {
        *("given_a", "given_plain", "given_u", "given_v"),
        *(f"given_x{i}" for i in range(5)),
    }


rows = sympy.Symbol("n", integer=True, positive=True)


def of_matrices(M, two):
    return two * sympy.sqrt(2 + two) * trace(M) * M + sympy.exp(two) * eye(rows)


@pytest.mark.slow
def test_every_name_is_a_number_or_a_matrix_of_a_function_of_matrices():
    """Their scalars are functions written by SymPy, among all the names of NumPy and torch."""
    spaces = (_function(sympy.sqrt(plain), (plain,), m).__globals__ for m in ("numpy", "torch"))
    names = sorted({word for space in spaces for word in space if word[0] != "_"} | set(NAMES) | {"M"})
    given, number = np.array([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([0.5, 0.5], dtype=torch.float64)
    expected = 2.5 * np.sqrt(2.5) * given + np.exp(0.5) * np.eye(2)
    M, refused, wrong = matrix("M0", rows, rows), [], []
    for name in names:
        two = sympy.Symbol(name, real=True)
        arguments = (Argument("M0", M.letter), Argument(name, two))
        try:
            function = CompiledWords(of_matrices(M, two), arguments, "t")
        except ValueError as error:
            assert "is an option of every call" in str(error)
            refused.append(name)
            continue
        found = [function(given, 0.5), *function(**{"M0": torch.tensor(given), name: number})]
        if name in NAMES and name[0].isalpha():
            letter = matrix(name, rows, rows)
            arguments = (Argument(name, letter.letter), Argument("plain", plain))
            of_letter = CompiledWords(of_matrices(letter, plain), arguments, "t")
            found += [of_letter(given, 0.5), of_letter.torch(**{name: given, "plain": 0.5})]
        if not all(np.allclose(f, expected, rtol=1e-13) for f in found):
            wrong.append(name)
    mapped = torch.func.vmap(lambda x: function(torch.tensor(given), x))(number)
    assert np.allclose(mapped, expected) and np.allclose(
        np.array(function.mpmath(given, 0.5), float), expected
    )
    counts = {"tried": len(names), "right": len(names) - len(refused) - len(wrong)}
    print(f"names of arguments of words: {counts | {'refused': len(refused), 'wrong': len(wrong)}}")
    assert (set(refused), wrong) == (OPTIONS, [])
    assert len(names) > 700


def test_a_number_and_a_matrix_of_one_name_are_two():
    from symdyn.calculus.matrix import evaluate_arrays

    M, two = matrix("a", rows, rows), sympy.Symbol("a")
    assert evaluate_arrays(two * trace(M), {M: np.eye(2), two: 3.0}) == 6
    with pytest.raises(ValueError, match="the argument a is listed twice"):
        CompiledWords(two * trace(M), (Argument("a", M.letter), Argument("a", two)), "t")
    renamed = CompiledWords(two * trace(M), (Argument("b", M.letter), Argument("a", two)), "t")
    assert renamed(np.eye(2), 3) == renamed(a=3, b=np.eye(2)) == renamed.torch(np.eye(2), 3) == 6
    with pytest.raises(TypeError, match=r"^b must"):
        renamed([["x"]], 3)


@pytest.mark.parametrize(
    "name",
    ["", " ", "1a", "a b", "a-b", "a.b", "a\n", "a=1", "a,b", "*a", "é", "λ", "ａ", "a\x00", "a;import os"],
)
def test_what_is_no_identifier_names_no_argument(name):
    with pytest.raises(ValueError, match="cannot name an argument: use ASCII letters"):
        build(a, (Argument(name, a),), name="t")


def test_one_symbol_is_not_two_arguments():
    with pytest.raises(ValueError, match="the arguments a, b stand for one symbol, a"):
        build(a, (A, Argument("b", a)), name="t")


def test_the_temporary_that_was_taken():
    t2 = sympy.Symbol("t2")
    g = build(sympy.exp(2 * a) + t2 * sympy.exp(a), [A, Argument("t2", t2)], name="g")
    expected = np.exp(1.4) + 1.3 * np.exp(0.7)
    assert g(a=0.7, t2=1.3) == pytest.approx(expected, rel=1e-15)
    assert float(g(a=torch.tensor(0.7, dtype=torch.float64), t2=1.3)) == pytest.approx(expected, rel=1e-15)
    assert float(g.mpmath(a=mpmath.mpf("0.7"), t2=mpmath.mpf("1.3"))) == pytest.approx(expected, rel=1e-15)
