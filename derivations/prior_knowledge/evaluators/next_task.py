r"""What follows another task: forgetting of the old one, its reversal, and the shallow network that does not mind.

A network that has learned task j computes sigma_j. With whitened inputs its loss on task i is

    L_i = (|sigma_j - sigma_i|^2 + <|y_i|^2> - |sigma_i|^2) / 2,

where the last two terms are what no linear map explains. Reversal asks for -W2 W1 from a network that computes W2 W1.
With balance W2^T W2 - W1 W1^T = lambda I both Gram matrices of hidden space have the same eigenvectors p_i, and those
stay. Each is one hidden neuron (x_i, y_i), x_i y_i = s_i, x_i^2 - y_i^2 = lambda, that is to learn -s_i:

    x_i(t) / x_i = (lambda + (2 R_i - lambda) e^(-2 R_i t)) / (2 R_i sqrt(D_i)),    R_i = sqrt(s_i^2 + lambda^2/4),
    y_i(t) / y_i = (-lambda + (2 R_i + lambda) e^(-2 R_i t)) / (2 R_i sqrt(D_i)),
    D_i = e^(-2 R_i t) + (lambda^2 + 4 s_i^2 e^(-2 R_i t)) (1 - e^(-2 R_i t)) / (4 R_i^2).

For lambda = 0 the ratio is 1/sqrt(2 e^(2 s_i t) - 1): the network forgets, and learns nothing. With any other balance
the reversed task is learned, after a delay of the order ln(s/|lambda|)/s.
"""

from __future__ import annotations

from typing import Any

from derivations.prior_knowledge.evaluators.lambda_balance import (
    balance,
    check_weights,
    read_times,
    require_balanced,
    weight_size,
)
from symdyn.arrays import backends as arrays
from symdyn.arrays import linalg
from symdyn.arrays.backends import Array
from symdyn.arrays.linalg import transpose
from symdyn.catalogue.implements import implements


@implements("prior_knowledge.amount_of_forgetting")
def forgetting(sigmas: object, second_moments: object, *, check: bool = True) -> Array:
    r"""The loss on task i of a network that has learned task j, for all pairs of tasks with whitened inputs.

    L_ij = (|sigma_j - sigma_i|_F^2 + <|y_i|^2> - |sigma_i|_F^2) / 2. What learning c after b does to a is L_ac - L_ab.

    Args:
        sigmas: input-output correlations of the tasks (..., K, N_o, N_i).
        second_moments: the mean square <|y|^2> of the targets of every task (..., K), at least |sigma|_F^2; or their
            matrices <y y^T> (..., K, N_o, N_o), of which the trace counts. An array whose last three axes are
            (K, N_o, N_o) is read as matrices.
        check: False omits the checks of values.

    Returns:
        L (..., K, K); its diagonal is what no linear network explains.

    Raises:
        ValueError: a value out of its domain (argument and batch indices named), or shapes that do not fit.
        TypeError: complex or non-numeric data.

    Source: braun2022, Sec. 6, with its constant.

    >>> forgetting(sigmas=[[[1.0, 0.0]], [[0.0, 2.0]]], second_moments=[1.0, 5.0]).tolist()
    [[0.0, 2.5], [3.0, 0.5]]
    """
    read = arrays.collect(sigmas=sigmas, second_moments=second_moments)
    xp, tasks, moments = read.xp, read["sigmas"], read["second_moments"]
    if len(tasks.shape) < 3 or 0 in tasks.shape[-3:]:
        raise ValueError(
            f"sigmas must be matrices, one a task, (..., K, N_o, N_i); its shape is {tuple(tasks.shape)}"
        )
    count, outputs = tasks.shape[-3], tasks.shape[-2]
    if tuple(moments.shape[-3:]) == (count, outputs, outputs):
        moments = sum(moments[..., i, i] for i in range(outputs))
    if len(moments.shape) == 0 or moments.shape[-1] != count:
        shape = tuple(read["second_moments"].shape)
        raise ValueError(
            f"second_moments must have one entry a task, {count} for sigmas; its shape is {shape}"
        )
    arrays.broadcast_shape(sigmas=tuple(tasks.shape[:-3]), second_moments=tuple(moments.shape[:-1]))
    squares = (tasks * tasks).sum((-2, -1))
    if check and not read.traced:
        arrays.require("sigmas", xp.isfinite(tasks).all(-1).all(-1), "finite")
        rounding = 1 + 64 * xp.finfo(read.dtype).eps
        good = (moments * rounding >= squares) & xp.isfinite(moments)
        arrays.require("second_moments", good, "finite and at least |sigma|_F^2, as for whitened inputs")
    rest = moments - squares
    rest = (rest - xp.clip(arrays.detach(rest), None, 0.0))[..., :, None]
    apart = tasks[..., None, :, :, :] - tasks[..., :, None, :, :]
    return ((apart * apart).sum((-2, -1)) + rest) / 2


