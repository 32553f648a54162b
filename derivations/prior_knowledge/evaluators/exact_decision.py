r"""On or off the separatrix, for weights and tasks of rational numbers: a decision without rounding.

Whether a start misses a mode is a question of ranks. With Z = [W1 W2^T] and the projection P onto the growing modes
whose singular value is at least a given one, the rank of Z P is needed. The projection is algebraic: for the distinct
eigenvalues v_i of G = F^2 - lambda^2/4 (the squares of the singular values, and zero) and the rates
r_i = sqrt(v_i + lambda^2/4),

    P = sum_i (1 + F/r_i)/2 prod_(j != i) (G - v_j)/(v_i - v_j),

so that M = Z P Z^T is a combination of the rational matrices Z G^k Z^T and Z F G^k Z^T. The rank is at least j where
e_j(M), the sum of the principal minors of size j, is positive. Numbers v~ near v with a proved error make e_j(M~) an
exact rational number with a proved distance to e_j(M). It shows e_j(M) > 0 as soon as it is larger than that.

It shows e_j(M) = 0 as soon as both are below a bound of Liouville's kind. Let F and Z be scaled to integers, and let D
be a multiple of all norms of 2 (v_i + lambda^2/4) p'(v_i), where p has the roots v_i. Then a = D^j e_j(M) is an
algebraic integer. A conjugation moves P to an orthogonal projection onto other eigenvectors, as all of them are real.
So the conjugates of a are at most b = D^j e_j(Z Z^T), there are at most n of them, and their product is an integer: a
is zero, or |a| >= b^(1 - n). As n grows fast with the number of modes, the reasons for a lower rank that rational
arithmetic finds (`rational_blocks`) are tried before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sympy import Poly, Rational, Symbol
from sympy.polys.domains import QQ, ZZ
from sympy.polys.matrices import DomainMatrix

from derivations.prior_knowledge.evaluators.rational_blocks import Blocks
from symdyn.arrays import kinds

_SEPARATED, _FIRST_BITS = 64, 192

Rows = list[list[Any]]


class Decision(NamedTuple):
    """What the exact flow of one start learns.

    `sizes` has the numbers of modes of each distinct singular value, falling, and `ranks` those of the overlaps with
    all modes of at least that singular value. `learnable` modes could be learned, `rank` is that of the limit, and
    `missed` lists the places of the singular values of which too few modes are learned.
    """

    sizes: tuple[int, ...]
    ranks: tuple[int, ...]
    learnable: int
    rank: int
    missed: tuple[int, ...]

    @property
    def on_separatrix(self) -> bool:
        """Whether a mode is missed."""
        return bool(self.missed)


def decide(W1: Any, W2: Any, sigma_yx: Any) -> Decision:
    r"""Whether a start of rational numbers is on a separatrix of its task, and what its exact flow learns.

    Args:
        W1: input weights (N_h, N_i) of Fractions, integers or rational numbers of SymPy.
        W2: readout weights (N_o, N_h), with W2^T W2 - W1 W1^T = lambda I exactly.
        sigma_yx: input-output correlation (N_o, N_i), of any rank.

    Returns:
        Decision: see there. No rounding enters it.

    Raises:
        ValueError: a start that is not exactly lambda-balanced, or a bad shape.
        TypeError: entries that are not rational.

    Singular values may be irrational and equal. Six modes take less than half a second off a separatrix, and on one as
    well where rational subspaces or the sign of a determinant say why. The digits that a proof of zero needs without
    such a reason double with every mode: six can take ten seconds.

    Source: braun2022, Sec. 3 and 6 (det B, its singular case), for all starts.

    >>> decide([[1]], [[1]], [[2]]).on_separatrix, decide([[1]], [[1]], [[-2]]).on_separatrix
    (False, True)
    >>> decide([[1, 0], [0, 1]], [[1, 0], [0, 1]], [[1, 1], [0, -1]]).ranks
    (1, 1)
    """
    return ExactStart.of(W1, W2, sigma_yx).decision


class ExactStart:
    """W1, W2 and sigma_yx as lists of rows of Fractions, and lambda."""

    def __init__(self, W1: Rows, W2: Rows, sigma_yx: Rows) -> None:
        self.W1, self.W2, self.sigma = W1, W2, sigma_yx
        self.hidden, self.inputs, self.outputs = len(W1), len(W1[0]), len(W2)
        if (len(W2[0]), len(sigma_yx), len(sigma_yx[0])) != (self.hidden, self.outputs, self.inputs):
            raise ValueError("W1 (N_h, N_i), W2 (N_o, N_h) and sigma_yx (N_o, N_i) must fit")
        gap = _sum(_product(_transposed(W2), W2), _product(W1, _transposed(W1)), -1)
        self.offset = gap[0][0]
        wrong = max(abs(x - self.offset * (i == j)) for i, row in enumerate(gap) for j, x in enumerate(row))
        if wrong:
            raise ValueError(
                "W1 and W2 must be lambda-balanced, W2^T W2 - W1 W1^T = lambda I, exactly where they are rational "
                f"(the imbalance is {float(wrong):.3g})"
            )

    @classmethod
    def of(cls, W1: Any, W2: Any, sigma_yx: Any) -> ExactStart:
        """From matrices of rational numbers."""
        named = {"W1": W1, "W2": W2, "sigma_yx": sigma_yx}
        found = {name: kinds.exactly(name, value).astype(object) for name, value in named.items()}
        for name, x in found.items():
            if x.ndim != 2:
                raise ValueError(f"{name} must be one matrix; its shape is {x.shape}")
        return cls(*(fractions(name, x).tolist() for name, x in found.items()))

    @cached_property
    def task(self) -> _Task:
        """The start over the integers."""
        return _Task(self)

    @cached_property
    def decision(self) -> Decision:
        """See `decide`."""
        return _decide(self)

    @property
    def rank(self) -> int:
        """Of [W1 W2^T]."""
        return len(self.task.Z)


def fractions(name: str, x: np.ndarray) -> np.ndarray:
    """The array of objects with Fractions for its entries."""
    if x.ndim < 2 or 0 in x.shape[-2:]:
        raise ValueError(f"{name} must be a matrix in its last two axes; its shape is {x.shape}")
    found = np.empty(x.shape, dtype=object)
    for index, value in np.ndenumerate(x):
        found[index] = _fraction(name, value)
    return found


def _fraction(name: str, value: Any) -> Fraction:
    if isinstance(value, (int, Fraction, np.integer)) and not isinstance(value, bool):
        return Fraction(int(value)) if not isinstance(value, Fraction) else value
    if isinstance(value, Rational):
        return Fraction(int(value.p), int(value.q))
    raise TypeError(
        f"{name} must hold rational numbers (integers, Fraction, Rational) if any of W1, W2 and sigma_yx does, or else "
        f"floats throughout; it has {value!r}"
    )


class _Task:
    """The algebra of one start over the integers: F and Z scaled, Z without dependent rows."""

    def __init__(self, start: ExactStart) -> None:
        half = start.offset / 2
        scale = math.lcm(half.denominator, *(x.denominator for row in start.sigma for x in row))
        S = [[int(x * scale) for x in row] for row in start.sigma]
        self.half, self.inputs = int(half * scale), start.inputs
        self.scale = scale
        across = _transposed(S)
        self.F = [[-self.half * (i == j) for j in range(start.inputs)] + row for i, row in enumerate(across)]
        self.F += [row + [self.half * (i == j) for j in range(start.outputs)] for i, row in enumerate(S)]
        gram = _product(across, S) if start.inputs <= start.outputs else _product(S, across)
        x = Symbol("x")
        characteristic = Poly(DomainMatrix(gram, (len(gram), len(gram)), ZZ).charpoly(), x, domain=ZZ)
        parts = [(f, count) for f, count in characteristic.factor_list()[1] if f != Poly(x, x, domain=ZZ)]
        self.factors = [f for f, _ in parts]
        self.places = _separated(parts)
        self.learnable = sum(count * f.degree() for f, count in parts)
        self.null = start.inputs != start.outputs or self.learnable < start.inputs
        self.nodes = sum(f.degree() for f in self.factors) + self.null
        rows = [a + b for a, b in zip(start.W1, _transposed(start.W2), strict=True)]
        common = math.lcm(*(x.denominator for row in rows for x in row))
        Z = [[int(x * common) for x in row] for row in rows]
        pivots = DomainMatrix(_transposed(Z), (len(Z[0]), len(Z)), ZZ).convert_to(QQ).rref()[1]
        self.Z = [Z[i] for i in pivots]
        self.moments = list(self._moments())
        minors = _sums_of_minors(_product(self.Z, _transposed(self.Z))) if self.Z else [1]
        self.grams = [int(x) for x in minors]
        self.largest = max((sum(abs(x) for x in row) for row in self.F), default=0) ** 2 + 1

    def _moments(self) -> Iterator[tuple[Rows, Rows]]:
        """Z G^k Z^T and Z F G^k Z^T."""
        now, back = self.Z, _transposed(self.Z)
        for _ in range(self.nodes):
            turned = _product(now, self.F)
            yield _product(now, back), _product(turned, back)
            now = _sum(_product(turned, self.F), now, -(self.half**2))

    @cached_property
    def blocks(self) -> Blocks:
        """The rational subspaces."""
        places, sizes = [place.factor for place in self.places], [place.count for place in self.places]
        return Blocks(self.F, self.Z, self.half, self.inputs, self.factors, places, sizes)

    def denominator(self, factors: set[int]) -> int:
        """D, so that D P has algebraic integers for entries."""
        x = self.factors[0].gen
        whole = Poly(x if self.null else 1, x, domain=ZZ)
        for f in self.factors:
            whole *= f
        norms = Poly(2 * (x + self.half**2), x, domain=ZZ) * whole.diff(x)
        return math.lcm(*(abs(int(self.factors[k].resultant(norms))) for k in factors))

    def conjugates(self, chosen: list[int]) -> int:
        """At most so many projections are conjugates of that onto the first modes; `chosen` has their factors."""
        number = 1
        for k in set(chosen):
            degree, count = self.factors[k].degree(), chosen.count(k)
            square = -int(self.factors[k].eval(0)) + self.half**2 if degree == 1 else 0
            if degree > 1 or math.isqrt(square) ** 2 != square:
                number *= math.comb(degree, count) * 2**count
        return number


class _Place(NamedTuple):
    """A root of the factor of that number, of that multiplicity, between two rational numbers."""

    factor: int
    count: int  # type: ignore[assignment]  # hides the method of tuples
    low: Fraction
    high: Fraction


def _separated(parts: list[tuple[Poly, int]]) -> list[_Place]:
    """All roots, falling, in intervals that do not meet."""
    bits = _SEPARATED
    while True:
        places = [
            _Place(k, count, Fraction(int(a.p), int(a.q)), Fraction(int(b.p), int(b.q)))
            for k, (f, count) in enumerate(parts)
            for (a, b), _ in f.intervals(eps=Rational(1, 2**bits))
        ]
        places.sort(key=lambda place: place.low, reverse=True)
        if all(low.high < high.low for high, low in pairwise(places)):
            return places
        bits *= 4


def _root(f: Poly, place: _Place, bits: int) -> int:
    """An integer N so that the root is nearer to N/2^bits than one unit."""
    if place.low == place.high:
        return math.floor(place.low * 2**bits)
    coefficients = [ZZ(int(c)) for c in f.all_coeffs()]
    digits = math.ceil(1 / (place.high - place.low)).bit_length() + 8
    middle = math.floor((place.low + place.high) / 2 * 2**digits)
    found = _newton(coefficients, ZZ(middle), digits, bits)
    inside = math.floor(place.low * 2**bits) <= found <= math.ceil(place.high * 2**bits)
    if inside and _sign_at(coefficients, found - 1, bits) * _sign_at(coefficients, found + 1, bits) < 0:
        return found
    low, _ = f.refine_root(
        *(Rational(x.numerator, x.denominator) for x in place[2:]), eps=Rational(1, 2**bits)
    )
    return math.floor(Fraction(int(low.p), int(low.q)) * 2**bits)


def _newton(coefficients: list[int], found: int, digits: int, bits: int) -> int:
    """Newton's method in fixed point, with twice the digits in every step."""
    spare = 8
    while True:
        for _ in range(3 if digits >= bits + spare else 1):
            value = slope = 0
            for c in coefficients:
                slope = (slope * found >> digits) + value
                value = (value * found >> digits) + (c << digits)
            if slope:
                found -= (value << digits) // slope
        if digits >= bits + spare:
            return (found + (1 << digits - bits - 1)) >> (digits - bits)
        step = min(2 * digits, bits + spare)
        found, digits = found << (step - digits), step


