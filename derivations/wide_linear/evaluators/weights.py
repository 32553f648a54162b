r"""What the weights of a wide linear network say at a glance: its balance, its preconditioner, neuron by neuron.

f(x) = A^T W x with A (h, c), W (h, d) and beta = W^T A = sum_k w_k a_k^T. Gradient flow with the rates eta_a, eta_w
keeps Delta = eta_w A A^T - eta_a W W^T and moves vec(beta) along -M vec(grad), M = eta_w A^T A (+) eta_a W^T W, where
C (+) D = C x I_d + I_c x D and vec stacks columns (kunin2024, Sec. 4 and App. B.1). NumPy and torch flatten rows:
`vec` and `unvec` are the change of convention, and beta.reshape(-1) is not vec(beta).
"""

from __future__ import annotations

from typing import Any

from symdyn.arrays import backends as arrays
from symdyn.arrays import linalg
from symdyn.arrays.backends import Array, Collected
from symdyn.arrays.linalg import transpose
from symdyn.arrays.members import Bound, confine, finite, nan_unless, positive, within
from symdyn.catalogue.implements import implements


@implements("wide_linear.vec_of_a_product")
def vec(beta: object) -> Array:
    r"""The columns of beta (..., d, c) below one another, (..., cd): entry j d + i is beta_ij.

    >>> vec([[1.0, 2.0], [3.0, 4.0]]).tolist()
    [1.0, 3.0, 2.0, 4.0]
    """
    read = arrays.collect(beta=beta)
    linalg.check_matrix("beta", read["beta"])
    shape = read["beta"].shape
    return transpose(read["beta"]).reshape(*shape[:-2], shape[-2] * shape[-1])


