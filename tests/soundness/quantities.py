"""Named quantities: a derivative or a stable form that is declared, and is another than that of the definition."""

from typing import Any

import mpmath
from sympy import Abs, Rational, exp, log, sqrt, tanh

from symdyn.calculus.gram import Flow
from symdyn.compile import named
from symdyn.compile.named import expm1_ratio, root_sum
from symdyn.statements.kinds import Conservation, Definition, Dynamics, Identity, Inequality, Limit, Solution
from tests.soundness.claims import TINY, false, oo, positive, t, true, x, x0, y


def quantity(name: str, args: tuple[Any, ...], definition: Any, **declared: Any) -> Any:
    """A named quantity that is known here alone: it is taken out of the registry again."""
    made = named.NamedQuantity(f"soundness_{name}", "q", args, definition, module=__name__, **declared)
    del named._REGISTRY[f"soundness_{name}"]
    return made


half = quantity("half", (x,), sqrt(1 + x**2), derivative=lambda x: (x / (2 * sqrt(1 + x**2)),))
signed = quantity("signed", (x,), exp(-x), derivative=lambda x: (exp(-x),))
one_sided = quantity("one_sided", (x,), sqrt(x**2), derivative=lambda x: (1,))
nearly = quantity("nearly", (x,), x**2, derivative=lambda x: ((2 + TINY) * x,))
exchanged = quantity("exchanged", (x, y), x**2 - y**2, derivative=lambda x, y: (2 * x, 2 * y))
still = quantity("still", (x,), x**3, derivative=lambda x: (0,))
at_one_point = quantity("at_one_point", (x,), x**2, derivative=lambda x: (2,))
decay = quantity("decay", (x,), exp(-2 * x), derivative=lambda x: (-decay(x),))
negative_form = quantity("negative_form", (x,), sqrt(x**2), cells=((x >= -1, x), (x < -1, -x)))
nearly_form = quantity("nearly_form", (x,), sqrt(1 + x) - 1, cells=((x >= 0, x / (sqrt(1 + x) + 1 + TINY)),))
uncovered = quantity("uncovered", (x,), sqrt(1 + x**2), cells=((x > 0, sqrt(1 + x**2)),))
wrong_side = quantity("wrong_side", (x,), Abs(x), cells=((x > 0, -x), (x <= 0, x)))
logistic = quantity(
    "logistic", (x,), 1 / (1 + exp(-x)), derivative=lambda x: (logistic(x) * (1 - logistic(x)),),
    cells=((x >= 0, 1 / (1 + exp(-x))), (x < 0, exp(x) / (1 + exp(x)))),
)  # fmt: skip
softplus = quantity("softplus", (x,), log(1 + exp(x)), derivative=lambda x: (logistic(x),))


def slope(function: Any, at: Any) -> Any:
    """The derivative of the definition, by differences."""
    return mpmath.diff(lambda z: mpmath.mpf(function.quantity.definition.subs(x, z).evalf(60)), at)


def steeper(function: Any, declared: Any, at: Any) -> Any:
    """Whether the definition has another derivative than the one declared."""
    return lambda: abs(slope(function, at) - declared) > mpmath.mpf(10) ** -13


def other_form(function: Any, at: Any) -> Any:
    """Whether the stable form that is used at a point is another number than the definition."""
    ((_, form), *_) = [(c, f) for c, f in named.cells_of(function(Rational(at))) if c]
    return lambda: abs((form - function(Rational(at)).doit()).evalf(40)) > 1e-14


# fmt: off
FALSE = [
    false("half of the derivative", lambda: Identity(half(x).diff(x), x / (2 * half(x))), "x/√(1 + x²)",
        check=steeper(half, 1 / (2 * 2**0.5), 1)),
    false("a derivative with another sign", lambda: Identity(signed(x).diff(x), signed(x)), "-exp(-x)",
        check=steeper(signed, 1, 0)),
    false("a derivative on one side", lambda: Identity(one_sided(x).diff(x), 1), "-1 at x < 0",
        check=steeper(one_sided, 1, -1)),
    false("a derivative off by 10⁻¹²", lambda: Identity(nearly(x).diff(x), (2 + TINY) * x), "10⁻¹²",
        check=lambda: (2 + TINY) * 1 != 2 * 1),
    false("a derivative at one point", lambda: Identity(at_one_point(x).diff(x), 2), "2x",
        check=steeper(at_one_point, 2, 3)),
    false("a derivative that is left out", lambda: Inequality(still(x).diff(x), "<="), "3x²",
        check=steeper(still, 0, 1)),
    false("conserved by a wrong derivative", lambda: Conservation(exchanged(x, y), under=Flow({x: y, y: -x})),
        "4xy", check=lambda: 2 * 1 * 1 - 2 * 1 * -1 != 0),
    false("does not move, by a wrong derivative", lambda: Conservation(still(x), under=Flow({x: x})), "3x³",
        check=steeper(still, 0, 1)),
    false("moves by a wrong derivative",
        lambda: Dynamics(half(x), x * y / (2 * half(x)), under=Flow({x: y, y: -x})), "twice as fast",
        check=steeper(half, 1 / (2 * 2**0.5), 1)),
    false("solves by a wrong derivative", lambda: Solution({x: x0 * decay(t)}, {x: -x}, {x: x0}, t), "exp(-2t)",
        check=steeper(decay, -exp(-2), 1)),
    false("a stable form on the wrong side", lambda: Definition("d", negative_form(x)), "x = -1/2",
        check=other_form(negative_form, "-1/2")),
    false("a stable form with another sign", lambda: Identity(wrong_side(x) ** 2, x**2), "x = 1",
        check=other_form(wrong_side, 1)),
    false("a stable form off by 10⁻¹²", lambda: Identity((nearly_form(x) + 1) ** 2, 1 + x), "x = 1",
        on=positive(x), check=other_form(nearly_form, 1)),
    false("a stable form with no cell at 0", lambda: Identity(uncovered(x) ** 2, 1 + x**2), "none at x ≤ 0",
        check=lambda: not any(c for c, _ in named.cells_of(uncovered(-1)))),
]

TRUE = [
    true("slope of a root", lambda: Identity(root_sum(x, 1).diff(x), x / root_sum(x, 1))),
    true("square of a root", lambda: Identity(root_sum(x, 4) ** 2, x**2 + 4)),
    true("slope of the logistic", lambda: Identity(logistic(x).diff(x), logistic(x) * logistic(-x))),
    true("slope of the softplus", lambda: Identity(softplus(x).diff(x), (1 + tanh(x / 2)) / 2)),
    true("energy as a root", lambda: Conservation(root_sum(x, y**2 + 1), under=Flow({x: y, y: -x}))),
    true("a logistic solves", lambda: Solution({x: logistic(t)}, {x: x * (1 - x)}, {x: Rational(1, 2)}, t)),
    true("a logistic saturates", lambda: Limit(logistic(x), x, oo, 1)),
    true("(exp x - 1)/x on x > 0", lambda: Identity(x * expm1_ratio(x), exp(x) - 1), on=positive(x)),
]
# fmt: on
