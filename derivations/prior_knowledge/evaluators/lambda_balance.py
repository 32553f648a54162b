r"""Reading a lambda-balanced start: W2^T W2 - W1 W1^T = lambda I.

Floats count as exact to 4 units in the last place. Weights and tasks of rational numbers are exact: Fractions, rational
numbers or matrices of SymPy, or integers in arrays of objects. Then so are the balance and what is decided about them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from symdyn.arrays import backends as arrays
from symdyn.arrays import kinds, linalg
from symdyn.arrays.backends import Array, Collected
from symdyn.arrays.linalg import transpose

_UNITS = 4
_MATRICES = ("W1", "W2", "sigma_yx")


@dataclass(frozen=True)
class ExactlyRead(Collected):
    """Arguments rounded to float64, and what was given: an `ExactStart` for every member of the batch, t and tau."""

    starts: np.ndarray
    given: Mapping[str, object]

    def times(self) -> list[Fraction]:
        """t/tau as they were given."""
        tau = _fraction(np.asarray(self.given["tau"]).item())
        return [_fraction(t) / tau for t in np.asarray(self.given["t"]).reshape(-1).tolist()]


def read_times(read: Collected, check: bool) -> Array:
    """t/tau as a vector of times; t must be a number or a vector, tau one positive number."""
    if len(read["t"].shape) > 1:
        raise ValueError(f"t must be a number or a vector of times; its shape is {tuple(read['t'].shape)}")
    if len(read["tau"].shape):
        raise ValueError(f"tau must be one number; its shape is {tuple(read['tau'].shape)}")
    if check and not read.traced:
        arrays.require("t", (read["t"] >= 0) & read.xp.isfinite(read["t"]), "finite and non-negative")
        arrays.require_positive(read, "tau")
    times = read["t"] / read["tau"]
    return times if len(times.shape) else times[None]


def read_start(check: bool, **arguments: object) -> Collected:
    """Read W1, W2 and sigma_yx, with whatever else is given: shapes always, values if they are to be checked."""
    exact = _rational(arguments)
    read = arrays.collect(**({**arguments, **_rounded(arguments)} if exact else arguments))
    check_weights(read)
    linalg.check_matrix("sigma_yx", read["sigma_yx"])
    shape = (read["W2"].shape[-2], read["W1"].shape[-1])
    found = tuple(read["sigma_yx"].shape[-2:])
    if found != shape:
        raise ValueError(f"sigma_yx must be {shape}, outputs by inputs, to fit W1 and W2; it is {found}")
    batches = {name: tuple(read[name].shape[:-2]) for name in ("W1", "W2", "sigma_yx")}
    if 0 in arrays.broadcast_shape(**batches):
        raise ValueError(
            f"W1, W2 and sigma_yx must be of one start at least: their shapes are "
            f"{', '.join(str(tuple(read[name].shape)) for name in batches)}"
        )
    if exact:
        return ExactlyRead(read.xp, read.dtype, False, read.arrays, _starts(exact), arguments)
    if check and not read.traced:
        arrays.require("sigma_yx", read.xp.isfinite(read["sigma_yx"]).all(-1).all(-1), "finite")
        require_balanced(read)
    return read


def _rational(arguments: Mapping[str, object]) -> dict[str, np.ndarray] | None:
    """W1, W2 and sigma_yx as arrays of objects if one of them is given by such; None if not."""
    if any(arrays.is_tensor(arguments[name]) for name in _MATRICES):
        return None
    try:
        found = {name: kinds.exactly(name, arguments[name]) for name in _MATRICES}
    except ValueError:
        return None
    if all(x.dtype.kind != "O" for x in found.values()):
        return None
    from derivations.prior_knowledge.evaluators.exact_decision import fractions

    return {name: fractions(name, x.astype(object)) for name, x in found.items()}


def _rounded(arguments: Mapping[str, object]) -> dict[str, np.ndarray]:
    """Arguments of rational numbers as floats."""
    found = {name: np.asarray(x) for name, x in arguments.items() if not arrays.is_tensor(x)}
    return {name: x.astype(float) for name, x in found.items() if x.dtype.kind == "O" or name in _MATRICES}


def _starts(exact: Mapping[str, np.ndarray]) -> np.ndarray:
    """An `ExactStart` for every member of the batch."""
    from derivations.prior_knowledge.evaluators.exact_decision import ExactStart

    shape = arrays.broadcast_shape(**{name: x.shape[:-2] for name, x in exact.items()})
    spread = [np.broadcast_to(exact[name], shape + exact[name].shape[-2:]) for name in _MATRICES]
    found = np.empty(shape, dtype=object)
    for index in np.ndindex(shape):
        found[index] = ExactStart(*(x[index].tolist() for x in spread))
    return found


def _fraction(x: Any) -> Fraction:
    """Of a float, an integer, a Fraction, or a rational number of SymPy."""
    return Fraction(int(x.p), int(x.q)) if hasattr(x, "p") else Fraction(x)


def check_weights(read: Collected) -> None:
    """Raise ValueError unless W1 (..., N_h, N_i) and W2 (..., N_o, N_h) chain."""
    for name in ("W1", "W2"):
        linalg.check_matrix(name, read[name])
    hidden, other = read["W1"].shape[-2], read["W2"].shape[-1]
    if hidden != other:
        raise ValueError(
            f"W1 (N_h, N_i) and W2 (N_o, N_h) must chain; W1 has {hidden} rows, W2 {other} columns"
        )
    arrays.broadcast_shape(W1=tuple(read["W1"].shape[:-2]), W2=tuple(read["W2"].shape[:-2]))


def balance(read: Collected) -> tuple[Array, Array]:
    """lambda (...), the mean of the diagonal of W2^T W2 - W1 W1^T, and the largest entry of what is left.

    A lambda that 4 units in the last place of the weights may make zero is zero: multiplied by a long time, rounding of
    large weights would be felt. Its gradient stays.
    """
    xp, W1, W2 = read.xp, read["W1"], read["W2"]
    difference = transpose(W2) @ W2 - W1 @ transpose(W1)
    size = difference.shape[-1]
    offset = sum(difference[..., i, i] for i in range(size)) / size
    known = arrays.detach(offset)
    rounding = 2 * _UNITS * xp.finfo(offset.dtype).eps * arrays.detach(weight_size(read)) / size
    offset = offset - xp.where(xp.abs(known) <= rounding, known, 0 * known)
    rest = difference - linalg.identity_like(xp, difference, size) * offset[..., None, None]
    return offset, xp.amax(xp.abs(rest), (-2, -1))


def weight_size(read: Collected) -> Array:
    """|W1|_F^2 + |W2|_F^2 (...)."""
    return (read["W1"] ** 2).sum((-2, -1)) + (read["W2"] ** 2).sum((-2, -1))


def weight_norm(read: Collected) -> Array:
    """sqrt(|W1|_F^2 + |W2|_F^2) (...), also where the squares underflow."""
    first, second = (linalg.size(read.xp, read[name]) for name in ("W1", "W2"))
    return arrays.hypot(read.xp, first + 0 * second, second + 0 * first)


def _of_order_one(read: Collected) -> tuple[Collected, Array]:
    """The weights over a power of two (...), so that their squares are in the range, and that power."""
    xp, size = read.xp, arrays.detach(weight_norm(read))
    unit = xp.exp2(xp.round(xp.log2(arrays.where(xp, (size > 0) & xp.isfinite(size), size, 1.0))))
    scaled = {name: read[name] / unit[..., None, None] for name in ("W1", "W2")}
    return Collected(xp, read.dtype, read.traced, {**read.arrays, **scaled}), unit


def unbalanced(read: Collected) -> Array:
    r"""How far (...) Z = [W1 W2^T] is from the next lambda-balanced start, to first order, in the Frobenius norm.

    With J = diag(-1, 1), D = Z J Z^T - lambda in the basis of the left singular vectors of Z, and singular values s_i,
    the smallest E with E J Z^T + Z J E^T = -D has |E|^2 = sum_ij D_ij^2 / (s_i^2 + s_j^2) / 2.
    """
    read, unit = _of_order_one(read)
    xp, W1, W2t = read.xp, arrays.detach(read["W1"]), transpose(arrays.detach(read["W2"]))
    shape = arrays.broadcast_shape(W1=tuple(W1.shape[:-2]), W2=tuple(W2t.shape[:-2]))
    W1, W2t = (xp.broadcast_to(x, (*shape, *x.shape[-2:])) for x in (W1, W2t))
    Z, hidden = xp.concatenate((W1, W2t), -1), W1.shape[-2]
    left, s, _ = xp.linalg.svd(Z, full_matrices=hidden > Z.shape[-1])
    first, second = transpose(left) @ W1, transpose(left) @ W2t
    offset = arrays.detach(balance(read)[0])[..., None, None]
    rest = second @ transpose(second) - first @ transpose(first)
    rest = rest - linalg.identity_like(xp, rest, hidden) * offset
    squares = xp.concatenate((s * s, *[0 * s[..., :1]] * (hidden - s.shape[-1])), -1)
    squares = squares[..., :, None] + squares[..., None, :]
    return unit * xp.sqrt(arrays.divide(xp, rest * rest, squares).sum((-2, -1)) / 2)


def require_balanced(read: Collected) -> None:
    """Raise ValueError, naming the imbalance, where the weights are not finite or not lambda-balanced."""
    for name in ("W1", "W2"):
        arrays.require(name, read.xp.isfinite(read[name]).all(-1).all(-1), "finite")
    tolerance = 1e-4 if str(read.dtype).endswith("32") else 1e-10
    scaled, unit = _of_order_one(read)
    size, found = _numbers(weight_size(scaled)), _numbers(balance(scaled)[1])
    good = found <= tolerance * size
    largest = np.max(np.where(good, 0.0, found * _numbers(unit) ** 2), initial=0.0)
    domain = "lambda-balanced, W2^T W2 - W1 W1^T = lambda I"
    arrays.require("W1 and W2", good, f"{domain} (the imbalance is {largest:.3g})")


def require_values(name: str, read: Collected) -> None:
    """Raise TypeError inside a transform, for a function whose branches depend on values."""
    if read.traced:
        raise TypeError(
            f"{name} depends on values by its branches; call it outside torch.func transforms and torch.compile"
        )


def require_no_gradient(name: str, read: Collected) -> None:
    """Raise TypeError where a gradient is asked of a function that has none."""
    if read.xp is not np and read.xp.is_grad_enabled() and any(x.requires_grad for x in read):
        raise TypeError(f"{name} has no gradient; detach its arguments, or call it under torch.no_grad()")


def _numbers(x: Any) -> np.ndarray:
    return x.detach().cpu().numpy() if arrays.is_tensor(x) else np.asarray(x)
