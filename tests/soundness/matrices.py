"""Matrix words of any shape: true for commuting, symmetric, invertible or square matrices only, or at one size."""

import itertools

import sympy as sp

from symdyn.calculus.matrix import (
    Index,
    Rules,
    balanced,
    basis,
    commuting,
    diagonal,
    entry,
    eye,
    gaussian_mean,
    inverse_of,
    kron,
    matrix,
    nonzero,
    orthogonal,
    projector,
    psd_root,
    sum_over,
    trace,
    unit,
    vec,
    vector,
    zero,
)
from symdyn.calculus.matrix import (
    positive as positive_rates,
)
from symdyn.statements.kinds import Identity, Inequality
from symdyn.statements.matrix import MatrixConservation, MatrixDynamics, MatrixIdentity
from tests.soundness.claims import TINY, R, false, p, q, true

n, m, r = sp.symbols("n m r", integer=True, positive=True)
A, B, C = (matrix(name, n, n) for name in "ABC")
S, T = (matrix(name, n, n, symmetric=True) for name in "ST")
P = matrix("P", n, n, symmetric=True)
Q = matrix("Q", n, n)
V = matrix("V", n, m)
W1, W2 = matrix("W1", m, n), matrix("W2", r, m)
G = matrix("G", r, n)
X = matrix("X", n, m)
g, h, y = vector("g", n), vector("h", n), vector("y", n)
i, j = Index("i", n), Index("j", n)
ANY = ({n: 2, m: 3, r: 2}, {n: 3, m: 2, r: 1})
ONE = ({n: 1, m: 1, r: 1},)
TWO = ({n: 2, m: 2, r: 2},)
THREE = ({n: 3, m: 2, r: 2},)
I2 = ((1, 0), (0, 1))
UP, DOWN = ((0, 1), (0, 0)), ((0, 0), (1, 0))
DIAGONAL, FULL = ((1, 0), (0, 2)), ((1, 1), (1, 3))
ROTATION, REFLECTION = ((0, -1), (1, 0)), ((1, 0), (0, -1))
D = matrix("D", n, n)
A2, B2, C2 = (matrix(f"{name}2", 2, 2) for name in "ABC")
A3 = matrix("A3", 3, 3)
S2 = matrix("S2", 2, 2, symmetric=True)
TO_FOUR = tuple({n: k} for k in range(1, 5))
CYCLE5 = tuple(tuple(int(j == (i + 1) % 5) for j in range(5)) for i in range(5))
flow = {W2: -p * G @ W1.T, W1: -q * W2.T @ G}
root, root_rule = psd_root("H", S)
resolvent, resolvent_rule = inverse_of("R", eye(n) + p * S)


def word(x):
    """A 1×1 word as a scalar."""
    return x.scalar()


def bracket(x, y):
    """The commutator."""
    return x @ y - y @ x


def cayley_hamilton(x, size):
    """The characteristic polynomial of a matrix of some size at the matrix, its coefficients by traces."""
    coefficients, power = [sp.S.One], eye(x.rows)
    traces = [trace(x ** (k + 1)) for k in range(size)]
    for k in range(1, size + 1):
        newton = sum(((-1) ** (i - 1)) * coefficients[k - i] * traces[i - 1] for i in range(1, k + 1))
        coefficients.append(sp.expand(newton / k))
    total = zero(x.rows, x.cols)
    for k in range(size + 1):
        total = total + (-1) ** (size - k) * coefficients[size - k] * power
        power = power @ x
    return total


def fundamental_trace(x, size):
    """What vanishes for matrices up to a size: the trace of the polynomial above, times another factor."""
    return trace(cayley_hamilton(x, size) @ x)


def standard(*letters):
    """The standard polynomial: all orders of a product, with the signs of the permutations."""
    total = zero(letters[0].rows, letters[0].cols)
    for order in itertools.permutations(range(len(letters))):
        product = letters[order[0]]
        for k in order[1:]:
            product = product @ letters[k]
        total = total + sp.combinatorics.Permutation(order).signature() * product
    return total


def unit_matrix(i, j, size=3):
    return tuple(tuple(int((a, b) == (i, j)) for b in range(size)) for a in range(size))


def equal(lhs, rhs, sizes=ANY, *rules):
    """lhs = rhs for all shapes, under the rules."""
    return MatrixIdentity(lhs, rhs, sizes, Rules(*rules))


