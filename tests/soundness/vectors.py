"""Vectors of any dimension and isotropic operators: true in low dimension only, or for parallel vectors only."""

from sympy import Integer, Matrix, sqrt

from symdyn.calculus.gram import gradient, hessian, identity, inner, norm2, outer
from symdyn.calculus.isotropic import Isotropic
from symdyn.calculus.isotropic import hessian as radial_hessian
from symdyn.domain import Cell, Domain
from symdyn.statement import Identity, Inequality
from tests.soundness.claims import TINY, a, b, false, positive, true, v1, v2, v3, v4, x

beta = Isotropic(1, 0, x).vector


def gram_determinant(*vectors):
    """det of the matrix of inner products."""
    return Matrix(len(vectors), len(vectors), lambda i, j: inner(vectors[i], vectors[j])).det(
        method="berkowitz"
    )


def flat(largest, count=3):
    """A sampler of vectors that was made for dimensions up to one alone."""

    def sampler(rng, d):
        if d > largest:
            raise IndexError(d)
        return {v: [Integer(rng.randint(1, 9)) for _ in range(d)] for v in (v1, v2, v3)[:count]}

    return sampler


def in_a_plane(rng, d):
    """Vectors of any dimension of which only two coordinates are not zero."""
    return {v: [Integer(rng.randint(1, 9) if k < 2 else 0) for k in range(d)] for v in (v1, v2, v3)}


def parallel(rng, d):
    drawn = [Integer(rng.randint(1, 9)) for _ in range(d)]
    return {v1: drawn, v2: [2 * x for x in drawn]}


E1, E2, E3, E4 = ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))

