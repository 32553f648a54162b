r"""What rational arithmetic says of a rank that depends on irrational modes.

Let S be the modes of the largest singular values, and let Z = [W1 W2^T] make k dimensions of their span zero: its rank
on S is |S| - k. The modes are eigenvectors of F, whose characteristic polynomial falls into irreducible polynomials g
over the rational numbers, and the modes of g lie in the rational subspace ker g(F). Hence, for any set I of these
polynomials,

    rank of Z on S <= rank of Z on the sum of ker g(F), g in I, + number of modes in S of other polynomials.

For lambda = 0 there is a second reason. J = diag(-1, 1) anticommutes with F, and m growing modes that are all those of
some polynomials f of the squares s^2 span an isotropic subspace, e^T J e' = 0, of ker f(F^2), which has dimension 2 m.
They are the pairs (v, Q v), with the polar factor Q of sigma_yx. If Z makes just an isotropic subspace of dimension m
zero there, this one is made of pairs (v, O v) with an isometry O, and k is the multiplicity of the eigenvalue 1 of
O^T Q. It has the parity of m if det(O^T Q) = 1, and the other if det(O^T Q) = -1. For a basis (A, B) of what Z makes
zero, B = O A, the determinant has the sign of det(B^T sigma_yx A).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from math import prod
from typing import Any

from sympy import Poly, intervals
from sympy.polys.domains import ZZ
from sympy.polys.matrices import DomainMatrix

Rows = list[list[Any]]


class Blocks:
    """The rational subspaces of F = [[-half, sigma_yx^T], [sigma_yx, half]], and what Z makes of them, in integers.

    `factors` are the irreducible polynomials of the squares of the positive singular values. Each of these has the
    number of its polynomial in `places` and the number of its modes in `sizes`, falling.
    """

    def __init__(
        self,
        F: Rows,
        Z: Rows,
        half: int,
        inputs: int,
        factors: Sequence[Poly],
        places: Sequence[int],
        sizes: Sequence[int],
    ) -> None:
        self.F, self.Z = _matrix(F), _matrix(Z)
        self.half, self.inputs, self.factors, self.places, self.sizes = half, inputs, factors, places, sizes

    def most(self, count: int) -> int:
        """A bound of the rank of Z on the modes of the first `count` singular values."""
        modes = Counter[Poly]()
        for g, size in zip(self._rates[:count], self.sizes, strict=False):
            modes[g] += size
        inside = set(modes)
        bound = self._bound(modes, inside)
        for g in modes:
            without = self._bound(modes, inside - {g})
            if without <= bound:
                inside, bound = inside - {g}, without
        return min(bound, modes.total() - self._missed(count))

    @cached_property
    def _rates(self) -> list[Poly]:
        """The irreducible polynomial of the rate R of each singular value."""
        found = [iter(_polynomials_of_rates(f, self.half)) for f in self.factors]
        return [next(found[place]) for place in self.places]

    def _bound(self, modes: Counter[Poly], inside: set[Poly]) -> int:
        return self._rank(inside) + sum(size for g, size in modes.items() if g not in inside)

    def _rank(self, inside: set[Poly]) -> int:
        """Of Z on the sum of ker g(F): of Z q(F), where q has all other roots of the minimal polynomial of F."""
        if not inside:
            return 0
        lifted = [_lifted(f, self.half) for f in self.factors]
        x = lifted[0].gen
        whole = prod(lifted, start=Poly(x**2 - self.half**2, x))
        return int(_applied(whole.exquo(prod(inside, start=Poly(1, x))), self.F, self.Z).to_field().rank())

    def _missed(self, count: int) -> int:
        """At least so many dimensions of the first modes are made zero, as the number of them is odd."""
        complete = set(self.places[:count]) - set(self.places[count:])
        return max(sum(self._odd([k]) for k in complete), self._odd(complete))

    def _odd(self, factors: Iterable[int]) -> bool:
        """Whether Z surely makes an odd number of dimensions zero in the span of the growing modes of the factors."""
        chosen = set(factors)
        size = sum(n for k, n in zip(self.places, self.sizes, strict=True) if k in chosen)
        if self.half or not chosen:
            return False
        f = prod((self.factors[k] for k in chosen), start=Poly(1, self.factors[0].gen))
        square = self.F * self.F
        fixed = _applied(f, square, DomainMatrix.eye(square.shape[0], ZZ))
        zero = self.Z.vstack(fixed).to_field().nullspace()
        A, B = zero[:, : self.inputs], zero[:, self.inputs :]
        if zero.shape[0] != size or A * A.transpose() != B * B.transpose():
            return False
        sigma = self.F[self.inputs :, : self.inputs].to_field()
        opposite = (B * sigma * A.transpose()).det() < 0
        return bool((size - opposite) % 2)


def _polynomials_of_rates(f: Poly, half: int) -> list[Poly]:
    """Irreducible ones of R = sqrt(v + half^2) for the roots v of f, falling."""
    parts = [g for g, _ in _lifted(f, half).factor_list()[1]]
    if len(parts) == 1:
        return parts * f.degree()
    return [parts[next(iter(which))] for _, which in reversed(intervals(parts, inf=0))]


def _lifted(f: Poly, half: int) -> Poly:
    """f(x^2 - half^2)."""
    return f.compose(Poly(f.gen**2 - half**2, f.gen))


def _applied(f: Poly, x: DomainMatrix, rows: DomainMatrix) -> DomainMatrix:
    """rows f(x)."""
    found = rows * ZZ(0)
    for c in f.all_coeffs():
        found = found * x + rows * ZZ(int(c))
    return found


def _matrix(rows: Rows) -> DomainMatrix:
    return DomainMatrix([[ZZ(x) for x in row] for row in rows], (len(rows), len(rows[0])), ZZ)
