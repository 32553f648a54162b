"""Two coupled modes in training: their connections, and when the coupling between them is largest (Braun et al. 2022,
figures 4C to 4F).

A network W1 = AṼᵀ, W2 = ŨAᵀ learns the task ŨS̃Ṽᵀ (2, 2). Its connections are the entries of AᵀA = ŨᵀW2W1Ṽ: a₁ and a₂
within the modes, and b across them. Curves are arrays (K, T), of K networks at T times.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from numerics.measures.arrays import loose, plain, require_some
from numerics.training.linear_descent import descend

LEARNED = 0.95


def connections(gram: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """a₁, a₂ and b (...) of symmetric matrices (..., 2, 2)."""
    (gram,) = plain(gram=gram)
    return gram[..., 0, 0], gram[..., 1, 1], gram[..., 0, 1]


def trained(
    A: np.ndarray, U: np.ndarray, s: np.ndarray, V: np.ndarray, *, rate: float, spacing: float, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """a₁, a₂ and b (K, count + 1) of networks A (K, 2, 2) trained at the rate η, every ``spacing`` units of time.

    The task is U diag(s) V with U, V (2, 2), as ``numpy.linalg.svd`` gives them. Raises ValueError unless ``spacing``
    is a multiple of the rate.
    """
    A, U, s, V = plain(A=A, U=U, s=s, V=V)
    every = round(spacing / rate)
    if every < 1 or abs(every * rate / spacing - 1) > 1e-9:
        raise ValueError(f"spacing must be a multiple of the rate: {spacing} is not one of {rate}")
    record = range(0, count * every + 1, every)
    first, second = descend(
        A @ V, U @ A.swapaxes(-1, -2), (U * s) @ V, rate=rate, steps=count * every, record=record
    )
    return connections(U.T @ second @ first @ V.T)


def mean_deviation(found: Sequence[np.ndarray], exact: Sequence[np.ndarray]) -> float:
    """The largest deviation of a₁, a₂ and b (K, T) from exact ones, in units of each network's own largest value: the
    mean over networks.
    """
    found, exact = (plain(**dict(zip(("a1", "a2", "b"), curves, strict=True))) for curves in (found, exact))
    gap = np.max([np.abs(one - other) for one, other in zip(found, exact, strict=True)], 0)
    scale = np.max([np.abs(other) for other in exact], 0)
    return float((gap.max(-1) / scale.max(-1)).mean())


def peak_time(times: np.ndarray, b: np.ndarray) -> np.ndarray:
    """When |b| (K, T) is largest, (K,): the vertex of the parabola through the three highest points at equally spaced
    times, and the first or last time where |b| is largest there.
    """
    times, b = plain(times=times, b=b)
    require_some(times=times)
    if b.ndim != 2:
        raise ValueError(f"b must be (K, T), of K networks at T times: it is {b.shape}")
    size, network = np.abs(b), np.arange(len(b))
    top = size.argmax(-1)
    inner = np.clip(top, 1, len(times) - 2)
    low, middle, high = (size[network, inner + shift] for shift in (-1, 0, 1))
    bend = low - 2 * middle + high
    vertex = times[inner] + (times[1] - times[0]) * (low - high) / (2 * np.where(bend == 0, 1.0, bend))
    return np.where((top == inner) & (bend < 0), vertex, times[top])


def printed_peak(a1: np.ndarray, a2: np.ndarray, b: np.ndarray, s: np.ndarray) -> np.ndarray:
    """τ/(4s) ln(s(s − a₁ − a₂)/Δ) for τ = 1 and Δ = a₁a₂ − b², as printed; NaN where it is no number."""
    a1, a2, b, s = loose(a1=a1, a2=a2, b=b, s=s)
    with np.errstate(invalid="ignore"):
        return np.log(s * (s - a1 - a2) / (a1 * a2 - b * b)) / (4 * s)


def largest_rise(size: np.ndarray) -> np.ndarray:
    """How far curves (K, T) ever rise above an earlier value, (K,)."""
    (size,) = plain(size=size)
    return (size - np.minimum.accumulate(size, -1)).max(-1)


def learned_time(times: np.ndarray, a1: np.ndarray, a2: np.ndarray, s: np.ndarray) -> list[float | None]:
    """From when on both modes are within 5 % of their singular values s (2,) for good; None where they never are."""
    times, a1, a2, s = plain(times=times, a1=a1, a2=a2, s=s)
    require_some(times=times, s=s)
    parts = a1 / s[0], a2 / s[1]
    learned = (np.minimum(*parts) >= LEARNED) & (np.maximum(*parts) <= 2 - LEARNED)
    first = np.where(learned.all(-1), 0, learned.shape[-1] - (~learned)[:, ::-1].argmax(-1))
    return [float(times[place]) if held[-1] else None for held, place in zip(learned, first, strict=True)]


def at_moments(times: np.ndarray, curves: Iterable[np.ndarray], moments: Iterable[float]) -> np.ndarray:
    """Curves (K, T) at one moment each, (K,)."""
    times, curves, moments = plain(times=times, curves=curves, moments=moments)
    return np.array([np.interp(t, times, curve) for t, curve in zip(moments, curves, strict=True)])


def interpolated(shown: np.ndarray, times: np.ndarray, curves: Iterable[Iterable[np.ndarray]]) -> np.ndarray:
    """a₁, a₂ and b at other times, (3, K, points)."""
    shown, times = plain(shown=shown, times=times)
    curves = plain(**dict(zip(("a1", "a2", "b"), curves, strict=True)))
    return np.array([[np.interp(shown, times, one) for one in curve] for curve in curves])


def numbers_or_none(times: Iterable[float]) -> list[float | None]:
    """Times as they are stored: None for what is no number."""
    (times,) = plain(times=times)
    return [float(t) if math.isfinite(t) else None for t in times]
