r"""Named quantities: functions that keep their name, know their derivative, and compute stably.

A quantity is a SymPy function with a definition, such as κ(δ, x) = √(δ² + 4x). It stays folded in formulas,
prints under its own symbol, and is replaced by its definition on request (`unfold`). Its definition may lose
digits where numbers cancel; so it carries cells, each a condition with a form that equals the definition
there and is computed without loss. Compiled functions use the forms; `claims` lists what has to be proved of
them.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import sympy
from mpmath.libmp import prec_to_dps

from symdyn.calculus.formula import formula

Expr = Any  # a SymPy expression; SymPy ships no types


@dataclass(frozen=True)
class StableForm:
    """On `condition`, a Boolean in the formal arguments, the quantity equals `form`."""

    condition: Any
    form: Expr


@dataclass(frozen=True)
class Claim:
    """`difference`, the definition minus a stable form, vanishes wherever `condition` holds."""

    quantity: str
    condition: Any
    difference: Expr


@dataclass(frozen=True)
class Quantity:
    """What is known of a named quantity, in its formal arguments.

    `definition` may use other named quantities. `derivative` maps the formal arguments to the partial
    derivatives, None to differentiate the definition. `cells` are tried in order; outside all of them the
    quantity is NaN when compiled; without cells the definition is computed. `operation` names a primitive of
    the compiler that computes the definition directly. `domain` is where the quantity is used, and `forms_on`, if that
    is less, where its cells are claimed to equal the definition.
    """

    name: str
    latex: str
    formal: tuple[Any, ...]
    definition: Expr
    cells: tuple[StableForm, ...] = ()
    derivative: Callable[..., Sequence[Expr]] | None = None
    operation: str | None = None
    domain: Any = sympy.true
    forms_on: Any = sympy.true

    def at(self, expr: Expr, args: Sequence[Expr]) -> Expr:
        """An expression or condition in the formal arguments, at the given ones."""
        return expr.xreplace(dict(zip(self.formal, args, strict=True)))


class NamedFunction(sympy.Function):
    """Base of the SymPy functions made by `NamedQuantity`."""

    quantity: ClassVar[Quantity]
    is_real = True
    is_extended_real = True
    is_commutative = True

    def __new__(cls, *args: Any, **options: Any) -> Any:
        return super().__new__(cls, *map(formula, args), **options)

    def defined(self) -> Expr:
        """One step of unfolding: the definition at these arguments, in which other quantities stay folded."""
        return self.quantity.at(self.quantity.definition, self.args)

    def doit(self, **hints: Any) -> Expr:
        return unfold(self.func(*(arg.doit(**hints) for arg in self.args)))

    def fdiff(self, argindex: int = 1) -> Expr:
        quantity = self.quantity
        if quantity.derivative is not None:
            function: Any = type(self)
            refuse_wrong_derivative(function)
            return formula(quantity.derivative(*self.args)[argindex - 1])
        return quantity.at(sympy.diff(quantity.definition, quantity.formal[argindex - 1]), self.args)

    def _eval_evalf(self, prec: int) -> Expr:
        digits = prec_to_dps(prec)
        return unfold(self).evalf(digits, maxn=10 * digits + 300)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        text = self.quantity.latex
        for number, arg in enumerate(self.args, start=1):
            text = text.replace(f"#{number}", printer.doprint(arg))
        if exp is None:
            return text
        return rf"\left({text}\right)^{{{exp}}}" if "^" in text else f"{text}^{{{exp}}}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.quantity.name, type(self).__module__, self.args)


ROUNDING = sympy.Rational(1, 10**25)
"""Relative error of derivatives at 40 digits, far above what cancellation costs at the points that are tried."""


@functools.cache
def refuse_wrong_derivative(function: Any) -> None:
    """Raise ValueError where a stated derivative is not that of the definition, before anything is made of it.

    A derivative leaves no trace of the quantity in a formula, so that no later check of the formula could notice.
    """
    quantity = function.quantity
    definition = unfold(quantity.definition)
    stated = quantity.derivative(*quantity.formal)
    for point in itertools.islice(_points_of(quantity), 6):
        for symbol, rate in zip(quantity.formal, stated, strict=True):
            claimed, true = (
                sympy.N(x.xreplace(point), 40)
                for x in (unfold(formula(rate)), sympy.diff(definition, symbol))
            )
            if not (claimed.is_Float or claimed.is_Rational) or not (true.is_Float or true.is_Rational):
                continue  # a derivative that SymPy does not evaluate: proofs decide it
            if abs(claimed - true) > ROUNDING * (1 + abs(true)):
                at = ", ".join(f"{s} = {value}" for s, value in point.items())
                raise ValueError(
                    f"the derivative of {quantity.name} in {symbol} is stated as {rate}, which is {claimed.n(8)} at "
                    f"{at}; that of its definition is {true.n(8)} there"
                )


def _points_of(quantity: Quantity) -> Iterator[dict[Any, Any]]:
    """Rational points at which a quantity is used, always the same ones."""
    draw = random.Random(quantity.name)
    for _ in range(200):
        point = {s: sympy.Rational(draw.choice((1, -1)) * draw.randint(1, 40), 13) for s in quantity.formal}
        if unfold(formula(quantity.domain)).xreplace(point) == sympy.true:
            yield point


_REGISTRY: dict[str, Any] = {}


def NamedQuantity(
    name: str,
    latex: str,
    args: Sequence[Any],
    definition: Expr,
    cells: Sequence[tuple[Any, Expr]] = (),
    derivative: Callable[..., Sequence[Expr]] | None = None,
    *,
    module: str,
    operation: str | None = None,
    domain: Any = sympy.true,
    forms_on: Any = sympy.true,
) -> Any:
    r"""Make the SymPy function of a named quantity.

    `latex` is the symbol, in which #1, #2, … stand for the printed arguments: r"\kappa", r"f\left(#1\right)".
    `module` is the `__name__` of the defining module, where pickled formulas find it. Raises ValueError for a
    name that another module has taken, and for definitions and cells with foreign symbols or Floats.
    """
    formal = tuple(args)
    quantity = Quantity(
        name,
        latex,
        formal,
        formula(definition),
        tuple(StableForm(formula(condition), formula(form)) for condition, form in cells),
        derivative,
        operation,
        domain,
        forms_on,
    )
    _validate(quantity)
    known = _REGISTRY.get(name)
    if known is not None and known.__module__ != module:
        raise ValueError(f"the named quantity {name} is already defined in {known.__module__}")
    attributes = {
        "quantity": quantity,
        "nargs": (len(formal),),
        "__module__": module,
        "__doc__": _doc(quantity),
    }
    _REGISTRY[name] = type(name, (NamedFunction,), attributes)
    return _REGISTRY[name]


def _validate(quantity: Quantity) -> None:
    parts = [quantity.definition, *(part for cell in quantity.cells for part in (cell.condition, cell.form))]
    for part in parts:
        foreign = sorted(str(s) for s in part.free_symbols - set(quantity.formal))
        if foreign:
            raise ValueError(f"{quantity.name} depends on {', '.join(foreign)}, not among its arguments")
        if part.atoms(sympy.Float):
            raise ValueError(f"{quantity.name} contains a floating-point number; write it as a Rational")


def _doc(quantity: Quantity) -> str:
    arguments = ", ".join(str(symbol) for symbol in quantity.formal)
    return f"{quantity.name}({arguments}) = {quantity.definition}"


def _restore(name: str, module: str, args: tuple[Expr, ...]) -> Expr:
    if name not in _REGISTRY:
        importlib.import_module(module)
    return _REGISTRY[name](*args)


def registry() -> dict[str, Any]:
    """All named quantities defined so far, by name."""
    return dict(_REGISTRY)


def unfold(expr: Expr, *only: Any) -> Expr:
    """The expression with its named quantities (or only those given) replaced by their definitions."""
    kinds = tuple(only) if only else (NamedFunction,)
    while found := expr.atoms(*kinds):
        expr = expr.xreplace({q: q.defined() for q in found if not _inside_another(q, found)})
    return expr


def cells_of(expr: NamedFunction) -> list[tuple[Any, Expr]]:
    """(condition, stable form) for each cell of a named quantity, at its arguments."""
    quantity = expr.quantity
    return [(quantity.at(c.condition, expr.args), quantity.at(c.form, expr.args)) for c in quantity.cells]


def _inside_another(quantity: Expr, found: set[Any]) -> bool:
    return any(quantity != other and other.has(quantity) for other in found)


def claims(*quantities: Any) -> Iterator[Claim]:
    """Definition minus stable form, unfolded, for each cell of each quantity (by default all registered).

    Together with the fact that the cells cover the domain, this is all that the compiled form rests on.
    """
    for function in quantities or tuple(_REGISTRY.values()):
        quantity = function.quantity
        for cell in quantity.cells:
            condition = unfold(sympy.And(quantity.domain, cell.condition))
            yield Claim(quantity.name, condition, unfold(quantity.definition - cell.form))


_a, _y, _z = sympy.symbols("a y z", real=True)

root_sum: Any = NamedQuantity(
    "root_sum",
    r"\sqrt{\left(#1\right)^2 + #2}",
    (_a, _y),
    sympy.sqrt(_a**2 + _y),
    derivative=lambda a, y: (a / root_sum(a, y), 1 / (2 * root_sum(a, y))),
    module=__name__,
    operation="root_sum",
    domain=_y >= 0,
)

_u2, _uv, _v2 = sympy.symbols("u2 uv v2", real=True)

cosine_distance: Any = NamedQuantity(
    "cosine_distance",
    r"1 - \frac{#2}{\sqrt{#1}\sqrt{#3}}",
    (_u2, _uv, _v2),
    1 - _uv / (sympy.sqrt(_u2) * sympy.sqrt(_v2)),
    module=__name__,
    operation="cosine_distance",
    domain=(_u2 > 0) & (_v2 > 0),
)
"""1 − uᵀv/(‖u‖‖v‖), given uᵀu, uᵀv and vᵀv."""

expm1_ratio: Any = NamedQuantity(
    "expm1_ratio",
    r"\varphi_1\left(#1\right)",
    (_z,),
    sympy.Piecewise((1, sympy.Eq(_z, 0)), ((sympy.exp(_z) - 1) / _z, True)),
    derivative=lambda z: (
        sympy.Piecewise((sympy.Rational(1, 2), sympy.Eq(z, 0)), ((sympy.exp(z) - expm1_ratio(z)) / z, True)),
    ),
    module=__name__,
    operation="expm1_ratio",
)

log1p_ratio: Any = NamedQuantity(
    "log1p_ratio",
    r"\frac{\log\left(1 + #1\right)}{#1}",
    (_z,),
    sympy.Piecewise((1, sympy.Eq(_z, 0)), (sympy.log(1 + _z) / _z, True)),
    derivative=lambda z: (
        sympy.Piecewise((-sympy.Rational(1, 2), sympy.Eq(z, 0)), ((1 / (1 + z) - log1p_ratio(z)) / z, True)),
    ),
    module=__name__,
    operation="log1p_ratio",
    domain=_z > -1,
)