def _sign_at(coefficients: list[int], x: int, bits: int) -> int:
    """The sign of the polynomial at x/2^bits, without rounding."""
    value = 0
    for power, c in enumerate(coefficients):
        value = value * x + (c << bits * power)
    return (value > 0) - (value < 0)


class _Approximation:
    """The roots to so many bits, and M of the first modes with a proved error."""

    def __init__(self, task: _Task, bits: int) -> None:
        self.task, self.bits = task, bits
        roots = [ZZ(_root(task.factors[place.factor], place, bits)) for place in task.places]
        self.nodes = roots + [ZZ(0)] * task.null
        self.rates = [ZZ.sqrt((v + (ZZ(task.half) ** 2 << bits)) << bits) for v in roots]
        gap = min((a - b for a, b in pairwise(self.nodes)), default=ZZ(1) << bits)
        self.usable = gap > 4 and min(self.rates) > 4
        self.gap, self.least = _below(gap, bits), _below(min(self.rates), bits)

    def matrix(self, count: int) -> Rows:
        """2^bits M of the first distinct singular values."""
        bits, size = self.bits, len(self.task.Z)
        plain, turned = [ZZ(0)] * len(self.nodes), [ZZ(0)] * len(self.nodes)
        for i in range(count):
            # The inverse of the rate and the product are rounded; `error` has a unit for each.
            basis = self._lagrange(i)
            for k, c in enumerate(basis):
                plain[k] += c >> 1
                turned[k] += (c << bits) // (2 * self.rates[i])
        return [
            [
                sum(
                    c * A[p][q] + d * B[p][q]
                    for c, d, (A, B) in zip(plain, turned, self.task.moments, strict=True)
                )
                for q in range(size)
            ]
            for p in range(size)
        ]

    def _lagrange(self, i: int) -> list[int]:
        """2^bits times the coefficients of prod (x - v_j)/(v_i - v_j), the constant first, rounded down."""
        bits = self.bits
        numerator, below = [ZZ(1)], ZZ(1)
        for j, v in enumerate(self.nodes):
            if j != i:
                shifted = [ZZ(0), *(c << bits for c in numerator)]
                numerator = [x - y * v for x, y in zip(shifted, [*numerator, ZZ(0)], strict=True)]
                below *= self.nodes[i] - v
        return [(c << bits) // below for c in numerator]

    def error(self, count: int) -> int:
        """|M~ - M| is at most so many units of 2^-bits."""
        nodes, large = len(self.nodes), Fraction(self.task.largest)
        ratio = 1 + large / self.least
        slope = nodes * (large / self.gap + 1) ** nodes
        coefficient = 4 * nodes * large**nodes * ratio
        one = ratio * slope + (1 + slope) * (1 + 1 / self.least) / self.least + coefficient
        return math.ceil(count * one * self.task.grams[1])


def _below(x: Any, bits: int) -> Fraction:
    """A short number that is at most x/2^bits."""
    spare = max(int(x).bit_length() - _SEPARATED, 0)
    return Fraction(int(x >> spare)) * Fraction(2) ** (spare - bits)


def _decide(start: ExactStart) -> Decision:
    task = start.task
    sizes = tuple(place.count for place in task.places)
    learnable = min(start.hidden, task.learnable)
    ranks = tuple(_ranks(task)) if task.Z else (0,) * len(sizes)
    room, before, missed = learnable, 0, []
    for k, (size, rank) in enumerate(zip(sizes, ranks, strict=True)):
        wanted = min(size, room)
        if rank - before < wanted:
            missed.append(k)
        room, before = room - wanted, rank
    return Decision(sizes, ranks, learnable, before, tuple(missed))


def _ranks(task: _Task) -> Iterator[int]:
    """Of Z P for the modes of the first singular value, the first two, and so on."""
    modes = rank = 0
    approximations: dict[int, _Approximation] = {}
    for count, place in enumerate(task.places, 1):
        modes += place.count
        rank = _rank(task, count, rank, min(modes, len(task.Z), rank + place.count), approximations)
        yield rank


def _rank(task: _Task, count: int, least: int, most: int, approximations: dict[int, _Approximation]) -> int:
    """Between `least` and `most`."""
    chosen = [place.factor for place in task.places[:count]]
    bits = _FIRST_BITS
    while least < most:
        if bits not in approximations:
            approximations[bits] = _Approximation(task, bits)
        near = approximations[bits]
        if near.usable and (error := near.error(count)) < 1 << bits:
            minors, next_one = _sums_of_minors(near.matrix(count)), least + 1
            spread = [_spread(task, j, error) << (bits * (j - 1)) for j in range(1, most + 1)]
            least = max([least, *(j for j in range(least + 1, most + 1) if minors[j] > spread[j - 1])])
            if least < next_one and _zero(task, minors[next_one] + spread[least], next_one, chosen, bits):
                return least
        if bits == _FIRST_BITS and least < most:
            most = min(most, task.blocks.most(count))
        bits *= 2
    return most


def _spread(task: _Task, j: int, error: int) -> int:
    """|e_j(M~) - e_j(M)| is at most so many units of 2^-bits, by Weyl's inequality, if |M~ - M| is at most 1."""
    return math.comb(len(task.Z), j) * j * (task.grams[1] + 1) ** (j - 1) * error


def _zero(task: _Task, largest: int, j: int, chosen: list[int], bits: int) -> bool:
    """Whether e_j(M) is proved to be zero, as it is at most largest/2^(bits j)."""
    number, whole = task.conjugates(chosen), task.denominator(set(chosen)) ** j
    # 2^-power is at most the least value other than zero, b^(1 - n) / D^j.
    power = (number - 1) * (whole * task.grams[j]).bit_length() + whole.bit_length()
    return bits * j > power and largest < 1 << (bits * j - power)


def _sums_of_minors(x: Rows) -> list[int]:
    """e_0 .. e_n of an integer matrix, from its characteristic polynomial."""
    found = DomainMatrix([[ZZ(v) for v in row] for row in x], (len(x), len(x)), ZZ).charpoly()
    return [c * (-1) ** j for j, c in enumerate(found)]


def _product(x: Rows, y: Rows) -> Rows:
    columns = _transposed(y)
    return [[sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in x]


def _sum(x: Rows, y: Rows, factor: Any) -> Rows:
    return [[a + factor * b for a, b in zip(p, q, strict=True)] for p, q in zip(x, y, strict=True)]


def _transposed(x: Rows) -> Rows:
    return [list(row) for row in zip(*x, strict=True)]