@implements("wide_linear.vec_of_a_product")
def unvec(vector: object, d: int) -> Array:
    r"""The matrix (..., d, c) whose columns below one another are the vector (..., cd).

    >>> unvec([1.0, 3.0, 2.0, 4.0], d=2).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    read = arrays.collect(vector=vector)
    arrays.check_vector("vector", read["vector"])
    shape = read["vector"].shape
    if d < 1 or shape[-1] % d:
        raise ValueError(f"vector must have a multiple of d = {d} components; it has {shape[-1]}")
    return transpose(read["vector"].reshape(*shape[:-1], shape[-1] // d, d))


@implements("wide_linear.conserved_balance")
def conserved(A: object, W: object, eta_a: object = 1, eta_w: object = 1, *, check: bool = True) -> Array:
    r"""Delta = eta_w A A^T - eta_a W W^T, which gradient flow keeps for every loss of W^T A.

    Args:
        A: readout weights (..., h, c).
        W: input weights (..., h, d).
        eta_a, eta_w: learning rates (...), positive.
        check: False omits the checks of values; what is out of domain is then NaN.

    Returns:
        Delta (..., h, h), symmetric; its diagonal is delta_k = eta_w |a_k|^2 - eta_a |w_k|^2.

    Raises:
        ValueError: a value out of its domain (argument and batch indices named), or shapes that do not fit.
        TypeError: complex or non-numeric data.

    Source: kunin2024, Sec. 4 and App. B.1.

    >>> conserved(A=[[1.0, 2.0]], W=[[2.0, 0.0, 1.0]]).tolist()
    [[0.0]]
    """
    read, good = read_weights(check, A=A, W=W, eta_a=eta_a, eta_w=eta_w)
    eta_a, eta_w = rates(read)
    found = eta_w * (read["A"] @ transpose(read["A"])) - eta_a * (read["W"] @ transpose(read["W"]))
    return nan_unless(read.xp, good, found)


@implements("wide_linear.vectorised_beta_dynamics")
def preconditioner(
    A: object, W: object, eta_a: object = 1, eta_w: object = 1, *, check: bool = True
) -> Array:
    r"""M = eta_w A^T A x I_d + I_c x eta_a W^T W, by which gradient flow moves vec(beta), columns stacked.

    vec(beta') = -M vec(X^T X beta - X^T Y), and K = (I_c x X) M (I_c x X^T) is the tangent kernel.

    Args:
        A, W, eta_a, eta_w, check: as in `conserved`.

    Returns:
        M (..., cd, cd), symmetric and positive semi-definite; row j d + i belongs to beta_ij, see `vec`.

    Raises:
        ValueError, TypeError: as `conserved`.

    Source: kunin2024, Sec. 4 and App. B.1.2.

    >>> preconditioner(A=[[2.0]], W=[[1.0, 0.0]]).tolist()
    [[5.0, 0.0], [0.0, 4.0]]
    """
    read, good = read_weights(check, A=A, W=W, eta_a=eta_a, eta_w=eta_w)
    eta_a, eta_w = rates(read)
    found = kronecker_sum(
        read.xp, eta_w * (transpose(read["A"]) @ read["A"]), eta_a * (transpose(read["W"]) @ read["W"])
    )
    return nan_unless(read.xp, good, found)


@implements("wide_linear.part_of_a_neuron")
def neuron_preconditioners(
    betas: object, deltas: object, eta_a: object = 1, eta_w: object = 1, *, check: bool = True
) -> Array:
    r"""The parts M_k of the preconditioner, from each neuron's beta_k = w_k a_k^T and balance delta_k alone.

    M_k = (kappa_k + delta_k)/2 beta_k^T beta_k / |beta_k|^2 (+) (kappa_k - delta_k)/2 beta_k beta_k^T / |beta_k|^2,
    kappa_k = sqrt(delta_k^2 + 4 eta_a eta_w |beta_k|^2), with Frobenius norms.

    Args:
        betas: contributions of the neurons (..., h, d, c), each of rank one and not zero.
        deltas: their balances (..., h).
        eta_a, eta_w: learning rates (...), positive.
        check: False omits the checks of values; what is out of domain is then NaN, but for a beta_k of higher rank:
            there the formula counts as it stands.

    Returns:
        M_k (..., h, cd, cd), whose sum over the neurons is the preconditioner.

    Raises:
        ValueError: a value out of its domain (argument and batch indices named), or shapes that do not fit.
        TypeError: complex or non-numeric data.

    Source: kunin2024, Theorem 2.

    >>> neuron_preconditioners(betas=[[[2.0], [0.0]]], deltas=[3.0]).tolist()
    [[[5.0, 0.0], [0.0, 4.0]]]
    """
    read, good = _read_neurons(check, betas=betas, deltas=deltas, eta_a=eta_a, eta_w=eta_w)
    xp, betas = read.xp, read["betas"]
    with arrays.quiet(xp):
        eta_a, eta_w = (x[..., 0] for x in rates(read))
        length = linalg.size(xp, betas)
        unit, scale = betas / length[..., None, None], xp.sqrt(eta_a) * xp.sqrt(eta_w) * length
        parts = _parts(xp, transpose(unit) @ unit, unit @ transpose(unit), scale, read["deltas"])
    return nan_unless(xp, good, parts)


@implements("wide_linear.neuron_decomposition")
def neuron_sum(
    A: object = None,
    W: object = None,
    eta_a: object = 1,
    eta_w: object = 1,
    *,
    betas: object = None,
    deltas: object = None,
    check: bool = True,
) -> Array:
    r"""The preconditioner as the sum over neurons of Theorem 2, from the weights or from betas and deltas.

    M = sum_k M_k, with M_k as in `neuron_preconditioners`, beta_k = w_k a_k^T, delta_k = eta_w |a_k|^2 - eta_a |w_k|^2.

    Args:
        A, W: weights as in `conserved`, no row of which is zero; or else
        betas, deltas: contributions (..., h, d, c) and balances (..., h), as in `neuron_preconditioners`.
        eta_a, eta_w: learning rates (...), positive.
        check: as in `neuron_preconditioners`; one neuron out of domain makes its network NaN.

    Returns:
        M (..., cd, cd), equal to `preconditioner` of the weights.

    Raises:
        ValueError: neither or both of the two kinds of input, a neuron with beta_k = 0, which the theorem excludes, or
            as `conserved`.
        TypeError: complex or non-numeric data.

    Source: kunin2024, Theorem 2.

    >>> neuron_sum(A=[[2.0]], W=[[1.0, 0.0]]).tolist()
    [[5.0, 0.0], [0.0, 4.0]]
    """
    if (A is None) != (W is None) or (betas is None) != (deltas is None) or (A is None) == (betas is None):
        raise ValueError("give either A and W, or betas and deltas")
    if A is None:
        return neuron_preconditioners(betas, deltas, eta_a, eta_w, check=check).sum(-3)
    read, good = read_weights(check, A=A, W=W, eta_a=eta_a, eta_w=eta_w)
    words = "a matrix without rows of zeros, which have beta_k = 0"
    read, rows = confine(check, read, *(Bound(n, lambda x: (x != 0).any(-1), words, 1.0) for n in ("A", "W")))
    xp, first, second = read.xp, read["A"], read["W"]
    eta_a, eta_w = (x[..., 0] for x in rates(read))
    with arrays.quiet(xp):
        found = eta_w * (first * first).sum(-1) - eta_a * (second * second).sum(-1)
        a, w = (arrays.norm(xp, layer) for layer in (first, second))
        of_a, of_w = (
            unit[..., :, None] * unit[..., None, :] for unit in (first / a[..., None], second / w[..., None])
        )
        parts = _parts(xp, of_a, of_w, xp.sqrt(eta_w) * a * (xp.sqrt(eta_a) * w), found)
    return nan_unless(xp, within(good, rows), parts).sum(-3)


def _parts(xp: Any, rows: Array, columns: Array, scale: Array, deltas: Array) -> Array:
    """M_k from the projections on a_k and w_k, sqrt(eta_a eta_w) |beta_k| and delta_k; zero where these underflow."""
    deltas = deltas + 0 * scale
    upstream = deltas >= 0
    larger = (arrays.hypot(xp, deltas, 2 * scale) + xp.where(upstream, deltas, -deltas)) / 2
    smaller = arrays.divide(xp, scale, larger) * scale
    readout, inputs = xp.where(upstream, larger, smaller), xp.where(upstream, smaller, larger)
    return kronecker_sum(xp, readout[..., None, None] * rows, inputs[..., None, None] * columns)


def kronecker_sum(xp: Any, C: Array, D: Array) -> Array:
    """C x I_d + I_c x D for C (..., c, c) and D (..., d, d): (..., cd, cd)."""
    c, d = C.shape[-1], D.shape[-1]
    one, other = linalg.identity_like(xp, D, d), linalg.identity_like(xp, C, c)
    total = C[..., :, None, :, None] * one[:, None, :] + other[:, None, :, None] * D[..., None, :, None, :]
    return total.reshape(*total.shape[:-4], c * d, c * d)


def rates(read: Collected) -> tuple[Array, Array]:
    """eta_a and eta_w of shape (..., 1, 1)."""
    return read["eta_a"][..., None, None], read["eta_w"][..., None, None]


def read_weights(check: bool, **arguments: object) -> tuple[Collected, Array | None]:
    """Read A, W, eta_a and eta_w, of checked shapes, and confine them to their domain."""
    read = arrays.collect(**arguments)
    for name in ("A", "W"):
        linalg.check_matrix(name, read[name])
    if read["A"].shape[-2] != read["W"].shape[-2]:
        sizes = f"A has {read['A'].shape[-2]} and W has {read['W'].shape[-2]}"
        raise ValueError(f"A and W must have one row a neuron; {sizes}")
    batch = {name: tuple(read[name].shape[:-2]) for name in ("A", "W")}
    arrays.broadcast_shape(**batch, **{name: tuple(read[name].shape) for name in ("eta_a", "eta_w")})
    matrices = (Bound(name, finite(read.xp, 2), "finite") for name in ("A", "W"))
    return confine(check, read, *matrices, *positive(read.xp, "eta_a", "eta_w"))


def _rank_one(read: Collected) -> Array:
    """Where beta beta^T beta = |beta|^2 beta up to rounding."""
    xp, betas = read.xp, arrays.detach(read["betas"])
    unit = betas / linalg.size(xp, betas)[..., None, None]
    rest = linalg.size(xp, unit @ transpose(unit) @ unit - unit)
    return rest < (1e-4 if str(read.dtype).endswith("32") else 1e-9)


def _read_neurons(check: bool, **arguments: object) -> tuple[Collected, Array | None]:
    """The same for betas and deltas, neuron by neuron (..., h)."""
    read = arrays.collect(**arguments)
    betas, deltas = read["betas"], read["deltas"]
    if len(betas.shape) < 3 or 0 in betas.shape[-3:]:
        raise ValueError(
            f"betas must be matrices, one a neuron, (..., h, d, c); its shape is {tuple(betas.shape)}"
        )
    if len(deltas.shape) == 0 or deltas.shape[-1] != betas.shape[-3]:
        sizes = f"betas has {betas.shape[-3]} and deltas the shape {tuple(deltas.shape)}"
        raise ValueError(f"betas and deltas must have one entry a neuron; {sizes}")
    batch = {"betas": tuple(betas.shape[:-3]), "deltas": tuple(deltas.shape[:-1])}
    arrays.broadcast_shape(**batch, **{name: tuple(read[name].shape) for name in ("eta_a", "eta_w")})
    xp = read.xp
    read, neurons = confine(
        check,
        read,
        Bound("betas", finite(xp, 2), "finite", 1.0),
        Bound("betas", lambda x: (x != 0).any(-1).any(-1), "non-zero for every neuron", 1.0),
        Bound("deltas", finite(xp), "finite"),
    )
    if check and not read.traced:
        arrays.require("betas", _rank_one(read), "of rank one for every neuron, w_k a_k^T")
    read, good = confine(check, read, *positive(xp, "eta_a", "eta_w"))
    return read, within(good, neurons)
