"""Two-layer piecewise linear networks on arrays: the flow of every neuron, the tangent kernel, scaled starts."""

from __future__ import annotations

from symdyn.arrays import backends as arrays
from symdyn.arrays.backends import Array, Collected, where
from symdyn.catalogue.implements import implements

_UNIT = {"float32": 1e-5, "float64": 1e-12}


def _read(check: bool, **arguments: object) -> Collected:
    """Read W, a, X, (y), gamma and the rates: shapes are always checked, values if they are to be."""
    read = arrays.collect(**arguments)
    for name in ("W", "X"):
        if len(read[name].shape) < 2:
            raise ValueError(f"{name} must be a matrix; its shape is {tuple(read[name].shape)}")
    h, d = read["W"].shape[-2:]
    arrays.check_vector("a", read["a"])
    if read["a"].shape[-1] != h:
        raise ValueError(f"W has {h} rows, so a needs {h} components; it has {read['a'].shape[-1]}")
    n, inputs = read["X"].shape[-2:]
    if inputs != d:
        raise ValueError(f"W and X must have the same number of columns; they have {d} and {inputs}")
    if "y" in read.arrays:
        arrays.check_vector("y", read["y"])
        if read["y"].shape[-1] != n:
            raise ValueError(f"X has {n} rows, so y needs {n} components; it has {read['y'].shape[-1]}")
    vectors = tuple(name for name in ("a", "y") if name in read.arrays)
    scalars = ("gamma", "eta_a", "eta_w")
    batch = {name: tuple(read[name].shape[:-2]) for name in ("W", "X")}
    batch |= {name: tuple(read[name].shape[:-1]) for name in vectors}
    arrays.broadcast_shape(**batch, **{name: tuple(read[name].shape) for name in scalars})
    if check and not read.traced:
        arrays.require_finite(read, vectors=vectors)
        for name in ("W", "X"):
            arrays.require(name, read.xp.isfinite(read[name]).all((-2, -1)), "finite")
        arrays.require_positive(read, "eta_a", "eta_w")
        arrays.require("gamma", (read["gamma"] >= 0) & (read["gamma"] < 1), "at least 0 and below 1")
    return read


def _pre_activations(read: Collected) -> tuple[Array, Array]:
    """(z, c): z_ik = w_kᵀx_i and the slopes c_ki there, each (..., n, h); the slope at z = 0 is γ."""
    z = read["X"] @ read["W"].swapaxes(-1, -2)
    gamma = read["gamma"][..., None, None] + 0 * z
    return z, where(read.xp, z > 0, 1.0, gamma)


@implements("piecewise_linear.spherical_dynamics")
def coordinates_rhs(
    W: object,
    a: object,
    X: object,
    y: object,
    gamma: object = 0,
    eta_a: object = 1,
    eta_w: object = 1,
    *,
    check: bool = True,
) -> tuple[Array, Array]:
    """The velocities of the signed spherical coordinates μ_k = a_k‖w_k‖ and β̂_k = w_k/‖w_k‖ of every neuron.

    On ‖f(X) - y‖²/2 with f(x) = Σ_k a_k σ(w_kᵀx), ξ_k = Σ_i c_ki x_i (f(x_i) - y_i) and κ_k = √(δ_k² + 4η_aη_wμ_k²),
    μ̇_k = -κ_k β̂_kᵀξ_k and d/dt β̂_k = -(κ_k + δ_k)/(2μ_k) (I - β̂_kβ̂_kᵀ)ξ_k. They are computed from the weights,
    κ_k = η_w a_k² + η_a‖w_k‖² and (κ_k + δ_k)/(2μ_k) = η_w a_k/‖w_k‖, so that a_k = 0 is no exception.

    Args:
        W: input weights (..., h, d), no row zero.
        a: read-out weights (..., h).
        X: inputs (..., n, d).
        y: labels (..., n).
        gamma: slope of the activation max(z, γz) on the negative side (...), 0 ≤ γ < 1; at z = 0 its slope is γ.
        eta_a, eta_w: learning rates (...), positive.
        check: whether values are checked.

    Returns:
        (μ̇, dβ̂/dt) of shapes (..., h) and (..., h, d).

    Raises:
        ValueError: shapes that do not fit or broadcast, values out of their domain, a zero row of W.

    Source: kunin2024, Sec. 5 and App. C.2; result `piecewise_linear.spherical_dynamics`.

    >>> mu_dot, turning = coordinates_rhs([[3.0, 4.0]], [1.0], [[1.0, 0.0]], [2.0])
    >>> mu_dot, turning
    (array([-15.6]), array([[-0.128,  0.096]]))
    """
    read = _read(check, W=W, a=a, X=X, y=y, gamma=gamma, eta_a=eta_a, eta_w=eta_w)
    weights, readout = read["W"], read["a"]
    if check and not read.traced:
        arrays.require(
            "W", (weights != 0).any(-1).all(-1), "a matrix without zero rows, which have no direction"
        )
    z, slopes = _pre_activations(read)
    residual = ((slopes * z) @ readout[..., None])[..., 0] - read["y"]
    drive = (slopes * residual[..., None]).swapaxes(-1, -2) @ read["X"]
    with arrays.quiet(read.xp):
        length = arrays.norm(read.xp, weights)
        direction = weights / length[..., None]
        along = (direction * drive).sum(-1)
        rate_a, rate_w = read["eta_a"][..., None], read["eta_w"][..., None]
        mu_dot = -(rate_w * readout**2 + rate_a * length**2) * along
        turning = -(rate_w * readout / length)[..., None] * (drive - along[..., None] * direction)
    return mu_dot, turning