# fmt: off
FALSE = [
    # commuting, symmetric, invertible only
    false("products commute", lambda: equal(A @ B, B @ A), "AB ≠ BA", A=UP, B=DOWN),
    false("products commute, at size 1", lambda: equal(A @ B, B @ A, ONE), "AB ≠ BA for n = 2", A=UP, B=DOWN),
    false("symmetric matrices commute", lambda: equal(S @ T, T @ S), "ST ≠ TS", S=DIAGONAL, T=FULL),
    false("a product of symmetric matrices is symmetric", lambda: equal((S @ T).T, S @ T), "ST ≠ TS",
        S=DIAGONAL, T=FULL),
    false("square of a sum", lambda: equal((A + B) @ (A + B), A @ A + 2 * A @ B + B @ B), "AB ≠ BA", A=UP,
        B=DOWN),
    false("difference of squares", lambda: equal((A + B) @ (A - B), A @ A - B @ B), "AB ≠ BA", A=UP, B=DOWN),
    false("transpose of a product", lambda: equal((A @ B).T, A.T @ B.T), "order", A=UP, B=DIAGONAL),
    false("inverse of a product", lambda: equal((A @ B).inverse(), A.inverse() @ B.inverse()), "order",
        A=ROTATION, B=DIAGONAL),
    false("a matrix is symmetric", lambda: equal(A.T, A), "UP", A=UP),
    false("a matrix is symmetric, at size 1", lambda: equal(A.T, A, ONE), "UP", A=UP),
    false("a matrix is normal", lambda: equal(A.T @ A, A @ A.T), "UP", A=UP),
    false("a commutator with a symmetric matrix is 0", lambda: equal(A @ S - S @ A, zero(n, n)), "UP", A=UP,
        S=DIAGONAL),
    false("conjugation does nothing", lambda: equal(A.inverse() @ B @ A, B), "AB ≠ BA", A=ROTATION, B=DIAGONAL),
    false("Hadamard-like: diagonal of a product", lambda: equal(diagonal(A @ B), diagonal(A) @ diagonal(B)),
        "off-diagonal", A=UP, B=DOWN),
    false("a matrix is its diagonal", lambda: equal(diagonal(A), A), "off-diagonal", A=UP),
    false("a matrix is its diagonal, at size 1", lambda: equal(diagonal(A), A, ONE), "off-diagonal", A=UP),
    # one size, one shape
    false("Cayley-Hamilton of n = 1", lambda: equal(A @ A, trace(A) * A, ONE), "true for n = 1", A=I2),
    false("Cayley-Hamilton of n = 2",
        lambda: equal(A @ A, trace(A) * A + (trace(A @ A) - trace(A) ** 2) / 2 * eye(n), TWO), "true for n = 2",
        A=((1, 0, 0), (0, 2, 0), (0, 0, 3))),
    false("commutators squared commute (n = 2)",
        lambda: equal((A @ B - B @ A) @ (A @ B - B @ A) @ C, C @ (A @ B - B @ A) @ (A @ B - B @ A), TWO),
        "Hall's identity, n = 2 only", A=((0, 1, 0), (0, 0, 1), (0, 0, 0)), B=((1, 0, 0), (0, 0, 0), (0, 1, 0)),
        C=((0, 1, 0), (0, 0, 0), (1, 0, 0))),
    false("trace of the identity is 2", lambda: equal(trace(eye(n)), sp.Integer(2), TWO), "n", n=3),
    false("a trace at size 1", lambda: equal(trace(A @ B), trace(A) * trace(B), ONE), "n = 2", A=UP, B=DOWN),
    false("trace of a product", lambda: equal(trace(A @ B), trace(A) * trace(B)), "0 = 1", A=UP, B=DOWN),
    false("trace of three matrices in another order", lambda: equal(trace(A @ B @ C), trace(A @ C @ B)),
        "cyclic only", A=UP, B=DOWN, C=DIAGONAL),
    false("trace of symmetric ones is any order (three)",
        lambda: equal(trace(S @ T @ S @ T), trace(S @ S @ T @ T)), "ST ≠ TS", S=DIAGONAL, T=FULL),
    false("columns are orthonormal, at m = 1", lambda: equal(V @ V.T, trace(V.T @ V) * eye(n), ({n: 1, m: 1},)),
        "n > 1", V=((1, 0), (0, 2))),
    false("traces of transposes, off by a factor", lambda: equal(trace(V @ V.T), (1 + TINY) * trace(V.T @ V)),
        "10⁻¹²", V=I2),
    false("an outer product is symmetric", lambda: equal(g @ h.T, h @ g.T), "true for n = 1", g=(1, 0),
        h=(0, 1)),
    false("an outer product is symmetric, at n = 1", lambda: equal(g @ h.T, h @ g.T, ONE), "n = 2", g=(1, 0),
        h=(0, 1)),
    false("Cauchy-Schwarz as an equality", lambda: equal(word(g.T @ h) ** 2, word(g.T @ g) * word(h.T @ h)),
        "orthogonal", g=(1, 0), h=(0, 1)),
    false("Kronecker products commute", lambda: equal(kron(A, B), kron(B, A)), "permuted", A=UP, B=DIAGONAL),
    false("vec of a product", lambda: equal(vec(A @ B @ C), kron(C, A) @ vec(B)), "Cᵀ", A=I2, B=I2, C=UP),
    false("vec of a transpose", lambda: equal(vec(A.T), vec(A)), "permuted", A=UP),
    false("a mixed Kronecker product", lambda: equal(kron(A, B) @ kron(C, A), kron(C @ A, B @ A)), "order",
        A=UP, B=I2, C=DOWN),
    false("sum over an index squared", lambda: equal(sum_over(i, entry(A, i, i) ** 2), trace(A @ A)),
        "off-diagonal", A=ROTATION),
    false("sum of all entries", lambda: equal(sum_over(i, sum_over(j, entry(A, i, j) ** 2)), trace(A @ A)),
        "symmetric only", A=UP),
    false("one column for all",
        lambda: equal(sum_over(i, entry(A, i, i) * (basis(i) @ basis(i).T)), trace(A) * eye(n)),
        "multiples of I only", A=DIAGONAL),
    # sign, factor
    false("one sign", lambda: equal((A - B) @ (A - B), A @ A - A @ B - B @ A - B @ B), "sign", A=I2, B=I2),
    false("off by 10⁻¹²", lambda: equal((A + B) @ C, A @ C + (1 + TINY) * B @ C), "10⁻¹²", A=I2, B=I2, C=I2),
    false("off by 10⁻⁵⁰", lambda: equal(A @ B + R(1, 10**50) * C, A @ B), "10⁻⁵⁰", A=I2, B=I2, C=I2),
    false("a root of a square of a rate", lambda: equal(sp.sqrt(p**2) * A, p * A), "p < 0", p=-1, A=I2),
    false("a root of two rates", lambda: equal(sp.sqrt((p - q) ** 2) * A, (p - q) * A), "p < q", p=1, q=2,
        A=I2),
    false("a root of two positive rates",
        lambda: equal(sp.sqrt((p - q) ** 2) * A, (p - q) * A, ANY, positive_rates(p, q)), "p < q", p=1, q=2,
        A=I2),
    false("a rate that may vanish", lambda: equal(A / p + A, (1 + p) * A / p), "p = 0", p=0, A=I2),
    # rules used for more than they say
    false("orthonormal columns are not orthonormal rows",
        lambda: equal(V @ V.T, eye(n), ({n: 3, m: 2},), orthogonal(V)), "m < n", V=((1,), (0,))),
    false("orthogonal matrices commute", lambda: equal(Q @ A @ Q.T, A, ANY, orthogonal(Q)), "ROTATION",
        Q=ROTATION, A=DIAGONAL),
    false("an orthogonal matrix is symmetric", lambda: equal(Q.T, Q, ANY, orthogonal(Q)), "ROTATION",
        Q=ROTATION),
    false("an orthogonal matrix is an involution", lambda: equal(Q @ Q, eye(n), ANY, orthogonal(Q)), "ROTATION",
        Q=ROTATION),
    false("an orthogonal matrix is an involution, at n = 1", lambda: equal(Q @ Q, eye(n), ONE, orthogonal(Q)),
        "ROTATION", Q=ROTATION),
    false("a projector is the identity", lambda: equal(P @ A, A, ANY, projector(P)), "rank", P=((1, 0), (0, 0)),
        A=I2),
    false("a projector is the identity, at n = 1", lambda: equal(P @ A, A, ONE, projector(P)), "rank",
        P=((1, 0), (0, 0)), A=I2),
    false("a projector of trace n/2", lambda: equal(trace(P), sp.Integer(1), TWO, projector(P)), "P = I", P=I2),
    false("a projector commutes", lambda: equal(P @ A, A @ P, ANY, projector(P)), "UP", P=((1, 0), (0, 0)),
        A=UP),
    false("a unit vector is a basis", lambda: equal(g @ g.T, eye(n), ANY, unit(g)), "n > 1", g=(1, 0)),
    false("unit vectors are orthogonal", lambda: equal(g @ g.T @ h, g, ANY, unit(g)), "h = 0", g=(1, 0),
        h=(0, 1)),
    false("balanced layers are equal",
        lambda: equal(W2 @ W1 @ W1.T, W2 @ W2.T @ W2 @ W1 @ W1.T, ANY, balanced(W1, W2)), "scale", W1=((2,),),
        W2=((2,),)),
    false("balanced the other way", lambda: equal(W1.T @ W1, W1.T @ W2.T @ W2 @ W1, ANY, balanced(W1, W2)),
        "scale", W1=((2,),), W2=((2,),)),
    false("a root commutes with everything", lambda: equal(root @ A, A @ root, ANY, root_rule), "UP",
        H=DIAGONAL, S=((1, 0), (0, 4)), A=UP),
    false("a root is the matrix", lambda: equal(root @ root, root, ANY, root_rule), "scale", H=((2, 0), (0, 2)),
        S=((4, 0), (0, 4))),
    false("a resolvent with a sign", lambda: equal(resolvent @ (eye(n) - p * S), eye(n), ANY, resolvent_rule),
        "sign", p=1, S=I2, R=((R(1, 2), 0), (0, R(1, 2)))),
    false("a resolvent commutes with everything",
        lambda: equal(resolvent @ A, A @ resolvent, ANY, resolvent_rule), "UP", p=1, S=DIAGONAL, A=UP,
        R=((R(1, 2), 0), (0, R(1, 3)))),
    # Gaussian means
    false("E[WWᵀ] of shape n × m is s n I",
        lambda: equal(gaussian_mean(V @ V.T, {V: p}), n * p * eye(n), ({n: 2, m: 2},)), "m", n=2, m=3, p=1),
    false("E[AAᵀ] is E[A²]", lambda: equal(gaussian_mean(A @ A, {A: p}), n * p * eye(n)), "p I", n=2, p=1),
    false("fourth moment without its square",
        lambda: equal(gaussian_mean(trace(A @ A.T) ** 2, {A: p}), n**4 * p**2), "2n²p²", n=2, p=1),
    false("a quartic at n = 1",
        lambda: equal(gaussian_mean(trace(A @ A.T @ A @ A.T), {A: p}), 3 * n * p**2, ONE), "2n³ + n²", n=2,
        p=1),
    false("E[A B A] with an independent B",
        lambda: equal(gaussian_mean(A @ B @ A, {A: p}), p * trace(B) * eye(n)), "p Bᵀ", B=UP, p=1),
    # scalar claims about words
    false("an inner product of columns is not negative", lambda: Inequality(word(g.T @ h), ">="), "opposite",
        g=(1, 0), h=(-1, 0)),
    false("yᵀy is positive", lambda: Inequality(word(y.T @ y), ">"), "y = 0", y=(0, 0)),
    false("yᵀAy is not negative", lambda: Inequality(word(y.T @ A @ y), ">="), "A = -I", y=(1, 0),
        A=((-1, 0), (0, -1))),
    false("yᵀSy is not negative", lambda: Inequality(word(y.T @ S @ y), ">="), "S = -I", y=(1, 0),
        S=((-1, 0), (0, -1))),
    false("a trace of a square is not negative", lambda: Inequality(trace(A @ A), ">="), "ROTATION: -2",
        A=ROTATION),
    false("Cauchy-Schwarz strictly, in words",
        lambda: Inequality(word(g.T @ h) ** 2, "<", word(g.T @ g) * word(h.T @ h)), "parallel", g=(1, 0),
        h=(1, 0)),
    false("words as free scalars: an identity", lambda: Identity(sp.sqrt(word(g.T @ h) ** 2), word(g.T @ h)),
        "opposite", g=(1, 0), h=(-1, 0)),
    # flows of matrices
    false("balance with exchanged rates", lambda: MatrixConservation(p * W2.T @ W2 - q * W1 @ W1.T, flow, ANY),
        "p ≠ q", p=1, q=2, W1=((1,),), W2=((1,),), G=((1,),)),
    false("balance with the other sign", lambda: MatrixConservation(q * W2.T @ W2 + p * W1 @ W1.T, flow, ANY),
        "sign", p=1, q=1, W1=((1,),), W2=((1,),), G=((1,),)),
    false("balance of the outer sides",
        lambda: MatrixConservation(q * B @ B.T - p * A.T @ A, {B: -p * C @ A.T, A: -q * B.T @ C}, ONE),
        "true at width 1", p=1, q=1, A=((1, 0), (0, 0)), B=((1, 0), (0, 2)), C=((0, 1), (0, 0))),
    false("trace of the balance, off by 10⁻¹²",
        lambda: MatrixConservation(q * trace(W2.T @ W2) - (1 + TINY) * p * trace(W1 @ W1.T), flow, ANY),
        "10⁻¹²", p=1, q=1, W1=((1,),), W2=((1,),), G=((1,),)),
    false("the product, one sign",
        lambda: MatrixDynamics(W2 @ W1, -p * G @ W1.T @ W1 + q * W2 @ W2.T @ G, flow, ANY), "sign", p=1, q=1,
        W1=((1,),), W2=((1,),), G=((1,),)),
    false("the product, order of the factors", lambda: MatrixDynamics(A @ B, A @ B + B @ A, {A: A, B: B}, ANY),
        "AB ≠ BA", A=UP, B=DOWN),
    false("rate of a square", lambda: MatrixDynamics(A @ A, 2 * A @ B, {A: B}, ANY), "AB ≠ BA", A=UP, B=DOWN),
    false("rate of a square at n = 1", lambda: MatrixDynamics(A @ A, 2 * A @ B, {A: B}, ONE), "AB ≠ BA", A=UP,
        B=DOWN),
    false("rate of an inverse",
        lambda: MatrixDynamics(A.inverse(), -B @ A.inverse() @ A.inverse(), {A: B}, ANY), "AB ≠ BA", A=ROTATION,
        B=DIAGONAL),
    false("rate of a Gram matrix", lambda: MatrixDynamics(A.T @ A, 2 * A.T @ B, {A: B}, ANY),
        "symmetric part only", A=I2, B=UP),
    false("a symmetric matrix with a velocity that is not",
        lambda: MatrixDynamics(S @ S, A @ S + S @ A, {S: A}, ANY), "S leaves the symmetric ones", S=I2, A=UP),
    false("a symmetric matrix with a velocity that is not: conserved",
        lambda: MatrixConservation(S - S.T, {S: A}, ANY), "S leaves the symmetric ones", S=I2, A=UP),
    false("a symmetric matrix moved by a product",
        lambda: MatrixDynamics(trace(S), trace(S @ T), {S: S @ T}, ANY), "ST is not symmetric", S=DIAGONAL,
        T=FULL),
    false("orthogonal, but does not stay so",
        lambda: MatrixConservation(A @ Q.T @ Q, {Q: Q}, ANY, Rules(orthogonal(Q))), "QᵀQ grows", Q=I2, A=I2),
    false("orthogonal, but does not stay so: a velocity",
        lambda: MatrixDynamics(Q.T @ Q, 2 * eye(n), {Q: Q}, ANY, Rules(orthogonal(Q))), "QᵀQ grows", Q=I2),
    false("a projector that does not stay one",
        lambda: MatrixConservation(P @ P - P, {P: S}, ANY, Rules(projector(P))), "P² - P grows", P=I2, S=I2),
    false("isospectral, with a symmetric generator",
        lambda: MatrixConservation(trace(A @ A), {A: S @ A + A @ S}, ANY), "commutators only", A=I2, S=I2),
    # identities of small matrices
    false("Cayley-Hamilton of n = 3", lambda: equal(cayley_hamilton(A, 3), zero(n, n), TO_FOUR[:3]),
        "true for n ≤ 3", A=((1, 0, 0, 0), (0, 2, 0, 0), (0, 0, 3, 0), (0, 0, 0, 4))),
    false("Cayley-Hamilton of n = 4", lambda: equal(cayley_hamilton(A, 4), zero(n, n), TO_FOUR), "true for n ≤ 4",
        A=CYCLE5),
    false("Cayley-Hamilton of n = 4, of symmetric matrices",
        lambda: equal(cayley_hamilton(S, 4), zero(n, n), TO_FOUR), "true for n ≤ 4",
        S=tuple(tuple(i * (i == j) for j in range(1, 6)) for i in range(1, 6))),
    false("a trace identity of n = 4", lambda: equal(fundamental_trace(A, 4), sp.Integer(0), TO_FOUR),
        "true for n ≤ 4", A=CYCLE5),
    false("the standard polynomial of four matrices", lambda: equal(standard(A, B, C, D), zero(n, n), TWO),
        "true for n ≤ 2", A=unit_matrix(0, 0), B=unit_matrix(0, 1), C=unit_matrix(1, 1), D=unit_matrix(1, 2)),
    false("three matrices, alternating", lambda: equal(standard(A, B, C), zero(n, n), ONE), "true for n = 1",
        A=unit_matrix(0, 0, 2), B=unit_matrix(0, 1, 2), C=unit_matrix(1, 1, 2)),
    false("Cayley-Hamilton of a 3 × 3 matrix, one order too low",
        lambda: equal(cayley_hamilton(A3, 2), zero(3, 3), ({n: 3},)), "true for 2 × 2",
        A3=((1, 0, 0), (0, 2, 0), (0, 0, 3))),
    false("no shape is listed", lambda: equal(A @ B, B @ A, ()), "AB ≠ BA", A=UP, B=DOWN),
    false("E tr WWᵀ, tried at square ones", lambda: equal(gaussian_mean(trace(V @ V.T), {V: p}), n**2 * p, TWO),
        "n m p", n=2, m=3, p=1),
    false("orthonormal rows, tried at square ones", lambda: equal(V @ V.T, eye(n), TWO, orthogonal(V)), "m < n",
        V=((1,), (0,))),
    false("a projector has trace 1, tried at n = 1",
        lambda: equal(trace(P), sp.Integer(1), ONE, projector(P)), "P = I", P=I2),
    # coefficients that are not real and finite everywhere
    false("a share of n - 1", lambda: equal(A / (n - 1) + A, n * A / (n - 1)), "n = 1", A=((1,),)),
    false("a root of rates of any sign", lambda: equal(sp.sqrt(p) * sp.sqrt(q) * A, sp.sqrt(p * q) * A),
        "p = q = -1", p=-1, q=-1, A=I2),
    false("a rate that may vanish, beside a resolvent",
        lambda: equal(A / p + A, (1 + p) * A / p, ANY, resolvent_rule), "p = 0", p=0, A=I2),
    false("floats that round", lambda: equal(sp.Float("1e17") * A + A, sp.Float("1e17") * A), "A",
        check=lambda: 10**17 + 1 != 10**17),
    false("a logarithm of a rate", lambda: equal(sp.log(p**2) * A, 2 * sp.log(p) * A), "p = -1", p=-1, A=I2),
    false("a projector on a vector",
        lambda: equal(g @ g.T @ g @ h.T / word(g.T @ g) ** 2, g @ h.T / word(g.T @ g)), "g = 0", g=(0, 0), h=(1, 0)),
    false("a share of a trace", lambda: equal(A / trace(A) + A, (1 + trace(A)) * A / trace(A)), "tr A = 0",
        A=ROTATION),
    false("shares of a diagonal",
        lambda: equal(sum_over(i, (1 + 1 / entry(A, i, i)) * (basis(i) @ basis(i).T)),
            sum_over(i, (1 + entry(A, i, i)) / entry(A, i, i) * (basis(i) @ basis(i).T))), "A_ii = 0", A=ROTATION),
    false("a rate in a velocity that may vanish",
        lambda: MatrixDynamics(A, B / p, {A: B / p}, ANY), "p = 0", p=0, A=I2, B=I2),
    false("conserved with a share of a norm",
        lambda: MatrixConservation(g / word(g.T @ g), {A: B}, ANY), "g = 0", g=(0, 0), A=I2, B=I2),
    false("one of two rates is positive", lambda: equal(A / (p + q) + A, (p + q + 1) * A / (p + q), ANY,
        positive_rates(p)), "q = -p", p=1, q=-1, A=I2),
    false("what does not vanish is positive",
        lambda: equal(sp.sqrt(word(g.T @ h) ** 2) * g, word(g.T @ h) * g, ANY, nonzero(word(g.T @ h))), "gᵀh = -1",
        g=(1, 0), h=(-1, 0)),
    # declarations that a flow does not keep
    false("an inverse that stays", lambda: MatrixConservation(resolvent @ A, {S: T}, ANY, Rules(resolvent_rule)),
        "the inverse moves", p=1, S=I2, T=I2, A=I2, R=((R(1, 2), 0), (0, R(1, 2)))),
    false("a root that stays", lambda: MatrixDynamics(root @ S, root @ T, {S: T}, ANY, Rules(root_rule)),
        "the root moves", H=I2, S=I2, T=I2),
    false("a unit vector that grows",
        lambda: MatrixDynamics(g.T @ h, g.T @ h, {g: g}, ANY, Rules(unit(g))), "gᵀg grows", g=(1, 0), h=(1, 0)),
    false("balanced layers of which one grows",
        lambda: MatrixDynamics(W2 @ W1, W2 @ W1, {W1: W1}, ANY, Rules(balanced(W1, W2))), "W₁ alone", W1=((1,),),
        W2=((1,),)),
    false("commuting matrices that are moved apart",
        lambda: MatrixDynamics(S @ T, (A + A.T) @ T, {S: A + A.T}, ANY, Rules(commuting(S, T))), "A does not commute",
        S=I2, T=DIAGONAL, A=UP),
    false("commuting matrices, of which one does, moved by the other order",
        lambda: MatrixConservation(S @ T - T @ S, {S: P}, ANY, Rules(commuting(S, T))), "P does not commute", S=I2,
        T=DIAGONAL, P=((0, 1), (1, 0))),
]

