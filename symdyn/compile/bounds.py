"""How far rounding can have moved each number of a compiled function: a running error analysis.

A rule for every operation of `symdyn.compile.heads` gives the bound of its result from the bounds of its operands, to
first order (Higham, Accuracy and Stability of Numerical Algorithms, 3.3). Bounds are absolute, in units of the roundoff
u. Inputs count as exact: what their own rounding costs is asked elsewhere. Where a result may have lost all digits, or
an operand has left the range, the bound is inf or NaN; where an operand has underflowed, it holds what that has cost.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy

from symdyn.arrays import backends as arrays
from symdyn.compile import aids, printers
from symdyn.compile.lower import Graph

Array = Any
ROUNDOFF = 2.0**-53
_FAINT, _UNDERFLOW = (
    1e-290,
    2.0**-1021,
)  # the latter is the distance of subnormal numbers, in units of the roundoff
_LOST = 0.25 / ROUNDOFF


def source(graph: Graph, outputs: Sequence[int], inputs: Sequence[str], backend: str, name: str) -> str:
    """The text of `def kernel(xp, like, inputs…)` that returns a pair for each output: its value and its bound."""
    writer = printers.Writer(graph, backend, name)
    results = [writer.resolve(position) for position in outputs]
    lines = []
    for position in writer.needed(results):
        if writer.is_leaf(position):
            continue
        operation, operands = graph.nodes[position][0], writer.operands(position)
        values = ", ".join([*map(writer.operand, operands), f"t{position}"])
        errors = ", ".join(_bound(writer, operand) for operand in operands)
        lines += [writer.line(position), f"e{position} = rules.{operation}_(xp, ({values}), ({errors},))"]
    pairs = "".join(f"({writer.operand(p)}, {_bound(writer, p)}), " for p in results)
    given = ", ".join(["xp", "like", *map(printers.given, inputs)])
    return f"def kernel({given}):\n" + "".join(f"    {line}\n" for line in [*lines, f"return ({pairs})"])


def _bound(writer: Any, position: int) -> str:
    """The name of a bound, or the bound of a leaf: 0, or a unit for a constant that is not a float."""
    node = writer.graph.nodes[position]
    if node[0] == "constant":
        number = node[1]
        is_float = number.is_finite is False or (
            number.is_Rational and sympy.Rational(float(number)) == number
        )
        return "0.0" if is_float else f"abs({writer.operand(position)})"
    return "0.0" if writer.is_leaf(position) else f"e{position}"


def kernel(text: str, backend: str, name: str) -> Callable[..., tuple[Any, ...]]:
    """The function of a source text of `source`."""
    return printers.array_kernel(text, backend, f"{name}, bounds", sys.modules[__name__])


# Every rule takes the module, the values of the operands and of the result, and the bounds of the operands.


def _faint(xp: Any, t: Array, operands: Any = (), errors: Any = ()) -> Any:
    """What underflow costs a product or quotient whose operands may not be zero."""
    size = abs(t)
    if xp is np and not np.min(size, initial=1.0) < _FAINT:
        return 0.0
    small = size < _FAINT
    for operand, error in zip(operands, errors, strict=True):
        nonzero = operand != 0
        small = small & (nonzero if _exact(error) else nonzero | (error != 0))
    return arrays.where(xp, small, _UNDERFLOW, size * 0)


def _ratio(xp: Any, x: Any, y: Any) -> Any:
    """x / y for bounds, 0 where x is."""
    return x / y if isinstance(x, float) and x != 0 else (0.0 if isinstance(x, float) else _over(xp, x, y))


def _over(xp: Any, x: Array, y: Any) -> Array:
    return arrays.where(xp, x == 0, 0.0, x / y)


def _unless_lost(xp: Any, ex: Any, e: Array) -> Array:
    """The bound e, unless the operand may be off by a quarter."""
    return e if isinstance(ex, float) else arrays.where(xp, ex < _LOST, e, math.inf)


def _terms(n: int) -> float:
    """How many roundings a term of a sum of n may see, by blocks and then in pairs."""
    return min(float(n), 20.0 + math.log2(n))


def _exact(e: Any) -> bool:
    return isinstance(e, float) and e == 0


def add_(xp: Any, v: Any, e: Any) -> Any:
    return e[0] + e[1] + abs(v[2])


subtract_ = add_vectors_ = add_matrices_ = add_


def multiply_(xp: Any, v: Any, e: Any) -> Any:
    x, y, t = v
    return abs(x) * e[1] + abs(y) * e[0] + abs(t) + _faint(xp, t, (x, y), e)


def divide_(xp: Any, v: Any, e: Any) -> Any:
    x, y, t = v
    own = abs(t) + _faint(xp, t, (x,), e[:1])
    return own if _exact(e[0]) and _exact(e[1]) else _ratio(xp, e[0] + abs(t) * e[1], abs(y)) + own


def negative_(xp: Any, v: Any, e: Any) -> Any:
    return e[0]


absolute_ = negative_


def power_(xp: Any, v: Any, e: Any) -> Any:
    x, y, t = v
    size = abs(t)
    own = 3 * size + _faint(xp, t, (x,), e[:1])
    own = own + size * abs(y) * _ratio(xp, e[0], abs(x))
    if _exact(e[1]):
        return own
    return own + size * e[1] * abs(math.log(abs(x)) if isinstance(x, float) else xp.log(abs(x)))


def sqrt_(xp: Any, v: Any, e: Any) -> Any:
    return _ratio(xp, e[0], 2 * v[1]) + abs(v[1])


def exp_(xp: Any, v: Any, e: Any) -> Any:
    x, t = v
    own = 2 * abs(t) + _faint(xp, t)
    if _exact(e[0]):
        return own
    bad = ~(e[0] <= _LOST) & ~(x + ROUNDOFF * e[0] < -745)
    return arrays.where(xp, bad, math.inf, own + _product(xp, abs(t), 1.3 * e[0]))


def expm1_(xp: Any, v: Any, e: Any) -> Any:
    x, t = v
    own = 2 * abs(t)
    if _exact(e[0]):
        return own
    bad = ~(e[0] <= _LOST) & ~(x + ROUNDOFF * e[0] < -40)
    slope = abs(1 + t) + 4 * ROUNDOFF
    return arrays.where(xp, bad, math.inf, own + arrays.where(xp, x < -40, 0.0, 1.3 * slope * e[0]))


def log_(xp: Any, v: Any, e: Any) -> Any:
    return _ratio(xp, e[0], abs(v[0])) + 2 * abs(v[1])


def log1p_(xp: Any, v: Any, e: Any) -> Any:
    return _ratio(xp, e[0], abs(1 + v[0])) + 2 * abs(v[1])


def sinh_(xp: Any, v: Any, e: Any) -> Any:
    return _unless_lost(xp, e[0], (abs(v[1]) + 1) * (1.3 * e[0]) + 2 * abs(v[1]))


cosh_ = sinh_


def tanh_(xp: Any, v: Any, e: Any) -> Any:
    x, t = v
    if _exact(e[0]):
        return 2 * abs(t)
    slope = arrays.where(xp, abs(x) > 20, 0.0, (1 - t) * (1 + t))
    bad = ~(e[0] <= _LOST) & ~(abs(x) - ROUNDOFF * e[0] > 20)
    return arrays.where(xp, bad, math.inf, _product(xp, slope, e[0]) + 2 * abs(t))


def _product(xp: Any, x: Array, y: Any) -> Array:
    """x y, 0 where x is, though y be infinite."""
    return arrays.where(xp, x == 0, 0.0, x * y)


def asinh_(xp: Any, v: Any, e: Any) -> Any:
    return 2 * abs(v[1]) + e[0] / arrays.where(xp, abs(v[0]) > 1, abs(v[0]), 1.0)


def acosh_(xp: Any, v: Any, e: Any) -> Any:
    return 2 * abs(v[1]) + _ratio(xp, e[0], xp.sqrt((v[0] - 1) * (v[0] + 1)))


def atanh_(xp: Any, v: Any, e: Any) -> Any:
    return 2 * abs(v[1]) + _ratio(xp, e[0], abs((1 - v[0]) * (1 + v[0])))


def sin_(xp: Any, v: Any, e: Any) -> Any:
    return 2 * abs(v[1]) + e[0]


cos_ = sin_


def tan_(xp: Any, v: Any, e: Any) -> Any:
    return 2 * abs(v[1]) + (1 + v[1] * v[1]) * e[0]


def asin_(xp: Any, v: Any, e: Any) -> Any:
    return 2 * abs(v[1]) + _ratio(xp, e[0], xp.sqrt((1 - v[0]) * (1 + v[0])))


acos_ = asin_


def atan_(xp: Any, v: Any, e: Any) -> Any:
    return 2 * abs(v[1]) + e[0] / (1 + v[0] * v[0])


def atan2_(xp: Any, v: Any, e: Any) -> Any:
    y, x, t = v
    return 2 * abs(t) + _ratio(xp, abs(x) * e[0] + abs(y) * e[1], x * x + y * y)


def sign_(xp: Any, v: Any, e: Any) -> Any:
    if _exact(e[0]):
        return 0.0
    return arrays.where(xp, abs(v[0]) < ROUNDOFF * e[0], math.inf, abs(v[0]) * 0)


def maximum_(xp: Any, v: Any, e: Any) -> Any:
    return e[0] + e[1]


minimum_ = maximum_


def erf_(xp: Any, v: Any, e: Any) -> Any:
    return 3 * abs(v[1]) + _product(xp, xp.exp(-(v[0] * v[0])), 1.2 * e[0])


def erfc_(xp: Any, v: Any, e: Any) -> Any:
    """SciPy's erfc has the relative error of exp(-x^2)."""
    return (3 + 2 * v[0] * v[0]) * abs(v[1]) + _product(xp, xp.exp(-(v[0] * v[0])), 1.2 * e[0])