@implements("piecewise_linear.tangent_kernel")
def ntk(
    W: object,
    a: object,
    X: object,
    gamma: object = 0,
    eta_a: object = 1,
    eta_w: object = 1,
    *,
    check: bool = True,
) -> Array:
    """The neural tangent kernel K_ij = Σ_k c_ki x_iᵀ(η_w a_k² I + η_a w_kw_kᵀ)x_j c_kj of f(x) = Σ_k a_k σ(w_kᵀx).

    Computed as η_w (X Xᵀ) ∘ (CᵀA²C) + η_a S Sᵀ with A = diag(a), C = (c_ki) and S_ik = σ(w_kᵀx_i); no Jacobian is
    formed.

    Args:
        W: input weights (..., h, d).
        a: read-out weights (..., h).
        X: inputs (..., n, d).
        gamma: slope of the activation max(z, γz) on the negative side (...), 0 ≤ γ < 1; at z = 0 its slope is γ.
        eta_a, eta_w: learning rates (...), positive.
        check: whether values are checked.

    Returns:
        K (..., n, n), symmetric and positive semidefinite.

    Raises:
        ValueError: shapes that do not fit or broadcast, values out of their domain.

    Source: kunin2024, Sec. 5 and App. C.2; result `piecewise_linear.tangent_kernel`.

    >>> ntk([[1.0, 2.0], [-1.0, 0.0]], [3.0, 1.0], [[1.0, 0.0], [0.0, 1.0]])
    array([[10.,  2.],
           [ 2., 13.]])
    """
    read = _read(check, W=W, a=a, X=X, gamma=gamma, eta_a=eta_a, eta_w=eta_w)
    z, slopes = _pre_activations(read)
    inputs, values = read["X"], slopes * z
    weighted = slopes * read["a"][..., None, :]
    through_weights = (inputs @ inputs.swapaxes(-1, -2)) * (weighted @ weighted.swapaxes(-1, -2))
    through_readout = values @ values.swapaxes(-1, -2)
    return read["eta_w"][..., None, None] * through_weights + read["eta_a"][..., None, None] * through_readout


@implements("piecewise_linear.relative_scale", "piecewise_linear.balanced_base")
def scale_init(
    W: object, a: object, tau: object, delta: object, *, check: bool = True
) -> tuple[Array, Array]:
    """Scale a balanced base of unit neurons to the overall scale τ and the balance δ of every neuron, at rate 1.

    w_k is multiplied by τ/α and a_k by τα, where α² = e^{asinh(δ/(2τ²))} solves δ = τ²(α² - α^{-2}). Then
    a_k² - ‖w_k‖² = δ and |a_k|‖w_k‖ = τ². The larger factor is L = √((√(δ² + 4τ⁴) + |δ|)/2), the other τ²/L.

    Args:
        W: input weights (..., h, d) of length one.
        a: read-out weights (..., h), 1 or -1.
        tau: scale (...), positive.
        delta: balance (...), any real number.
        check: whether values are checked; without, any base is scaled.

    Returns:
        (W, a) scaled; tau and delta add their batch axes in front.

    Raises:
        ValueError: shapes that do not fit or broadcast, a base that is not made of unit neurons, τ not positive.

    Source: kunin2024, App. D.1, with δ in place of δ²; result `piecewise_linear.relative_scale`.

    >>> W, a = scale_init([[0.6, 0.8]], [-1.0], tau=0.1, delta=-1.0)
    >>> round(float(a[0] ** 2 - (W**2).sum()), 12)
    -1.0
    """
    read = arrays.collect(W=W, a=a, tau=tau, delta=delta)
    xp, weights, readout = read.xp, read["W"], read["a"]
    arrays.check_vector("a", readout)
    if len(weights.shape) < 2 or weights.shape[-2] != readout.shape[-1]:
        shapes = f"{tuple(weights.shape)} and {tuple(readout.shape)}"
        raise ValueError(f"W must be a matrix with a row for each component of a; their shapes are {shapes}")
    batch = {"W": tuple(weights.shape[:-2]), "a": tuple(readout.shape[:-1])}
    arrays.broadcast_shape(**batch, tau=tuple(read["tau"].shape), delta=tuple(read["delta"].shape))
    if check and not read.traced:
        arrays.require_positive(read, "tau")
        arrays.require_finite(read, "delta")
        tolerance = _UNIT[str(read.dtype).rpartition(".")[2]]
        lengths = arrays.norm(xp, weights)
        arrays.require("W", (abs(lengths - 1) <= tolerance).all(-1), "a matrix with rows of length one")
        arrays.require("a", (abs(abs(readout) - 1) <= tolerance).all(-1), "a vector of signs, 1 or -1")
    scale, delta = read["tau"], read["delta"]
    unit = arrays.detach(xp.maximum(scale, xp.sqrt(xp.abs(delta))))
    balance, size = delta / unit / unit, scale / unit
    up = balance >= 0
    # torch takes the derivative of |x| at zero to be zero; from above it is one
    away = xp.where(up, balance, -balance)
    larger = unit * xp.sqrt((arrays.hypot(xp, balance, 2 * size * size) + away) / 2)
    smaller = scale * (scale / larger)
    by_weights, by_readout = xp.where(up, smaller, larger), xp.where(up, larger, smaller)
    return by_weights[..., None, None] * weights, by_readout[..., None] * readout