@implements("prior_knowledge.reversed_connections", "prior_knowledge.reversal_fails")
def reversal(t: object, W1: object, W2: object, tau: object = 1, *, check: bool = True) -> Array:
    r"""QQ^T of a network that computes W2 W1 and is to learn -W2 W1, by the exact flow.

    Q(t) = [W1^T r_y(H); W2 r_x(H)] with H = W1 W1^T and the ratios of this module's docstring, so that the hidden
    neurons do not rotate. For zero-balanced weights QQ^T(t) = Q(0) (2 e^(2Ht/tau) - 1)^-1 Q(0)^T, which falls to zero.

    Args:
        t: times (T,), or one time (); finite, t >= 0.
        W1: learned input weights (..., N_h, N_i).
        W2: learned readout weights (..., N_o, N_h), with W2^T W2 - W1 W1^T = lambda I; any rank.
        tau: time constant, one positive number.
        check: False omits the checks of values.

    Returns:
        QQ^T (..., T, N_i + N_o, N_i + N_o) in the blocks of `qqt`; the time axis is absent when t is one number. A
        balance that is zero to rounding is zero: this is the limit of the exact flow, which gradient descent leaves by
        its rounding errors.

    Raises:
        ValueError: a value out of its domain (argument and batch indices named), a start that is not lambda-balanced
            (its imbalance is named), or shapes that do not fit.
        TypeError: complex or non-numeric data.

    Derivatives are those along balanced starts; they need distinct eigenvalues of W1 W1^T + W2^T W2.

    Source: braun2022, Sec. 6, which refers to an appendix.

    >>> reversal([0.0, 0.5, 50.0], W1=[[1.0]], W2=[[1.0]])[:, 1, 0].round(6).tolist()
    [1.0, 0.2254, 0.0]
    """
    read = arrays.collect(t=t, W1=W1, W2=W2, tau=tau)
    check_weights(read)
    times = read_times(read, check)
    if check and not read.traced:
        require_balanced(read)
    with arrays.quiet(read.xp):
        xp, W1, W2 = read.xp, read["W1"], read["W2"]
        offset, size = balance(read)[0], weight_size(read)
        rounding = 16 * xp.finfo(read.dtype).eps
        # A balance that is zero to rounding keeps its derivative.
        known = arrays.detach(offset)
        offset = offset - arrays.where(xp, xp.abs(known) > rounding * size, 0.0, known)
        offset = offset[..., None, None]
        values, axes = xp.linalg.eigh(W1 @ transpose(W1) + transpose(W2) @ W2)
        ratio_x, ratio_y = _ratios(xp, times, xp.clip(values, 0.0, None)[..., None, :] / 2, offset)
        first = transpose(W1) @ axes
        second = W2 @ axes
        Q = xp.concatenate(
            (first[..., None, :, :] * ratio_y[..., None, :], second[..., None, :, :] * ratio_x[..., None, :]),
            -2,
        )
        found = Q @ transpose(Q)
    return found if len(read["t"].shape) else found[..., 0, :, :]


