"""Semantic hierarchies: living things and the features they share (Braun et al. 2022, figures 3 and 6).

Eight things are the leaves of a binary tree of three levels: living things; animals and plants; fish and birds, trees
and flowers; and the things themselves. A feature is +1 for the things below the left branch of its node, −1 below the
right one and 0 elsewhere; the root has one that all things share. There is one feature for each mode of the task, so
that singular vectors and values are known exactly. The published features are not stated; what the figures show
depends on the tree alone (`derivations.prior_knowledge.tree_similarity`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from numerics.measures.arrays import doubles

ITEMS = ("salmon", "sunfish", "robin", "canary", "oak", "pine", "rose", "daisy")
STRENGTHS = (4.0, 3.0, 2.0, 1.0)


def contrasts(order: Sequence[int] | None = None) -> np.ndarray:
    """The modes of a tree of eight things as rows (8, 8), orthonormal: their mean, then the contrast of the two
    branches at every node, from the root down.

    ``order`` lists the things from left to right (default: in the order of their numbers). Raises ValueError unless
    it is a permutation of 0 .. 7.
    """
    order = list(range(8)) if order is None else list(order)
    if sorted(order) != list(range(8)):
        raise ValueError(f"order must be a permutation of 0 .. 7, got {order}")
    rows = [np.ones(8)]
    for width in (8, 4, 2):
        for first in range(0, 8, width):
            row = np.zeros(8)
            row[order[first : first + width // 2]] = 1.0
            row[order[first + width // 2 : first + width]] = -1.0
            rows.append(row)
    return np.array([row / np.linalg.norm(row) for row in rows])


def hierarchy(
    order: Sequence[int] | None = None,
    *,
    strengths: Sequence[float] = STRENGTHS,
    features: np.ndarray | None = None,
) -> np.ndarray:
    """The input-output correlation Σ (8, 8) of a tree, one column a thing and one row a feature, for whitened inputs.

    Σ = F diag(s) C with the modes C of ``contrasts(order)``. ``strengths`` are the singular values s of the mean and
    of the three levels of contrasts, ``features`` the orthonormal directions F in the space of features, one column a
    mode (default: the identity, feature i for mode i). Raises ValueError for wrong shapes.
    """
    if len(strengths) != 4:
        raise ValueError(
            f"strengths must be four numbers, for the mean and three levels: got {len(strengths)}"
        )
    s = np.repeat(*doubles(strengths=strengths), (1, 1, 2, 4))  # type: ignore[call-overload]  # of one array
    F = np.eye(8) if features is None else doubles(features=features)[0]
    if F.ndim != 2 or F.shape[1] != 8 or not np.allclose(F.T @ F, np.eye(8), atol=1e-10):
        raise ValueError(f"features must have 8 orthonormal columns, one a mode; its shape is {F.shape}")
    return (F * s) @ contrasts(order)
