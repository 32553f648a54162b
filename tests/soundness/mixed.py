"""Claims of several kinds in one: pieces within pieces, limits in two variables, chains with equality at one point,
matrices that need to commute, rates that vanish, solutions through singular times, minima on the boundary, and facts
that two values satisfy.
"""

import sympy as sp
from sympy import Abs, Eq, Max, Min, Piecewise, atan, cos, cosh, exp, log, pi, sign, sin, sqrt, tan

from symdyn.calculus.gram import Flow, inner, norm2
from symdyn.calculus.matrix import matrix, trace
from symdyn.statements.domain import Domain
from symdyn.statements.inference import Characterised
from symdyn.statements.kinds import (
    Conjunction,
    Conservation,
    Dynamics,
    Identity,
    Inequality,
    Limit,
    Minimiser,
    Solution,
)
from symdyn.statements.matrix import MatrixIdentity
from tests.soundness.claims import R, a, b, c, false, k, oo, p, positive, q, t, true, v1, v2, where, x, y, z

n = sp.Symbol("n", integer=True, positive=True)
A, B, C = (matrix(name, n, n) for name in "ABC")
S, T = (matrix(name, n, n, symmetric=True) for name in "ST")
SIZES = ({n: 2}, {n: 3})
UP, DOWN, SWAP = ((0, 1), (0, 0)), ((0, 0), (1, 0)), ((0, 1), (1, 0))
DIAGONAL = ((1, 0), (0, 2))

quadrants = Piecewise((Piecewise((x, y > 0), (-x, True)), x > 0), (Piecewise((-x, y >= 0), (x, True)), True))
crossed = Flow({x: p * y, y: q * x})
drifting = Flow({x: p * z, y: q * z})


def equal(lhs, rhs):
    return MatrixIdentity(lhs, rhs, SIZES)


def one(closed, velocity, initial):
    return Solution({x: closed}, {x: velocity}, {x: initial}, t)


def approach(i):
    """Values that tend to zero from above."""
    return R(1, 10 ** (10 * 3**i))


def growth(i):
    """Values that tend to infinity."""
    return 10 ** (10 * 3**i)


