r"""Gaussian means of an activation: in closed form, by quadrature with a check, and for pairs by Mehler's series.

One variable u = √q z: Gauss's rule on panels, no wider than one in z, and in u bounded by the kinks and by powers of
two, so that features of φ of size one are resolved at any q. For an activation without a name the rule is compared
with the one on halved panels until they agree, and a mean on which they do not is refused.

Two variables with correlation c: with a_n = E φ(√q z)He_n(z)/√n!,

    E φ(u)φ(u') = Σ a_n² c^n,    E φ² - E φφ' = Σ a_n² (1 - c^n),    q E φ'(u)φ'(u') = Σ n a_n² c^{n-1},

and what is left out after N terms is at most |c|^{N+1}(E φ² - Σ a_n²), as all terms are positive (Mehler, Parseval).
Where this bound is not small enough, at kinks near c = 1 or for large q, the pair is integrated directly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from derivations.signal_propagation.evaluators.activations import NAMED, Activation

Array = Any
REACH = 14.0
"""Beyond so many standard deviations nothing is left in double precision."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_MOST = 4_000_000
_ORDERS = (64, 128, 256, 384, 512, 1024, 2048)
_TAIL = 3e-14
_HOPELESS = 0.2
_HALVINGS = 7
_CLOSE = 2e-14


def square_mean(phi: Activation, q: Array) -> Array:
    """E φ(√q z)² for an array of q ≥ 0."""
    if phi.closed is not None:
        return _at_zero(phi.closed.square, q, float(phi(np.zeros(1))[0]) ** 2)
    return _mean(phi, lambda x, z: phi(x) ** 2, q)


def square_slope(phi: Activation, q: Array) -> Array:
    """The derivative of E φ(√q z)² in q > 0: E φφ'z/√q, which is E φ'² + E φφ'' where φ'' exists."""
    if phi.closed is not None:
        return phi.closed.square_slope(q)
    return _mean(phi, lambda x, z: phi(x) * phi.derivative(x) * z, q) / np.sqrt(q)


def slope_mean(phi: Activation, q: Array, k: int = 1) -> Array:
    """μ_k = E φ'(√q z)^{2k} for an array of q ≥ 0."""
    if phi.closed is not None:
        return _at_zero(
            lambda x: phi.closed.slopes(x, k),  # type: ignore[union-attr]  # it is not None
            q,
            float(phi.derivative(np.zeros(1))[0]) ** (2 * k),
        )
    return _mean(phi, lambda x, z: phi.derivative(x) ** (2 * k), q)


def _at_zero(closed: Callable[[Array], Array], q: Array, value: float) -> Array:
    """A closed form, with its value at q = 0 where the form divides by q."""
    positive = np.where(q > 0, q, 1.0)
    return np.where(q > 0, closed(positive), value)


def _mean(phi: Activation, f: Callable[[Array, Array], Array], q: Array) -> Array:
    """E f(√q z, z). Raises ValueError where halving the panels does not settle it."""
    flat = np.asarray(q, dtype=np.float64).reshape(-1)
    edges = _edges(phi, flat)
    settled = phi.name in NAMED and phi is NAMED[phi.name]
    found, size = _on_panels(f, flat, edges)
    for _ in range(0 if settled else _HALVINGS):
        edges = _halved(edges)
        finer, size = _on_panels(f, flat, edges)
        close = np.abs(finer - found) <= _CLOSE * size
        found = finer
        if close.all():
            return found.reshape(np.shape(q))
    if not settled:
        raise ValueError(
            f"a Gaussian mean of {phi.name} is not settled by {edges.shape[-1]} panels: name the points at which it "
            "bends or jumps, Activation(…, kinks=(…))"
        )
    return found.reshape(np.shape(q))


def _edges(phi: Activation, q: Array) -> Array:
    """The ends of the panels in z for each q, sorted; some panels are empty."""
    root = np.sqrt(q)
    highest = max(1, math.ceil(math.log2(REACH * max(1.0, float(root.max(initial=0.0))))) + 1)
    powers = 2.0 ** np.arange(-2, highest)
    points = np.array([*(-powers), 0.0, *powers, *phi.kinks])
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.where(root[:, None] > 0, points / root[:, None], 0.0)
    fixed = np.broadcast_to(np.arange(-REACH, REACH + 1), (len(q), int(2 * REACH) + 1))
    return np.sort(np.concatenate([np.clip(own, -REACH, REACH), fixed], axis=-1), axis=-1)


