"""The exact solutions of wide linear networks at any precision, and what rounding their input costs.

Written apart from the library, in the plain form of the formulas: with enough digits no care is needed.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np


def matrix(x):
    return mp.matrix([[mp.mpf(value) for value in row] for row in x])


def grown(rate, t):
    """int_0^t e^(rate s) ds."""
    return mp.expm1(rate * t) / rate if rate else t


def _function(symmetric, f):
    values, axes = mp.eigsy(symmetric)
    return axes * mp.diag([f(x) for x in values]) * axes.T


def riccati(t, nu0, C0, gram, delta):
    """[nu, C] from Y = cosh(tR) + (nu0 + delta/2) sinh(tR)/R and the time integral of e^(delta s) Y Y^T."""
    G, start, D0, size = matrix(gram), matrix(nu0), matrix(C0) ** -1, len(gram)
    values, axes = mp.eigsy(G)
    R = [mp.sqrt(abs(x) + delta**2 / 4) for x in values]
    n = axes.T * start * axes + delta / 2 * mp.eye(size)

    def sinh_over(r):
        return mp.sinh(r * t) / r if r else t

    Y = mp.diag([mp.cosh(r * t) for r in R]) + n * mp.diag([sinh_over(r) for r in R])
    slope = mp.diag([r * mp.sinh(r * t) for r in R]) + n * mp.diag([mp.cosh(r * t) for r in R])
    cc, cs, ss = [], [], []
    for r in R:
        up, flat, down = grown(delta + 2 * r, t), grown(delta, t), grown(delta - 2 * r, t)
        cc.append((up + 2 * flat + down) / 4)
        cs.append((up - down) / (4 * r))
        ss.append((up - 2 * flat + down) / (4 * r * r))
    mixed = n * mp.diag(cs)
    integral = mp.diag(cc) + mixed + mixed.T + n * mp.diag(ss) * n.T
    C = mp.exp(delta * t) * (Y.T * (axes.T * D0 * axes + 2 * integral) ** -1 * Y)
    nu = Y**-1 * slope - delta / 2 * mp.eye(size)
    return [axes * nu * axes.T, axes * C * axes.T]


def flow(t, A, W, beta_star, eta_a, eta_w):
    """[beta, A^T A, W^T W] from Z^T Z, with delta the mean of the balance."""
    a, w = mp.sqrt(eta_w) * matrix(A), mp.sqrt(eta_a) * matrix(W)
    b = mp.sqrt(eta_a * eta_w) * matrix(beta_star)
    h, c, d = a.rows, a.cols, w.cols
    balance = a * a.T - w * w.T
    half = mp.fsum(balance[i, i] for i in range(h)) / (2 * h)
    F = mp.matrix(c + d, c + d)
    Z = mp.matrix(h, c + d)
    for i in range(c):
        F[i, i] = half
        Z[:, i] = a[:, i]
    for i in range(d):
        F[c + i, c + i] = -half
        Z[:, c + i] = w[:, i]
        for j in range(c):
            F[c + i, j] = F[j, c + i] = b[i, j]
    growth = _function(F, lambda x: mp.exp(x * t))
    integral = _function(F, lambda x: grown(2 * x, t))
    total = growth * Z.T * (mp.eye(h) + Z * integral * Z.T) ** -1 * Z * growth
    return [total[c:, :c] / mp.sqrt(eta_a * eta_w), total[:c, :c] / eta_w, total[c:, c:] / eta_a]


def with_sensitivity(function, arguments, symmetric=()):
    """The value, and sum_i |x_i dy/dx_i| over all entries of all arguments, as float arrays.

    Entries of the arguments listed in `symmetric` move with their mirror image.
    """
    plain = [np.array(x, dtype=object) for x in arguments]
    exact = [np.vectorize(lambda v: mp.mpf(float(v)), otypes=[object])(x) for x in plain]
    base = _flat(function(*map(_rows, exact)))
    total = [mp.mpf(0)] * len(base)
    step = mp.mpf(10) ** (-mp.mp.dps // 3)
    for position, x in enumerate(exact):
        for index in np.ndindex(x.shape):
            if x[index] == 0 or (position in symmetric and index[0] > index[1]):
                continue
            moved = x.copy()
            moved[index] = x[index] * (1 + step)
            if position in symmetric:
                moved[index[::-1]] = moved[index]
            changed = _flat(function(*map(_rows, [*exact[:position], moved, *exact[position + 1 :]])))
            total = [s + abs(m - b) / step for s, m, b in zip(total, changed, base, strict=True)]
    return base, total


def _rows(x):
    return x.item() if x.ndim == 0 else x.tolist()


def _flat(matrices):
    return [m[i, j] for m in matrices for i in range(m.rows) for j in range(m.cols)]
