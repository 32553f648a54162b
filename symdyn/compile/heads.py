"""The SymPy heads that compile, with what each becomes in NumPy, PyTorch and mpmath.

A head is a SymPy class as it occurs in an expression. One row of `HEADS` says how it is computed: by an
operation (`via`, one of `OPERATIONS`), or by `rewrite` into other heads. Sums, products and powers are taken
apart by `symdyn.compile.lower`; they are listed in `STRUCTURE`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import sympy

BACKENDS = ("numpy", "torch", "mpmath")

STRUCTURE = ("Add", "Mul", "Pow", "Symbol", "Integer", "Rational", "pi", "exp(1)", "Infinity", "Piecewise")
RELATIONS = ("And", "Or", "Not", "Equality", "Unequality", "<", "<=", ">", ">=")


class UnsupportedHead(NotImplementedError):
    """A formula contains something that a backend cannot compute. Raised when the function is built."""

    def __init__(self, name: str, head: str, backend: str | None = None, advice: str = "") -> None:
        where = f" on the backend {backend}" if backend else ""
        message = f"{name}: the head {head} cannot be compiled{where}. {advice}"
        super().__init__(f"{message.rstrip()} Supported heads: {', '.join(supported_heads(backend))}.")
        self.name, self.head, self.backend = name, head, backend


@dataclass(frozen=True)
class Operation:
    """How one operation is written; `{0}`, `{1}` are its operands, None where a backend has none.

    In the templates `xp` is numpy or torch, `aid` the helpers of `symdyn.compile.aids`, `mp` an mpmath
    context. `harmless` is an operand at which the value and all derivatives are finite; None for an operation
    that is finite with its derivatives everywhere.
    """

    numpy: str | None
    torch: str | None
    mpmath: str
    harmless: float | None = None
    lift: bool = False  # torch wants a tensor where an operand is a constant

    def template(self, backend: str) -> str | None:
        return {"numpy": self.numpy, "torch": self.torch, "mpmath": self.mpmath}[backend]


def _both(array: str, mpmath: str, harmless: float | None = None, lift: bool = False) -> Operation:
    return Operation(array, array, mpmath, harmless, lift)


OPERATIONS: dict[str, Operation] = {
    "add": _both("{0} + {1}", "{0} + {1}"),
    "subtract": _both("{0} - {1}", "{0} - {1}"),
    "multiply": _both("{0} * {1}", "{0} * {1}"),
    "divide": _both("{0} / {1}", "aid.divide({0}, {1})", 1.0),
    "negative": _both("-{0}", "-{0}"),
    "power": Operation("aid.power({0}, {1})", "{0} ** {1}", "aid.power({0}, {1})", 1.0),
    "sqrt": Operation("xp.sqrt({0})", "arrays.sqrt(xp, {0})", "aid.sqrt({0})", 1.0),
    "exp": _both("xp.exp({0})", "mp.exp({0})", 0.0),
    "expm1": _both("xp.expm1({0})", "mp.expm1({0})", 0.0),
    "log": _both("xp.log({0})", "aid.log({0})", 1.0),
    "log1p": _both("xp.log1p({0})", "aid.log1p({0})", 0.0),
    "sinh": _both("xp.sinh({0})", "mp.sinh({0})", 0.0),
    "cosh": _both("xp.cosh({0})", "mp.cosh({0})", 0.0),
    "tanh": _both("xp.tanh({0})", "mp.tanh({0})"),
    "asinh": _both("xp.arcsinh({0})", "mp.asinh({0})"),
    "acosh": _both("xp.arccosh({0})", "aid.acosh({0})", 2.0),
    "atanh": _both("xp.arctanh({0})", "aid.atanh({0})", 0.0),
    "sin": _both("xp.sin({0})", "mp.sin({0})"),
    "cos": _both("xp.cos({0})", "mp.cos({0})"),
    "tan": _both("xp.tan({0})", "mp.tan({0})", 0.0),
    "asin": _both("xp.arcsin({0})", "aid.asin({0})", 0.0),
    "acos": _both("xp.arccos({0})", "aid.acos({0})", 0.0),
    "atan": _both("xp.arctan({0})", "mp.atan({0})"),
    "atan2": _both("xp.arctan2({0}, {1})", "mp.atan2({0}, {1})", 1.0, lift=True),
    "absolute": _both("xp.abs({0})", "abs({0})"),
    "sign": _both("xp.sign({0})", "mp.sign({0})"),
    "maximum": _both("xp.maximum({0}, {1})", "max({0}, {1})", lift=True),
    "minimum": _both("xp.minimum({0}, {1})", "min({0}, {1})", lift=True),
    "erf": Operation("aid.special().erf({0})", "xp.special.erf({0})", "mp.erf({0})"),
    "erfc": Operation("aid.special().erfc({0})", "xp.special.erfc({0})", "mp.erfc({0})"),
    "lambertw": Operation("aid.lambertw({0})", None, "aid.lambertw({0})", 0.0),
    "root_sum": _both("aid.root_sum(xp, {0}, {1})", "aid.sqrt({0} * {0} + {1})", 1.0, lift=True),
    "root_of_squares": _both("aid.root_of_squares(xp, {0}, {1}, {2}, {3})", "aid.sqrt({0} * {0} + {1} * {2})"),
    "square_over": _both("aid.square_over(xp, {0}, {1}, {2})", "aid.divide({1}, {2})", 1.0),
    "dot_over": _both("aid.dot_over(xp, {0}, {1}, {2}, {3})", "aid.dot_over({0}, {1}, {2}, {3})"),
    "cosine_distance": _both("aid.cosine_distance(xp, {0}, {1})", "aid.cosine_distance({0}, {1})"),
    "expm1_ratio": _both("arrays.phi1(xp, {0})", "aid.expm1_ratio({0})", 0.0),
    "log1p_ratio": _both("aid.log1p_ratio(xp, {0})", "aid.log1p_ratio({0})", 0.0),
    "share": _both("aid.share(xp, {0}, {1}, {2})", "aid.share({0}, {1}, {2})"),
    "where": _both("xp.where({0}, {1}, {2})", "{1} if {0} else {2}"),
    "guard": Operation("{1}", "xp.where({0}, {1}, {2})", "{1} if {0} else {2}"),
    "less": _both("{0} < {1}", "{0} < {1}"),
    "less_equal": _both("{0} <= {1}", "{0} <= {1}"),
    "equal": _both("{0} == {1}", "{0} == {1}"),
    "unequal": _both("{0} != {1}", "{0} != {1}"),
    "and": _both("{0} & {1}", "{0} and {1}"),
    "or": _both("{0} | {1}", "{0} or {1}"),
    "not": _both("~{0}", "not {0}"),
    "dot": _both("({0} * {1}).sum(-1)", "aid.dot({0}, {1})"),
    "norm": _both("arrays.norm(xp, {0})", "aid.norm({0})"),
    "unit": _both("aid.unit(xp, {0})", "aid.unit({0})"),
    "scale": _both("aid.scale({0}, {1})", "aid.scale({0}, {1})"),
    "add_vectors": _both("{0} + {1}", "aid.add({0}, {1})"),
    "zero_vector": _both("xp.zeros_like({0})", "aid.scale(0, {0})"),
    "outer": _both("aid.outer({0}, {1}, {2})", "aid.outer({0}, {1}, {2})"),
    "diagonal": _both("aid.diagonal(xp, {0}, {1})", "aid.diagonal({0}, {1})"),
    "add_matrices": _both("{0} + {1}", "aid.add_matrices({0}, {1})"),
    "isotropic": _both("aid.isotropic(xp, {0}, {1}, {2}, {3})", "aid.isotropic({0}, {1}, {2}, {3})"),
}  # fmt: skip


@dataclass(frozen=True)
class Head:
    """A SymPy class and how it is computed: by an operation, or rewritten into other heads."""

    cls: Any
    via: str | None = None
    rewrite: Callable[..., Any] | None = None

    def available(self, backend: str) -> bool:
        return self.via is None or OPERATIONS[self.via].template(backend) is not None


# Far from the origin sech and csch are written with decaying exponentials: gradients then do not overflow.
_FAR = sympy.Integer(20)


def _sech(x: Any) -> Any:
    decay = sympy.exp(-sympy.Abs(x))
    return sympy.Piecewise(
        (1 / sympy.cosh(x), sympy.Abs(x) < _FAR), (2 * decay / (1 + decay**2), True), evaluate=False
    )


def _csch(x: Any) -> Any:
    decay = sympy.exp(-sympy.Abs(x))
    return sympy.Piecewise(
        (1 / sympy.sinh(x), sympy.Abs(x) < _FAR),
        (2 * sympy.sign(x) * decay / (1 - decay**2), True),
        evaluate=False,
    )


def _heaviside(x: Any, at_zero: Any) -> Any:
    return sympy.Piecewise((1, x > 0), (0, x < 0), (at_zero, sympy.Eq(x, 0)), evaluate=False)


HEADS: dict[Any, Head] = {
    head.cls: head
    for head in (
        Head(sympy.exp, "exp"),
        Head(sympy.log, "log"),
        Head(sympy.sinh, "sinh"),
        Head(sympy.cosh, "cosh"),
        Head(sympy.tanh, "tanh"),
        Head(sympy.coth, rewrite=lambda x: 1 / sympy.tanh(x)),
        Head(sympy.sech, rewrite=_sech),
        Head(sympy.csch, rewrite=_csch),
        Head(sympy.asinh, "asinh"),
        Head(sympy.acosh, "acosh"),
        Head(sympy.atanh, "atanh"),
        Head(sympy.acoth, rewrite=lambda x: sympy.atanh(1 / x)),
        Head(sympy.sin, "sin"),
        Head(sympy.cos, "cos"),
        Head(sympy.tan, "tan"),
        Head(sympy.asin, "asin"),
        Head(sympy.acos, "acos"),
        Head(sympy.atan, "atan"),
        Head(sympy.atan2, "atan2"),
        Head(sympy.Abs, "absolute"),
        Head(sympy.sign, "sign"),
        Head(sympy.Max, "maximum"),
        Head(sympy.Min, "minimum"),
        Head(sympy.Heaviside, rewrite=_heaviside),
        Head(sympy.erf, "erf"),
        Head(sympy.erfc, "erfc"),
        Head(sympy.LambertW, "lambertw"),
    )
}

RELATIONAL: dict[Any, tuple[str, bool]] = {
    sympy.StrictLessThan: ("less", False),
    sympy.LessThan: ("less_equal", False),
    sympy.StrictGreaterThan: ("less", True),
    sympy.GreaterThan: ("less_equal", True),
    sympy.Equality: ("equal", False),
    sympy.Unequality: ("unequal", False),
}


def head_of(operation: str) -> str:
    """The name of the SymPy head that an operation computes."""
    return next((cls.__name__ for cls, head in HEADS.items() if head.via == operation), operation)


def supported_heads(backend: str | None = None) -> tuple[str, ...]:
    """The names of all heads that compile on the backend (on every backend if None)."""
    return tuple(_names(BACKENDS if backend is None else (backend,)))


def _names(backends: tuple[str, ...]) -> Iterator[str]:
    yield from STRUCTURE
    for cls, head in HEADS.items():
        if all(head.available(backend) for backend in backends):
            yield cls.__name__
    yield from RELATIONS
