"""What generated code calls: algebra over batch axes and scalar functions, for arrays and mpmath.

Functions on arrays take the module numpy or torch as `xp`; leading axes are batch axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from symdyn.arrays import backends as arrays
from symdyn.arrays import compensated

Array = Any
Number = Any
_LOG1P_SERIES = tuple((-1.0) ** n / (n + 1) for n in range(18))


def special() -> Any:
    """scipy.special, imported on first use."""
    import scipy.special

    return scipy.special


def lambertw(x: Array) -> Array:
    """The principal real branch of Lambert's W, NaN below -1/e."""
    value = special().lambertw(x)
    real = np.where(value.imag == 0, value.real, np.nan)
    return real.astype(np.result_type(x), copy=False)[()]


def power(x: Array, y: Any) -> Array:
    """x^y for x >= 0, and for x < 0 where y is an integer; else NaN."""
    return np.power(x, y)


def root_sum(xp: Any, a: Array, y: Array) -> Array:
    """sqrt(a^2 + y) for y >= 0, with no overflow of a^2; smooth, with gradient zero at the origin."""
    if xp is np:
        return _root_sum_numpy(a, y)
    size = xp.maximum(xp.abs(arrays.detach(a)), xp.sqrt(arrays.detach(y)))
    scale = arrays.where(xp, size == 0, 1.0, size)
    return scale * arrays.sqrt(xp, (a / scale) ** 2 + y / scale / scale)


def _root_sum_numpy(a: Array, y: Array) -> Array:
    """The direct formula, and numpy.hypot, ten times slower, for arrays in which a square leaves the range."""
    direct = np.sqrt(a * a + y)
    limits = np.finfo(direct.dtype)
    safe = (direct > np.sqrt(limits.tiny / limits.eps)) & (direct < np.sqrt(limits.max)) & (y >= 0)
    return direct if safe.all() else np.where(safe, direct, np.hypot(a, np.sqrt(y)))


def root_of_squares(xp: Any, a: Array, c: Any, square: Array, v: Array) -> Array:
    """sqrt(a^2 + c v^T v) for c >= 0 and square = v^T v, which may leave the range; smooth, as `root_sum` is."""
    if xp is np:
        return _root_of_squares_numpy(a, c, square, v)
    root = c**0.5 if isinstance(c, float) else xp.sqrt(arrays.detach(c))
    size = xp.maximum(xp.abs(arrays.detach(a)), root * xp.amax(xp.abs(arrays.detach(v)), -1))
    scale = arrays.where(xp, size == 0, 1.0, size)
    return scale * arrays.sqrt(xp, (a / scale) ** 2 + c * ((v / scale[..., None]) ** 2).sum(-1))


def _root_of_squares_numpy(a: Array, c: Any, square: Array, v: Array) -> Array:
    """The direct formula, and numpy.hypot where it loses what square has lost to the lower end of the range."""
    direct = np.sqrt(a * a + c * square)
    limits = np.finfo(direct.dtype)
    lowest = np.sqrt(limits.tiny / limits.eps * np.maximum(1.0, np.max(c, initial=0.0)))
    if lowest < np.min(direct, initial=np.inf) and np.max(direct, initial=0.0) < np.sqrt(limits.max):
        return direct
    safe = (direct > lowest) & (direct < np.sqrt(limits.max))
    return np.where(safe, direct, np.hypot(a, np.sqrt(c) * arrays.norm(np, v)))


def square_over(xp: Any, v: Array, square: Array, y: Array) -> Array:
    """v^T v / y for square = v^T v, which may leave the range."""
    if xp is np and np.min(square, initial=np.inf) > _lowest_square(square):
        return square / y
    return (v * (v / y[..., None])).sum(-1)


def dot_over(xp: Any, u: Array, v: Array, y: Any, z: Any) -> Array:
    """(u/y)^T (v/z), for lengths y of u and z of v, or for ones."""
    if xp is np and min(np.min(y, initial=np.inf), np.min(z, initial=np.inf)) ** 2 > _lowest_square(u):
        return (u * v).sum(-1) / (y * z)
    return (_over(u, y) * _over(v, z)).sum(-1)


