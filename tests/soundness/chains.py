"""Conclusions in words: facts that do not imply them, minimisers that are none, values that are not characterised."""

from sympy import cosh, exp, sqrt

from symdyn.calculus.gram import Flow
from symdyn.statements.inference import (
    AtMostOneZero,
    Characterised,
    CrossesOnce,
    Invariant,
    InvariantRegion,
    Monotone,
    SameZeros,
    UniqueMinimiser,
)
from symdyn.statements.kinds import (
    Conjunction,
    Conservation,
    Dynamics,
    Existence,
    Identity,
    InDistribution,
    Inequality,
    Limit,
    Minimiser,
)
from tests.soundness.claims import TINY, R, a, b, false, nonzero, oo, t, true, where, x, y

binomial = Identity((a + b) ** 2, a**2 + 2 * a * b + b**2)
commuting = Identity(a + b, b + a)
saddle = Flow({a: -b, b: -a})


def lower(objective, claimed, better):
    """Whether an objective is smaller elsewhere than at the claimed minimiser."""
    return lambda: bool(objective(better) < objective(claimed))


def stationary(objective, at, *more):
    """The facts of a minimiser as far as they are stated: the derivative vanishes there."""
    return (Identity(objective.diff(x).subs(x, at), 0), *more)


def says(words, *facts, **options):
    return Existence(words, facts, **options)


def least(words, *facts, **options):
    return Minimiser(words, facts, **options)


def gradient(a, b):
    """The gradient of the loss (1 - ab)²/2 of two scalar layers."""
    return -b * (1 - a * b), -a * (1 - a * b)


def two_depths():
    """x⁴ - x² + x/10 has two local minima of different depth."""
    depth = {s: min((v**4 - v**2 + v / 10) for v in (s * R(n, 100) for n in range(50, 90))) for s in (1, -1)}
    return depth[1] < 0 and depth[-1] < 0 and depth[1] != depth[-1]