# fmt: off
FALSE = [
    # pieces within pieces
    false("a modulus by quadrants", lambda: Identity(quadrants, Abs(x)), "-1", x=1, y=-1),
    false("a modulus with a sign by quadrants", lambda: Identity(quadrants, Abs(x) * sign(y)), "y = 0", x=-1, y=0),
    false("nested pieces that leave a point out",
        lambda: Identity(Piecewise((Piecewise((1, x < 1), (1, x > 1)), x > 0), (1, True)) + y, 1 + y), "no piece at 1",
        x=1, y=0),
    false("a maximum of three but where all are equal",
        lambda: Identity(Max(x, y, z) * Piecewise((0, Eq(x, y) & Eq(y, z)), (1, True)), Max(x, y, z)), "x = y = z",
        x=1, y=1, z=1),
    false("the middle of three", lambda: Identity(Max(Min(x, y), Min(y, z)), x + y + z - Max(x, y, z) - Min(x, y, z)),
        "the middle is x or z", x=1, y=0, z=2),
    false("a piece within a root", lambda: Inequality(sqrt(Piecewise((x, x >= 0), (x**2 - R(1, 10**6), True))), ">="),
        "-10⁻⁶ + x² just below zero", x=-R(1, 10**4)),
    false("a modulus that changes its form beyond the usual points",
        lambda: Identity(Abs(sqrt(x**2 + 1) - 2), 2 - sqrt(x**2 + 1)), "x > √3", positive(x), x=2),
    false("the same, both ways", lambda: Identity(Abs(sqrt(x**2 + 1) - 2), sqrt(x**2 + 1) - 2), "x < √3", positive(x),
        x=1),
    # limits in two variables, by the way on which the origin is reached
    false("x²y/(x⁴ + y²) on parabolas", lambda: Limit(x**2 * k * x**2 / (x**4 + k**2 * x**4), x, 0, 0), "k/(1 + k²)",
        near=approach, k=1),
    false("xy/(x² + y²) on lines", lambda: Limit(k * x**2 / (x**2 + k**2 * x**2), x, 0, 0), "k/(1 + k²)",
        near=approach, k=1),
    false("the inner limit first", lambda: Limit((x + y) / (x - y), x, 0, -1), "1 at y = 0", near=approach, y=0),
    false("an exponential base", lambda: Limit(exp(log(1 + a * x) / x), x, 0, sp.E), "e^a", near=approach, a=2),
    false("a root less its argument", lambda: Limit(sqrt(x**2 + a * x) - x, x, oo, 0), "a/2", near=growth, a=1),
    # chains of inequalities, with equality somewhere
    false("means: strict", lambda: Inequality((x + y) / 2, ">", sqrt(x * y)), "x = y", positive(x, y), x=1, y=1),
    false("three powers in order", lambda: Conjunction(Inequality(x, "<=", x**2), Inequality(x**2, "<=", x**3)),
        "below 1", positive(x), x=R(1, 2)),
    false("sin x < x < tan x up to π", lambda: Conjunction(Inequality(sin(x), "<", x), Inequality(x, "<", tan(x))),
        "tan 2 < 0", where(x > 0, x < pi), x=2),
    false("a sum of products: strict", lambda: Inequality(a**2 + b**2 + c**2, ">", a * b + b * c + c * a), "a = b = c",
        a=1, b=1, c=1),
    false("a modulus of a sum: strict", lambda: Inequality((Abs(a) + Abs(b)) ** 2, ">", (a + b) ** 2), "one sign",
        a=1, b=1),
    false("cosh above its square: strict", lambda: Inequality(cosh(x), ">", 1 + x**2 / 2), "0", x=0),
    false("Cauchy and Schwarz: strict", lambda: Inequality(norm2(v1) * norm2(v2), ">", inner(v1, v2) ** 2), "parallel",
        v1=(1, 0), v2=(2, 0)),
    # matrices that commute, or are symmetric
    false("a cube of a sum", lambda: equal((A + B) @ (A + B) @ (A + B),
        A @ A @ A + 3 * A @ A @ B + 3 * A @ B @ B + B @ B @ B), "AB ≠ BA", A=UP, B=DOWN),
    false("a product of symmetric ones is symmetric", lambda: equal(S @ T, (S @ T).T), "ST ≠ TS", S=DIAGONAL, T=SWAP),
    false("a commutator of symmetric ones is symmetric", lambda: equal((S @ T - T @ S).T, S @ T - T @ S), "it is skew",
        S=DIAGONAL, T=SWAP),
    false("traces of all orders", lambda: Identity(trace(A @ B @ C), trace(A @ C @ B)), "two cycles", A=UP, B=DOWN,
        C=((1, 0), (0, 0))),
    false("a length by a square", lambda: Identity(trace(A @ A.T), trace(A @ A)), "not symmetric", A=UP),
    # conservation under flows whose rates vanish
    false("rates the wrong way round", lambda: Conservation(p * x**2 - q * y**2, under=crossed), "p ≠ q", p=1, q=2,
        x=1, y=1),
    false("over a rate that vanishes", lambda: Conservation(x / p - y / q, under=drifting), "p = 0", p=0, q=1, x=1,
        y=1, z=1),
    false("a length that is damped", lambda: Conservation(x**2 + y**2, under=Flow({x: y - k * x, y: -x - k * y})),
        "k = 1", Domain((x, y, k)).restrict(k >= 0), k=1, x=1, y=0),
    false("a product of two rates", lambda: Conservation(x * y, under=Flow({x: p * x, y: -q * y})), "p ≠ q", p=1, q=2,
        x=1, y=1),
    false("an angle", lambda: Dynamics(atan(y / x), 1, under=Flow({x: -y, y: x})), "x = 0", x=0, y=1),
    # solutions through singular times
    false("a velocity with a pole in time", lambda: one(c / (1 - t), x / (1 - t), c), "t = 1", positive(c, t), c=1,
        t=2),
    false("a root that ends", lambda: one(sqrt(1 - t), -1 / (2 * x), sp.S.One), "t = 1", positive(t), t=2),
    false("through the poles of a tangent", lambda: one(tan(t), 1 + x**2, sp.S.Zero), "π/2", positive(t),
        check=lambda: cos(pi / 2) == 0 and pi / 2 < 2),
    false("a logistic start below zero", lambda: one(exp(t) / (exp(t) - 2), x - x**2, -sp.S.One), "t = log 2",
        positive(t), check=lambda: exp(log(2)) - 2 == 0 and log(2) < 1),
    # minima on the boundary, and facts of two values
    false("a minimum on the boundary is stationary", lambda: Minimiser("$x = 0$ minimises $x$ on $x \\ge 0$",
        (Identity(sp.diff(x, x), 0), Inequality(x, ">=", on=where(x >= 0)))), "the slope is 1",
        check=lambda: sp.diff(x, x) != 0),
    false("a concave function has its minimum where it is stationary",
        lambda: Minimiser("$x = 0$ minimises $-x^2$", (Identity(sp.diff(-(x**2), x).subs(x, 0), 0),)), "-1 < 0",
        check=lambda: -(1**2) < 0),
    false("the root of a square", lambda: Characterised.of(a, lambda m: (Identity(m**2, a**2),)), "-a as well",
        check=lambda: (-a) ** 2 == a**2),
    false("an angle by its cosine", lambda: Characterised.of(x, lambda m: (Identity(cos(m), cos(x)),)), "-x as well",
        check=lambda: cos(-x) == cos(x)),
    false("the root that is not negative", lambda: Characterised.of(a,
        lambda m: (Identity(m**2, a**2), Inequality(m, ">="))), "a = -1", check=lambda: sp.Integer(-1) < 0),
]

TRUE = [
    true("a modulus of a product by quadrants", lambda: Identity(quadrants**2, x**2)),
    true("a maximum and a minimum", lambda: Identity(Max(x, y) + Min(x, y), x + y)),
    true("x²y/(x² + y²) on lines", lambda: Limit(k * x**3 / (x**2 + k**2 * x**2), x, 0, 0), near=approach),
    true("means", lambda: Inequality((x + y) ** 2, ">=", 4 * x * y)),
    true("a square of a commuting sum", lambda: equal((A + A) @ (A + A), 4 * A @ A)),
    true("a commutator of symmetric ones is skew", lambda: equal((S @ T - T @ S).T, T @ S - S @ T)),
    true("traces of a cycle", lambda: Identity(trace(A @ B @ C), trace(C @ A @ B))),
    true("rates the right way round", lambda: Conservation(q * x**2 - p * y**2, under=crossed)),
    true("a combination without division by a rate", lambda: Conservation(q * x - p * y, under=drifting)),
    true("a logistic start above one", lambda: one(2 * exp(t) / (2 * exp(t) - 1), x - x**2, sp.Integer(2)),
        on=positive(t)),
]