# fmt: off
FALSE = [
    # dimension
    false("Gram determinant of four vectors", lambda: Identity(gram_determinant(v1, v2, v3, v4), 0),
        "1 for d = 4", v1=E1, v2=E2, v3=E3, v4=E4),
    false("Gram determinant of three vectors", lambda: Identity(gram_determinant(v1, v2, v3), 0), "1 for d = 3",
        v1=(1, 0, 0), v2=(0, 1, 0), v3=(0, 0, 1)),
    false("Gram determinant of three vectors, sampled to d = 2",
        lambda: Identity(gram_determinant(v1, v2, v3), 0), "1 for d = 3",
        on=Domain((), (v1, v2, v3), dimensions=(1, 2)), v1=(1, 0, 0), v2=(0, 1, 0), v3=(0, 0, 1)),
    false("Gram determinant of two vectors", lambda: Identity(gram_determinant(v1, v2), 0), "1 for d = 2",
        v1=(1, 0), v2=(0, 1)),
    false("Gram determinant of two vectors, sampled in d = 1", lambda: Identity(gram_determinant(v1, v2), 0),
        "1 for d = 2", on=Domain((), (v1, v2), dimensions=(1,)), v1=(1, 0), v2=(0, 1)),
    false("Gram determinant of four vectors, sampled to d = 3",
        lambda: Identity(gram_determinant(v1, v2, v3, v4), 0), "1 for d = 4",
        on=Domain((), (v1, v2, v3, v4), dimensions=(1, 2, 3)), v1=E1, v2=E2, v3=E3, v4=E4),
    false("Gram determinant of three vectors, of a sampler to d = 2",
        lambda: Identity(gram_determinant(v1, v2, v3), 0), "1 for d = 3",
        on=Domain((), (v1, v2, v3), dimensions=(1, 2), sampler=flat(2)), v1=(1, 0, 0), v2=(0, 1, 0), v3=(0, 0, 1)),
    false("Gram determinant of three vectors, of a sampler that lies in a plane",
        lambda: Identity(gram_determinant(v1, v2, v3), 0), "1 for d = 3",
        on=Domain((), (v1, v2, v3), sampler=in_a_plane), v1=(1, 0, 0), v2=(0, 1, 0), v3=(0, 0, 1)),
    false("parallel, as the sampler draws them", lambda: Identity(inner(v1, v2) ** 2, norm2(v1) * norm2(v2)),
        "orthogonal", on=Domain((), (v1, v2), sampler=parallel), v1=(1, 0), v2=(0, 1)),
    false("a number that the sampler draws as 1", lambda: Identity(a * norm2(v1), norm2(v1)), "a = 2",
        on=Domain((a,), (v1,), sampler=lambda rng, d: {a: Integer(1)}), a=2, v1=(1,)),
    false("a multiple of I, sampled in d = 1", lambda: Identity(outer(v1, v1), norm2(v1) * identity()), "d = 2",
        on=Domain((), (v1,), dimensions=(1,)), v1=(1, 0)),
    false("outer products commute, sampled in d = 1",
        lambda: Identity(outer(v1, v2) @ outer(v2, v1), outer(v2, v1) @ outer(v1, v2)), "d = 2",
        on=Domain((), (v1, v2), dimensions=(1,)), v1=(1, 0), v2=(0, 1)),
    false("a Hessian of d = 1, sampled there",
        lambda: Identity(hessian(norm2(v1) ** 2, v1), 12 * norm2(v1) * identity()), "d = 2",
        on=Domain((), (v1,), dimensions=(1,)), v1=(1, 0)),
    false("three vectors in the plane, where d >= 2", lambda: Identity(gram_determinant(v1, v2, v3), 0),
        "1 for d = 3", on=Domain((), (v1, v2, v3), dimensions=(2,), words="d >= 2"), v1=(1, 0, 0), v2=(0, 1, 0),
        v3=(0, 0, 1)),
    false("Lagrange's vector, sampled in d = 1",
        lambda: Identity(norm2(v1) * v2, inner(v1, v2) * v1), "d = 2", on=Domain((), (v1, v2), dimensions=(1,)),
        v1=(1, 0), v2=(0, 1)),
    false("a Gram determinant does not vanish", lambda: Inequality(gram_determinant(v1, v2), "!="),
        "0 when parallel", v1=(1, 0), v2=(2, 0)),
    false("a Gram determinant is positive", lambda: Inequality(gram_determinant(v1, v2, v3), ">"),
        "0 for d = 2", v1=(1, 0), v2=(0, 1), v3=(1, 1)),
    false("Cauchy-Schwarz strictly", lambda: Inequality(inner(v1, v2) ** 2, "<", norm2(v1) * norm2(v2)),
        "parallel", v1=(1, 1), v2=(2, 2)),
    false("Cauchy-Schwarz the other way", lambda: Inequality(inner(v1, v2) ** 2, ">=", norm2(v1) * norm2(v2)),
        "true for d = 1", v1=(1, 0), v2=(0, 1)),
    false("Cauchy-Schwarz as an equality", lambda: Identity(inner(v1, v2) ** 2, norm2(v1) * norm2(v2)),
        "true for d = 1", v1=(1, 0), v2=(0, 1)),
    false("an outer product is symmetric", lambda: Identity(outer(v1, v2), outer(v2, v1)), "true for d = 1",
        v1=(1, 0), v2=(0, 1)),
    false("a projector onto one vector is I", lambda: Identity(outer(v1, v1), norm2(v1) * identity()),
        "true for d = 1", v1=(1, 0)),
    false("outer products commute",
        lambda: Identity(outer(v1, v1) @ outer(v2, v2), outer(v2, v2) @ outer(v1, v1)),
        "parallel or orthogonal only", v1=(1, 0), v2=(1, 1)),
    false("Lagrange in the plane", lambda: Identity(norm2(v1) * v2, inner(v1, v2) * v1), "true for d = 1",
        v1=(1, 0), v2=(0, 1)),
    false("three vectors in the plane",
        lambda: Identity((inner(v1, v1) * inner(v2, v2) - inner(v1, v2) ** 2) * v3, (inner(v2, v2) * inner(v1,
            v3) - inner(v1, v2) * inner(v2, v3)) * v1 + (inner(v1, v1) * inner(v2, v3) - inner(v1,
            v2) * inner(v1, v3)) * v2), "true for d ≤ 2", v1=(1, 0, 0), v2=(0, 1, 0), v3=(0, 0, 1)),
    false("triangle of triples",
        lambda: Identity(inner(v1, v2) * inner(v2, v3) * inner(v3, v1), norm2(v1) * norm2(v2) * norm2(v3)),
        "true for d = 1", v1=(1, 0), v2=(0, 1), v3=(1, 1)),
    # sign, parallel, opposite
    false("an inner product is not negative", lambda: Inequality(inner(v1, v2), ">="), "opposite", v1=(1,),
        v2=(-1,)),
    false("an inner product does not vanish", lambda: Inequality(inner(v1, v2), "!="), "orthogonal", v1=(1, 0),
        v2=(0, 1)),
    false("a distance is positive", lambda: Inequality(norm2(v1 - v2), ">"), "equal", v1=(1,), v2=(1,)),
    false("a sum is not zero", lambda: Inequality(norm2(v1 + v2), ">"), "opposite", v1=(1,), v2=(-1,)),
    false("triangle strictly", lambda: Inequality(sqrt(norm2(v1 + v2)), "<", sqrt(norm2(v1)) + sqrt(norm2(v2))),
        "parallel", v1=(1,), v2=(1,)),
    false("triangle of squares", lambda: Inequality(norm2(v1 + v2), "<=", norm2(v1) + norm2(v2)), "parallel",
        v1=(1,), v2=(1,)),
    false("product of norms", lambda: Identity(sqrt(norm2(v1)) * sqrt(norm2(v2)), inner(v1, v2)), "opposite",
        v1=(1,), v2=(-1,)),
    false("Pythagoras", lambda: Identity(norm2(v1 + v2), norm2(v1) + norm2(v2)), "not orthogonal", v1=(1,),
        v2=(1,)),
    false("parallelogram off by a factor",
        lambda: Identity(norm2(v1 + v2) + norm2(v1 - v2), 2 * norm2(v1) + norm2(v2)), "|v2|²", v1=(1,),
        v2=(1,)),
    false("off by 10⁻¹²", lambda: Identity(inner(v1 + v2, v1 - v2), norm2(v1) - (1 + TINY) * norm2(v2)),
        "10⁻¹²", v1=(1,), v2=(1,)),
    false("norm with a scale of any sign", lambda: Identity(sqrt(norm2(a * v1)), a * sqrt(norm2(v1))), "a < 0",
        a=-1, v1=(1,)),
    false("an angle where it is not defined", lambda: Inequality(norm2(v1 + v2) / norm2(v1 - v2) + 1, ">"),
        "equal vectors", v1=(1,), v2=(1,)),
    false("a unit vector of a difference",
        lambda: Identity(a / norm2(v1 - v2) - (a - 1) / norm2(v1 - v2), 1 / norm2(v1 - v2)), "equal vectors",
        a=1, v1=(1,), v2=(1,)),
    false("Sherman-Morrison, denominator zero",
        lambda: Identity((identity() + outer(v1, v2)) @ (identity() - outer(v1, v2) / (1 + inner(v1, v2))),
            identity()), "1 + v1·v2 = 0", v1=(1,), v2=(-1,)),
    false("Sherman-Morrison with a sign",
        lambda: Identity((identity() - a * outer(v1, v1)) @ (identity() + a * outer(v1,
            v1) / (1 + a * norm2(v1))), identity()), "sign", a=1, v1=(1,)),
    false("a gradient without its factor 2", lambda: Identity(gradient(norm2(v1) ** 2, v1), 2 * norm2(v1) * v1),
        "4", v1=(1,)),
    false("a Hessian without its outer part",
        lambda: Identity(hessian(norm2(v1) ** 2, v1), 4 * norm2(v1) * identity()), "8 v1v1ᵀ", v1=(1, 0)),
    false("a Hessian of d = 1", lambda: Identity(hessian(norm2(v1) ** 2, v1), 12 * norm2(v1) * identity()),
        "true for d = 1", v1=(1, 0)),
    false("eigenvalues of a rank-one operator",
        lambda: Identity(outer(v1, v2) @ outer(v1, v2), inner(v1, v2) * outer(v2, v1)), "true for d = 1",
        v1=(1, 0), v2=(1, 1)),
    false("trace is determinant", lambda: Identity(outer(v1, v2).trace(a), 1 * a * inner(v1, v2)), "a ≠ 1", a=2,
        v1=(1,), v2=(1,)),
    false("a let that makes it parallel", lambda: Identity(norm2(v1) * norm2(v3), inner(v1, v3) ** 2),
        "v3 = v1 + v2", on=Domain((), (v1, v2), let={v3: v1 + v2}), v1=(1, 0), v2=(0, 1), v3=(1, 1)),
    # isotropic operators
    false("isotropic: product without the square",
        lambda: Identity(Isotropic(1, a, x) @ Isotropic(1, b, x), Isotropic(1, a + b, x)), "ab", x=1, a=1, b=1,
        beta=(1, 0)),
    false("isotropic: inverse with another sign",
        lambda: Identity(Isotropic(1, a, x).inverse(), Isotropic(1, a / (1 + a), x)), "sign, and a pole",
        on=positive(a, x), x=1, a=1, beta=(1, 0)),
    false("isotropic: an inverse that does not exist",
        lambda: Identity(Isotropic(1, a, x) @ Isotropic(1, -a / (1 + a), x), Isotropic(1, 0, x)), "a = -1",
        a=-1, x=1, beta=(1, 0)),
    false("isotropic: trace is radial", lambda: Identity(Isotropic(1, a, x).trace(2), 1 + a), "true for d = 1",
        x=1, a=1, beta=(1, 0)),
    false("isotropic: a Hessian without x", lambda: Identity(radial_hessian(x**2, x), Isotropic(4 * x, 8, x)),
        "8x", x=2, beta=(1, 1)),
    false("isotropic: a Hessian of d = 1", lambda: Identity(radial_hessian(x**2, x), Isotropic(12 * x, 0, x)),
        "true for d = 1", x=1, beta=(1, 0)),
    false("isotropic: a square root of any sign",
        lambda: Identity(Isotropic(a**2, 0, x).apply(sqrt), Isotropic(a, 0, x)), "a < 0", a=-1, x=1,
        beta=(1, 0)),
    false("isotropic: radial and unnormalised",
        lambda: Identity(Isotropic(a, b, x), Isotropic.unnormalised(a, b, x)), "x ≠ 1", a=0, b=1, x=4,
        beta=(2, 0)),
    false("isotropic: off by 10⁻¹²",
        lambda: Identity(Isotropic(a, b, x) @ Isotropic(a, b, x), Isotropic(a**2, 2 * a * b + (1 + TINY) * b**2,
            x)), "10⁻¹²", a=0, b=1, x=1, beta=(1, 0)),
]