def lambertw_(xp: Any, v: Any, e: Any) -> Any:
    x, t = v
    slope = arrays.where(xp, x == 0, 1.0, t / x)
    return 4 * abs(t) + _ratio(xp, e[0] + 0 * x, abs((1 + t) / slope))


def root_sum_(xp: Any, v: Any, e: Any) -> Any:
    a, _, t = v
    return 3 * abs(t) + _ratio(xp, abs(a) * e[0] + e[1] / 2, t)


def root_of_squares_(xp: Any, v: Any, e: Any) -> Any:
    a, _, _, vector, t = v
    own = (6 + _terms(vector.shape[-1])) * abs(t) + _ratio(xp, abs(a) * e[0], t)
    if _exact(e[1]):
        return own
    length = arrays.norm(xp, vector)
    return own + _ratio(xp, e[1] / 2 * length, 1.0) * _ratio(xp, length, t)


def square_over_(xp: Any, v: Any, e: Any) -> Any:
    vector, _, y, t = v
    own = (4 + _terms(vector.shape[-1]) + _ratio(xp, e[2], abs(y))) * abs(t)
    return own + _faint(xp, t, (xp.amax(abs(vector), -1),), (0.0,))


def dot_over_(xp: Any, v: Any, e: Any) -> Any:
    a, b, y, z, _ = v
    terms = aids.dot_over(xp, abs(a), abs(b), abs(y), abs(z))
    own = (5 + _terms(a.shape[-1]) + _ratio(xp, e[2], abs(y)) + _ratio(xp, e[3], abs(z))) * terms
    return own + _faint(xp, terms, (abs(a).sum(-1), abs(b).sum(-1)), (0.0, 0.0))