def _ratios(xp: Any, times: Array, R: Array, offset: Array) -> tuple[Array, Array]:
    """x(t)/x(0) and y(t)/y(0) (..., T, h): both fractions divided by whichever of e^(-Rt) and |lambda|/2R is larger."""
    tilt = xp.clip(arrays.divide(xp, offset, 2 * R), -1.0, 1.0)
    fall = xp.exp(-R * times[:, None])
    left, tilt = fall * fall, tilt + 0 * fall
    scale = xp.where(fall > xp.abs(tilt), fall, xp.abs(tilt))
    aligned, opposed = arrays.divide(xp, fall, scale), arrays.divide(xp, tilt, scale)
    norm = arrays.sqrt(
        xp, aligned * aligned * (1 + (1 - tilt * tilt) * (1 - left)) + opposed * opposed * (1 - left)
    )
    rest = aligned * fall
    ratio_x = arrays.divide(xp, opposed + (rest - opposed * left), norm)
    ratio_y = arrays.divide(xp, rest + opposed * left - opposed, norm)
    return ratio_x, ratio_y


@implements("prior_knowledge.one_layer")
def shallow(
    t: object, W0: object, sigma_yx: object, sigma_xx: object = None, tau: object = 1, *, check: bool = True
) -> Array:
    r"""The weights of a network without hidden layer: W(t) = W0 e^(-t sigma_xx) + sigma_yx int_0^t e^(-s sigma_xx) ds.

    tau W' = sigma_yx - W sigma_xx. With whitened inputs W - sigma_yx falls as e^(-t/tau) from every start, the reversed
    task included.

    Args:
        t: times (T,), or one time (); finite, t >= 0.
        W0: initial weights (..., N_o, N_i).
        sigma_yx: input-output correlation (..., N_o, N_i).
        sigma_xx: input correlation (..., N_i, N_i), symmetric and positive semi-definite; the identity by default.
        tau: time constant, one positive number.
        check: False omits the checks of values.

    Returns:
        W (..., T, N_o, N_i); the time axis is absent when t is one number.

    Raises:
        ValueError: a value out of its domain (argument and batch indices named), or shapes that do not fit.
        TypeError: complex or non-numeric data.

    Where sigma_xx is singular, sigma_yx of data has no part there and W keeps what it has; a sigma_yx that no data have
    lets W grow linearly. Derivatives in sigma_xx need distinct eigenvalues.

    Source: braun2022, Sec. 6, which refers to an appendix.

    >>> shallow([0.0, 1.0, 60.0], W0=[[-1.0]], sigma_yx=[[1.0]]).round(6).ravel().tolist()
    [-1.0, 0.264241, 1.0]
    """
    whitened = sigma_xx is None
    given = {"W0": W0, "sigma_yx": sigma_yx, **({} if whitened else {"sigma_xx": sigma_xx})}
    read = arrays.collect(t=t, tau=tau, **given)
    xp = read.xp
    for name in given:
        linalg.check_matrix(name, read[name])
    shape = tuple(read["W0"].shape[-2:])
    if tuple(read["sigma_yx"].shape[-2:]) != shape:
        raise ValueError(f"sigma_yx must be {shape} to fit W0; it is {tuple(read['sigma_yx'].shape[-2:])}")
    if not whitened and tuple(read["sigma_xx"].shape[-2:]) != (shape[1], shape[1]):
        found = tuple(read["sigma_xx"].shape[-2:])
        raise ValueError(f"sigma_xx must be {(shape[1], shape[1])} to fit W0; it is {found}")
    arrays.broadcast_shape(**{name: tuple(read[name].shape[:-2]) for name in given})
    times = read_times(read, check)
    if check and not read.traced:
        for name in given:
            arrays.require(name, xp.isfinite(read[name]).all(-1).all(-1), "finite")
        if not whitened:
            linalg.require_semidefinite(read, "sigma_xx")
    with arrays.quiet(xp):
        one = linalg.identity_like(xp, read["W0"], shape[1])
        values, axes = (1 + 0 * one[0], one) if whitened else xp.linalg.eigh(read["sigma_xx"])
        values, t = xp.clip(values, 0.0, None)[..., None, None, :], times[:, None, None]
        start, goal = ((read[name] @ axes)[..., None, :, :] for name in ("W0", "sigma_yx"))
        rotated = start * xp.exp(-values * t) + goal * (t * arrays.phi1(xp, -values * t))
        found = rotated @ transpose(axes)[..., None, :, :]
    return found if len(read["t"].shape) else found[..., 0, :, :]