# fmt: off
FALSE = [
    # words that have nothing to do with the facts
    false("every network learns", lambda: says("every network learns the task from every start", commuting),
        "a = b = 0 does not move", check=lambda: gradient(0, 0) == (0, 0)),
    false("every trajectory tends to 0",
        lambda: says("every trajectory of gradient flow tends to $a=b=0$", binomial), "a = b = 1 does not move",
        check=lambda: gradient(1, 1) == (0, 0)),
    false("all minima are global", lambda: says("every local minimum is global", Inequality(x**2, ">=")),
        "x⁴ - x² + x/10", check=two_depths),
    false("even functions are monotone",
        lambda: says("every even function is monotone", Identity(cosh(-x), cosh(x))), "x² at -1, 0, 1",
        check=lambda: (-1) ** 2 > 0 < 1**2),
    false("0 = 1", lambda: says("0 = 1", Inequality(exp(x), ">")), "0 ≠ 1", check=lambda: 0 != 1),
    false("at most one zero",
        lambda: says("x³ - x has at most one zero", Identity((x**3 - x).diff(x), 3 * x**2 - 1)), "-1, 0, 1",
        check=lambda: all(v**3 == v for v in (-1, 0, 1))),
    false("at most one zero, weakly monotone",
        lambda: says("the function max(x, 0) has at most one zero", Inequality((x + sqrt(x**2)) / 2, ">=")),
        "all x ≤ 0", check=lambda: max(-1, 0) == max(-2, 0) == 0),
    false("at most one zero, monotone on each side of a pole",
        lambda: says("x - 1/x has at most one zero", Inequality(1 + 1 / x**2, ">", on=nonzero(x))), "-1, 1",
        check=lambda: all(v - 1 / v == 0 for v in (-1, 1))),
    false("a conserved sign",
        lambda: says("x keeps its sign along the flow x′ = -1", Dynamics(x, -1, under=Flow({x: -1}))),
        "x = 1 at t = 2", check=lambda: 1 - 2 < 0),
    false("a positive sign is kept by the flow on the boundary, but it points outwards",
        lambda: says("x ≥ 0 is kept by x′ = y, y′ = -x", Dynamics(x, y, under=Flow({x: y, y: -x})),
            Identity(y.subs(x, 0), y)), "(0, -1)", check=lambda: 0 + R(1, 10) * -1 < 0),
    false("convergence from every start",
        lambda: says("x tends to 1 from every start under x′ = x(1 - x)", Identity((x * (1 - x)).subs(x, 1),
            0)), "x = 0 does not move", check=lambda: 0 * (1 - 0) == 0),
    false("a bound that is conserved", lambda: says("a stays bounded", Conservation(a**2 - b**2, under=saddle)),
        "a = -b = exp t", check=lambda: exp(10) > 20000),
    false("a saddle is stable",
        lambda: says("the origin attracts all trajectories", Dynamics(a, -b, under=saddle), Dynamics(b, -a,
            under=saddle)), "a = -b grows", check=lambda: 0 - (0 - 1) > 0),
    false("existence from a sign",
        lambda: says("exp x = y has a solution for every y", Inequality(exp(x), ">")), "y = -1",
        check=lambda: exp(-100) > -1),
    false("half of the starts",
        lambda: says("x′ = x tends to 0 for half of the starts", Identity(1 / (1 + exp(-x)) + 1 / (1 + exp(x)),
            1)), "for one start", check=lambda: abs(R(1, 1000) * exp(10)) > 1),
    false("a conclusion that denies its fact", lambda: says("x² is negative somewhere", Inequality(x**2, ">=")),
        "x² ≥ 0", check=lambda: (x**2).is_nonnegative),
    false("no facts", lambda: Existence("every network learns", ()), "a = b = 0 does not move",
        check=lambda: gradient(0, 0) == (0, 0)),
    false("a chain of a chain", lambda: says("a² + b² = (a + b)²", says("a + b is symmetric", commuting)),
        "a = b = 1", check=lambda: 1 + 1 != (1 + 1) ** 2),
    false("a random matrix", lambda: InDistribution("a random sign has mean 1", (commuting,)), "0",
        check=lambda: R(1 - 1, 2) != 1),
    false("a distribution",
        lambda: InDistribution("the trace of a Wishart matrix is 2 for every n", (Identity(2 * x, x + x),)),
        "n = 1: any positive number", check=lambda: 1 * 1 != 2),
    false("a limit for all", lambda: says("exp(at) tends to 0 for every a", Limit(exp(-t), t, oo, 0)), "a = 0",
        check=lambda: exp(0 * 10) == 1),
    # a fact that is false
    false("a false fact among true ones", lambda: says("the two agree", commuting, Identity(sqrt(a**2), a)),
        "a < 0", a=-1, b=0),
    false("a fact that fails at one point", lambda: says("the two agree", Inequality((a - b) ** 2, ">")),
        "a = b", a=1, b=1),
    false("a false fact in a chain of a chain",
        lambda: says("the two agree", says("they do", Inequality(x**2 - TINY, ">="))), "x = 0", x=0),
    false("a false limit in a chain", lambda: says("it saturates", Limit(t * a**2 / (1 + t * a**2), t, oo, 1)),
        "a = 0", a=0),
    # minimisers
    false("stationary but a maximum",
        lambda: least("x = 0 minimises -x²", *stationary(-(x**2), 0), compiles=R(0)), "-1 < 0",
        check=lower(lambda v: -(v**2), 0, 1)),
    false("stationary but a saddle", lambda: least("x = 0 minimises x³", *stationary(x**3, 0)), "-1 < 0",
        check=lower(lambda v: v**3, 0, -1)),
    false("stationary but a local minimum",
        lambda: least("x = 1 minimises x³ - 3x", *stationary(x**3 - 3 * x, 1)), "x = -10",
        check=lower(lambda v: v**3 - 3 * v, 1, -10)),
    false("convex near it, and not beyond",
        lambda: least("x = 0 minimises x² - x⁴/4", *stationary(x**2 - x**4 / 4, 0),
            Inequality((x**2 - x**4 / 4).diff(x, 2), ">", on=where(x > -R(1, 2), x < R(1, 2)))), "x = 3",
        check=lower(lambda v: v**2 - R(v**4, 4), 0, 3)),
    false("convex, but stationary elsewhere",
        lambda: least("x = 1 minimises x²", Identity((x**2).diff(x).subs(x, 0), 0), Inequality((x**2).diff(x,
            2), ">")), "0 < 1", check=lower(lambda v: v**2, 1, 0)),
    false("stationary along one coordinate",
        lambda: least("(0, 0) minimises x² - y²", Identity((x**2 - y**2).diff(x).subs(x, 0), 0),
            Inequality((x**2 - y**2).diff(x, 2), ">")), "(0, 1): -1", check=lambda: 0 - 1 < 0),
    false("convex in each variable alone",
        lambda: least("(0, 0) minimises x² + y² + 3xy", Identity(2 * x + 3 * y,
            (x**2 + y**2 + 3 * x * y).diff(x)), Inequality((x**2 + y**2 + 3 * x * y).diff(x, 2), ">"),
            Inequality((x**2 + y**2 + 3 * x * y).diff(y, 2), ">")), "(1, -1): -1", check=lambda: 1 + 1 - 3 < 0),
    false("a unique minimiser, weakly convex",
        lambda: least("0 is the only minimiser of x⁴·0", Identity(x - x, 0), Inequality(x - x, ">=")),
        "all points", check=lambda: 0 * 1**4 == 0 * 0**4),
    false("of a value that is made from it: not convex",
        lambda: Minimiser.of(R(0), lambda v: (Identity((-(x**2)).diff(x).subs(x, v), 0),), "0 minimises -x²"),
        "-1 < 0", check=lower(lambda v: -(v**2), 0, 1)),
    false("of a value that is made from it: stationary in a",
        lambda: Minimiser.of(a, lambda v: (Identity(((x - v) ** 2 * (x + v)).diff(x).subs(x, v), 0),),
            "x = a minimises (x - a)²(x + a)"), "x → -∞", check=lower(lambda v: (v - 1) ** 2 * (v + 1), 1, -2)),
    false("a boundary minimum",
        lambda: least("x = 1/2 minimises x(1 - x) on [0, 1]", *stationary(x * (1 - x), R(1, 2))), "0 < 1/4",
        check=lower(lambda v: v * (1 - v), R(1, 2), 0)),
    # what compiles is not what the facts are about
    false("another value than the facts give",
        lambda: says("a + b in another form", Identity((a + b) ** 2, a**2 + 2 * a * b + b**2),
            compiles=a**2 + b**2), "2ab", check=lambda: (1 + 1) ** 2 != 1 + 1),
    false("the other root", lambda: says("a root of x² = a²", Identity(sqrt(a**2) ** 2, a**2), compiles=a + 1),
        "a + 1", check=lambda: (1 + 1) ** 2 != 1),
    false("a trivial fact gives any value",
        lambda: says("x is x + 1", Identity(x + 1, x + 1), Identity(x, x), compiles=x + 1 + TINY), "trivial",
        check=lambda: TINY != 0),
]

