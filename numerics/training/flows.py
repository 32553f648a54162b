"""Gradient flow and full-batch gradient descent on L = ½ Σᵢ (f(xᵢ) − yᵢ)², with layer-wise learning rates.

The loss is a sum over the data, not a mean (Kunin et al. 2024, Notation). Gradient descent with step h moves
a parameter of layer-wise rate η by −h η ∂L, so that k steps approximate the gradient flow at time t = k h.
Everything runs in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from numerics.measures.arrays import doubles, plain, require_some, tensors
from numerics.training.loop import Descent, reached

EXPLICIT, MOST_STEPS, LATEST = ("RK23", "RK45", "DOP853"), 1e10, 1e15


@dataclass(frozen=True)
class Trajectory:
    """Parameters of single-neuron networks over time: t (T,), a (..., T), w (..., T, d)."""

    t: np.ndarray
    a: np.ndarray
    w: np.ndarray

    def __post_init__(self) -> None:
        for name in ("t", "a", "w"):
            object.__setattr__(self, name, *plain(**{name: getattr(self, name)}))

    @property
    def beta(self) -> np.ndarray:
        """The predictor β = a w, of shape (..., T, d)."""
        return self.a[..., None] * self.w


def sum_of_squares(beta: Any, X: Any, y: Any) -> np.ndarray:
    """L = ½ Σᵢ (βᵀxᵢ − yᵢ)² for predictors beta (..., d), data X (n, d) and labels y (n,); returns (...)."""
    beta, X, y = plain(beta=beta, X=X, y=y)
    residual = beta @ X.T - y
    return 0.5 * (residual**2).sum(-1)


def gradient_flow(
    a0: Any,
    w0: Any,
    X: Any,
    y: Any,
    *,
    times: Any = None,
    horizon: float | None = None,
    eta_a: Any = 1.0,
    eta_w: Any = 1.0,
    method: str = "RK45",
    rtol: float = 1e-6,
    atol: float = 1e-6,
    stop: Callable[[np.ndarray, np.ndarray], float] | None = None,
) -> Trajectory:
    """Integrate ȧ = −η_a wᵀXᵀρ, ẇ = −η_w a Xᵀρ with ρ = X a w − y by ``scipy.integrate.solve_ivp``.

    a0 (...), w0 (..., d), X (n, d), y (n,); eta_a and eta_w are scalars or of shape (...). Give either
    ``times`` (T,), the moments to report (starting anywhere at or after 0), or ``horizon``, to get the
    solver's own points on [0, horizon]; with ``stop``, the integration ends where stop(a, w) first rises
    through zero, or at once if it starts above.

    Networks on leading axes are integrated as one system with a common step. SciPy bounds the root-mean-
    square error over the whole system, so the tolerances are divided by √(number of networks): none can hide
    behind the others. Raises ValueError for shapes that do not fit and RuntimeError if the solver gives up.
    """
    a0, w0, X, y, eta_a, eta_w = doubles(a0=a0, w0=w0, X=X, y=y, eta_a=eta_a, eta_w=eta_w)
    if w0.ndim == 0 or w0.shape[:-1] != a0.shape:
        raise ValueError(f"w0 must have shape a0.shape + (d,): a0 is {a0.shape}, w0 is {w0.shape}")
    if X.ndim != 2 or X.shape[1] != w0.shape[-1] or y.shape != X.shape[:1]:
        raise ValueError(f"X must be (n, {w0.shape[-1]}) and y (n,): X is {X.shape}, y is {y.shape}")
    if (times is None) == (horizon is None):
        raise ValueError("give either times or horizon")
    require_some(X=X)
    if stop is not None and stop(a0, w0) > 0:
        return Trajectory(np.zeros(1), a0[..., None], w0[..., None, :])
    moments = None if times is None else _moments(times)
    end = float(horizon) if times is None else float(moments.max())  # type: ignore[arg-type, union-attr]  # one of the two is given
    rates = eta_w * a0**2 + eta_a * (w0 * w0).sum(-1)
    _check_length(end, float(np.max(rates, initial=0.0)) * np.linalg.norm(X.T @ X), method)  # type: ignore[arg-type]  # a number of NumPy
    options = {"method": method, "rtol": rtol, "atol": atol}
    return _integrated(_Neurons(a0, w0, X, y, eta_a, eta_w, stop), end, moments, **options)  # type: ignore[arg-type]  # each has its type


def _moments(times: Any) -> np.ndarray:
    (times,) = doubles(times=times)
    if times.ndim != 1 or not times.size or not np.isfinite(times).all():
        raise ValueError(f"times must be finite and (T,), one at least: they are {times.tolist()!s:.60}")
    return times


def _check_length(end: float, rate: float, method: str) -> None:
    """Raise ValueError for times that take more explicit steps, each of a few times 1/rate, than anybody waits for, and
    for those that no method reaches.
    """
    if not end * rate <= (MOST_STEPS if method in EXPLICIT else LATEST):
        raise ValueError(
            f"times up to {end:g} are too late for {method}, for a flow that starts at the rate {rate:.3g}: what can "
            "be learned is learned long before"
        )


class _Neurons:
    """The flow of a stack of single-neuron networks, as one vector field on all parameters in a row."""

    def __init__(
        self,
        a0: np.ndarray,
        w0: np.ndarray,
        X: np.ndarray,
        y: np.ndarray,
        eta_a: np.ndarray,
        eta_w: np.ndarray,
        stop: Callable[[np.ndarray, np.ndarray], float] | None,
    ) -> None:
        self.a0, self.w0, self.stop = a0, w0, stop
        self.gram, self.target = X.T @ X, X.T @ y
        self.eta_a, self.eta_w = eta_a, eta_w[..., None]

    def row(self, a: np.ndarray, w: np.ndarray) -> np.ndarray:
        return np.concatenate([a.ravel(), w.ravel()])

    def parameters(self, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        split = self.a0.size
        return row[:split].reshape(self.a0.shape), row[split:].reshape(self.w0.shape)

    def velocity(self, _: float, row: np.ndarray) -> np.ndarray:
        a, w = self.parameters(row)
        gradient = a[..., None] * (w @ self.gram) - self.target
        return self.row(-self.eta_a * (w * gradient).sum(-1), -self.eta_w * a[..., None] * gradient)

    def stopping(self, _: float, row: np.ndarray) -> float:
        return float(self.stop(*self.parameters(row)))  # type: ignore[misc]  # called where there is one


def _integrated(
    networks: _Neurons, end: float, moments: np.ndarray | None, *, method: str, rtol: float, atol: float
) -> Trajectory:
    from scipy.integrate import solve_ivp

    def stopping(t: float, row: np.ndarray) -> float:
        return networks.stopping(t, row)

    stopping.terminal, stopping.direction = True, 1  # type: ignore[attr-defined]  # as SciPy wants it
    a0, w0 = networks.a0, networks.w0
    share = np.sqrt(max(a0.size, 1))
    solution = solve_ivp(
        networks.velocity,
        (0.0, end),
        networks.row(a0, w0),
        method=method,
        t_eval=moments,
        rtol=max(rtol / share, 100 * np.finfo(float).eps),
        atol=atol / share,
        events=None if networks.stop is None else stopping,
    )
    if not solution.success:
        raise RuntimeError(
            f"solve_ivp ({method}) stopped at t = {solution.t[-1]:g} of {end:g}: {solution.message}"
        )
    points, split = solution.t.size, a0.size
    return Trajectory(
        t=solution.t,
        a=solution.y[:split].reshape(*a0.shape, points),
        w=np.moveaxis(solution.y[split:].reshape(*w0.shape, points), -1, -2),
    )


def wide_gradient_flow(
    A0: Any,
    W0: Any,
    X: Any,
    Y: Any,
    *,
    times: Any,
    eta_a: Any = 1.0,
    eta_w: Any = 1.0,
    method: str = "LSODA",
    rtol: float = 1e-9,
    atol: float = 1e-11,
) -> tuple[np.ndarray, np.ndarray]:
    """Integrate Ȧ = −η_a W G, Ẇ = −η_w A Gᵀ with G = Xᵀ(XWᵀA − Y), the flow of one network f(x) = AᵀWx.

    A0 (h, c), W0 (h, d), X (n, d), Y (n, c); ``times`` (T,) start at or after 0. Returns A (T, h, c) and W (T, h,
    d). The default method copes with the very different speeds of the layers at large balance. Raises ValueError for
    shapes that do not fit and RuntimeError if the solver gives up.
    """
    from scipy.integrate import solve_ivp

    A0, W0, X, Y, times, eta_a, eta_w = doubles(A0=A0, W0=W0, X=X, Y=Y, times=times, eta_a=eta_a, eta_w=eta_w)
    if A0.ndim != 2:
        raise ValueError(f"A0 must be (h, c), one network: it is {A0.shape}")
    (h, c), d = A0.shape, W0.shape[-1]
    if W0.shape != (h, d) or X.shape[1:] != (d,) or Y.shape != (len(X), c):
        raise ValueError(
            f"A0 must be (h, c), W0 (h, d), X (n, d) and Y (n, c): got {A0.shape}, {W0.shape}, {X.shape}, {Y.shape}"
        )
    times = _moments(times)
    gram, target, split = X.T @ X, X.T @ Y, h * c
    size = float(eta_w * (A0 * A0).sum() + eta_a * (W0 * W0).sum())
    _check_length(float(times.max()), size * np.linalg.norm(gram), method)  # type: ignore[arg-type]  # a number of NumPy

    def velocity(_: float, state: np.ndarray) -> np.ndarray:
        A, W = state[:split].reshape(h, c), state[split:].reshape(h, d)
        gradient = gram @ (W.T @ A) - target
        return np.concatenate([(-eta_a * W @ gradient).ravel(), (-eta_w * A @ gradient.T).ravel()])

    start = np.concatenate([A0.ravel(), W0.ravel()])
    found = solve_ivp(velocity, (0.0, times.max()), start, method, times, rtol=rtol, atol=atol)
    if not found.success:
        raise RuntimeError(f"solve_ivp ({method}) stopped at t = {found.t[-1]:g}: {found.message}")
    return found.y[:split].T.reshape(-1, h, c), found.y[split:].T.reshape(-1, h, d)


def gradient_descent(
    network: Any,
    X: Any,
    y: Any,
    *,
    rates: Mapping[str, object],
    step: Any,
    steps: int,
    record: Sequence[int],
    observe: Callable[[Any], Mapping[str, Any]],
) -> dict[str, np.ndarray]:
    """Train a torch network by full-batch gradient descent with layer-wise learning rates and record what is
    observed.

    ``rates`` gives the learning rate of each named parameter and ``step`` the step size: scalars, or arrays
    over the leading axes of the network's parameters (many networks trained at once; the summed loss keeps
    them independent). ``record`` lists the step numbers, between 0 and ``steps``, at which
    ``observe(network)`` is called; its tensors come back as arrays stacked along a new first axis. Raises
    ValueError if a parameter has no rate or a step is out of range.
    """
    import torch

    parameters = dict(network.named_parameters())
    if set(rates) != set(parameters):
        raise ValueError(f"rates must name the parameters {sorted(parameters)}, got {sorted(rates)}")
    wanted = set(record)
    if not wanted <= set(range(steps + 1)):
        raise ValueError(f"record must lie between 0 and {steps}")
    first = next(iter(parameters.values()))
    if first.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"networks are trained in float32 or float64, and the parameters are {first.dtype}")
    X, y = (tensors(**{name: value})[0].to(first) for name, value in (("X", X), ("y", y)))
    require_some(X=X, y=y)
    speeds = [_trailing(rates[name], step, parameter) for name, parameter in parameters.items()]
    learner = Descent(lambda: 0.5 * ((network(X) - y) ** 2).sum(), parameters.values(), speeds)  # type: ignore[arg-type]  # a view of a dictionary does
    recorded: dict[str, list[np.ndarray]] = {}
    for k in reached(learner, sorted(map(int, wanted | {steps}))):
        if k in wanted:
            for name, value in observe(network).items():
                recorded.setdefault(name, []).append(value.detach().cpu().numpy().copy())
    return {name: np.stack(values) for name, values in recorded.items()}


def _trailing(rate: Any, step: Any, parameter: Any) -> Any:
    """rate · step with as many trailing axes of length one as the parameter has beyond them."""
    import torch

    rate, step = doubles(rate=rate, step=step)
    speed = torch.as_tensor(rate * step)
    speed = speed.reshape(speed.shape + (1,) * (parameter.ndim - speed.ndim))
    return speed.to(dtype=parameter.dtype, device=parameter.device)


def train_single_neuron(
    a0: Any,
    w0: Any,
    X: Any,
    y: Any,
    *,
    step: Any,
    steps: int,
    record: Sequence[int],
    eta_a: Any = 1.0,
    eta_w: Any = 1.0,
    device: str = "cpu",
) -> Trajectory:
    """Gradient descent on single-neuron networks, a0 (...) and w0 (..., d); ``t`` counts steps · step where
    step is a scalar.

    With a step size per network the times differ, and ``t`` is the step number. Returns a (..., T) and w
    (..., T, d).
    """
    from numerics.networks.single_neuron import SingleNeuron

    read = zip(("a0", "w0"), doubles(a0=a0, w0=w0), strict=True)
    start = [tensors(**{name: value})[0].to(device) for name, value in read]
    eta_a, eta_w, step = doubles(eta_a=eta_a, eta_w=eta_w, step=step)
    network = SingleNeuron(*start)
    recorded = gradient_descent(
        network,
        X,
        y,
        rates={"a": eta_a, "w": eta_w},
        step=step,
        steps=steps,
        record=record,
        observe=lambda net: {"a": net.a, "w": net.w},
    )
    number = np.asarray(sorted(set(record)))
    return Trajectory(
        t=number * float(step) if np.ndim(step) == 0 else number,
        a=np.moveaxis(recorded["a"], 0, -1),
        w=np.moveaxis(recorded["w"], 0, -2),
    )
