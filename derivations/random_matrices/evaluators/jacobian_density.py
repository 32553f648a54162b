r"""The density of the squared singular values of the input-output Jacobian, at any depth, activation and rank.

For free layers S of JJᵀ is S_{D²}^L S_{WᵀW}^L, so that with m = M(z), and w and v where the transforms of D² and WᵀW
have that value, M_{D²}(w) = M_{WᵀW}(v) = m,

    log z = L (log w + log v) - (2L - 1) log((1 + m)/m),

    v = σ_α²(1 + m)(γ + m)/m  for Gaussian,    v = σ_α²(γ + m)/m  for orthogonal weights.

The unknown is w. It is known to be in the upper half-plane with z, as v and (1 + m)/m are, and its argument is not less
than that of z; all logarithms are principal there. On the negative axis m runs once from 0 to -min(γ, P(φ' ≠ 0)), and
the equation is a monotone one. From there the solution is continued along the circle |z| = const, on which nothing is
singular before the positive axis: this fixes the branch. There the density is -Im G/π, and since z is an explicit
function of m, so is the integral of G = (1 + m)/z, of which the imaginary part is the distribution function
(naitsaada2023, Sec. 3.1; Belinschi and Bercovici 2007 for w and v).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from derivations.random_matrices.evaluators.jacobian_moments import _count, _slopes, jacobian_moments
from derivations.random_matrices.evaluators.laws import _real, ensemble_of, ratio_of_rank, variance_of
from derivations.random_matrices.evaluators.slope_law import SlopeLaw, slope_law, upper_log
from derivations.signal_propagation.evaluators.activations import activation
from symdyn.catalogue.implements import implements

Array = Any
TOLERANCE = 1e-6
"""A law whose mass or moments are off by more is refused."""
_RESIDUAL = 1e-11
_LAST_STEP = 1e-8
_TURNS = (16, 64, 256)
_PANELS, _HALVINGS = 6, 9
"""Panels on an interval of the support to begin with, and how often one is halved at most."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_SETTLED, _OF_ONE_LAYER = 1e-10, 1e-7