TRUE = [
    true("a conjunction with the value it gives", lambda: Conjunction(binomial, compiles=(a + b) ** 2)),
    true("a conjunction of two", lambda: Conjunction(Inequality(1 / (1 + exp(-x)), ">"),
        Inequality(1 / (1 + exp(-x)), "<", 1))),
    true("a value that is characterised",
        lambda: Characterised.of(a + 1, lambda v: (Identity(v**2, a**2 + 2 * a + 1), Inequality(v, ">", a)))),
    true("a sign that is kept", lambda: Invariant(x, 1 - x, under=Flow({x: x * (1 - x)}))),
    true("a quadrant that is not left", lambda: InvariantRegion((x, y), under=Flow({x: x * y, y: x**2}))),
    true("a norm that falls", lambda: Monotone(x**2, -2 * x**2, "<=", under=Flow({x: -x}))),
    true("a zero that is crossed once",
        lambda: CrossesOnce(x, -1, 1 + y**2, under=Flow({x: 1 + y**2 - x, y: x}))),
    true("a cubic with one zero", lambda: AtMostOneZero(x**3 + x - a, x)),
    true("the vertex of a parabola", lambda: UniqueMinimiser(x**2 - 2 * a * x, (x,), (a,))),
    true("two lines and their sum and difference",
        lambda: SameZeros((x + y, x - y), (x, y), ((R(1, 2), R(1, 2)), (R(1, 2), R(-1, 2))), ((1, 1), (1, -1)))),
]
# fmt: on
