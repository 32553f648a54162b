r"""The exact flow of weights and tasks of rational numbers, at as many digits as it takes.

The evaluation is that of `modal_flow`, with mpmath, and the ranks are those of `exact_decision`: an overlap that is
zero is taken for zero, one that is not counts even if it is 1e-300. Overlaps that small cost digits on the way, so
everything is computed with more and more of them, until two results agree.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np

from derivations.prior_knowledge.evaluators.exact_decision import ExactStart

_DIGITS, _MOST, _AGREE = 30, 6_000, 1e-17


class _Modes(NamedTuple):
    """Singular vectors and values of the task, its rates, and all eigenvectors of F: growing modes by falling rate,
    directions without a mode, and falling ones, with their rates and overlaps."""

    u: Any
    s: list[Any]
    v: Any
    vectors: Any
    rates: list[Any]
    overlaps: Any


def distance(start: ExactStart) -> float:
    """`separatrix_distance`, zero exactly where it is zero."""
    number = start.decision.learnable
    if number == 0:
        return float("inf")
    if start.decision.on_separatrix:
        return 0.0
    return _settled(lambda: np.array([_distance(start, _modes(start))]))[0]


def _distance(start: ExactStart, modes: _Modes) -> Any:
    ends = [0, *accumulate(start.decision.sizes)]
    within = next(end for end in ends if end >= start.decision.learnable)
    above = max(end for end in ends if end < within)
    found = [_values(modes.overlaps[:, :within])[start.decision.learnable - 1]]
    return min(found + ([_values(modes.overlaps[:, :above])[above - 1]] if above else []))


def limit(start: ExactStart) -> np.ndarray:
    """Where W2 W1 ends (N_o, N_i)."""
    return _settled(lambda: _limit(start, _modes(start)))


def _limit(start: ExactStart, modes: _Modes) -> np.ndarray:
    found, basis, before = mp.zeros(start.outputs, start.inputs), mp.zeros(start.hidden, 0), 0
    ends = [0, *accumulate(start.decision.sizes)]
    for first, end, rank in zip(ends, ends[1:], start.decision.ranks, strict=False):
        caught, before = rank - before, rank
        if not caught:
            continue
        rest = modes.overlaps[:, first:end]
        for _ in range(2 if basis.cols else 0):
            rest = rest - basis * (basis.T * rest)
        left, sizes, right = _svd(rest)
        _require_digits(sizes[caught - 1])
        right = right[:caught, :]
        turned = modes.u[:, first:end] * mp.diag(modes.s[first:end]) * right.T
        found += turned * (right * modes.v[:, first:end].T)
        basis = _beside(basis, left[:, :caught])
    return np.array(found.tolist(), dtype=object)


def states(times: list[Fraction], start: ExactStart) -> np.ndarray:
    """Q Q^T (T, N_i + N_o, N_i + N_o) at the times t/tau, in float64."""
    return _settled(lambda: _states([_number(t) for t in times], start))


def _states(times: list[Any], start: ExactStart) -> np.ndarray:
    modes = _modes(start)
    rows, lead = _echelon(start, modes)
    growing = [max(r, mp.mpf(0)) for r in modes.rates]
    found = np.empty((len(times), len(growing), len(growing)), dtype=object)
    for k, t in enumerate(times):
        X = mp.matrix(rows.rows, rows.cols)
        for i in range(rows.rows):
            for j in range(rows.cols):
                X[i, j] = rows[i, j] * mp.exp((growing[j] - lead[i]) * t) if rows[i, j] else 0
        kappa = [t if r == 0 else mp.expm1(-2 * abs(r) * t) / (-2 * abs(r)) for r in modes.rates]
        H = X * mp.diag(kappa) * X.T + mp.diag([mp.exp(-2 * g * t) for g in lead])
        fall = mp.diag([mp.exp(min(r, mp.mpf(0)) * t) for r in modes.rates])
        Y = _forward(mp.cholesky(H), X * fall) * modes.vectors.T if rows.rows else mp.zeros(1, len(growing))
        found[k] = np.array((Y.T * Y).tolist(), dtype=object)
    return found


def _echelon(start: ExactStart, modes: _Modes) -> tuple[Any, list[Any]]:
    """The rows of Z V in echelon form, with the growing part of the rate of every pivot."""
    small, places, basis = mp.mpf(10) ** (-mp.mp.dps // 2) * mp.norm(modes.overlaps), [], []  # type: ignore[var-annotated]  # mpmath has no types
    for j in range(modes.overlaps.cols):
        direction = modes.overlaps[:, j]
        for _ in range(2):
            for earlier in basis:
                direction -= earlier * (earlier.T * direction)[0]
        size = mp.norm(direction)
        if size > small:
            basis.append(direction / size)
            places.append(j)
    ends = list(accumulate(start.decision.sizes))
    found = tuple(sum(place < end for place in places) for end in ends)
    if (found, len(places)) != (start.decision.ranks, start.rank):
        raise _MoreDigitsError
    rows = mp.zeros(len(basis), modes.overlaps.cols)
    for i, (direction, place) in enumerate(zip(basis, places, strict=True)):
        for j in range(place, modes.overlaps.cols):
            rows[i, j] = (direction.T * modes.overlaps[:, j])[0]
    return rows, [max(modes.rates[place], mp.mpf(0)) for place in places]


def _modes(start: ExactStart) -> _Modes:
    sigma, half = _matrix(start.sigma), _number(start.offset) / 2
    u, s, v = _svd(sigma)
    s = [s[i] for i in range(sum(start.decision.sizes))]
    u, v = _completed(u[:, : len(s)]), _completed(v.T[:, : len(s)])
    columns, rates = [], []
    for sign in (1, 0, -1):
        if sign == 0:
            columns += [_stack(v[:, i], None, start) for i in range(len(s), start.inputs)]
            columns += [_stack(None, u[:, i], start) for i in range(len(s), start.outputs)]
            rates += [-half] * (start.inputs - len(s)) + [half] * (start.outputs - len(s))
            continue
        for i, size in enumerate(s):
            R = mp.sqrt(size**2 + half**2)
            larger = R + abs(half)
            smaller = size**2 / larger
            cos, sin = (mp.sqrt(x / (2 * R)) for x in ((larger, smaller) if half >= 0 else (smaller, larger)))
            up, down = (sin, cos) if sign > 0 else (cos, -sin)
            columns.append(_stack(v[:, i] * up, u[:, i] * down, start))
            rates.append(sign * R)
    # The row echelon form wants the rates to fall; a direction without a mode may grow as |lambda|/2.
    order = sorted(range(len(rates)), key=lambda i: -rates[i])
    vectors = mp.matrix(len(columns), len(columns))
    for place, i in enumerate(order):
        vectors[:, place] = columns[i]
    weights = [a + list(b) for a, b in zip(start.W1, zip(*start.W2, strict=True), strict=True)]
    return _Modes(u, s, v, vectors, [rates[i] for i in order], _matrix(weights) * vectors)


def _stack(first: Any, second: Any, start: ExactStart) -> Any:
    column = mp.zeros(start.inputs + start.outputs, 1)
    if first is not None:
        column[: start.inputs, 0] = first
    if second is not None:
        column[start.inputs :, 0] = second
    return column


def _completed(x: Any) -> Any:
    """An orthogonal matrix with the orthonormal columns of x, and more behind them."""
    columns = [x[:, i] for i in range(x.cols)]
    while len(columns) < x.rows:
        rests = []
        for i in range(x.rows):
            rest = mp.zeros(x.rows, 1)
            rest[i] = 1
            for _ in range(2):
                for column in columns:
                    rest -= column * (column.T * rest)[0]
            rests.append(rest)
        best = max(rests, key=mp.norm)
        columns.append(best / mp.norm(best))
    found = mp.matrix(x.rows, x.rows)
    for i, column in enumerate(columns):
        found[:, i] = column
    return found


class _MoreDigitsError(ArithmeticError):
    """The precision does not tell what is zero from what is small."""


def _settled(compute: Callable[[], np.ndarray]) -> np.ndarray:
    """The values, rounded to float64, as soon as they no longer depend on the number of digits."""
    digits, before = _DIGITS, None
    while digits <= _MOST:
        with mp.workdps(digits):
            try:
                found = compute()
            except (_MoreDigitsError, ZeroDivisionError, ValueError):
                found = None
            if found is not None and before is not None:
                size = max((abs(x) for x in found.flat), default=0)
                if all(abs(x - y) <= _AGREE * size for x, y in zip(found.flat, before.flat, strict=True)):
                    return found.astype(float)
        before, digits = found, 2 * digits
    raise ArithmeticError(f"the exact flow needs more than {_MOST} digits")


def _require_digits(size: Any) -> None:
    if size < mp.mpf(10) ** (-mp.mp.dps // 2):
        raise _MoreDigitsError


def _svd(x: Any) -> tuple[Any, Any, Any]:
    return mp.svd_r(x) if x.rows >= x.cols else _swapped(mp.svd_r(x.T))


def _swapped(found: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    return found[2].T, found[1], found[0].T


def _values(x: Any) -> list[Any]:
    return list(mp.svd_r(x if x.rows >= x.cols else x.T, compute_uv=False))


def _forward(L: Any, b: Any) -> Any:
    """L^-1 b for a lower triangular L."""
    found = b.copy()
    for i in range(L.rows):
        for j in range(i):
            found[i, :] -= L[i, j] * found[j, :]
        found[i, :] /= L[i, i]
    return found


def _beside(x: Any, y: Any) -> Any:
    found = mp.matrix(y.rows, x.cols + y.cols)
    for i in range(x.cols):
        found[:, i] = x[:, i]
    for i in range(y.cols):
        found[:, x.cols + i] = y[:, i]
    return found


def _matrix(rows: list[list[Fraction]]) -> Any:
    return mp.matrix([[_number(x) for x in row] for row in rows])


def _number(x: Fraction) -> Any:
    return mp.mpf(x.numerator) / x.denominator