@dataclass(frozen=True)
class _Equation:
    """log z as a function of w, with its slope, for one law of slopes, depth, rank and ensemble."""

    law: SlopeLaw
    depth: int
    gamma: float
    sigma2: float
    gaussian: bool

    @property
    def mass(self) -> float:
        """What is not at zero: the least of γ and P(φ' ≠ 0)."""
        return min(self.gamma, 1 - self.law.zero)

    @property
    def _shift(self) -> float:
        found = self.gamma - (1 - self.law.zero)
        return 0.0 if abs(found) <= 4e-16 else found

    def parts(self, w: Array) -> tuple[Array, Array, Array, Array]:
        """m, 1 + m, γ + m and m' at w."""
        m, positive, slope = self.law.transforms(w)
        return m, positive + self.law.zero, positive + self._shift, slope

    def __call__(self, w: Array) -> tuple[Array, Array]:
        """log z and its derivative in log w."""
        m, more, rest, slope = self.parts(w)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = upper_log(more / m)
            v = upper_log((more if self.gaussian else 1.0) * rest / m) + math.log(self.sigma2)
            turn = 1 / more - 1 / m
            of_v = 1 / rest - 1 / m + (1 / more if self.gaussian else 0.0)
            value = self.depth * (upper_log(w) + v) - (2 * self.depth - 1) * ratio
            change = self.depth + w * slope * (self.depth * of_v - (2 * self.depth - 1) * turn)
        return value, change

    def height(self, w: Array) -> Array:
        """λρ(λ) = -Im m/π at the solution; zero where w has come into a tail of the law of φ'² that is nothing."""
        m = self.parts(w)[0]
        nothing = (np.abs(w) < self.law.thin) & (w.imag < 0.2 * w.real)
        return np.where(nothing, 0.0, np.maximum(-m.imag, 0.0) / math.pi)

    def potential(self, w: Array, log_z: Array) -> Array:
        """U(z) = E log(z - λ), by parts: (1 + m) log z - ∫ log z dm."""
        m, more, rest, _ = self.parts(w)
        of_m, of_more, of_rest = (x * np.conj(upper_log(np.conj(x))) for x in (m, more, rest))
        of_more = np.where(more == 0, 0.0, of_more)
        of_w = more * upper_log(w) - self.law.potential(w)
        of_v = m * math.log(self.sigma2) + of_rest - of_m + (of_more - m if self.gaussian else 0.0)
        constant = self.depth * self.gamma * math.log(self.gamma)
        whole = self.depth * (of_w + of_v) - (2 * self.depth - 1) * (of_more - of_m)
        return more * log_z - whole + constant

    @property
    def bound(self) -> float:
        """A bound on log λ: the product of the norms of the factors."""
        norm = self.sigma2 * self.law.highest * ((1 + math.sqrt(self.gamma)) ** 2 if self.gaussian else 1.0)
        return self.depth * math.log(norm) + 1e-9

    # On the negative axis, where w = -(|w_0| + e^t) and t is real.

    @cached_property
    def first(self) -> float:
        """|w_0|: where γ + M_{D²} vanishes on the negative axis, 0 if it does not."""
        if self._shift >= 0:
            return 0.0
        low, high = -700.0, 700.0
        for _ in range(11):
            t = np.linspace(low, high, 65)
            above = self.parts(-np.exp(t) + 0j)[2].real > 0
            k = int(np.argmax(above))
            low, high = t[max(k - 1, 0)], t[k]
        return math.exp((low + high) / 2)

    @cached_property
    def table(self) -> tuple[Array, Array, Array]:
        """log|z| on a grid of t, and γ + m or 1 + m as it falls to nothing."""
        t = np.concatenate(
            [np.linspace(-600, -45, 40), np.linspace(-44.9, 60, 200), np.linspace(61, 600, 20)]
        )
        w = -(self.first + np.exp(t)) + 0j
        m, more, rest, _ = self.parts(w)
        left = (m + self.mass if self._shift > 0 else rest).real
        if self._shift > 0:
            left = (more - self.law.zero).real
        value = self(w)[0].real
        good = np.isfinite(value) & (left > 0)
        return t[good], value[good], left[good]

    def negative(self, s: Array) -> Array:
        """w at z = -e^s, by Newton's method in t, kept between two values of the table."""
        at, value, _ = self.table
        rising = np.maximum.accumulate(value)
        t: Array = np.interp(s, rising, at)
        k = np.clip(np.searchsorted(rising, s), 1, len(at) - 1)
        low, high = at[k - 1], at[k]
        below, above = s < value[0], s > value[-1]
        t = np.where(below, at[0] + (s - value[0]), np.where(above, at[-1] + (s - value[-1]), t))
        low, high = np.where(below, -700.0, low), np.where(above, 700.0, high)
        for _ in range(60):
            step = np.exp(t)
            w = -(self.first + step) + 0j
            found, slope = self(w)
            gap = found.real - s
            low, high = np.where(gap < 0, t, low), np.where(gap > 0, t, high)
            with np.errstate(divide="ignore", invalid="ignore"):
                following = t - gap / (slope.real * step / (self.first + step))
            inside = (following > low) & (following < high)
            following = np.where(inside, following, (low + high) / 2)
            if (np.abs(following - t) <= 1e-15 * (1 + np.abs(t))).all() or (np.abs(gap) <= _RESIDUAL).all():
                break
            t = following
        return w

    def solve(self, s: Array, theta: Array, strict: bool = True) -> Array:
        """w at z = exp(s + iθ), 0 ≤ θ ≤ π, from the negative axis along the circle.

        Raises ArithmeticError where it is lost; if not strict, w is NaN there.
        """
        s, theta = (np.ascontiguousarray(x, dtype=np.float64) for x in np.broadcast_arrays(s, theta))
        start = self.negative(s)
        found = np.empty(s.shape, dtype=np.complex128)
        left = np.arange(s.size)
        for turns in _TURNS if strict else _TURNS[:2]:
            w, goal = start[left] + 0j, math.pi - theta[left]
            for k in range(1, turns + 1):
                w = self.step(w, s[left] + 1j * (math.pi - goal * k / turns))
            w, good = self.newton(w, s[left] + 1j * theta[left], 60)
            good &= self.on_branch(w, theta[left])
            found[left[good]] = w[good]
            left = left[~good]
            if not left.size:
                return found
        if not strict:
            found[left] = math.nan
            return found
        where = ", ".join(f"exp({x:.6g})" for x in s[left][:3])
        raise ArithmeticError(f"the equation of the Stieltjes transform was not solved at |z| = {where}")

    def step(self, w: Array, target: Array) -> Array:
        """One step of Newton's method in log w."""
        value, slope = self(w)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return _move(w, (value - target) / slope)

    def newton(self, w: Array, target: Array, most: int) -> tuple[Array, Array]:
        """Newton's method in log w, and where it has come to an end."""
        w = w.copy()
        good = np.zeros(w.shape, dtype=bool)
        left = np.arange(w.size)
        for _ in range(most):
            value, slope = self(w[left])
            gap = value - target[left]
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                step = gap / slope
                size = np.abs(step)
                # The step that is taken last is small, so that after it nothing is left but rounding.
                last = (size <= _LAST_STEP) | (np.abs(gap) <= 1e-16 * (1 + np.abs(target[left])))
                w[left] = np.where(np.isfinite(step), _move(w[left], step), w[left])
            good[left] = last | (np.abs(gap) <= _RESIDUAL * (1 + np.abs(target[left])))
            left = left[~last & np.isfinite(step)]
            if not left.size:
                break
        return w, good

    def on_branch(self, w: Array, theta: Array) -> Array:
        """Whether w, v and (1 + m)/m lie in the sector from arg z to π, and G in the lower half-plane."""
        m, more, rest, _ = self.parts(w)
        with np.errstate(divide="ignore", invalid="ignore"):
            v = (more if self.gaussian else 1.0) * rest / m
            angles = [upper_log(x).imag for x in (w, more / m, v)]
            slack = 1e-6 + 1e-13 / np.minimum(np.minimum(np.abs(more), np.abs(rest)), np.abs(m))
        inside = [(a >= theta - slack) & (a <= math.pi + slack) for a in angles]
        return np.logical_and.reduce([*inside, m.imag <= slack * np.abs(m)])