TRUE = [
    true("parallelogram", lambda: Identity(norm2(v1 + v2) + norm2(v1 - v2), 2 * norm2(v1) + 2 * norm2(v2))),
    true("Gram determinant of three vectors in a plane", lambda: Identity(gram_determinant(v1, v2, v3), 0),
        on=Domain((), (v1, v2, v3), words="d <= 2"), v1=(1, 0), v2=(0, 1), v3=(1, 1), check=lambda: True),
    true("a multiple of I on a line", lambda: Identity(outer(v1, v1), norm2(v1) * identity()),
        on=Domain((), (v1,), words="d = 1"), v1=(2,), check=lambda: True),
    true("Lagrange, of a sampler to d = 2",
        lambda: Identity(norm2(norm2(v1) * v2 - inner(v1, v2) * v1),
            norm2(v1) * (norm2(v1) * norm2(v2) - inner(v1, v2) ** 2)),
        on=Domain((), (v1, v2), dimensions=(1, 2), sampler=flat(2, 2))),
    true("polarisation, of a sampler that draws parallel vectors",
        lambda: Identity(norm2(v1 + v2) - norm2(v1 - v2), 4 * inner(v1, v2)),
        on=Domain((), (v1, v2), sampler=parallel)),
    true("polarisation", lambda: Identity(norm2(v1 + v2) - norm2(v1 - v2), 4 * inner(v1, v2))),
    true("Lagrange",
        lambda: Identity(norm2(norm2(v1) * v2 - inner(v1, v2) * v1),
            norm2(v1) * (norm2(v1) * norm2(v2) - inner(v1, v2) ** 2))),
    true("a square of an outer product",
        lambda: Identity(outer(v1, v2) @ outer(v1, v2), inner(v1, v2) * outer(v1, v2))),
    true("a projector", lambda: Identity(outer(v1, v1) @ outer(v1, v1), norm2(v1) * outer(v1, v1))),
    true("Sherman-Morrison",
        lambda: Identity((identity() + outer(v1, v1)) @ (identity() - outer(v1, v1) / (1 + norm2(v1))),
            identity())),
    true("a norm of a scaled vector", lambda: Identity(norm2(a * v1), a**2 * norm2(v1))),
    true("a root of it on a > 0", lambda: Identity(sqrt(norm2(a * v1)), a * sqrt(norm2(v1))),
        on=Domain((a,), (v1,), cells=(Cell("positive", {a: 1}),))),
    true("a square", lambda: Inequality(norm2(v1 - v2), ">=")),
    true("1 + a square", lambda: Inequality(1 + norm2(v1), ">")),
    true("Cauchy-Schwarz", lambda: Inequality(norm2(v1) * norm2(v2), ">=", inner(v1, v2) ** 2)),
    true("a gradient", lambda: Identity(gradient(norm2(v1) ** 2, v1), 4 * norm2(v1) * v1)),
    true("a Hessian",
        lambda: Identity(hessian(norm2(v1) ** 2, v1), 4 * norm2(v1) * identity() + 8 * outer(v1, v1))),
    true("transpose",
        lambda: Identity((outer(v1, v2) + 2 * outer(v2, v3)).T, outer(v2, v1) + 2 * outer(v3, v2))),
    true("Gram determinant of dependent vectors", lambda: Identity(gram_determinant(v1, v2, v1 + 2 * v2), 0)),
    true("a let", lambda: Identity(norm2(v1) * norm2(v3), inner(v1, v3) ** 2),
        on=Domain((a,), (v1,), let={v3: a * v1}), a=0, v1=(1,), v3=(0,)),
    true("isotropic: product",
        lambda: Identity(Isotropic(1, a, x) @ Isotropic(1, b, x), Isotropic(1, a + b + a * b, x)), beta=(1, 1),
        x=2),
    true("isotropic: inverse", lambda: Identity(Isotropic(1, a, x).inverse(), Isotropic(1, -a / (1 + a), x)),
        on=positive(a, x), beta=(1, 1), x=2),
    true("isotropic: Hessian", lambda: Identity(radial_hessian(x**2, x), Isotropic(4 * x, 8 * x, x)),
        on=positive(x), beta=(1, 1), x=2),
    true("isotropic: trace", lambda: Identity(Isotropic(1, a, x).trace(3), 3 + a)),
    true("difference of squares", lambda: Identity(inner(v1 + v2, v1 - v2), norm2(v1) - norm2(v2))),
    true("bilinearity", lambda: Identity(inner(a * v1 + b * v2, v3), a * inner(v1, v3) + b * inner(v2, v3))),
    true("norm of a sum of three",
        lambda: Identity(norm2(v1 + v2 + v3), norm2(v1) + norm2(v2) + norm2(v3) + 2 * inner(v1,
            v2) + 2 * inner(v2, v3) + 2 * inner(v3, v1))),
    true("Apollonius",
        lambda: Identity(2 * norm2(v1 - v3) + 2 * norm2(v2 - v3), norm2(v1 - v2) + norm2(v1 + v2 - 2 * v3))),
    true("an outer product of a sum",
        lambda: Identity(outer(v1 + v2, v1 + v2), outer(v1, v1) + outer(v1, v2) + outer(v2, v1) + outer(v2,
            v2))),
    true("action of an outer product", lambda: Identity(outer(v1, v2) @ v3, inner(v2, v3) * v1)),
    true("product of outer products",
        lambda: Identity(outer(v1, v2) @ outer(v3, v1), inner(v2, v3) * outer(v1, v1))),
    true("square of a reflection",
        lambda: Identity((norm2(v1) * identity() - 2 * outer(v1, v1)) @ (norm2(v1) * identity() - 2 * outer(v1,
            v1)), norm2(v1) ** 2 * identity())),
    true("Sherman-Morrison with a rate",
        lambda: Identity((identity() + a * outer(v1, v1)) @ (identity() - a * outer(v1,
            v1) / (1 + a * norm2(v1))), identity()), on=Domain((a,), (v1,), cells=(Cell("positive", {a: 1}),))),
    true("trace of an operator", lambda: Identity((identity() + outer(v1, v2)).trace(a), a + inner(v1, v2))),
    true("gradient of an inner product",
        lambda: Identity(gradient(inner(v1, v2) ** 2, v1), 2 * inner(v1, v2) * v2)),
    true("gradient of a quadratic loss", lambda: Identity(gradient(norm2(v1 - v2) / 2, v1), v1 - v2)),
    true("Hessian of an inner product squared",
        lambda: Identity(hessian(inner(v1, v2) ** 2, v1), 2 * outer(v2, v2))),
    true("Gram determinant of v and a v", lambda: Identity(gram_determinant(v1, a * v1), 0)),
    true("a sum of two squares", lambda: Inequality(norm2(v1) + norm2(v2), ">=")),
    true("a product of squares", lambda: Inequality(norm2(v1) * norm2(v2) + 1, ">")),
    true("a root of 1 + |v|²", lambda: Inequality(sqrt(1 + norm2(v1)), ">")),
    true("projection", lambda: Identity(inner(norm2(v1) * v2 - inner(v1, v2) * v1, v1), 0)),
    true("commuting isotropic operators",
        lambda: Identity(Isotropic(a, b, x) @ Isotropic(b, a, x), Isotropic(b, a, x) @ Isotropic(a, b, x)),
        beta=(1, 1), x=2),
    true("isotropic: eigenvalue", lambda: Identity(Isotropic(a, b, x).radial, a + b)),
    true("isotropic: square",
        lambda: Identity(Isotropic(a, b, x) @ Isotropic(a, b, x), Isotropic(a**2, 2 * a * b + b**2, x)),
        beta=(1, 1), x=2),
    true("isotropic: root of a square", lambda: Identity(Isotropic(a**2, 0, x).apply(sqrt), Isotropic(a, 0, x)),
        on=positive(a, x), beta=(1, 1), x=2),
    true("isotropic: difference", lambda: Identity(Isotropic(a, b, x) - Isotropic(a, 0, x), Isotropic(0, b, x)),
        beta=(1, 1), x=2),
]
# fmt: on