TRUE = [
    true("a product of sums", lambda: equal((A + B) @ C, A @ C + B @ C)),
    true("square of a sum", lambda: equal((A + B) @ (A + B), A @ A + A @ B + B @ A + B @ B)),
    true("transpose of a product", lambda: equal((A @ B).T, B.T @ A.T)),
    true("inverse of a product", lambda: equal((A @ B).inverse(), B.inverse() @ A.inverse())),
    true("a Gram matrix is symmetric", lambda: equal((V @ V.T).T, V @ V.T)),
    true("trace is cyclic", lambda: equal(trace(A @ B @ C), trace(B @ C @ A))),
    true("trace of a transpose", lambda: equal(trace(A.T), trace(A))),
    true("trace of a commutator", lambda: equal(trace(A @ B - B @ A), sp.Integer(0))),
    true("Jacobi", lambda: equal(
        bracket(A, bracket(B, C)) + bracket(B, bracket(C, A)) + bracket(C, bracket(A, B)), zero(n, n))),
    true("orthogonal conjugation of a trace", lambda: equal(trace(Q @ A @ Q.T), trace(A), ANY, orthogonal(Q))),
    true("an orthonormal frame",
        lambda: equal(V.T @ V @ V.T, V.T, ({n: 3, m: 2}, {n: 4, m: 1}), orthogonal(V))),
    true("a projector", lambda: equal(P @ (eye(n) - P), zero(n, n), ANY, projector(P))),
    true("a unit vector", lambda: equal(g @ g.T @ g, g, ANY, unit(g))),
    true("balanced layers", lambda: equal(W2 @ W1 @ W1.T, W2 @ W2.T @ W2, ANY, balanced(W1, W2))),
    true("a root commutes with its square", lambda: equal(root @ S, S @ root, ANY, root_rule)),
    true("a resolvent", lambda: equal(resolvent @ (eye(n) + p * S), eye(n), ANY, resolvent_rule)),
    true("vec of a product", lambda: equal(vec(A @ B @ C), kron(C.T, A) @ vec(B))),
    true("mixed Kronecker product", lambda: equal(kron(A, B) @ kron(C, A), kron(A @ C, B @ A))),
    true("sum over an index", lambda: equal(sum_over(i, entry(A, i, i)), trace(A))),
    true("sum of squares of entries",
        lambda: equal(sum_over(i, sum_over(j, entry(A, i, j) ** 2)), trace(A.T @ A))),
    true("E[WWᵀ]", lambda: equal(gaussian_mean(V @ V.T, {V: p}), m * p * eye(n))),
    true("E[A B Aᵀ]", lambda: equal(gaussian_mean(A @ B @ A.T, {A: p}), p * trace(B) * eye(n))),
    true("fourth moment", lambda: equal(gaussian_mean(trace(A @ A.T) ** 2, {A: p}), (n**4 + 2 * n**2) * p**2)),
    true("yᵀy", lambda: Inequality(word(y.T @ y), ">="), y=(1, 2)),
    true("yᵀAᵀAy", lambda: Inequality(word(y.T @ A.T @ A @ y), ">="), y=(1, 2), A=UP),
    true("1 + yᵀy", lambda: Inequality(1 + word(y.T @ y), ">"), y=(0, 0)),
    true("a trace of AᵀA", lambda: Inequality(trace(A.T @ A), ">="), A=UP),
    true("balance", lambda: MatrixConservation(q * W2.T @ W2 - p * W1 @ W1.T, flow, ANY)),
    true("trace of the balance",
        lambda: MatrixConservation(q * trace(W2.T @ W2) - p * trace(W1 @ W1.T), flow, ANY)),
    true("the product of two layers",
        lambda: MatrixDynamics(W2 @ W1, -p * G @ W1.T @ W1 - q * W2 @ W2.T @ G, flow, ANY)),
    true("isospectral", lambda: MatrixConservation(trace(A @ A @ A), {A: A @ B - B @ A}, ANY)),
    true("rate of an inverse",
        lambda: MatrixDynamics(A.inverse(), -A.inverse() @ B @ A.inverse(), {A: B}, ANY)),
    true("a symmetric matrix with a symmetric velocity",
        lambda: MatrixDynamics(S @ S, T @ S + S @ T, {S: T}, ANY)),
    true("a symmetric matrix moved by a congruence",
        lambda: MatrixDynamics(S, A @ S @ A.T, {S: A @ S @ A.T}, ANY)),
    true("associativity", lambda: equal((A @ B) @ C, A @ (B @ C))),
    true("difference of squares, in full", lambda: equal((A + B) @ (A - B), A @ A - A @ B + B @ A - B @ B)),
    true("cube of a sum",
        lambda: equal((A + eye(n)) @ (A + eye(n)) @ (A + eye(n)), A @ A @ A + 3 * A @ A + 3 * A + eye(n))),
    true("a transpose twice", lambda: equal((A @ B.T).T, B @ A.T)),
    true("a symmetric matrix", lambda: equal(S.T @ A, S @ A)),
    true("a congruence is symmetric", lambda: equal((A @ S @ A.T).T, A @ S @ A.T)),
    true("a commutator of symmetric ones is skew", lambda: equal((S @ T - T @ S).T, -(S @ T - T @ S))),
    true("an inverse times a matrix", lambda: equal(A.inverse() @ A @ B, B)),
    true("an inverse of an inverse", lambda: equal(A.inverse().inverse(), A)),
    true("conjugation of a product",
        lambda: equal(A @ B @ A.inverse() @ A @ C @ A.inverse(), A @ B @ C @ A.inverse())),
    true("trace of a Gram matrix", lambda: equal(trace(V @ V.T), trace(V.T @ V))),
    true("trace with an inverse", lambda: equal(trace(A @ B @ A.inverse()), trace(B))),
    true("trace of symmetric and skew", lambda: equal(trace(S @ (A - A.T)), sp.Integer(0))),
    true("inner product as a trace", lambda: equal(word(g.T @ h), trace(h @ g.T))),
    true("a square of an outer product", lambda: equal(g @ h.T @ g @ h.T, word(h.T @ g) * g @ h.T)),
    true("a quadratic form",
        lambda: equal(word((g + h).T @ S @ (g + h)),
            word(g.T @ S @ g) + 2 * word(g.T @ S @ h) + word(h.T @ S @ h))),
    true("orthogonal columns", lambda: equal(Q.T @ Q @ Q.T, Q.T, ANY, orthogonal(Q))),
    true("an orthogonal inverse", lambda: equal(Q @ A @ Q.inverse(), Q @ A @ Q.T, ANY, orthogonal(Q))),
    true("conjugated products", lambda: equal(Q @ A @ Q.T @ Q @ B @ Q.T, Q @ A @ B @ Q.T, ANY, orthogonal(Q))),
    true("a projector conjugated", lambda: equal(P @ A @ P @ P, P @ A @ P, ANY, projector(P))),
    true("norm under a unit vector", lambda: equal(word(g.T @ g @ g.T @ g), sp.Integer(1), ANY, unit(g))),
    true("a root of a positive rate", lambda: equal(sp.sqrt(p**2) * A, p * A, ANY, positive_rates(p))),
    true("a root of two positive rates",
        lambda: equal(sp.sqrt((p + q) ** 2) * A, (p + q) * A, ANY, positive_rates(p, q))),
    true("balanced layers, cubed",
        lambda: equal(W2.T @ W2 @ W2.T @ W2, W1 @ W1.T @ W1 @ W1.T, ANY, balanced(W1, W2))),
    true("a resolvent commutes with its matrix",
        lambda: equal(resolvent @ S, S @ resolvent, ANY, resolvent_rule)),
    true("Kronecker transposed", lambda: equal(kron(A, B).T, kron(A.T, B.T))),
    true("trace of a Kronecker product", lambda: equal(trace(kron(A, B)), trace(A) * trace(B))),
    true("vec is linear", lambda: equal(vec(A + p * B), vec(A) + p * vec(B))),
    true("a diagonal part", lambda: equal(diagonal(A + B), diagonal(A) + diagonal(B))),
    true("E[A]", lambda: equal(gaussian_mean(A @ B, {A: p}), zero(n, n))),
    true("E[tr WWᵀ]", lambda: equal(gaussian_mean(trace(V @ V.T), {V: p}), n * m * p)),
    true("E[A B A]", lambda: equal(gaussian_mean(A @ B @ A, {A: p}), p * B.T)),
    true("E tr(AAᵀAAᵀ)",
        lambda: equal(gaussian_mean(trace(A @ A.T @ A @ A.T), {A: p}), p**2 * (2 * n**3 + n**2))),
    true("rate of a square", lambda: MatrixDynamics(A @ A, A @ B + B @ A, {A: B}, ANY)),
    true("rate of a trace", lambda: MatrixDynamics(trace(A @ A), 2 * trace(A @ B), {A: B}, ANY)),
    true("rate of a Gram matrix", lambda: MatrixDynamics(A.T @ A, A.T @ B + B.T @ A, {A: B}, ANY)),
    true("rate of a product with a rate", lambda: MatrixDynamics(p * A @ C, p * B @ C, {A: B}, ANY)),
    true("skew generator keeps the Gram matrix", lambda: MatrixConservation(A.T @ A, {A: (B - B.T) @ A}, ANY)),
    true("Lax pair", lambda: MatrixConservation(trace(S @ S @ S), {S: S @ (B - B.T) - (B - B.T) @ S}, ANY)),
    true("a letter that does not move", lambda: MatrixConservation(B @ C, {A: B}, ANY)),
    true("Cayley-Hamilton of 2 × 2 matrices", lambda: equal(cayley_hamilton(A2, 2), zero(2, 2), ({n: 2},))),
    true("Cayley-Hamilton of 3 × 3 matrices", lambda: equal(cayley_hamilton(A3, 3), zero(3, 3), ({n: 3},))),
    true("Hall's identity of 2 × 2 matrices",
        lambda: equal(bracket(A2, B2) @ bracket(A2, B2) @ C2, C2 @ bracket(A2, B2) @ bracket(A2, B2), ({n: 2},))),
    true("Cayley-Hamilton of symmetric 2 × 2 matrices", lambda: equal(cayley_hamilton(S2, 2), zero(2, 2), ({n: 2},))),
    true("a share of n + 1", lambda: equal(A / (n + 1) + A, (n + 2) * A / (n + 1))),
    true("a share of n", lambda: equal(A / n + A, (n + 1) * A / n)),
    true("a positive rate in a denominator", lambda: equal(A / p + A, (1 + p) * A / p, ANY, positive_rates(p))),
    true("a root of positive rates",
        lambda: equal(sp.sqrt(p) * sp.sqrt(q) * A, sp.sqrt(p * q) * A, ANY, positive_rates(p, q))),
    true("a projector on a vector that is not zero",
        lambda: equal(g @ g.T @ g @ h.T / word(g.T @ g) ** 2, g @ h.T / word(g.T @ g), ANY,
            positive_rates(word(g.T @ g)))),
    true("a share of a trace that is not zero",
        lambda: equal(A / trace(A) + A, (1 + trace(A)) * A / trace(A), ANY, nonzero(trace(A)))),
    true("shares of 1 + a square",
        lambda: equal(A / (1 + word(g.T @ g)) + A, (2 + word(g.T @ g)) * A / (1 + word(g.T @ g)))),
    true("shares of lengths of rows",
        lambda: equal(sum_over(i, word(basis(i).T @ A @ A.T @ basis(i)) ** -1 * 2 * (basis(i) @ basis(i).T)),
            2 * sum_over(j, word(basis(j).T @ A @ A.T @ basis(j)) ** -1 * (basis(j) @ basis(j).T)), ANY,
            positive_rates(word(basis(i).T @ A @ A.T @ basis(i))))),
    true("an inverse that moves with its matrix",
        lambda: MatrixDynamics(resolvent @ A, -p * resolvent @ T @ resolvent @ A,
            {S: T, resolvent: -p * resolvent @ T @ resolvent}, ANY, Rules(resolvent_rule))),
    true("a unit vector that turns",
        lambda: MatrixDynamics(h.T @ g, h.T @ (A - A.T) @ g, {g: (A - A.T) @ g}, ANY, Rules(unit(g)))),
    true("balanced layers that stay so",
        lambda: MatrixDynamics(W2 @ W1, -(W2 @ W2.T @ G + G @ W1.T @ W1), {W1: -W2.T @ G, W2: -G @ W1.T}, ANY,
            Rules(balanced(W1, W2)))),
    true("commuting matrices, moved by one another",
        lambda: MatrixDynamics(S @ T, S @ T @ T, {S: S @ T}, ANY, Rules(commuting(S, T)))),
    true("kernel of two layers",
        lambda: MatrixDynamics(W1 @ W1.T, -q * (W2.T @ G @ W1.T + W1 @ G.T @ W2), flow, ANY)),
]
# fmt: on