def _move(w: Array, step: Array) -> Array:
    """w exp(-step), no more than a factor e² at once, and kept in the upper half-plane."""
    size = np.abs(step)
    found = w * np.exp(-step * np.minimum(1.0, 2 / np.maximum(size, 1e-300)))
    return np.where(found.imag < 0, np.conj(found), found)


@dataclass(frozen=True)
class _Bulk:
    """One interval of the support in s = log λ, with the solution at points of it.

    s is hi - τ² where the interval is not bounded below, and the middle less half of it times cos α where it is: the
    density is then smooth at edges where it vanishes or diverges as a square root.
    """

    low: float
    high: float
    nodes: Array
    w: Array
    masses: Array

    def coordinate(self, s: Array) -> Array:
        """τ or α."""
        below = np.sqrt(np.maximum(self.high - s, 0.0))
        return (
            below if self.low == -math.inf else 2 * np.arctan2(np.sqrt(np.maximum(s - self.low, 0.0)), below)
        )

    def guess(self, s: Array) -> Array:
        """w by interpolation of log w, linear beyond the first and the last point."""
        at, value = self.coordinate(s), upper_log(self.w)
        k = np.clip(np.searchsorted(self.nodes, at) - 1, 0, len(self.nodes) - 2)
        share = (at - self.nodes[k]) / (self.nodes[k + 1] - self.nodes[k])
        return np.exp(value[k] + share * (value[k + 1] - value[k]))


