r"""How far a Gaussian start is from isotropic, at any width.

With independent entries of variance σ²/d in square layers, and σ_a²/d in the read-out, every fixed entry of
aaᵀ - W_L W_Lᵀ comes near that of -σ² I: the error has the variance O(1/d). But there are d² of them, and together they
do not vanish. By exact Gaussian means the squared norm of the defect, for each dimension, is

    E‖aaᵀ - W_L W_Lᵀ - δ I‖²/d = σ⁴ + (δ + σ²)² + O(1/d),        E‖W_{l+1}ᵀW_{l+1} - W_l W_lᵀ‖²/d = 2σ⁴(1 + 1/d):

as large as the balance itself, whatever δ is taken to be. The spectrum of W Wᵀ is not a point but fills [0, 4σ²]. What
was derived from the structure fails with it: at L = 1, ‖β‖² has the mean σ²‖a‖² and not (‖a‖² + σ²)‖a‖²
(kunin2024, App. B.2, after Definition 12).
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from derivations.deep_linear.network.chains import a, aa, norm2_a
from derivations.deep_linear.symbols import delta, h, sigma, sigma_a, width
from symdyn.calculus.matrix import eye, gaussian_mean, matrix, trace, vector
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.kinds import Identity, InDistribution, Limit
from symdyn.statements.matrix import MatrixIdentity

W, V = matrix("W", h, h, "W_l"), matrix("V", h, h, "W_{l+1}")
u, v = vector("u", h), vector("v", h)
SIZES = ({h: 1}, {h: 2}, {h: 3})

hidden = {W: sigma**2 / h, V: sigma**2 / h}
everything = hidden | {a: sigma_a**2 / h}
scales = Domain((sigma, sigma_a, delta, width), (), (Cell("σ, σ_a > 0", {sigma: 1, sigma_a: 1, width: 1}),))


def mean_square(defect: Any) -> sp.Expr:
    """E‖defect‖²/d in the Frobenius norm, as a function of the width d."""
    total = gaussian_mean(trace(defect @ defect.T), everything)
    return sp.expand(total / h).subs(h, width)


def readout_defect() -> Any:
    return aa - W @ W.T - delta * eye(h)


@result(ledger=("kunin2024.deep-isotropic-gaussian",), domain=scales, uses=("deep_linear.isotropic_network",))
def gaussian_defects() -> InDistribution:
    """A Gaussian start of any width is not isotropic: entries of its defects vanish as d → ∞, their norms do not.

    The first two facts are mean squares in fixed directions u, v. The next three are about squared norms: for each
    dimension that of W Wᵀ - σ² I has the variance O(1/d²), so that not only its mean tends to σ⁴. The last says what
    becomes of Lemma 13 for one hidden layer.
    """
    gram = W @ W.T - sigma**2 * eye(h)
    size2 = (u.T @ u).scalar() * (v.T @ v).scalar()
    overlap = (u.T @ v).scalar() ** 2
    entry_of_gram = gaussian_mean((u.T @ gram @ v).scalar() ** 2, hidden)
    entry_of_readout = gaussian_mean((u.T @ aa @ v).scalar() ** 2, everything)
    square = trace(gram @ gram)
    spread = gaussian_mean(sp.expand(square**2), hidden) - gaussian_mean(square, hidden) ** 2
    return InDistribution(
        r"as $d\to\infty$ each entry of the defects of isotropy vanishes, and their norms do not",
        (
            MatrixIdentity(entry_of_gram, sigma**4 * (size2 + overlap) / h, SIZES),
            MatrixIdentity(entry_of_readout, sigma_a**4 * (size2 + 2 * overlap) / h**2, SIZES),
            Limit(mean_square(readout_defect()), width, sp.oo, sigma**4 + (delta + sigma**2) ** 2),
            Identity(mean_square(V.T @ V - W @ W.T), 2 * sigma**4 * (1 + 1 / width)),
            Identity(spread.subs(h, width), 4 * sigma**8 * (3 + 6 / width + 5 / width**2)),
            MatrixIdentity(
                gaussian_mean(a.T @ W @ W.T @ a, hidden),
                sigma**2 * norm2_a * eye(1),
                SIZES,
                name=r"E\|\beta\|^2",
            ),
        ),
        formula=r"\tfrac1d E\|aa^\top - W_L W_L^\top - \delta I\|^2 \to \sigma^4 + (\delta + \sigma^2)^2, \quad"
        r" \tfrac1d E\|W_{l+1}^\top W_{l+1} - W_l W_l^\top\|^2 \to 2 \sigma^4",
    )


@printed(
    "kunin2024.deep-isotropic-gaussian",
    quote=r"naturally achieved in the limit $d\to\infty$ under standard Gaussian initialization",
    domain=scales,
    severity="substantive",
)
def printed_gaussian_defects() -> Limit:
    """As the paper says, with the δ = -σ² that comes nearest: the defect, relative to the balance δ I, would vanish.

    Its squared norm tends to that of δ I itself.
    """
    defect = mean_square(readout_defect()).subs(delta, -(sigma**2))
    return Limit(defect / sigma**4, width, sp.oo, sp.S.Zero)