def cosine_distance(xp: Any, u: Array, v: Array) -> Array:
    """1 - u^T v / (|u| |v|) as half the square of the difference of the unit vectors, exact where it is small."""
    return ((unit(xp, u) - unit(xp, v)) ** 2).sum(-1) / 2


def _over(v: Array, y: Any) -> Array:
    return v / (y if isinstance(y, float) else y[..., None])


def _lowest_square(like: Array) -> Any:
    """Squares above it have all their digits."""
    return np.finfo(like.dtype).tiny / np.finfo(like.dtype).eps


def log1p_ratio(xp: Any, x: Array) -> Array:
    """log(1 + x) / x for x > -1, continued by 1 at x = 0, with accurate value and gradient."""
    if xp is np:
        return np.where(x == 0, 1.0, np.log1p(x) / np.where(x == 0, 1.0, x)).astype(x.dtype)
    small = xp.abs(x) < 0.1
    near = arrays.where(xp, small, x, 0.0)
    series = xp.full_like(x, _LOG1P_SERIES[-1])
    for coefficient in reversed(_LOG1P_SERIES[:-1]):
        series = series * near + coefficient
    far = arrays.where(xp, small, 1.0, x)
    return xp.where(small, series, xp.log1p(far) / far)


def share(xp: Any, a: Array, c: Array, b: Array) -> Array:
    """1 - b^2/(a c) for a, c >= 0, with all digits however near to 0 it is; 1 - b^2/0 is -inf, or 1 for b = 0."""
    empty = (a == 0) | (c == 0)
    a, c = arrays.where(xp, empty, 1.0, a), arrays.where(xp, empty, 1.0, c)
    units = tuple(compensated.binade(xp, x) for x in (a, c, b))
    ratio = (units[2] / units[0]) * (units[2] / units[1])
    whole, square = (
        compensated.two_product(x / u, y / v)
        for (x, u), (y, v) in (((a, units[0]), (c, units[1])), ((b, units[2]), (b, units[2])))
    )
    rest = (whole.hi - square.hi * ratio) + (whole.lo - square.lo * ratio)
    return xp.where(empty, arrays.where(xp, b == 0, 1.0, xp.full_like(rest, -np.inf)), rest / whole.hi)


def unit(xp: Any, v: Array) -> Array:
    """v / |v| along the last axis, and 0 with gradient 0 at v = 0."""
    return arrays.divide(xp, v, arrays.norm(xp, v)[..., None])


def scale(c: Any, v: Array) -> Array:
    """The scalar c (...) times the vector v (..., d)."""
    return c * v if isinstance(c, float) else c[..., None] * v


def outer(c: Any, u: Array, v: Array) -> Array:
    """c u v^T, of shape (..., d, d)."""
    return scale(c, u)[..., :, None] * v[..., None, :]


def diagonal(xp: Any, c: Any, like: Array) -> Array:
    """c I, of shape (..., d, d), where d is the length of the vector `like`."""
    return (c if isinstance(c, float) else c[..., None, None]) * _eye(xp, like)


def isotropic(xp: Any, transverse: Any, radial: Any, difference: Any, direction: Array) -> Array:
    """transverse (I - b b^T) + radial b b^T for a unit vector b, with difference = radial - transverse.

    On the diagonal 1 - b_i^2 is taken as the sum of the other b_j^2, so that a small eigenvalue is not lost
    beside a large one. Where b = 0 the result is transverse I: the limit, if the difference vanishes there.
    """
    square = direction * direction
    d = direction.shape[-1]
    others = xp.stack([sum_except(square, i) for i in range(d)], -1) if d > 1 else xp.zeros_like(direction)
    others = arrays.where(xp, (direction == 0).all(-1)[..., None], 1.0, others)
    diagonal_part = scale(transverse, others) + scale(radial, square)
    eye = _eye(xp, direction)
    return outer(difference, direction, direction) * (1.0 - eye) + diagonal_part[..., None] * eye


def sum_except(x: Array, index: int) -> Array:
    """The sum over the last axis without the entry at the index."""
    if index == 0:
        return x[..., 1:].sum(-1)
    return x[..., :index].sum(-1) + x[..., index + 1 :].sum(-1)


def _eye(xp: Any, like: Array) -> Array:
    d = like.shape[-1]
    return np.eye(d, dtype=like.dtype) if xp is np else xp.eye(d, dtype=like.dtype, device=like.device)