def _halved(edges: Array) -> Array:
    middles = (edges[:, 1:] + edges[:, :-1]) / 2
    return np.sort(np.concatenate([edges, middles], axis=-1), axis=-1)


def _on_panels(f: Callable[[Array, Array], Array], q: Array, edges: Array) -> tuple[Array, Array]:
    """The sum of Gauss's rule on the panels, and that of absolute values."""
    values, sizes = np.empty(len(q)), np.empty(len(q))
    rows = max(1, _MOST // (edges.shape[-1] * len(_NODES)))
    for start in range(0, len(q), rows):
        part = slice(start, start + rows)
        z, weights = _gauss(edges[part])
        terms = weights * f(np.sqrt(q[part])[:, None] * z, z)
        values[part], sizes[part] = terms.sum(-1), np.abs(terms).sum(-1)
    return values, sizes


def _gauss(edges: Array) -> tuple[Array, Array]:
    """Points and Gaussian weights of all panels."""
    half = (edges[:, 1:] - edges[:, :-1]) / 2
    middle = (edges[:, 1:] + edges[:, :-1]) / 2
    z = (middle[..., None] + half[..., None] * _NODES).reshape(len(edges), -1)
    weights = (half[..., None] * _WEIGHTS).reshape(len(edges), -1)
    return z, weights * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)


def pair_mean(phi: Activation, q: Array, c: Array) -> Array:
    """E φ(u)φ(u') for variance q > 0 and correlation c."""
    if phi.closed is not None:
        return phi.closed.pair(q, c)
    return _pairs(phi, q, c, "value", lambda q, c: _direct(phi, phi.kinks, q, c))


def pair_gap(phi: Activation, q: Array, g: Array) -> Array:
    """E φ(u)² - E φ(u)φ(u') for variance q > 0 and correlation 1 - g, without cancellation for small g."""
    if phi.closed is not None:
        return phi.closed.gap(q, g)
    return _pairs(phi, q, g, "gap", lambda q, g: _direct_gap(phi, q, g))


def pair_slope_mean(phi: Activation, q: Array, c: Array) -> Array:
    """E φ'(u)φ'(u') for variance q > 0 and correlation c."""
    if phi.closed is not None:
        return phi.closed.pair_slopes(q, c)
    return _pairs(phi, q, c, "slope", lambda q, c: _direct(phi.derivative, phi.kinks, q, c))


def _terms(kind: str, n: Array, c: Array) -> Array:
    """What multiplies a_n², of shape (len(n), len(c)): c^n, n c^{n-1} or 1 - (1 - c)^n. The n go up by equal steps."""
    if kind == "gap":
        far = 1 - _power(n, 1 - c)
        with np.errstate(divide="ignore"):
            logarithm = np.log1p(-np.minimum(c, 0.5))
        return np.where(c < 0.5, -np.expm1(n[:, None] * logarithm), far)
    if kind == "value":
        return _power(n, c)
    return n[:, None] * _power(np.maximum(n - 1, 0), c)


def _power(n: Array, c: Array) -> Array:
    """c^n by products."""
    if len(n) < 2:
        return c ** n[:, None]
    steps = np.broadcast_to(c ** (n[-1] - n[-2]), (len(n), len(c))).copy()
    steps[0] = c ** n[0]
    steps[1] = c ** (n[1] - n[0])
    return np.multiply.accumulate(steps, axis=0)


