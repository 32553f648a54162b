r"""The students of the teacher-student experiments: a balanced, symmetrised base, scaled to any (τ, δ).

Half of the neurons have unit weights w_i and signs a_i = ±1, the other half the same w_i and the signs -a_i. So neurons
cancel in pairs, f = 0 for every input, and the tangent kernel is twice that of one half. Each neuron is balanced, at
equal rates. Scaling w_i by τ/α and a_i by τα leaves f = 0 and makes

    δ_i = τ²(α² - α^{-2}),        |a_i|‖w_i‖ = τ².

So δ has to be put equal to τ²(α² - α^{-2}), and not δ², as the paper prints: that cannot give a negative balance. The
root is α² = e^{asinh(δ/(2τ²))}: α is one in balance, and -δ gives 1/α (kunin2024, App. D.1).
"""

from __future__ import annotations

import random
from typing import Any

import sympy as sp

from derivations.piecewise_linear.symbols import a, alpha, delta, eta_a, eta_w, gamma, tau, w, x
from symdyn.calculus.gram import inner, norm2
from symdyn.catalogue.result import printed, result
from symdyn.statements.domain import Cell, Domain
from symdyn.statements.hypothesis import defined, meaning, stated
from symdyn.statements.inference import Characterised
from symdyn.statements.kinds import Conjunction, Identity, Inequality


def contribution(readout: Any, weights: Any) -> sp.Expr:
    """a σ(wᵀx)."""
    z = inner(weights, x)
    return readout * sp.Max(z, gamma * z)


def kernel(readout: Any, weights: Any) -> sp.Expr:
    """What a neuron adds to the tangent kernel at (x, x), η_a σ(wᵀx)² + η_w a² c²‖x‖² with c = σ(wᵀx)/wᵀx."""
    z = inner(weights, x)
    value = sp.Max(z, gamma * z)
    return eta_a * value**2 + eta_w * readout**2 * (value / z) ** 2 * norm2(x)


rest = sp.Symbol("rest", real=True)
pairs = Domain(
    (a, gamma, tau, alpha, eta_a, eta_w),
    (w, x),
    tuple(
        Cell(
            f"wᵀx {text} 0",
            {inner(w, x): sign, tau: 1, alpha: 1, eta_a: 1, eta_w: 1, rest: 1},
            {gamma: rest / (1 + rest)},
            "0 < γ < 1; γ = 0 by continuity",
        )
        for text, sign in ((">", 1), ("<", -1))
    ),
    words="any neuron and its partner",
    hypotheses=(meaning("wᵀx ≠ 0, where a slope is one number; at wᵀx = 0 both neurons add nothing", w),),
)


@result(ledger=("kunin2024.fig1-symmetrised-init",), domain=pairs)
def symmetrised_start() -> Conjunction:
    """A neuron and its mirror image cancel on every input, at any scale; their tangent kernel is twice that of one.

    Neuron i + h/2 has the weights of neuron i and the opposite sign, so that the two cancel.
    """
    first, second = (a, w), (-a, 1 * w)
    scaled = tuple((tau * alpha * r, tau / alpha * v) for r, v in (first, second))
    return Conjunction(
        Identity(contribution(*second), -contribution(*first)),
        Identity(contribution(*scaled[0]) + contribution(*scaled[1]), sp.S.Zero, name="f(x)"),
        Identity(kernel(*first) + kernel(*second), 2 * kernel(*first), name="K"),
    )


def unit_neuron(rng: random.Random, dimension: int) -> dict[Any, Any]:
    """A rational unit vector and a sign."""
    values = [sp.Integer(0)] * dimension
    p, q = rng.choice(((3, 4), (5, 12), (8, 15), (0, 1)))
    if dimension > 1:
        values[:2] = [sp.Rational(p) / sp.sqrt(p**2 + q**2), sp.Rational(q) / sp.sqrt(p**2 + q**2)]
    else:
        values[0] = sp.Integer(1)
    rng.shuffle(values)
    return {w: [rng.choice((1, -1)) * value for value in values], a: sp.Integer(rng.choice((1, -1)))}


