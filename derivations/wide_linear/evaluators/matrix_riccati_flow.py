r"""The matrix Riccati and Bernoulli system of c = h neurons, in closed form without a shared eigenspace.

With isotropic balance delta I, whitened data and invertible A, nu = A^-1 W beta* and C = A^T A obey

    nu' = G - delta nu - nu^2,    C' = C (nu + delta) + (nu + delta)^T C - 2 C^2,    G = beta*^T beta*

(kunin2024, App. B.1.1). Let R = sqrt(G + delta^2/4) and rho+- = R +- delta/2, so that rho- is the stable fixed point
of nu and rho+ that of C. The substitution nu = Y^-1 Y' - delta/2 makes the first equation linear, Y'' = Y R^2, and
for D = C^-1 the second is linear as it stands. Since R is constant, every time integral is a function of R:

    Y(s) = B(s) e^(sR),  B(s) = b(s) + nu0 K(s),  K(s) = (1 - e^(-2sR)) / (2R),  b(s) = (rho+ + rho- e^(-2sR)) / (2R),
    nu(t) = rho- - e^(-tR) B^-1 m e^(-tR),        m = rho- - nu0,
    C(t)  = e^(delta t) Y^T (C0^-1 + 2 int_0^t e^(delta s) Y Y^T ds)^-1 Y.

Nothing commutes with nu0, and nothing has to: R and its functions stand on the right of nu0 in every term. In the
integral Y(s) = B(t) e^(sR) + m K(t - s) e^(-sR) separates what grows like e^(2tR) from the rest. In the eigenbasis of
G, with S = e^(-t rho+) for delta < 0 and e^(-tR) otherwise, the growth is taken out by rows and columns,

    C = M^T (S N S + 2 M k M^T)^-1 M,    M = S F B S^-1,    k = (1 - e^(-2t rho+)) / (2 rho+),

where F = Q^T L^T, C0 = L L^T, N collects the bounded part, and the rotation Q makes F B upper triangular at late
times, fast modes first, so that M stays bounded. Hence no time is too long, and no digit is lost to the growth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from derivations.wide_linear.evaluators import elimination
from symdyn.arrays import backends as arrays
from symdyn.arrays import linalg
from symdyn.arrays.backends import Array, Collected
from symdyn.arrays.linalg import transpose
from symdyn.arrays.members import Bound, confine, finite, nan_unless, within
from symdyn.catalogue.implements import implements

# The coefficients of x^n p^j in the two series of `_by_series`: h_n(1, p) = sum_j p^j, and h_n(1, 2, p) has
# 2^(n - j + 1) - 1 for each p^j. Where they are used x <= 1 and p <= 2, so that 24 terms reach rounding. They are
# summed in rows of six: each row by one matrix product, and the rows as a polynomial in x^6.
_TERMS, _ROW = range(24), 6
_EXPONENTS = np.array(_TERMS, dtype=float)
_SERIES = np.array(
    [
        [[(n >= j) / math.factorial(n + 2) for j in _TERMS] for n in _TERMS],
        [[(n >= j) * (2.0 ** (n - j + 1) - 1) / math.factorial(n + 3) for j in _TERMS] for n in _TERMS],
    ]
)
_CACHED = 2**16
_LEAST = 0.48


@dataclass(frozen=True)
class Rates:
    """The rates of the modes, (..., c, 1), fastest first; `slowness` is that of S.

    One for all modes, (..., 1, 1), are delta, `imbalance` = |delta| and `upstream`, which says delta >= 0.
    """

    upstream: Array
    delta: Array
    imbalance: Array
    R: Array
    rho_plus: Array
    rho_minus: Array
    slowness: Array


def _rates(xp: Any, G: Array, delta: Array) -> Rates:
    delta = delta + 0 * G[..., :1, :]
    upstream = delta >= 0
    imbalance = xp.where(upstream, delta, -delta)
    R = arrays.hypot(xp, arrays.sqrt(xp, G), delta / 2)
    smaller = arrays.divide(xp, G, R + imbalance / 2)
    R = xp.where(G == 0, imbalance / 2 + smaller, R)
    larger = R + imbalance / 2
    return Rates(
        upstream=upstream,
        delta=delta,
        imbalance=imbalance,
        R=R,
        rho_plus=xp.where(upstream, larger, smaller),
        rho_minus=xp.where(upstream, smaller, larger),
        slowness=xp.where(upstream, R, smaller),
    )


class Factors(NamedTuple):
    """Functions of rate and time, (..., c, T).

    root is e^(-tR), power its square, `fading` e^(-max(delta, 0) t), one for all modes (..., 1, T); `linear` and
    `square` are `fading` times int_0^t e^(delta s) K(t - s) ds and int_0^t e^((delta - 2R) s) K(t - s)^2 ds.
    """

    root: Array
    power: Array
    K: Array
    b: Array
    k: Array
    fading: Array
    linear: Array
    square: Array


def _decayed(xp: Any, x: Array) -> Array:
    """e^x, bounded from below so that its square is still a normal number: others are slow, and count for nothing."""
    return xp.exp(xp.clip(x, _LEAST * math.log(xp.finfo(x.dtype).tiny), None))


def _arrived(xp: Any, t: Array) -> Array:
    """t, bounded from above so that t^3, which modes without a rate need, stays below one over `_decayed` squared."""
    return xp.clip(t, None, float(xp.finfo(t.dtype).tiny) ** (-2 * _LEAST / 3))


def _grown(xp: Any, rate: Array, t: Array) -> Array:
    """int_0^t e^(-rate s) ds."""
    return t * arrays.phi1(xp, -rate * t)


def _factors(xp: Any, t: Array, rates: Rates) -> Factors:
    root = _decayed(xp, -rates.R * t)
    power, fade = root * root, _decayed(xp, -rates.imbalance * t)
    K, k = _grown(xp, 2 * rates.R, t), _grown(xp, 2 * rates.rho_plus, t)
    fading = arrays.where(xp, rates.upstream, fade, 1.0)
    linear, square = _overlaps(xp, t, rates, (power, fade, K, k, fading))
    mixed = (rates.rho_plus + rates.rho_minus * power) / arrays.where(xp, rates.R == 0, 1.0, 2 * rates.R)
    return Factors(
        root=root,
        power=power,
        K=K,
        b=xp.where(rates.upstream, (1 + power) / 2 + rates.delta / 2 * K, mixed),
        k=k,
        fading=fading,
        linear=linear,
        square=square,
    )


def _overlaps(xp: Any, t: Array, rates: Rates, known: tuple[Array, ...]) -> tuple[Array, Array]:
    """`Factors.linear` and `.square`: antiderivatives, or power series where these would cancel (2Rt < 1)."""
    early = 2 * rates.R * t < 1
    soon = _by_series(xp, t, arrays.where(xp, early, 2 * rates.R * t, 0.0), rates, known)
    late = _by_antiderivative(xp, t, arrays.where(xp, early, 1.0, rates.R + 0 * t), rates, known)
    return xp.where(early, soon[0], late[0]), xp.where(early, soon[1], late[1])


def _by_antiderivative(
    xp: Any, t: Array, R: Array, rates: Rates, known: tuple[Array, ...]
) -> tuple[Array, Array]:
    power, fade, K, k, _ = known
    slow, other = _grown(xp, rates.imbalance, t), _grown(xp, 2 * rates.rho_minus, t)
    linear = xp.where(
        rates.upstream, (slow - fade * K) / (2 * R + rates.imbalance), (slow - fade * k) / (2 * R)
    )
    ends = xp.where(rates.upstream, fade * other + power * k, other + power * fade * k)
    return linear, (ends - 2 * power * slow) / (4 * R * R)


def _by_series(xp: Any, t: Array, x: Array, rates: Rates, known: tuple[Array, ...]) -> tuple[Array, Array]:
    """With x = 2Rt and p = rho+ / R, and complete homogeneous symmetric polynomials h_n,

    fading e^-x t^2 sum_n h_n(1, p) x^n / (n + 2)!  and  2 fading e^-2x t^3 sum_n h_n(1, 2, p) x^n / (n + 3)!,

    whose terms are all positive: divided differences of the exponential function, seen from its smallest argument.
    """
    power, *_, fading = known
    p = arrays.divide(xp, rates.rho_plus, rates.R, fill=2.0)
    series, exponents = (linalg.constant_like(xp, x, p) for x in (_SERIES, _EXPONENTS))
    series = xp.einsum("qnj,...j->q...n", series, p**exponents)
    powers = [0 * x + 1]
    for _ in range(_ROW):
        powers.append(powers[-1] * x)
    rows = series.reshape(*series.shape[:-1], len(_TERMS) // _ROW, _ROW) @ xp.stack(powers[:-1], -2)
    sums = 0 * x
    for row in reversed(range(rows.shape[-2])):
        sums = sums * powers[-1] + rows[..., row, :]
    return fading * power * t**2 * sums[0], 2 * fading * power**2 * t**3 * sums[1]


@dataclass(frozen=True)
class Frame:
    """One start in the eigenbasis of G, (..., c, c): nu0, F = Q^T L^T, and F B at late times in its two parts.

    Those are `grown` = F (rho+ + nu0), upper triangular, and `fallen` = F m = F (rho- - nu0), see `_FB`.
    """

    nu0: Array
    F: Array
    grown: Array
    fallen: Array
    axes: Array
    rates: Rates


def _frame(xp: Any, read: Collected) -> Frame:
    G, nu0, C0 = read["gram"], read["nu0"], read["C0"]
    values, axes = xp.linalg.eigh((G + transpose(G)) / 2)
    values, axes = xp.flip(values, (-1,)), xp.flip(axes, (-1,))
    values = values - arrays.detach(xp.clip(values, None, 0.0))
    rates = _rates(xp, values[..., None], read["delta"][..., None, None])
    nu0 = transpose(axes) @ nu0 @ axes
    L = linalg.cholesky(xp, transpose(axes) @ ((C0 + transpose(C0)) / 2) @ axes)
    one = linalg.identity_like(xp, nu0, nu0.shape[-1])
    late = transpose(L) @ (nu0 + one * rates.rho_plus)
    F = transpose(L @ _rotation(xp, late))
    grown = xp.triu(F @ (nu0 + one * rates.rho_plus))
    return Frame(nu0, F, grown, F @ (one * rates.rho_minus - nu0), axes, rates)


def _rotation(xp: Any, late: Array) -> Array:
    """The orthogonal Q of late = Q (upper triangular), differentiable when the columns of late become dependent.

    Q is fixed by all columns but the last, so that its own last column can stand for that of `late`.
    """
    if xp is np:
        return np.linalg.qr(late)[0]
    last = xp.linalg.qr(late.detach())[0][..., :, -1:]
    return xp.linalg.qr(xp.cat((late[..., :, :-1], last), -1))[0]


def _sums(xp: Any, matrices: tuple[Array, ...], functions: tuple[Array, ...]) -> Array:
    """The sum of matrices (..., c, c) whose columns are multiplied by functions (..., c, T): (..., c, c, T)."""
    columns = xp.stack([transpose(x) for x in matrices], -1)
    return (columns @ xp.stack(functions, -2)).swapaxes(-2, -3)


def _FB(xp: Any, f: Factors, frame: Frame, bare: bool = False) -> Array:
    """F B = F nu0 K + F b (..., c, c, T), and at late times, where its terms cancel next to a saddle, the same as
    (grown + fallen e^(-2tR)) / (2R), `bare` of the factor e^(-2tR) below the diagonal.
    """
    early = (f.power >= 0.5) + 0 * f.power
    half = arrays.divide(xp, 0 * frame.rates.R + 0.5, frame.rates.R)
    grown, fallen = frame.grown * transpose(half), frame.fallen * transpose(half)
    below = xp.tril(fallen, -1) if bare else 0 * fallen
    matrices = (frame.F @ frame.nu0, frame.F, grown + below, fallen - below)
    return _sums(xp, matrices, (early * f.K, early * f.b, 1 - early, (1 - early) * f.power))


def _riccati(xp: Any, f: Factors, frame: Frame) -> Array:
    """nu (..., T, c, c)."""
    X = elimination.solve(xp, _FB(xp, f, frame), frame.fallen)
    end = (frame.axes * transpose(frame.rates.rho_minus)) @ transpose(frame.axes)
    return linalg.last_first(end[..., None] - _turned(_scaled(xp, X, f.root), frame.axes))


def _scaled(xp: Any, x: Array, s: Array) -> Array:
    """s x s for a diagonal s (..., c, T)."""
    return xp.einsum("...ijt,...it,...jt->...ijt", x, s, s)


def _turned(x: Array, axes: Array) -> Array:
    """axes x axes^T."""
    x = axes[..., None, :, :] @ x
    return (axes @ x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])).reshape(x.shape)


def _bernoulli(xp: Any, t: Array, f: Factors, frame: Frame) -> Array:
    """C (..., T, c, c)."""
    s, two_R = frame.rates.slowness, 2 * transpose(frame.rates.R)
    late = ((f.power < 0.5) * t)[..., None, :, :]
    ratio = (transpose(s) - s)[..., None] * t - xp.tril(0 * s + two_R, -1)[..., None] * late
    M = _decayed(xp, ratio) * _FB(xp, f, frame, bare=True)
    H = _scaled(xp, _bounded(xp, f, frame), _decayed(xp, -s * t))
    H = H + xp.einsum("...ikt,...kt,...jkt->...ijt", M, 2 * f.k, M)
    return elimination.congruence(xp, H, frame.axes[..., None, :, :] @ M)


def _bounded(xp: Any, f: Factors, frame: Frame) -> Array:
    """N (..., c, c, T): sums over the modes of constant matrices times functions of time, in one product."""
    early, F, m = frame.F @ frame.nu0, frame.F, frame.fallen
    outer = [x[..., :, None, :] * m[..., None, :, :] for x in (early, F, m)]
    one = linalg.identity_like(xp, F, F.shape[-1])[..., None] + 0 * outer[0][..., :1]
    matrices = xp.concatenate((*(x + x.swapaxes(-2, -3) for x in outer), one), -1)
    functions = (2 * f.linear * f.K, 2 * f.linear * f.b, f.square, f.fading)
    *batch, rows, columns, terms = matrices.shape
    flat = matrices.reshape(*batch, rows * columns, terms) @ xp.concatenate(functions, -2)
    return flat.reshape(*flat.shape[:-2], rows, columns, flat.shape[-1])


@implements("wide_linear.closed_form")
def matrix_riccati(
    t: object, nu0: object, C0: object, gram: object, delta: object, *, check: bool = True
) -> tuple[Array, Array]:
    r"""nu(t) and C(t) of nu' = G - delta nu - nu^2, C' = C (nu + delta) + (nu + delta)^T C - 2 C^2, in closed form.

    nu = rho- - e^(-tR) (1 - m K)^-1 m e^(-tR),  R = sqrt(G + delta^2/4),  rho- = R - delta/2,  m = rho- - nu0,
    K = (1 - e^(-2tR)) / (2R); C as in this module's docstring. For a network with c = h, whitened data, unit rates and
    A A^T - W W^T = delta I these are nu = A^-1 W beta* and C = A^T A; nu0 and G need not share an eigenspace.

    Args:
        t: times (T,), or one time (); finite, t >= 0, in units of 1/(learning rate x data scale).
        nu0: A(0)^-1 W(0) beta* (..., c, c).
        C0: A(0)^T A(0) (..., c, c), symmetric and positive definite.
        gram: G = beta*^T beta* (..., c, c), symmetric and positive semi-definite.
        delta: the balance (...), of any sign. For other rates than 1 pass sqrt(eta_a eta_w) beta* for beta*, and
            eta_w C for C.
        check: False omits the checks of values; what is out of domain is then NaN.

    Returns:
        nu (..., T, c, c) and C (..., T, c, c); the time axis is absent when t is one number. nu has a pole where A(t)
        becomes singular, which needs delta <= 0 in a network; C is smooth there, and beyond the pole both are those
        of the network, which notices nothing.

    Raises:
        ValueError: a value out of its domain (argument and batch indices named), shapes that do not fit, or a time on
            a pole of nu to rounding.
        TypeError: complex or non-numeric data.

    Accurate to rounding in units of |R| + |nu| for nu and of |C| for C, times the condition of the problem, for any t;
    times above 1e98 (1e12 in float32) count as that long, which only modes without a rate could tell.
    Derivatives with respect to gram need distinct eigenvalues, and distinct from zero where delta = 0.

    Source: kunin2024, App. B.1.1, where the system is said to be solvable in a shared eigenspace only.

    >>> nu, C = matrix_riccati(30.0, nu0=[[0, 1], [0, 0]], C0=[[1, 0], [0, 2]], gram=[[4, 0], [0, 1]], delta=0)
    >>> (nu.round(9) + 0.0).tolist(), (C.round(9) + 0.0).tolist()
    ([[2.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]])
    """
    read, good = _read(check, t=t, nu0=nu0, C0=C0, gram=gram, delta=delta)
    xp, single = read.xp, len(read["t"].shape) == 0
    with arrays.quiet(xp):
        nu, C = (nan_unless(xp, good, x) for x in _solution(read))
        regular = _regular(read, nu)
    nu, C, regular = (nu[..., 0, :, :], C[..., 0, :, :], regular[..., 0]) if single else (nu, C, regular)
    if check and not read.traced:
        arrays.require("t", regular, "off the poles of nu, where A(t) is singular")
        return nu, C
    return nan_unless(xp, regular, nu), C


def _solution(read: Collected) -> tuple[Array, Array]:
    """With the time axis also where t is one time."""
    xp = read.xp
    times = _arrived(xp, read["t"] if len(read["t"].shape) else read["t"][None])
    frame = _frame(xp, read)
    f = _factors(xp, times, frame.rates)
    length = max(1, len(times)) if xp is not np else max(1, _CACHED // max(1, frame.nu0.size))
    parts = [slice(i, i + length) for i in range(0, max(len(times), 1), length)]
    blocks = [_block(xp, times[part], Factors(*(x[..., part] for x in f)), frame) for part in parts]
    nu, C = (
        (xp.concatenate(parts, -3) for parts in zip(*blocks, strict=True)) if len(blocks) > 1 else blocks[0]
    )
    return nu, C


def _block(xp: Any, times: Array, f: Factors, frame: Frame) -> tuple[Array, Array]:
    return _riccati(xp, f, frame), _bernoulli(xp, times, f, frame)


def _regular(read: Collected, nu: Array) -> Array:
    """Where nu has digits left: it is smaller by two decades than what rounding the poles makes of infinity."""
    xp = read.xp
    scale = (
        xp.amax(xp.abs(read["nu0"]), (-2, -1))
        + xp.amax(xp.abs(read["gram"]), (-2, -1)) ** 0.5
        + abs(read["delta"])
    )
    return xp.amax(xp.abs(nu), (-2, -1)) <= scale[..., None] / (100 * xp.finfo(read.dtype).eps)


def _read(check: bool, **arguments: object) -> tuple[Collected, Array | None]:
    """The arguments, of checked shapes and confined to their domain, and when they were in it, (..., T)."""
    read = arrays.collect(**arguments)
    size = read["nu0"].shape[-1:]
    for name in ("nu0", "C0", "gram"):
        linalg.check_square(name, read[name])
        if read[name].shape[-1:] != size:
            raise ValueError(
                f"nu0, C0 and gram must have one size; nu0 has {size[0]} and {name} {read[name].shape[-1]}"
            )
    batch = {name: tuple(read[name].shape[:-2]) for name in ("nu0", "C0", "gram")}
    arrays.broadcast_shape(**batch, delta=tuple(read["delta"].shape))
    if len(read["t"].shape) > 1:
        raise ValueError(f"t must be a number or a vector of times; its shape is {tuple(read['t'].shape)}")
    xp, one = read.xp, np.eye(size[0])
    # The eigenvectors of gram have derivatives where its eigenvalues are distinct.
    distinct = np.diag(np.arange(1.0, size[0] + 1))
    times = Bound("t", lambda t: (t >= 0) & xp.isfinite(t), "finite and non-negative")
    read, on_time = confine(check, read, times)
    read, good = confine(
        check,
        read,
        Bound("delta", finite(xp), "finite"),
        Bound("nu0", finite(xp, 2), "finite", one),
        Bound("C0", finite(xp, 2), "finite", one),
        Bound("gram", finite(xp, 2), "finite", distinct),
        Bound("gram", partial(linalg.is_symmetric, xp), "symmetric", distinct),
        Bound("gram", partial(linalg.is_semidefinite, xp), "positive semi-definite", distinct),
        Bound("C0", partial(linalg.is_symmetric, xp), "symmetric", one),
        Bound("C0", partial(linalg.is_definite, xp), "positive definite", one),
    )
    return read, within(good, on_time)
