r"""The named quantities of two coupled modes: forms that keep their digits at every size of start, task and time.

With T = t/τ, h_i = e^{-s_iT} and d_i = (1 - h_i²)/s_i a mode by itself is a_i(t) = a_i/(h_i² + a_id_i). Two modes share
what they have to learn from: with ρ = b²/(a₁a₂) and p_i = h_i/√a_i,

    1/a₁(t) = k₁² + d₁,    k₁ = p₁ √(p₂² + d₂)/√(p₂² + (1 - ρ)d₂),
    b(t) = b/√(a₁a₂) · 1/(k₁ + d₁/k₁) · p₂/(√(p₂² + (1 - ρ)d₂) √(p₂² + d₂)).

The one difference left is 1 - ρ, that of the start itself, and nothing leaves the range of numbers before values do.
"""

from __future__ import annotations

from sympy import And, Integer, Or, S, exp, log, sqrt, symbols, tanh

from symdyn.compile.named import NamedQuantity, expm1_ratio, root_sum

_a, _b, _s, _T, _H, _d, _x, _y = symbols("a b s T H d x y", real=True)
_a1, _a2, _s1, _s2, _share = symbols("a_1 a_2 s_1 s_2 share", real=True)

over = NamedQuantity("over", r"\frac{#1}{#2}", (_x, _y), _x / _y, module=__name__)
"""A quotient that is taken first, whatever it is multiplied by."""

elapsed = NamedQuantity(
    "elapsed",
    r"\frac{1 - e^{-2 #1 #2}}{#1}",
    (_s, _T),
    (1 - exp(-2 * _s * _T)) / _s,
    cells=(
        (_s * _T <= 1, 2 * _T * expm1_ratio(-2 * _s * _T)),
        (_s * _T > 1, 2 * tanh(_s * _T) / (1 + tanh(_s * _T)) / _s),
    ),
    module=__name__,
    domain=And(_s > 0, _T >= 0),
)
"""d, by which the inverse of a connection of strength s grows in the time T."""

fall = NamedQuantity("fall", "e^{-2 #1 #2}", (_s, _T), exp(-2 * _s * _T), module=__name__)
"""h², of which SymPy does not know that it can underflow."""

connection = NamedQuantity(
    "connection",
    r"\frac{#1}{#3^2 + #1 #2}",
    (_a, _d, _H),
    _a / (_H**2 + _a * _d),
    cells=(
        (_a <= _H**2 / _d, over(_a, _H) / (_H + _d * over(_a, _H))),
        (_a > _H**2 / _d, 1 / (_d + _H * over(_H, _a))),
    ),
    module=__name__,
    domain=And(_a >= 0, _d >= 0, _H > 0),
)
"""A connection a whose inverse has changed by the factor H², and then by d."""

share = NamedQuantity(
    "share",
    r"\left(1 - \frac{#3^2}{#1 #2}\right)",
    (_a1, _a2, _b),
    1 - _b**2 / (_a1 * _a2),
    module=__name__,
    operation="share",
)
"""1 - ρ, what two modes do not share, with all digits however alike they are."""

present = NamedQuantity(
    "present", "#1", (_a,), _a, cells=((_a > 0, _a), (S.true, 1 - _a)), module=__name__, domain=_a > 0
)
"""a > 0, and for gradients a harmless number at a = 0, where another form is taken."""

_h1, _h2, _d2 = exp(-_s1 * _T), exp(-_s2 * _T), elapsed(_s2, _T)
_p2 = over(_h2, sqrt(present(_a2)))
_alone, _together = root_sum(_p2, _d2), root_sum(_p2, _share * _d2)

held = NamedQuantity(
    "held",
    r"h_{#5}",
    (_s1, _a2, _s2, _share, _T),
    _h1 * sqrt((_h2**2 + _a2 * _d2) / (_h2**2 + _share * _a2 * _d2)),
    cells=(
        (_a2 <= 0, _h1),
        (Or(_share > 0, fall(_s2, _T) > 0), _h1 * _alone / _together),
        (S.true, sqrt(present(_a2)) * exp((_s2 - _s1) * _T) * _alone),
    ),
    module=__name__,
    forms_on=And(_a2 >= 0, _s2 > 0, _T >= 0, _share >= 0),
)
"""√a₁ k₁, what is left of the first mode where the second competes with it. (The last form is for h₂ = 0, ρ = 1.)"""

tempered = NamedQuantity(
    "tempered",
    r"\frac{#1}{#1^2 + #2}",
    (_x, _d),
    _x / (_x**2 + _d),
    cells=((S.true, 1 / (_x + over(_d, _x))),),
    module=__name__,
)
"""x/(x² + d), also where x² is no number."""

_d1, _left = elapsed(_s1, _T), held(_s1, _a2, _s2, _share, _T)
_k1, _correlation = over(_left, sqrt(present(_a1))), over(over(_b, sqrt(present(_a1))), sqrt(present(_a2)))

coupling = NamedQuantity(
    "coupling",
    r"b\left(#6\right)",
    (_a1, _a2, _b, _s1, _s2, _T, _share),
    _b * _h1 * _h2 / (_h1**2 * (_h2**2 + _a2 * _d2) + _a1 * _d1 * (_h2**2 + _share * _a2 * _d2)),
    cells=(
        (Or(_a1 <= 0, _a2 <= 0), S.Zero),
        (
            Or(_share > 0, fall(_s2, _T) > 0),
            _correlation * tempered(_k1, _d1) * over(_p2, _together) / _alone,
        ),
        (S.true, _correlation * tempered(_k1, _d1) / _alone),
    ),
    module=__name__,
    forms_on=And(_a1 >= 0, _a2 >= 0, _s1 > 0, _s2 > 0, _T >= 0, _share >= 0),
)
"""b(t)."""

_tau, _L = symbols("tau L", real=True)

excess = NamedQuantity(
    "excess",
    r"\log\left(1 + \frac{#3 #4}{#1 #2 #5}\right)",
    (_a1, _a2, _s, _x, _share),
    log(1 + _s * _x / (_a1 * _a2 * _share)),
    cells=(
        (
            over(_s, _a1) * over(_x, _a2) / _share <= Integer(10) ** 10,
            log(1 + over(_s, _a1) * over(_x, _a2) / _share),
        ),
        (
            S.true,
            log(_s)
            - log(_a1)
            + (log(_x) - log(_a2))
            - log(_share)
            + log(1 + over(_a1, _s) * over(_a2, _x) * _share),
        ),
    ),
    module=__name__,
)

moment = NamedQuantity(
    "moment",
    r"\frac{#1}{4 #2} #3",
    (_tau, _s, _L),
    _tau * _L / (4 * _s),
    cells=(
        (Or(_tau < 1, _L >= 4), over(_tau, _s) * over(_L, Integer(4))),
        (S.true, over(_tau * over(_L, Integer(4)), _s)),
    ),
    module=__name__,
)