def share_(xp: Any, v: Any, e: Any) -> Any:
    a, c, b, t = v
    relative = _ratio(xp, e[0], abs(a)) + _ratio(xp, e[1], abs(c)) + 2 * _ratio(xp, e[2], abs(b))
    return 4 * abs(t) + _product(xp, abs(1 - t), relative) + 2.0**-40 * abs(1 - t)


def expm1_ratio_(xp: Any, v: Any, e: Any) -> Any:
    return _unless_lost(xp, e[0], 1.3 * abs(v[1]) * e[0] + 4 * abs(v[1]))


def log1p_ratio_(xp: Any, v: Any, e: Any) -> Any:
    return 4 * abs(v[1]) + _ratio(xp, e[0], abs(1 + v[0]))


def where_(xp: Any, v: Any, e: Any) -> Any:
    """The bound of what is chosen; where rounding may have chosen the wrong one, also how far the two are apart."""
    condition, x, y, _ = v
    chosen = xp.where(condition, _like(xp, e[1], condition), _like(xp, e[2], condition))
    if isinstance(e[0], float):
        return chosen
    both = chosen + (e[1] + e[2] + abs(x - y) / ROUNDOFF)
    return xp.where(e[0], both, chosen)


guard_ = where_


def _like(xp: Any, e: Any, condition: Array) -> Any:
    if not isinstance(e, float):
        return e
    return np.float64(e) if xp is np else xp.full((), e, dtype=xp.float64, device=condition.device)


