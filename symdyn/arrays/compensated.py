"""Double-double arithmetic: a number as an unevaluated sum of two floats, good for about twice the digits.

Conserved quantities and separatrices are small differences of large products. Computing them as sums of two
floats (Dekker 1971, Knuth 1969) keeps the digits that a plain difference would lose, in float32 and float64,
on any device. The low parts carry no gradient: they are rounding errors, whose exact derivative is zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from symdyn.arrays import backends as arrays

Array = arrays.Array
Namespace = arrays.Namespace

_SPLIT = {"float32": 4097.0, "float64": 134217729.0}
_EXPONENT = {"float32": ("int32", 0x7F800000), "float64": ("int64", 0x7FF0000000000000)}


def binade(xp: Namespace, x: Array) -> Array:
    """The largest power of two up to |x|, and 1 where that is not a normal number; without gradient.

    Dividing by it, and multiplying by it later, costs no digits.
    """
    integers, bits = _EXPONENT[str(x.dtype).rpartition(".")[2]]
    found = (arrays.detach(x).view(getattr(xp, integers)) & bits).view(x.dtype)
    return arrays.where(xp, (found > 0) & xp.isfinite(found), found, 1.0)


class Double(NamedTuple):
    """The number hi + lo, |lo| at most half a unit in the last place of hi."""

    hi: Array
    lo: Array


def _split(x: Array) -> tuple[Array, Array]:
    enlarged = _SPLIT[str(x.dtype).rpartition(".")[2]] * x
    high = enlarged - (enlarged - x)
    return high, x - high


def two_sum(x: Array, y: Array) -> Double:
    """x + y exactly."""
    total = x + y
    one, other, s = arrays.detach(x), arrays.detach(y), arrays.detach(total)
    part = s - one
    return Double(total, (one - (s - part)) + (other - part))


def two_product(x: Array, y: Array) -> Double:
    """x * y exactly, short of underflow."""
    product = x * y
    p = arrays.detach(product)
    x_high, x_low = _split(arrays.detach(x))
    y_high, y_low = _split(arrays.detach(y))
    return Double(product, ((x_high * y_high - p) + x_high * y_low + x_low * y_high) + x_low * y_low)


def _normal(high: Array, low: Array) -> Double:
    total = high + low
    s = arrays.detach(total)
    return Double(total, low - (s - arrays.detach(high)))


def double(x: Array) -> Double:
    """A float as a Double."""
    return Double(x, arrays.detach(x) * 0)


def add(x: Double, y: Double) -> Double:
    """x + y."""
    high = two_sum(x.hi, y.hi)
    low = two_sum(x.lo, y.lo)
    middle = _normal(high.hi, high.lo + low.hi)
    return _normal(middle.hi, middle.lo + low.lo)


def negative(x: Double) -> Double:
    """-x."""
    return Double(-x.hi, -x.lo)


def subtract(x: Double, y: Double) -> Double:
    """x - y."""
    return add(x, negative(y))


def multiply(x: Double, y: Double) -> Double:
    """x y."""
    high = two_product(x.hi, y.hi)
    cross = arrays.detach(x.hi) * y.lo + x.lo * arrays.detach(y.hi)
    return _normal(high.hi, high.lo + cross)


def scale(x: Double, factor: Any) -> Double:
    """x times a power of two or a sign, exactly."""
    return Double(x.hi * factor, x.lo * factor)


def divide(x: Double, y: Double) -> Double:
    """x / y."""
    first = x.hi / y.hi
    rest = subtract(x, multiply(double(first), y))
    return _normal(first, arrays.detach(rest.hi / y.hi))


def sqrt(xp: Namespace, x: Double) -> Double:
    """The square root of x >= 0; its gradient at zero is zero."""
    first = arrays.sqrt(xp, x.hi)
    rest = subtract(x, two_product(first, first))
    return _normal(first, arrays.divide(xp, arrays.detach(rest.hi), 2 * arrays.detach(first)))


def dot(x: Array, y: Array) -> Double:
    """The inner product along the last axis."""
    terms = two_product(x, y)
    while terms.hi.shape[-1] > 1:
        half = terms.hi.shape[-1] // 2
        left = Double(terms.hi[..., :half], terms.lo[..., :half])
        right = Double(terms.hi[..., half : 2 * half], terms.lo[..., half : 2 * half])
        folded = add(left, right)
        if terms.hi.shape[-1] % 2:
            last = Double(terms.hi[..., -1:], terms.lo[..., -1:])
            first = add(Double(folded.hi[..., :1], folded.lo[..., :1]), last)
            folded = _join(first, Double(folded.hi[..., 1:], folded.lo[..., 1:]))
        terms = folded
    return Double(terms.hi[..., 0], terms.lo[..., 0])


def _join(first: Double, others: Double) -> Double:
    concatenate = arrays.namespace(first.hi).concatenate
    return Double(concatenate((first.hi, others.hi), -1), concatenate((first.lo, others.lo), -1))