class Exact:
    """The same helpers over an mpmath context; vectors are lists, matrices lists of rows.

    Real functions outside their domain give NaN, not a complex number.
    """

    def __init__(self, mp: Any) -> None:
        self.mp = mp

    def _on(self, inside: bool, function: Any, x: Number) -> Number:
        return function(x) if inside else self.mp.nan

    def divide(self, x: Number, y: Number) -> Number:
        if y != 0:
            return x / y
        return self.mp.nan if x == 0 or x != x else self.mp.inf * self.mp.sign(x)

    def power(self, x: Number, y: Number) -> Number:
        if x == 0 and y < 0:
            return self.mp.inf
        return self._on(x >= 0 or y == int(y), lambda base: self.mp.power(base, y), x)

    def sqrt(self, x: Number) -> Number:
        return self._on(x >= 0, self.mp.sqrt, x)

    def log(self, x: Number) -> Number:
        return -self.mp.inf if x == 0 else self._on(x > 0, self.mp.log, x)

    def log1p(self, x: Number) -> Number:
        return self._on(x > -1, self.mp.log1p, x)

    def acosh(self, x: Number) -> Number:
        return self._on(x >= 1, self.mp.acosh, x)

    def atanh(self, x: Number) -> Number:
        return self._on(abs(x) < 1, self.mp.atanh, x)

    def asin(self, x: Number) -> Number:
        return self._on(abs(x) <= 1, self.mp.asin, x)

    def acos(self, x: Number) -> Number:
        return self._on(abs(x) <= 1, self.mp.acos, x)

    def lambertw(self, x: Number) -> Number:
        value = self.mp.lambertw(x)
        return self._on(self.mp.im(value) == 0, self.mp.re, value)

    def expm1_ratio(self, x: Number) -> Number:
        return self.mp.mpf(1) if x == 0 else self.mp.expm1(x) / x

    def log1p_ratio(self, x: Number) -> Number:
        return self.mp.mpf(1) if x == 0 else self.log1p(x) / x

    def share(self, a: Number, c: Number, b: Number) -> Number:
        return self.mp.mpf(1) if b == 0 else 1 - self.divide(b * b, a * c)

    def dot(self, u: Sequence[Number], v: Sequence[Number]) -> Number:
        return self.mp.fdot(u, v)

    def dot_over(self, u: Sequence[Number], v: Sequence[Number], y: Number, z: Number) -> Number:
        return self.divide(self.dot(u, v), y * z)

    def cosine_distance(self, u: Sequence[Number], v: Sequence[Number]) -> Number:
        return 1 - self.divide(self.dot(u, v), self.norm(u) * self.norm(v))

    def norm(self, v: Sequence[Number]) -> Number:
        return self.mp.sqrt(self.mp.fdot(v, v))

    def unit(self, v: Sequence[Number]) -> list[Number]:
        length = self.norm(v)
        return [x / length if length else self.mp.zero for x in v]

    def scale(self, c: Number, v: Sequence[Number]) -> list[Number]:
        return [c * x for x in v]

    def add(self, u: Sequence[Number], v: Sequence[Number]) -> list[Number]:
        return [x + y for x, y in zip(u, v, strict=True)]

    def outer(self, c: Number, u: Sequence[Number], v: Sequence[Number]) -> list[list[Number]]:
        return [[c * x * y for y in v] for x in u]

    def diagonal(self, c: Number, like: Sequence[Number]) -> list[list[Number]]:
        d = len(like)
        return [[c if i == j else self.mp.zero for j in range(d)] for i in range(d)]

    def add_matrices(
        self, a: Sequence[Sequence[Number]], b: Sequence[Sequence[Number]]
    ) -> list[list[Number]]:
        return [self.add(x, y) for x, y in zip(a, b, strict=True)]

    def isotropic(
        self, transverse: Number, radial: Number, difference: Number, direction: Sequence[Number]
    ) -> list[list[Number]]:
        square = [x * x for x in direction]
        some = any(direction)
        entries = self.outer(difference, direction, direction)
        for i, own in enumerate(square):
            others = self.mp.fsum(x for j, x in enumerate(square) if j != i) if some else self.mp.one
            entries[i][i] = transverse * others + radial * own
        return entries
