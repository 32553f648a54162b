"""Stacks of linear networks of different sizes, and what is observed of them."""

from __future__ import annotations

import numpy as np
import torch

from numerics.training.linear_descent import descend, random_start, whitened_inputs
from numerics.training.linear_ensembles import QUANTITIES, observed, padded, unexplained

SIZES = [(3, 2, 4), (2, 5, 3), (6, 3, 3)]


def test_networks_of_different_sizes_train_in_one_stack_as_they_do_alone():
    generator = np.random.default_rng(0)
    starts = [random_start(*sizes, 0.8, generator) for sizes in SIZES]
    tasks = [generator.standard_normal((N_o, N_i)) for _, N_i, N_o in SIZES]
    options = {"rate": 0.02, "steps": 200, "record": [0, 100, 200]}
    first, second = descend(
        padded([W1 for W1, _ in starts]), padded([W2 for _, W2 in starts]), padded(tasks), **options
    )
    for k, (sizes, start, task) in enumerate(zip(SIZES, starts, tasks, strict=True)):
        N_h, N_i, N_o = sizes
        W1, W2 = descend(*start, task, **options)
        np.testing.assert_allclose(first[k, :, :N_h, :N_i], W1, atol=1e-13)
        np.testing.assert_allclose(second[k, :, :N_o, :N_h], W2, atol=1e-13)
        assert not first[k, :, N_h:].any() and not first[k, :, :, N_i:].any()
        assert not second[k, :, N_o:].any() and not second[k, :, :, N_h:].any()


def test_what_is_observed_is_what_the_data_say():
    """The loss is the average over the data, the kernel J Jᵀ for the Jacobian of all outputs by autograd."""
    generator = np.random.default_rng(1)
    X, Y = whitened_inputs(3, 5, generator), generator.standard_normal((2, 5))
    W1, W2 = random_start(4, 3, 2, 1.0, generator)
    found = observed(W1[None], W2[None], X, Y)
    assert tuple(found) == QUANTITIES

    def output(first, second):
        return (second @ first @ torch.as_tensor(X)).reshape(-1)

    weights = tuple(torch.as_tensor(value) for value in (W1, W2))
    J = torch.cat([part.reshape(10, -1) for part in torch.autograd.functional.jacobian(output, weights)], 1)
    np.testing.assert_allclose(found["ntk"][0], (J @ J.T).numpy(), atol=1e-12)
    np.testing.assert_allclose(found["function"][0], output(*weights).reshape(2, 5).numpy(), atol=1e-12)
    np.testing.assert_allclose(found["loss"][0], 0.5 * ((W2 @ W1 @ X - Y) ** 2).sum() / 5, rtol=1e-12)
    np.testing.assert_allclose(found["inputs"][0], W1.T @ W1)
    np.testing.assert_allclose(found["readouts"][0], W2 @ W2.T)


def test_what_no_linear_map_explains_is_the_rest_of_least_squares():
    generator = np.random.default_rng(2)
    X, Y = whitened_inputs(3, 6, generator), generator.standard_normal((2, 6))
    fit = np.linalg.lstsq(X.T, Y.T, rcond=None)[0].T
    np.testing.assert_allclose(unexplained(X, Y), ((Y - fit @ X) ** 2).sum() / 6, rtol=1e-12)
