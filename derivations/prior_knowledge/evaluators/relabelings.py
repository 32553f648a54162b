r"""Which relabelings of a learned task are like its reversal, and how many modes they leave unlearned.

A network has learned sigma = U S V^T from zero-balanced weights, W1 = R sqrt(S) V^T and W2 = U sqrt(S) R^T. Its items
then change their labels by a permutation matrix P: the new task is sigma P = U S (P^T V)^T. The overlaps of the weights
with the modes of the new task are R sqrt(S) B / sqrt(2), B = 1 + V^T P^T V. A vector of the kernel of B is an x in the
row space of sigma with P x = -x, since V^T P^T cannot shorten it and turn it around at once. Where the row space is
everything, the number of missed modes is therefore the multiplicity of the eigenvalue -1 of P, to which each cycle of
even length contributes one and a cycle of odd length nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symdyn.arrays import backends as arrays
from symdyn.arrays.backends import Array
from symdyn.catalogue.implements import implements


@implements("prior_knowledge.relabelings_like_reversal")
def reversal_like(permutation: object, *, check: bool = True) -> Array:
    r"""Whether relabeling a learned task in this way is like reversing it: exactly if a cycle has an even length.

    The exact flow then ends in a saddle and learns all but `missed_modes` of the modes of the new task. A swap of two
    items, or of two branches of a tree, is such a relabeling; a rotation of three items is not.

    Args:
        permutation: numbers 0 .. N-1 in any order (..., N), integers; item k gets the label of item permutation[k]. A
            permutation and its inverse have the same cycles, so that it does not matter which of them is given.
        check: False omits the check of values.

    Returns:
        Booleans (...). They hold for whitened inputs, and for zero-balanced weights that compute a sigma (N_o, N) of
        rank N, which takes N_h >= N and N_o >= N; S need not be simple. If the rank is smaller, or if N_h < N neurons
        have learned the best map of rank N_h, where there is only one, the condition is only necessary: what is missed
        are the x with P x = -x in the row space of the learned map. Gradient descent leaves the saddle by its rounding
        errors; `learnable` estimates when.

    Raises:
        ValueError: not a permutation along the last axis (batch indices named).
        TypeError: data that are no integers, or a call inside a transform of torch.

    Source: braun2022, Sec. 6, which names swaps of neighbours only.

    >>> reversal_like([1, 0, 2, 3]).tolist(), reversal_like([1, 2, 0, 3]).tolist()
    (True, False)
    """
    return missed_modes(permutation, check=check) > 0


@implements("prior_knowledge.relabelings_like_reversal")
def missed_modes(permutation: Any, *, check: bool = True) -> Array:
    r"""How many modes the exact flow never learns after a relabeling: the number of cycles of even length.

    Args:
        permutation: numbers 0 .. N-1 in any order (..., N), integers, as in `reversal_like`.
        check: False omits the check of values.

    Returns:
        Integers (...), under the conditions that `reversal_like` states. At a smaller rank of the learned map they are
        an upper bound.

    Raises:
        ValueError: not a permutation along the last axis (batch indices named).
        TypeError: data that are no integers, or a call inside a transform of torch.

    Source: braun2022, Sec. 6.

    >>> missed_modes([[1, 0, 3, 2], [1, 2, 3, 0], [0, 1, 2, 3]]).tolist()
    [2, 1, 0]
    """
    places = _integers(permutation)
    size = places.shape[-1]
    if check:
        arrays.require(
            "permutation",
            (np.sort(places, -1) == np.arange(size)).all(-1),
            f"the numbers 0 .. {size - 1}, each once",
        )
    found = _even_cycles(places)
    if not arrays.is_tensor(permutation):
        return found
    return arrays.namespace(permutation).as_tensor(found, device=permutation.device)


def _integers(permutation: Any) -> np.ndarray:
    read = arrays.collect(permutation=permutation)
    if read.traced:
        raise TypeError("permutations have values only outside torch.func transforms and torch.compile")
    arrays.check_vector("permutation", read["permutation"])
    places = np.asarray(permutation.detach().cpu() if arrays.is_tensor(permutation) else permutation)
    if places.dtype.kind not in "iu":
        raise TypeError(f"permutation must hold integers; its dtype is {places.dtype}")
    return places.astype(np.int64)


def _even_cycles(places: np.ndarray) -> np.ndarray:
    """The number of cycles of even length (...): each is counted by its smallest item, which is the first to return."""
    start = np.broadcast_to(np.arange(places.shape[-1]), places.shape)
    now, smallest, length = places, start, np.zeros_like(places)
    for step in range(1, places.shape[-1] + 1):
        length = np.where((length == 0) & (now == start), step, length)
        smallest = np.minimum(smallest, now)
        now = np.take_along_axis(places, now, -1)
    return ((length % 2 == 0) & (smallest == start)).sum(-1)