base = Domain(
    (tau, alpha, eta_a, a),
    (w,),
    tuple(
        Cell(
            f"a_i = {sign}",
            {tau: 1, alpha: 1, eta_a: 1},
            {a: sp.Integer(sign), norm2(w): sp.S.One},
            "unit weights and signs",
        )
        for sign in (1, -1)
    ),
    sampler=unit_neuron,
    words="‖w_i‖ = 1, a_i = ±1, equal rates",
    hypotheses=(stated("App. D.1", "w_i on the unit sphere, a_i = ±1, and equal learning rates", a, w),),
)


@result(ledger=("kunin2024.fig1-base-balanced",), domain=base)
def balanced_base() -> Conjunction:
    """The base of the students is balanced at every neuron, at equal rates, and has the scale τ = 1.

    Scaled by τα and τ/α, |a_i|‖w_i‖ = τ² and δ_i = η τ²(α² - α^{-2}); the base is τ = α = 1.
    """
    readout, length2 = tau * alpha * a, (tau / alpha) ** 2 * norm2(w)
    return Conjunction(
        Identity(eta_a * a**2 - eta_a * norm2(w), sp.S.Zero, name=r"\delta_i"),
        Identity(readout**2 * length2, tau**4, name=r"a_i^2\|w_i\|^2"),
        Identity(eta_a * (readout**2 - length2), eta_a * tau**2 * (alpha**2 - alpha**-2), name=r"\delta_i"),
    )


asinh = sp.Symbol("asinh", real=True)
scales = Domain(
    (tau, delta),
    (),
    (
        Cell(
            "τ > 0",
            {tau: 1},
            {delta: tau**2 * (sp.exp(asinh) - sp.exp(-asinh))},
            "δ = 2τ² sinh y, any real number",
        ),
    ),
    words="τ > 0, unit rates",
    hypotheses=(
        stated("App. D.1", "τ > 0, and learning rates of one"),
        meaning("δ = 2τ² sinh y, any real number", delta),
    ),
)


@result(
    ledger=("kunin2024.fig1-alpha-scaling",),
    domain=scales,
    arguments=("tau", "delta"),
    requires=(("positive", tau > 0, "tau"),),
)
def relative_scale() -> Characterised:
    """The relative scale α that gives the base the balance δ at the scale τ: δ = τ²(α² - α^{-2}).

    The function `scale_init` applies it: w_i is multiplied by τ/α, a_i by τα.
    """

    def facts(value: sp.Expr) -> tuple[Identity, Inequality]:
        return (Identity(tau**2 * (value**2 - value**-2), delta, name=r"\delta_i"), Inequality(value, ">"))

    return Characterised.of(sp.exp(sp.asinh(delta / (2 * tau**2)) / 2), facts, name=r"\alpha")


recipe = Domain(
    (tau, alpha),
    (),
    (Cell("α > 1", {tau: 1, rest: 1}, {alpha: 1 + rest}, "the printed equation has no other solutions"),),
    let={delta: tau * sp.sqrt(alpha**2 - alpha**-2)},
    words="unit rates, δ > 0",
)


@printed(
    "kunin2024.fig1-alpha-scaling",
    quote=r"solve $\delta^2=\tau^2(\alpha^2-\alpha^{-2})$ for $\alpha$",
    domain=recipe,
    severity="typo",
    hypotheses=(stated("App. D.1", "α solves the printed equation, for δ > 0", alpha, *defined(delta)),),
)
def printed_relative_scale() -> Identity:
    """As printed: with α from δ² = τ²(α² - α^{-2}) the scaled neurons would have the balance δ; they have δ².

    For δ < 0 the equation is that of -δ. It gives the right α for δ = 0 and δ = 1 alone.
    """
    return Identity(tau**2 * (alpha**2 - alpha**-2), delta, name=r"\delta_i")
