r"""Averages over the orthogonal group, and over layers of a linear network, by sums over pairings.

For Haar orthogonal U of size N and k pairs of entries,

    E U_{i_1 j_1} … U_{i_2k j_2k} = Σ_{p,q} δ_p(i) δ_q(j) Wg(p, q),

summed over the pairings p, q of 2k things, where δ_p(i) is 1 if p joins equal indices. Wg is the inverse of the matrix
N^{loops(p, q)}, or a generalised inverse of it where N < k. For independent normal entries of variance s the same holds
with Wg(p, q) = s^k δ_pq, which is Wick's rule. So one recursion carries the means of Π tr (J Jᵀ)^μ from layer to layer.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import sympy as sp

Pairing = tuple[tuple[int, int], ...]
Partition = tuple[int, ...]
MOST = 3
"""Products of at most so many pairs of entries: there are 15 pairings of three pairs, 105 of four."""


@functools.cache
def pairings(count: int) -> tuple[Pairing, ...]:
    """The pairings of 0, …, count - 1."""

    def of(items: tuple[int, ...]) -> Iterator[Pairing]:
        if not items:
            yield ()
        for k in range(1, len(items)):
            for rest in of(items[1:k] + items[k + 1 :]):
                yield ((items[0], items[k]), *rest)

    return tuple(of(tuple(range(count))))


def loops(p: Pairing, q: Pairing) -> Partition:
    """The loops that two pairings make together, by half their lengths, longest first."""
    partner = [{a: b for pair in x for a, b in (pair, pair[::-1])} for x in (p, q)]
    left, found = set(partner[0]), []
    while left:
        start = here = min(left)
        length = 0
        while True:
            there = partner[0][here]
            left -= {here, there}
            here = partner[1][there]
            length += 1
            if here == start:
                break
        found.append(length)
    return tuple(sorted(found, reverse=True))


@functools.cache
def weingarten(pairs: int) -> dict[Partition, Any]:
    """Wg as a function of the loops of its two pairings, and of the size N, a symbol: `weingarten_size`."""
    _refuse_more(pairs)
    every, N = pairings(2 * pairs), weingarten_size
    types = sorted({loops(every[0], p) for p in every})
    unknown = {kind: sp.Dummy() for kind in types}
    equations = []
    for kind in types:
        p = next(p for p in every if loops(every[0], p) == kind)
        total = sp.Add(*(N ** len(loops(p, q)) * unknown[loops(q, every[0])] for q in every))
        equations.append(total - int(p == every[0]))
    (found,) = sp.linsolve(equations, *unknown.values())
    return {kind: sp.factor(value) for kind, value in zip(types, found, strict=True)}


weingarten_size = sp.Symbol("N", real=True)


def haar_moment(rows: Sequence[Any], columns: Sequence[Any], size: Any) -> Any:
    """E U_{i_1 j_1} … U_{i_n j_n} for a Haar orthogonal U of a size N ≥ n/2, a number or a symbol.

    Indices are equal or not: names will do. Raises ValueError for lists of different lengths and more than six entries.
    """
    if len(rows) != len(columns):
        raise ValueError(f"{len(rows)} rows and {len(columns)} columns name no entries")
    if len(rows) % 2:
        return sp.S.Zero
    pairs = len(rows) // 2
    _refuse_more(pairs)
    joined = [
        [p for p in pairings(len(rows)) if all(indices[a] == indices[b] for a, b in p)]
        for indices in (rows, columns)
    ]
    kinds: dict[Partition, Any] = weingarten(pairs) if pairs else {(): sp.S.One}
    total = sp.Add(*(kinds[loops(p, q)] for p in joined[0] for q in joined[1]))
    return sp.factor(total.subs(weingarten_size, size))


def _refuse_more(pairs: int) -> None:
    if pairs > MOST:
        raise ValueError(f"means of at most {2 * MOST} entries are formed, not of {2 * pairs}")


def partitions(k: int) -> list[Partition]:
    """The partitions of k, by which products of traces are named: (2, 1) is tr X² tr X."""
    return sorted({loops(pairings(2 * k)[0], p) for p in pairings(2 * k)}, reverse=True)


def layer(k: int, rows: Any, weight: Any) -> list[list[Any]]:
    """The matrix T with E Π_m tr((M X Mᵀ)^{μ_m}) = Σ_ν T_μν Π_m tr(X^{ν_m}), for a random M with some rows.

    `weight(p, q)` is the coefficient of δ_p(i) δ_q(j) in the mean of Π M_{i j}. Rows and columns of T are in the
    order of `partitions`.
    """
    _refuse_more(k)
    every, names = pairings(2 * k), partitions(k)
    own = tuple((2 * m, 2 * m + 1) for m in range(k))  # X joins the two M of a factor
    found = []
    for kind in names:
        chained = _chained(kind)
        row = dict.fromkeys(names, sp.S.Zero)
        for p in every:
            count = rows ** len(loops(p, chained))
            for q in every:
                w = weight(p, q)
                if w != 0:
                    row[loops(q, own)] += count * w
        found.append([row[name] for name in names])
    return found


def _chained(kind: Partition) -> Pairing:
    """The pairing that a product of traces makes of rows: the second M of a factor with the first of the next one."""
    pairs, start = [], 0
    for length in kind:
        for m in range(length):
            pairs.append((2 * (start + m) + 1, 2 * (start + (m + 1) % length)))
        start += length
    return tuple((min(pair), max(pair)) for pair in pairs)


def gaussian_weight(k: int, variance: Any) -> Any:
    """The weight of independent normal entries of a variance."""
    return lambda p, q: variance**k if p == q else 0


def haar_weight(k: int, size: int, scale2: Any) -> Any:
    """The weight of rows of √scale2 times a Haar orthogonal matrix of a given size."""
    table = _generalised_inverse(k, size)
    return lambda p, q: scale2**k * table[p, q]


@functools.cache
def _generalised_inverse(k: int, size: int) -> dict[tuple[Pairing, Pairing], Any]:
    """A generalised inverse of N^{loops}: the inverse on pairings that span what all of them do."""
    every = pairings(2 * k)
    if size >= k:
        kinds = {kind: value.subs(weingarten_size, size) for kind, value in weingarten(k).items()}
        return {(p, q): kinds[loops(p, q)] for p in every for q in every}
    gram = sp.Matrix(len(every), len(every), lambda a, b: sp.Integer(size) ** len(loops(every[a], every[b])))
    _, pivots = gram.rref()
    inverse = gram.extract(list(pivots), list(pivots)).inv()
    table = {(p, q): sp.S.Zero for p in every for q in every}
    for a, i in enumerate(pivots):
        for b, j in enumerate(pivots):
            table[every[i], every[j]] = inverse[a, b]
    return table


__all__ = [
    "gaussian_weight",
    "haar_moment",
    "haar_weight",
    "layer",
    "loops",
    "pairings",
    "partitions",
    "weingarten",
]
