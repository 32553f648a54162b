r"""Spectral laws of WᵀW as objects: density, atoms, edges, distribution function, moments, transforms and samples.

    gaussian      (1 - γ)δ_0 + √((λ⁺ - x)(x - λ⁻))/(2πσ²x),  λ^± = σ²(1 ± √γ)²,   S(z) = 1/(σ²(γ + z))
    orthogonal    γδ_{σ²} + (1 - γ)δ_0,                                             S(z) = (1 + z)/(σ²(γ + z))

with the rank ratio γ and the variance σ² of the coefficients. Both have the mean γσ². G(z) = ∫ρ(x)/(z - x)dx is taken
on the branch with zG → 1 at infinity: G(z̄) = conj G(z), and Im G < 0 above the line. For the Gaussian law that is
√(z - λ⁺)√(z - λ⁻) with principal roots, whose cut is the bulk (naitsaada2023, Sec. 3.2, 3.3, with the corrected
edges).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from symdyn.catalogue.implements import implements

Array = Any
ENSEMBLES = ("gaussian", "orthogonal")


def ratio_of_rank(gamma: Any) -> Any:
    """γ as it is given. Raises ValueError outside of (0, 1], and TypeError for what is no number."""
    try:
        inside = 0 < gamma <= 1
    except TypeError:
        raise TypeError(f"gamma is a number in (0, 1], not {gamma!r}") from None
    if not inside:
        raise ValueError(f"gamma = {gamma} is not in (0, 1], as a ratio of rank to width is")
    return gamma


def ensemble_of(name: Any) -> str:
    if name not in ENSEMBLES:
        raise ValueError(f"the ensemble is one of {', '.join(ENSEMBLES)}, not {name!r}")
    return str(name)


def variance_of(sigma2: Any, name: str = "sigma2") -> Any:
    """A positive number as it is given, under the name of its argument."""
    try:
        positive = 0 < sigma2 < math.inf
    except TypeError:
        raise TypeError(f"{name} is a positive number, not {sigma2!r}") from None
    if not positive:
        raise ValueError(f"{name} = {sigma2} is not positive and finite")
    return sigma2


def exact(x: Any) -> bool:
    """Whether a number is rational as it is given: an integer or a fraction."""
    return isinstance(x, (int, Fraction)) and not isinstance(x, bool)


@implements("random_matrices.marchenko_pastur", "random_matrices.orthogonal_law")
@dataclass(frozen=True)
class SpectralLaw:
    """The limit law of the spectrum of WᵀW for a wide low-rank weight; made by `spectral_law`."""

    gamma: Any
    sigma2: Any
    ensemble: str

    @property
    def atoms(self) -> dict[Any, Any]:
        """The mass of each point that has one: {place: mass}."""
        zero = {self.sigma2 * 0: 1 - self.gamma} if self.gamma < 1 else {}
        return zero if self.ensemble == "gaussian" else {**zero, self.sigma2: self.gamma}

    @property
    def support(self) -> tuple[tuple[float, float], ...]:
        """The intervals of the continuous part: ((λ⁻, λ⁺),), or () where there is none."""
        if self.ensemble == "orthogonal":
            return ()
        root, scale = math.sqrt(self.gamma), float(self.sigma2)
        short = float(1 - self.gamma) / (1 + root)  # 1 - √γ
        return ((scale * short**2, scale * (1 + root) ** 2),)

    def density(self, x: Any) -> Array:
        """The density of the continuous part (...), zero off the support; +inf at its edge 0 for γ = 1.

        Atoms are not part of it: its integral is γ for the Gaussian law and 0 for the orthogonal one.
        """
        x = _real("x", x)
        if not self.support:
            return np.zeros_like(x)
        ((low, high),) = self.support
        inside = (x >= low) & (x <= high)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.sqrt(np.maximum(x - low, 0) * np.maximum(high - x, 0)) / (
                2 * math.pi * float(self.sigma2) * x
            )
            value = np.where((x == 0) & (low == 0), math.inf, value)
        return np.where(inside, value, 0.0)

    def cdf(self, x: Any) -> Array:
        """P(λ ≤ x) (...), atoms included.

        With x = λ⁻ + (λ⁺ - λ⁻)sin²(θ/2), the integral of the density is a sum of θ, sin θ and an arctangent.
        """
        x = _real("x", x)
        total = np.zeros_like(x)
        for place, mass in self.atoms.items():
            total = total + float(mass) * (x >= float(place))
        if not self.support:
            return total
        root = math.sqrt(self.gamma)
        scaled = np.clip((x / float(self.sigma2) - (1 - root) ** 2) / (4 * root), 0.0, 1.0)
        theta = 2 * np.arcsin(np.sqrt(scaled))
        ratio = (1 + root) ** 2 / max(float(1 - self.gamma), 1e-300)
        angle = 2 * np.arctan(ratio * np.tan(np.minimum(theta, math.pi) / 2)) if self.gamma < 1 else 0.0
        bulk = (1 + self.gamma) * theta + 2 * root * np.sin(theta) - float(1 - self.gamma) * angle
        return total + np.where(theta >= math.pi, float(self.gamma), bulk / (2 * math.pi))

    def moment(self, k: int) -> Any:
        """∫λ^k ρ for k ≥ 0, a fraction where γ and σ² are integers or fractions.

        Gaussian: σ^{2k} Σ_j N(k, j) γ^j with Narayana's numbers; orthogonal: γσ^{2k}.
        """
        if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or k < 0:
            raise ValueError(f"k = {k!r} is not the number of a moment, 0, 1, 2, …")
        k = int(k)
        if k == 0:
            return self.gamma * 0 + 1
        if self.ensemble == "orthogonal":
            return self.gamma * self.sigma2**k
        total = sum((math.comb(k, j) * math.comb(k, j - 1) // k) * self.gamma**j for j in range(1, k + 1))
        return self.sigma2**k * total

    def stieltjes(self, z: Any) -> Array:
        """G(z) = ∫ρ(x)/(z - x)dx (...) off the spectrum; on the real axis within the bulk the limit from above."""
        z = np.asarray(z, dtype=np.complex128)
        scale, gamma = float(self.sigma2), float(self.gamma)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.ensemble == "orthogonal":
                return gamma / (z - scale) + ((1 - gamma) / z if gamma < 1 else 0)
            ((low, high),) = self.support
            root = np.sqrt(z - low) * np.sqrt(z - high)
            # G = (b - root)/(2σ²z) = 2/(b + root): the form without cancellation is taken.
            b = z + scale * (1 - gamma)
            plus = b + root
            small = 2 / plus
            direct = (b - root) / (2 * scale * z)
            return np.where(np.abs(plus) >= np.abs(b - root), small, direct)

    def s_transform(self, z: Any) -> Any:
        """S(z) = (1 + z)/(z M⁻¹(z)), exact for exact arguments; its poles raise ZeroDivisionError for those."""
        if self.ensemble == "gaussian":
            return (
                1 / (self.sigma2 * (self.gamma + z))
                if not exact(z)
                else _ratio(1, self.sigma2 * (self.gamma + z))
            )
        return (
            (1 + z) / (self.sigma2 * (self.gamma + z))
            if not exact(z)
            else _ratio(1 + z, self.sigma2 * (self.gamma + z))
        )

    def sample(self, n: int, generator: Any) -> Array:
        """n independent draws from the law, by the inverse of its distribution function.

        `generator` is a numpy.random.Generator.
        """
        if not isinstance(generator, np.random.Generator):
            raise TypeError(f"generator is a numpy.random.Generator, not {type(generator).__name__}")
        uniform = generator.random(n)
        if self.ensemble == "orthogonal":
            return np.where(uniform < float(self.gamma), float(self.sigma2), 0.0)
        ((low, high),) = self.support
        zero = float(1 - self.gamma)
        bulk = uniform >= zero
        left, right = np.full(int(bulk.sum()), low), np.full(int(bulk.sum()), high)
        for _ in range(60):
            middle = (left + right) / 2
            under = self.cdf(middle) < uniform[bulk]
            left, right = np.where(under, middle, left), np.where(under, right, middle)
        found = np.zeros(n)
        found[bulk] = (left + right) / 2
        return found


def _ratio(a: Any, b: Any) -> Any:
    return Fraction(a) / Fraction(b) if exact(a) and exact(b) else a / b


def _real(name: str, x: Any) -> Array:
    found = np.asarray(x)
    if found.dtype.kind not in "iufb" or np.isnan(found).any():
        raise ValueError(f"{name} is a real number or an array of them, without NaN")
    return found.astype(np.float64)


@implements("random_matrices.marchenko_pastur", "random_matrices.orthogonal_law")
def spectral_law(gamma: Any, sigma2: Any, ensemble: str) -> SpectralLaw:
    """The limit law of the spectrum of WᵀW, for W of rank γN with coefficients of variance σ²/N.

    Args:
        gamma: ratio of rank to width, in (0, 1]; moments and S are exact for a Fraction or an integer.
        sigma2: the variance σ_α², positive; exact likewise.
        ensemble: "gaussian" (W = CA) or "orthogonal" (σ_α times r orthonormal columns).

    Raises:
        ValueError, TypeError: another ensemble, γ outside of (0, 1], a variance that is not positive.

    >>> law = spectral_law(Fraction(1, 4), 2, "gaussian")
    >>> law.moment(2), law.atoms
    (Fraction(5, 4), {0: Fraction(3, 4)})
    """
    return SpectralLaw(ratio_of_rank(gamma), variance_of(sigma2), ensemble_of(ensemble))


__all__ = ["ENSEMBLES", "SpectralLaw", "spectral_law"]