@implements("random_matrices.jacobian_s", "random_matrices.inversion")
@dataclass(frozen=True)
class JacobianLaw:
    """The limit law of the eigenvalues of JJᵀ, or of the singular values of J; made by `jacobian_density`.

    Attributes:
        atoms: {place: mass}. Parts of the law of φ'² that are narrower than 1e-13 of their value count as atoms.
        support: the intervals of the continuous part; its lower end is 0 where the density goes on to zero. A tail of
            the law of φ'² with less than 3e-15 of the mass makes none.
        error: the largest of |total mass - 1|, and of the relative differences of the first four moments of the law,
            integrated from its density, from those of `jacobian_moments`, which come from a power series.
    """

    depth: int
    gamma: Any
    ensemble: str
    phi: str
    singular: bool
    error: float
    _equation: _Equation = field(repr=False, compare=False)
    _bulks: tuple[_Bulk, ...] = field(repr=False, compare=False)
    _points: tuple[tuple[float, float], ...] = field(repr=False, compare=False)

    @property
    def atoms(self) -> dict[float, float]:
        """The mass of each point that has one: {place: mass}."""
        return {math.sqrt(x) if self.singular else x: mass for x, mass in self._points}

    @property
    def support(self) -> tuple[tuple[float, float], ...]:
        """The intervals of the continuous part, in the order of the line."""
        power = 0.5 if self.singular else 1.0
        found: list[tuple[float, float]] = []
        for bulk in self._bulks:
            low, high = math.exp(power * bulk.low), math.exp(power * bulk.high)
            if found and found[-1][1] == low:
                low = found.pop()[0]
            found.append((low, high))
        return tuple(found)

    def density(self, x: Any) -> Array:
        """The density of the continuous part at x (...); zero off the support, +inf at 0 where it diverges there."""
        x = _real("x", x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            s = np.where(x > 0, np.log(np.where(x > 0, x, 1.0)) * (2.0 if self.singular else 1.0), -math.inf)
            found = self.density_of_log(s) * (2.0 if self.singular else 1.0) / np.where(x > 0, x, 1.0)
        return np.where((x == 0) & self._diverges, math.inf, np.where(x > 0, found, 0.0))

    def density_of_log(self, s: Any) -> Array:
        """The density λρ(λ) of s = log λ (...), λ an eigenvalue of JJᵀ, for spectra that reach below 1e-308."""
        s = np.asarray(s, dtype=np.float64)
        flat = s.reshape(-1)
        found = np.zeros(flat.shape)
        for bulk in self._bulks:
            inside = (flat > max(bulk.low, -1e5)) & (flat < bulk.high)
            if inside.any():
                found[inside] = self._equation.height(_refined(self._equation, bulk, flat[inside]))
        return found.reshape(s.shape)

    @property
    def _diverges(self) -> bool:
        """Whether the density goes to infinity at zero: whether λρ falls slower than λ there."""
        if not self._bulks or self._bulks[0].low > -math.inf:
            return False
        bulk = self._bulks[0]
        s, m = bulk.high - bulk.nodes[-2:] ** 2, self._equation.parts(bulk.w[-2:])[0].imag
        return bool((m < 0).all() and math.log(m[0] / m[1]) < 0.99 * (s[0] - s[1]))

    def cdf(self, x: Any) -> Array:
        """P(λ ≤ x), or of the singular value, for x (...), atoms included."""
        x = _real("x", x)
        flat = x.reshape(-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            s = np.where(flat > 0, np.log(np.where(flat > 0, flat, 1.0)), -math.inf)
            s = s * (2.0 if self.singular else 1.0)
        found = np.zeros(flat.shape)
        for place, mass in self.atoms.items():
            found += mass * (flat >= place)
        for bulk in self._bulks:
            found += bulk.masses.sum() * (s >= bulk.high)
            inside = (s > max(bulk.low, -1e5)) & (s < bulk.high)
            if inside.any():
                w = _refined(self._equation, bulk, s[inside])
                above = self._equation.potential(w, s[inside] + 0j).imag / math.pi
                # The bulks and atoms below are already counted: what is wanted is the part of this bulk.
                later = sum(m for place, m in self._points if place > math.exp(bulk.high) * (1 - 1e-12))
                later += sum(b.masses.sum() for b in self._bulks if b.low >= bulk.high)
                found[inside] += np.clip(bulk.masses.sum() - (above - later), 0.0, 1.0)
        return np.clip(found, 0.0, 1.0).reshape(x.shape)

    def moment(self, k: Any) -> float:
        """∫λ^k ρ, or of the singular value, for k ≥ 0, from the density and the atoms."""
        try:
            wanted = 0 <= k < math.inf
        except TypeError:
            raise TypeError(f"k is the number of a moment, zero or positive, not {k!r}") from None
        if not wanted:
            raise ValueError(f"k = {k!r} is not the number of a moment, zero or positive")
        power = float(k) / (2 if self.singular else 1)
        return _moment(self._bulks, self._points, power)

    def stieltjes(self, z: Any) -> Array:
        """G(z) = ∫ρ(λ)/(z - λ)dλ (...) with zG → 1; on the real axis within the bulk the limit from above.

        For singular values it is that of their law made even, ½ρ(|y|), which is zG(z²) of the eigenvalues.

        Raises ValueError for z = 0, at an atom, and for what is not finite.
        """
        z = np.asarray(z, dtype=np.complex128)
        flat = z.reshape(-1)
        if not np.isfinite(flat).all():
            raise ValueError("z is a finite number, or an array of them")
        at = flat * flat if self.singular else flat
        if (at == 0).any() or any((at == place).any() for place, _ in self._points):
            raise ValueError("z = 0 or an atom: the Stieltjes transform is taken off them")
        lower = (at.imag < 0) | ((at.imag == 0) & np.signbit(at.imag) & (at.real < 0))
        upper = np.where(lower, np.conj(at), at)
        log_z = upper_log(upper)
        s, theta = log_z.real, log_z.imag
        w = np.empty(flat.shape, dtype=np.complex128)
        left = np.ones(flat.shape, dtype=bool)
        for bulk in self._bulks:
            inside = (upper.imag == 0) & (upper.real > 0) & (s > bulk.low) & (s < bulk.high)
            w[inside] = _refined(self._equation, bulk, s[inside])
            left &= ~inside
        w[left] = self._equation.solve(s[left], theta[left])
        more = self._equation.parts(w)[1]
        found = more * np.exp(-log_z)
        found = np.where((upper.imag == 0) & left, found.real + 0j, found)  # real between the bulks
        found = np.where(lower, np.conj(found), found)
        return (found * flat if self.singular else found).reshape(z.shape)


def _moment(bulks: tuple[_Bulk, ...], points: tuple[tuple[float, float], ...], power: float) -> float:
    total = sum(mass * place**power for place, mass in points)
    for bulk in bulks:
        s = _places(bulk.low, bulk.high, bulk.nodes)
        total += float(bulk.masses @ np.exp(power * s))
    return float(total)


def _places(low: float, high: float, nodes: Array) -> Array:
    if low == -math.inf:
        return high - nodes**2
    half = (high - low) / 2
    return np.where(
        nodes < math.pi / 2, low + 2 * half * np.sin(nodes / 2) ** 2, high - 2 * half * np.cos(nodes / 2) ** 2
    )


@implements("random_matrices.jacobian_s", "random_matrices.inversion")
def jacobian_density(
    depth: int, gamma: Any, ensemble: str, phi: Any, q: Any, *, chi: Any = 1, of: str = "eigenvalues"
) -> JacobianLaw:
    """The limit law of the spectrum of JJᵀ for wide networks: density, atoms, edges, moments, transforms.

    J = Π D^(l)W^(l) over L layers, free of each other, S_{JJᵀ} = S_{D²}^L S_{WᵀW}^L, at the length q of all layers.
    Orthogonal weights are taken in random directions, W = σ_α Q Rᵀ.

    Args:
        depth: the number of layers L ≥ 1.
        gamma: ratio of rank to width, in (0, 1].
        ensemble: "gaussian" or "orthogonal".
        phi: a name, an `Activation` or a function of a torch tensor, without jumps.
        q: the length of the pre-activations, positive; it does not matter for linear and ReLU networks.
        chi: χ = γσ_α²μ_1 of each layer; 1 on the edge of chaos.
        of: "eigenvalues" of JJᵀ, or "singular values" of J.

    Returns:
        A `JacobianLaw`, whose `error` says how well its mass and moments agree with the power series. Away from the
        edges densities are accurate to 1e-11 of themselves where φ' is piecewise constant, and to about 1e-9 elsewhere;
        at an edge, where they vanish or diverge, to what the rounding of the argument allows.

    Raises:
        ValueError, TypeError: as `jacobian_moments`; an unknown `of`.
        ArithmeticError: an error above 1e-6, so that the law is not to be trusted. So it is for some deep networks with
            orthogonal weights of nearly full rank, whose φ' hardly varies but where it vanishes.

    Source: naitsaada2023, Sec. 3.1, where the first two moments are formed.

    >>> law = jacobian_density(1, 1, "gaussian", "linear", 1)
    >>> round(float(law.density(1.0)) * 2 * math.pi / math.sqrt(3), 10), [round(x, 9) for x in law.support[0]]
    (1.0, [0.0, 4.0])
    """
    depth = _count("depth", depth, 1)
    gamma, ensemble, chi = ratio_of_rank(gamma), ensemble_of(ensemble), variance_of(chi, "chi")
    if of not in ("eigenvalues", "singular values"):
        raise ValueError(f'of is "eigenvalues" or "singular values", not {of!r}')
    phi = activation(phi)
    first = float(_slopes(phi, q, 1)[0])
    law = slope_law(phi, float(q))
    equation = _Equation(
        law, depth, float(gamma), float(chi) / (float(gamma) * first), ensemble == "gaussian"
    )
    points = _atoms(equation)
    bulks = tuple(_bulk(equation, low, high) for low, high in _support(equation))
    wanted = [float(m) for m in jacobian_moments(depth, gamma, ensemble, phi, q, 4, chi=chi)]
    found = [_moment(bulks, points, float(k)) for k in range(5)]
    error = max(abs(found[0] - 1), *(abs(a / b - 1) for a, b in zip(found[1:], wanted, strict=True)))
    if not error <= TOLERANCE:
        raise ArithmeticError(
            f"by its mass and moments the law is known to {error:.1e} only: for {phi.name} at q = {q}, depth {depth} "
            f"and {ensemble} weights it is out of reach. jacobian_moments has its moments"
        )
    return JacobianLaw(
        depth, gamma, ensemble, phi.name, of == "singular values", error, equation, bulks, points
    )


def _atoms(equation: _Equation) -> tuple[tuple[float, float], ...]:
    """Places and masses: at 0, and where all factors have an atom, if the masses of 2L of them exceed 2L - 1."""
    found = [(0.0, 1 - equation.mass)] if equation.mass < 1 else []
    if not equation.gaussian:
        for place, mass in equation.law.atoms.items():
            together = 1 - equation.depth * ((1 - mass) + (1 - equation.gamma))
            if together > 1e-15:
                found.append(((equation.sigma2 * place) ** equation.depth, together))
    return tuple(found)


def _support(equation: _Equation) -> list[tuple[float, float]]:
    """The intervals of log λ on which there is a density.

    Their ends are among the images of the real points w off the law of φ'² at which dz/dw = 0, and of the ends of that
    law. Between two such images the density is zero everywhere or nowhere, and is looked at.
    """
    _, value, left = equation.table
    floor = float(value[left > 1e-12][0])
    marks = np.unique(np.concatenate([_critical(equation), _ends(equation)]))
    marks = marks[(marks > floor) & (marks < equation.bound)]
    if not marks.size:
        return []
    apart = np.concatenate([[True], np.diff(marks) > 1e-12 * (1 + np.abs(marks[1:]))])
    marks = marks[apart]
    spans = [(-math.inf, marks[0]), *itertools.pairwise(marks)]
    shares = np.array([0.5, 0.85, 0.97, 0.996, 0.9995])
    probes = np.array([high - (1 - shares) * (high - max(low, floor)) for low, high in spans])
    w = equation.solve(probes.ravel(), np.zeros(probes.size), strict=False)
    m = equation.parts(w)[0].reshape(probes.shape)
    dense = (-m.imag > 1e-6 * np.abs(m)).any(-1)
    # σ_α²D² itself has the singularities of its law within the support: it is cut there.
    alone = equation.depth == 1 and equation.gamma == 1 and not equation.gaussian
    found: list[tuple[float, float]] = []
    for (low, high), some in zip(spans, dense, strict=True):
        if not some:
            continue
        if found and found[-1][1] == low and not alone:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return [(float(a), float(b)) for a, b in found]


def _gaps(law: SlopeLaw) -> list[tuple[float, float]]:
    """The open intervals of the real line that are free of the law of φ'²."""
    taken = sorted([*law.pieces, *((x, x) for x in law.atoms), (0.0, 0.0)])
    found, reach = [(-math.inf, 0.0)], 0.0
    for low, high in taken:
        if low > reach * (1 + 1e-9):
            found.append((reach, low))
        reach = max(reach, high)
    if law.pieces and law.pieces[0][0] == 0 and law.thin > 0 and not law.zero:
        found.append((0.0, law.thin))  # but for a tail that is nothing in double precision
    return [*found, (reach, math.inf)]


def _critical(equation: _Equation) -> Array:
    """log z at the real w off the law of φ'² where its slope changes sign."""
    found = []
    for low, high in _gaps(equation.law):
        t = np.linspace(-36.0, 36.0, 146)

        def place(t: Array, low: float = low, high: float = high) -> Array:
            if low == -math.inf:
                return -equation.law.highest * np.exp(t)
            if high == math.inf:
                return low * (1 + np.exp(t))
            return np.where(
                t < 0, low + (high - low) / (1 + np.exp(-t)), high - (high - low) / (1 + np.exp(t))
            )

        slope = equation(place(t) + 0j)[1].real
        k = np.flatnonzero((slope[:-1] > 0) != (slope[1:] > 0))
        left, right, rises = t[k], t[k + 1], slope[k] > 0
        for _ in range(50 if k.size else 0):
            middle = (left + right) / 2
            same = (equation(place(middle) + 0j)[1].real > 0) == rises
            left, right = np.where(same, middle, left), np.where(same, right, middle)
        found.append(equation(place((left + right) / 2) + 0j)[0].real)
    return np.concatenate(found)


def _ends(equation: _Equation) -> Array:
    """log z at the ends of the law of φ'² where it is finite: m is infinite there, or is taken beside it."""
    law = equation.law
    places = sorted({*law.atoms, *(x for piece in law.pieces for x in piece if x > 0)})
    found = [] if equation.gaussian else [equation.depth * math.log(equation.sigma2 * x) for x in places]
    for x in {x for piece in law.pieces for x in piece if x > 0}:
        beside = np.array([x * (1 - 1e-12), x * (1 + 1e-12)])
        found.extend(equation(beside + 0j)[0].real.tolist())
    return np.array(found)


def _bulk(equation: _Equation, low: float, high: float) -> _Bulk:
    """The solution on one interval, on panels that are halved until mass and four moments of each are settled."""
    _, value, left = equation.table
    floor = float(np.interp(1e-17, left, value)) if left[0] < 1e-17 else float(value[0])
    length = math.sqrt(max(high - floor, 1.0)) if low == -math.inf else math.pi
    ends = np.linspace(0, 1, _PANELS + 1) ** (2 if low == -math.inf else 1)  # moments are made near the edge
    pending = np.stack([ends[:-1], ends[1:]], axis=1) * length
    kept: list[tuple[Array, Array, Array]] = []
    # One orthogonal layer leaves w on the axis, where the law of φ'² is less accurate close to its ends.
    tolerance = _OF_ONE_LAYER if equation.depth == 1 and not equation.gaussian else _SETTLED
    settled_sums, before, bulk = np.zeros(5), np.zeros((0, 5)), None
    for level in range(_HALVINGS + 1):
        half, middle = np.diff(pending, axis=1) / 2, pending.sum(axis=1, keepdims=True) / 2
        nodes = middle + half * _NODES
        s = _places(low, high, nodes.ravel())
        if bulk is None:
            w = equation.solve(s, np.zeros(s.shape), strict=False)
        else:
            w = _refined(equation, bulk, s, strict=False)
        jump = 2 * nodes if low == -math.inf else (high - low) / 2 * np.sin(nodes)
        masses = np.nan_to_num(equation.height(w)).reshape(nodes.shape) * jump * half * _WEIGHTS
        powers = np.exp(np.arange(5)[:, None, None] * (s.reshape(nodes.shape) - high))
        sums = (masses * powers).sum(-1).T
        done = np.zeros(len(pending), dtype=bool)
        if level:  # the panels are halves of those before, in pairs
            close = np.abs(sums.reshape(-1, 2, 5).sum(1) - before) <= tolerance * (settled_sums + sums.sum(0))
            done = np.repeat(close.all(-1), 2)
        each = np.repeat(done, len(_NODES))
        kept.append((nodes.ravel()[each], w[each], masses.ravel()[each]))
        settled_sums = settled_sums + sums[done].sum(0)
        bulk = _joined(low, high, [*kept, (nodes.ravel()[~each], w[~each], masses.ravel()[~each])])
        if done.all():
            break
        middle, before = pending[~done].sum(axis=1) / 2, sums[~done]
        pending = np.stack([pending[~done, 0], middle, middle, pending[~done, 1]], axis=1).reshape(-1, 2)
    assert bulk is not None  # there is a first level
    return bulk


def _joined(low: float, high: float, parts: list[tuple[Array, Array, Array]]) -> _Bulk:
    nodes, w, masses = (np.concatenate(x) for x in zip(*parts, strict=True))
    known = np.isfinite(w)
    order = np.argsort(nodes[known])
    return _Bulk(low, high, nodes[known][order], w[known][order], masses[known][order])


def _refined(equation: _Equation, bulk: _Bulk, s: Array, strict: bool = True) -> Array:
    """w at points of the support: Newton's method from the neighbours, and along the circle where that fails."""
    w, good = equation.newton(bulk.guess(s), s + 0j, 40)
    good &= equation.on_branch(w, np.zeros_like(s))
    # A root on the real axis is no solution within the bulk, but at its edges to rounding.
    good &= (w.imag > 1e-9 * np.abs(w)) | (np.abs(s - bulk.high) < 1e-12) | (np.abs(s - bulk.low) < 1e-12)
    if not good.all():
        w[~good] = equation.solve(s[~good], np.zeros(int((~good).sum())), strict)
    return w


__all__ = ["JacobianLaw", "jacobian_density"]