def _pairs(phi: Activation, q: Array, c: Array, kind: str, direct: Callable[[float, float], float]) -> Array:
    """A mean over pairs by Mehler's series, and directly where its tail is not small.

    The tail of a gap is at most g Σ n a_n² over what is left out, and a gap is about g Σ n a_n²: so it is the part of
    q E φ'² that is left out which counts, whatever g is.
    """
    q, c = np.asarray(q, float), np.asarray(c, float)
    shape = np.broadcast_shapes(q.shape, c.shape)
    lengths, of_q = _distinct(q, shape)
    arguments, of_c = _distinct(c, shape)
    if not of_q.size:
        return np.empty(shape)
    total = square_mean(phi, lengths) if kind == "value" else lengths * slope_mean(phi, lengths)
    size = np.ones_like(arguments) if kind == "gap" else np.abs(arguments)
    worst = float(size[size < 1].max(initial=0.0)) if kind == "value" else float(size.max())
    few = np.unique([0, len(lengths) // 2, len(lengths) - 1])
    for order in _ORDERS[:3] if phi.kinks else _ORDERS:
        rest = _left_out(phi, lengths[few], total[few], order, kind)[0]
        if (rest * worst ** (order - 1) <= _TAIL).all() or (rest > _HOPELESS).any():
            break
    rest, squares, n = _left_out(phi, lengths, total, order, kind)

    def refine(values: Array, k: Array, m: Array) -> Array:
        """Values of pairs (lengths[k], arguments[m]), known ones put in, and integrated directly where need be."""
        if kind == "value":  # equal inputs, and opposite ones for a φ with a parity
            values = np.where(arguments[m] == 1, total[k], values)
            if phi.parity:
                values = np.where(arguments[m] == -1, phi.parity * total[k], values)
        if (rest <= _TAIL).all():
            return values
        bad = rest[k] * size[m] ** (order - 1) > _TAIL
        if kind == "value":
            bad &= (arguments[m] != 1) & ((arguments[m] != -1) | (phi.parity == 0))
        elif kind == "gap":
            bad &= arguments[m] != 0
        for place in np.argwhere(bad):
            at = tuple(place)
            which, what = np.broadcast_to(k, bad.shape)[at], np.broadcast_to(m, bad.shape)[at]
            values[at] = direct(float(lengths[which]), float(arguments[what]))
        return values

    divisor = lengths if kind == "slope" else np.ones_like(lengths)
    if len(lengths) * len(arguments) <= 2 * of_q.size + 64:
        table = (squares / divisor[:, None]) @ _terms(kind, n, arguments)
        table = refine(table, np.arange(len(lengths))[:, None], np.arange(len(arguments))[None, :])
        return table[of_q, of_c].reshape(shape)
    values = np.concatenate(
        [
            (squares[of_q[part]] * _terms(kind, n, arguments[of_c[part]]).T).sum(-1)
            for part in _chunks(of_q.size, len(n))
        ]
    )
    return refine(values / divisor[of_q], of_q, of_c).reshape(shape)


def gap_of_pairs(phi: Activation, q: Array) -> Callable[[Array], Array]:
    """E φ² - E φφ' at fixed lengths (m,) as a function of g (m,), with Mehler's coefficients found once."""
    if phi.closed is not None:
        return lambda g: phi.closed.gap(q, g)  # type: ignore[union-attr]  # it is not None
    total = q * slope_mean(phi, q)
    for order in () if phi.kinks else _ORDERS:
        rest, squares, n = _left_out(phi, q, total, order, "gap")
        if (rest <= _TAIL).all():
            return lambda g: (squares * _terms("gap", n, g).T).sum(-1)
        if (rest > _HOPELESS).any():
            break
    return lambda g: pair_gap(phi, q, g)


def _distinct(x: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """The distinct values of an array, and which of them each entry of its broadcast is."""
    values, place = np.unique(x, return_inverse=True)
    return values, np.broadcast_to(place.reshape(x.shape), shape).reshape(-1)


def _left_out(phi: Activation, q: Array, total: Array, order: int, kind: str) -> tuple[Array, Array, Array]:
    """The share of E φ² or q E φ'² that is beyond an order, the a_n² up to it, and their n."""
    n = np.arange(order)
    if phi.parity:
        n = n[(1 if phi.parity < 0 else 0) :: 2]
    squares = coefficients(phi, q, n) ** 2
    counted = squares @ (np.ones(len(n)) if kind == "value" else n)
    return np.maximum(total - counted, 0.0) / np.where(total > 0, total, 1.0), squares, n


def _chunks(count: int, order: int) -> list[slice]:
    rows = max(1, _MOST // order)
    return [slice(start, min(start + rows, count)) for start in range(0, count, rows)]


def coefficients(phi: Activation, q: Array, n: Array) -> Array:
    """a_n = E φ(√q z) He_n(z)/√n! for some n, of shape (len(q), len(n)), by the trapezoid rule.

    It converges exponentially for an analytic φ; the step is that of one with its singularities at a distance of π/2.
    """
    order = int(n[-1]) + 1
    if phi.kinks:
        return _coefficients_on_panels(phi, q, n)
    highest = math.sqrt(float(np.max(q, initial=1.0)))
    step = 2 * math.pi / (math.sqrt(order) + 12 + 23 * highest)
    count = math.ceil(REACH / step)
    z = step * np.arange(0 if phi.parity else -count, count + 1)
    weights = np.exp(-(z**2) / 4) * step / math.sqrt(2 * math.pi)
    if phi.parity:
        weights *= np.where(z == 0, 1.0, 2.0)
    functions = np.ascontiguousarray((_hermite(z, order)[n] * weights).T)
    return np.concatenate(
        [phi(np.sqrt(q[part])[:, None] * z) @ functions for part in _chunks(len(q), len(z))]
        or [np.empty((0, len(n)))]
    )


def _coefficients_on_panels(phi: Activation, q: Array, n: Array) -> Array:
    found = np.empty((len(q), len(n)))
    for i, length in enumerate(q):
        edges = _edges(phi, np.array([length]))
        for _ in range(2 if n[-1] > 256 else 1):
            edges = _halved(edges)
        z, weights = _gauss(edges)
        functions = _hermite(z[0], int(n[-1]) + 1)[n] * np.exp(z[0] ** 2 / 4)
        found[i] = functions @ (weights[0] * phi(math.sqrt(length) * z[0]))
    return found


def _hermite(z: Array, order: int) -> Array:
    """He_n(z)/√n! exp(-z²/4) for n < order, by their recursion."""
    found = np.empty((order, len(z)))
    found[0] = np.exp(-(z**2) / 4)
    if order > 1:
        found[1] = z * found[0]
    for n in range(1, order - 1):
        found[n + 1] = (z * found[n] - math.sqrt(n) * found[n - 1]) / math.sqrt(n + 1)
    return found


def _direct(f: Any, kinks: tuple[float, ...], q: float, c: float) -> float:
    """E f(u)f(u') by panels in u and, for each of their points, in the part of u' that is independent of u.

    Near a kink the inner mean changes within the spread of u' given u, and panels shrink down to that.
    """
    root, spread = math.sqrt(q), math.sqrt(max(0.0, (1 - c) * (1 + c)))
    points = np.array([*kinks, 0.0, *(s * 2.0**k for k in range(-2, 6) for s in (-1, 1))])
    whole = np.arange(-REACH, REACH + 1)
    around = spread * np.array(
        [s * 2.0**k for k in range(-2, 60) if spread * 2.0**k < REACH for s in (-1, 1)]
    )
    ends = np.concatenate([points / root, whole, *((k / root + around) for k in kinks)])
    if c < 0:
        ends = np.concatenate([ends, *((-k / root + around) for k in kinks)])
    z, weights = _gauss(np.sort(np.clip(ends, -REACH, REACH))[None, :])
    if spread == 0:
        return float(weights[0] @ (f(root * z[0]) * f(root * c * z[0])))
    kept = weights[0] > 1e-30
    u, outer = z[0][kept], weights[0][kept] * f(root * z[0][kept])
    inside = np.clip((points / root - c * u[:, None]) / spread, -REACH, REACH)
    edges = np.sort(np.concatenate([inside, np.broadcast_to(whole, (len(u), len(whole)))], axis=-1), axis=-1)
    inner = np.empty(len(u))
    for part in _chunks(len(u), edges.shape[-1] * len(_NODES)):
        y, mass = _gauss(edges[part])
        inner[part] = (mass * f(root * (c * u[part, None] + spread * y))).sum(-1)
    return float(outer @ inner)


_OUTER, _OUTER_WEIGHTS = np.polynomial.legendre.leggauss(10)


def _direct_gap(phi: Activation, q: float, g: float) -> float:
    """q ∫ E φ'φ' dt over correlations from 1 - g to 1, with 1 - t = g v²."""
    if phi.kind == "jumping":
        raise ValueError(f"{phi.name} jumps: its mean over pairs has no slope in the correlation")
    if g > 0.5:
        return float(square_mean(phi, np.array([q]))[0]) - _direct(phi, phi.kinks, q, 1 - g)
    v = (1 + _OUTER) / 2
    parts = [
        w * 2 * g * x * _direct(phi.derivative, phi.kinks, q, 1 - g * x * x)
        for x, w in zip(v, _OUTER_WEIGHTS / 2, strict=True)
    ]
    return q * sum(parts)


__all__ = [
    "coefficients",
    "gap_of_pairs",
    "pair_gap",
    "pair_mean",
    "pair_slope_mean",
    "slope_mean",
    "square_mean",
    "square_slope",
]
