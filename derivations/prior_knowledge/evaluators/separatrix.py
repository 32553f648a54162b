r"""Which tasks can be learned from which start, and how far a start is from those that cannot.

With F = [[-lambda/2, sigma_yx^T], [sigma_yx, lambda/2]] and Z = [W1 W2^T], the exact flow of a lambda-balanced network
is Z^T Z = e^(tF) Z0^T (1 + Z0 int_0^t e^(2sF) ds Z0^T)^-1 Z0 e^(tF). A mode s u v^T of the task grows along
(v sin, u cos) with the rate R = sqrt(s^2 + lambda^2/4), tan^2 = (R - lambda/2)/(R + lambda/2), and starts from the
overlap W1 v sin + W2^T u cos in hidden space. At late times the fastest mode takes its overlap for itself, the next
one what its own overlap has across that, and so on. Hence the flow ends at

    sum over modes of s u (projection) v^T,

with a projection that is 0 or 1 where the singular value is simple. The best map of rank N_h is reached if and only if
the overlaps of the strongest m = min(N_h, rank sigma_yx) modes are linearly independent. For N_i = N_o <= N_h,
lambda = 0 and full ranks this is the condition det B != 0 of braun2022, Theorem 3.1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from derivations.prior_knowledge.evaluators.lambda_balance import (
    ExactlyRead,
    balance,
    read_start,
    unbalanced,
    weight_norm,
)
from derivations.wide_linear.evaluators.isotropic_flow import turn
from symdyn.arrays import backends as arrays
from symdyn.arrays import linalg
from symdyn.arrays.backends import Array, Collected
from symdyn.arrays.linalg import transpose
from symdyn.catalogue.implements import implements

_INPUT, _COMPUTED, _UNSEEN = 4, 1, 4


class Overlaps(NamedTuple):
    """Modes of the task by falling singular value: singular values and rates (..., k), the parts of their growing
    directions in W1 (..., N_i, k) and W2 (..., N_o, k), the overlaps (..., N_h, k), and which of the modes are
    stronger than the weakest that N_h neurons can learn (`above`), or at least as strong (`within`), and how many
    can be learned."""

    s: Array
    rates: Array
    inputs: Array
    outputs: Array
    overlaps: Array
    above: Array
    within: Array
    learnable: Array


@implements("prior_knowledge.singular_overlap")
def separatrix_distance(W1: object, W2: object, sigma_yx: object, *, check: bool = True) -> Array:
    r"""How far the start is from not learning the task: the least singular value of the overlaps with its modes.

    Let O have the columns W1 v_i sin + W2^T u_i cos, i = 1 .. m = min(N_h, rank sigma_yx). The distance is the m-th
    singular value of O. It is the smallest change of [W1 W2^T], in the Frobenius norm, after which a mode is missed,
    and a bound from below for changes that keep the balance. Where s_m = s_(m+1), O has all modes with s >= s_m, and
    the distance is not larger than the least singular value of the overlaps with those above s_m.

    For N_i = N_o <= N_h and lambda = 0 it is zero wherever det(W2 W1) and det(sigma_yx) have opposite signs: half of
    all such starts are on the separatrix.

    Args:
        W1: input weights (..., N_h, N_i).
        W2: readout weights (..., N_o, N_h), with W2^T W2 - W1 W1^T = lambda I.
        sigma_yx: input-output correlation (..., N_o, N_i) for whitened inputs, of any rank.
        check: False omits the checks of values.

    Returns:
        The distance (...), in the units of the weights; +inf where sigma_yx = 0, which every start learns. It is known
        as well as 4 units in the last place of the input allow: to 1e-15 |Z| (1 + |sigma_yx|/(s_m - s_(m+1))). The
        solution at late times loses as many digits as the distance is smaller than the weights. Rational numbers
        (Fractions, rational numbers or matrices of SymPy, integers in arrays of objects) are exact: then it is decided
        without rounding whether the distance is zero, and if not, all digits of it are right.

    Raises:
        ValueError: a value out of its domain (argument and batch indices named), a start that is not lambda-balanced
            (its imbalance is named), or shapes that do not fit.
        TypeError: complex or non-numeric data.

    Derivatives in the weights exist off the separatrix where the m-th singular value of O is simple. Those in sigma_yx
    need distinct singular values too, of which no more than one is zero, none where N_i != N_o, and are those along
    tasks of the same rank where this is less than N_h: elsewhere the distance jumps. Equal singular values give NaN, or
    a wrong finite number where they are equal to rounding.

    Source: braun2022, Sec. 3 and 6 (B, its singular case).

    >>> separatrix_distance(W1=[[1.0]], W2=[[1.0]], sigma_yx=[[2.0]]).round(6).tolist()
    1.414214
    >>> separatrix_distance(W1=[[1.0]], W2=[[1.0]], sigma_yx=[[-2.0]]).tolist()
    0.0
    """
    read = read_start(check, W1=W1, W2=W2, sigma_yx=sigma_yx)
    if isinstance(read, ExactlyRead):
        return _exact_distance(read)
    with arrays.quiet(read.xp):
        return distance_of(read.xp, overlaps_of(read))


def _exact_distance(read: ExactlyRead) -> Array:
    from derivations.prior_knowledge.evaluators.rational_flow import distance

    return np.array([distance(start) for start in read.starts.flat]).reshape(read.starts.shape)


def overlaps_of(read: Collected) -> Overlaps:
    """The overlaps of the start with the growing modes of its task."""
    xp, W1, W2 = read.xp, read["W1"], read["W2"]
    u, s, v = xp.linalg.svd(read["sigma_yx"], full_matrices=False)
    v, half = transpose(v), balance(read)[0][..., None] / 2
    R, cos, sin = turn(xp, s, half)
    inputs, outputs = v * sin[..., None, :], u * cos[..., None, :]
    found = W1 @ inputs + transpose(W2) @ outputs
    fixed = arrays.detach(s)
    tie = tie_of(read, fixed)
    alive = fixed > tie
    place = linalg.constant_like(xp, np.arange(s.shape[-1]), s)
    number = xp.clip(alive.sum(-1), None, W1.shape[-2])[..., None]
    weakest = arrays.where(xp, place == number - 1, fixed, 0.0).sum(-1)[..., None]
    above, within = alive & (fixed > weakest + tie), alive & (fixed >= weakest - tie)
    shape = found.shape[:-2]
    above, within = (xp.broadcast_to(x, (*shape, s.shape[-1])) for x in (above, within))
    return Overlaps(s, R, inputs, outputs, found, above, within, xp.broadcast_to(number[..., 0], shape))


def distance_of(xp: Any, modes: Overlaps) -> Array:
    """The distance (...) from the overlaps."""
    return xp.minimum(*_distances(xp, modes))


def on_separatrix_of(read: Collected, modes: Overlaps) -> Array:
    """Where the distance is zero: exactly for rational numbers, and otherwise as far as 4 units in the last place of
    the input tell, see `resolution`."""
    if isinstance(read, ExactlyRead):
        found = [start.decision.on_separatrix for start in read.starts.flat]
        return np.array(found, dtype=bool).reshape(read.starts.shape)
    return within_rounding(read, modes)


def within_rounding(read: Collected, modes: Overlaps) -> Array:
    """Where rounding of the input may hide the distance from zero."""
    xp, found = read.xp, False
    s = arrays.detach(modes.s)
    for distance, mask in zip(_distances(xp, modes), (modes.within, modes.above), strict=True):
        last = mask.sum(-1)[..., None]
        place = linalg.constant_like(xp, np.arange(s.shape[-1]), s)
        gap = xp.where(place == last - 1, gaps(xp, s), 0 * s).sum(-1)
        found = found | (arrays.detach(distance) <= resolution(read, gap[..., None])[..., 0])
    return found


def tie_of(read: Collected, s: Array) -> Array:
    """Singular values (..., k) that are nearer than this (..., 1) are equal, and smaller ones are zero."""
    return 4 * max(read["sigma_yx"].shape[-2:]) * read.xp.finfo(s.dtype).eps * s[..., :1]


def gaps(xp: Any, s: Array) -> Array:
    """s_j - s_(j+1), and the last singular value itself."""
    return xp.concatenate((s[..., :-1] - s[..., 1:], s[..., -1:]), -1)


def resolution(read: Collected, gap: Array) -> Array:
    r"""How far (..., k) rounding moves singular values of the overlaps with modes that gaps (..., k) set apart.

    Input is exact to 4 units in the last place. So Z = [W1 W2^T] moves by 4 eps |Z|, and the modes turn by
    4 eps |sigma_yx|/gap (Wedin): 4 eps |Z| (1 + |sigma_yx|/gap) in all, with Frobenius norms. The computation adds as
    much as one unit would. Weights that are less exact show it by their balance, and are taken to be so in the
    directions too in which it does not show.
    """
    xp = read.xp
    size = arrays.detach(weight_norm(read))[..., None]
    task = linalg.size(xp, arrays.detach(read["sigma_yx"]))[..., None]
    turn = arrays.where(xp, gap > 0, task / arrays.where(xp, gap > 0, gap, 1.0), 0.0)
    rounding = (_INPUT + _COMPUTED) * xp.finfo(read.dtype).eps * size * (1 + turn)
    return rounding + _UNSEEN * unbalanced(read)[..., None]


def _distances(xp: Any, modes: Overlaps) -> tuple[Array, Array]:
    """Of the modes down to the weakest that can be learned. Where that one shares its singular value with more modes
    than there is room for, of all of these, and of the stronger ones; else the second is infinite."""
    number = modes.learnable
    first = _singular_value(xp, modes.overlaps, modes.within, number)
    crowded = modes.within.sum(-1) > number
    if xp is np and not crowded.any():
        return first, arrays.where(xp, crowded, first, np.inf)
    second = _singular_value(xp, modes.overlaps, modes.above, modes.above.sum(-1))
    return first, arrays.where(xp, crowded, second, np.inf)


def _singular_value(xp: Any, overlaps: Array, mask: Array, number: Array) -> Array:
    """The singular value of that number, from 1 on, of the columns in the mask; +inf for the number 0."""
    values = xp.linalg.svd(overlaps * mask[..., None, :], full_matrices=False)[1]
    place = linalg.constant_like(xp, np.arange(values.shape[-1]), values)
    chosen = arrays.where(xp, place == number[..., None] - 1, values, 0.0).sum(-1)
    return arrays.where(xp, number > 0, chosen, np.inf)