def less_(xp: Any, v: Any, e: Any) -> Any:
    """Where rounding may have changed a comparison."""
    if _exact(e[0]) and _exact(e[1]):
        return 0.0
    return ~(abs(v[0] - v[1]) >= ROUNDOFF * (e[0] + e[1]))


less_equal_ = equal_ = unequal_ = less_


def and_(xp: Any, v: Any, e: Any) -> Any:
    doubtful = [one for one in e if not isinstance(one, float)]
    return doubtful[0] | doubtful[-1] if doubtful else 0.0


or_ = and_


def not_(xp: Any, v: Any, e: Any) -> Any:
    return e[0]


def dot_(xp: Any, v: Any, e: Any) -> Any:
    a, b, _ = v
    terms = abs(a * b)
    faint = _faint(xp, terms, (a, b), (0.0, 0.0))
    lost = 0.0 if isinstance(faint, float) else faint.sum(-1)
    return (1 + _terms(a.shape[-1])) * terms.sum(-1) + lost


def norm_(xp: Any, v: Any, e: Any) -> Any:
    return (4 + _terms(v[0].shape[-1]) / 2) * v[1]


def unit_(xp: Any, v: Any, e: Any) -> Any:
    return (6 + _terms(v[0].shape[-1]) / 2) * abs(v[1])


def cosine_distance_(xp: Any, v: Any, e: Any) -> Any:
    """Half the square of a difference of unit vectors: where that is zero, the units agree to the last bit."""
    vector, _, t = v
    return 2 * (6 + _terms(vector.shape[-1])) * (xp.sqrt(2 * t) + t)


def scale_(xp: Any, v: Any, e: Any) -> Any:
    c, vector, t = v
    own = abs(t) + _faint(xp, t, (_spread(c, 1), vector), (_spread(e[0], 1), e[1]))
    own = own if _exact(e[0]) else own + _spread(e[0], 1) * abs(vector)
    return own if _exact(e[1]) else own + _spread(abs(c), 1) * e[1]


def zero_vector_(xp: Any, v: Any, e: Any) -> Any:
    return abs(v[1])


def outer_(xp: Any, v: Any, e: Any) -> Any:
    c, a, b, t = v
    lost = _faint(xp, aids.scale(c, a), (_spread(c, 1), a), (_spread(e[0], 1), 0.0))
    own = 3 * abs(t) + _faint(
        xp, t, (_spread(c, 2), a[..., :, None], b[..., None, :]), (_spread(e[0], 2), 0.0, 0.0)
    )
    own = own if isinstance(lost, float) else own + lost[..., :, None] * abs(b)[..., None, :]
    return own if _exact(e[0]) else own + aids.outer(e[0], abs(a), abs(b))


def diagonal_(xp: Any, v: Any, e: Any) -> Any:
    return aids.diagonal(xp, e[0], v[1])


def isotropic_(xp: Any, v: Any, e: Any) -> Any:
    transverse, radial, difference, direction, _ = v
    k = 2 * (8 + _terms(direction.shape[-1]))
    across, along, apart = (b + k * abs(x) for b, x in zip(e, (transverse, radial, difference), strict=False))
    return aids.isotropic(xp, across, along, apart, abs(direction))


def _spread(x: Any, axes: int) -> Any:
    return x if isinstance(x, float) else x[(..., *(None,) * axes)]
