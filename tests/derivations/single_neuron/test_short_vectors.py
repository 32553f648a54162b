r"""Networks so small that ‖β‖² is no floating-point number: what scales, scales exactly.

With β and δ scaled by s, κ = √(δ² + 4 η_a η_w‖β‖²) is scaled by s, and everything else by a power of s.
"""

import numpy as np
import pytest
import torch

import symdyn

SHORT = 2.0**-664
"""1e-200, of which the half powers are exact."""

POWERS = {
    "preconditioner": 1,
    "readout_square": 1,
    "input_weights_square": 1,
    "absorbed_function_dynamics": 1,
    "grad_potential": 0.5,
    "hess_potential": -0.5,
    "time_warp": 0.5,
    "linear_term": 0.5,
    "kernel_distance": 0,
    "polar_coordinates": 0,
}
SCALED = ("beta", "beta0", "delta", "kernel1", "kernel2", "w", "beta_star")


def arguments(key):
    """Of all signs of the balance; vectors in three dimensions."""
    rng = np.random.default_rng(1)
    names = [argument.name for argument in symdyn.load(key).arguments]
    given = {name: rng.normal(size=(3, 3)) for name in names}
    numbers = {
        "delta": np.array([0.7, 0.0, -0.7]),
        "a": np.ones(3),
        "eta_a": np.full(3, 0.5),
        "eta_w": np.full(3, 2.0),
    }
    return given | {name: value for name, value in numbers.items() if name in names}


def scaled(given, s):
    return {name: s * value if name in SCALED else value for name, value in given.items()}


def last(found):
    """The value; of the polar coordinates the cosine."""
    return found[-1] if isinstance(found, tuple) else found


@pytest.mark.parametrize("name", POWERS)
def test_values_scale_down_to_vectors_whose_square_underflows(name):
    result, given = symdyn.load(f"single_neuron.{name}"), arguments(f"single_neuron.{name}")
    expected, short = last(result(**given)), last(result(**scaled(given, SHORT)))
    np.testing.assert_allclose(short / SHORT ** POWERS[name], expected, rtol=4e-14)
    mixed = {k: np.stack([v, scaled(given, SHORT)[k]]) for k, v in given.items()}
    np.testing.assert_allclose(last(result(**mixed)), np.stack([expected, short]), rtol=1e-13)
    tensors = {k: torch.tensor(v) for k, v in scaled(given, SHORT).items()}
    np.testing.assert_allclose(last(result(**tensors)), short, rtol=4e-14)


@pytest.mark.parametrize("name", [name for name, power in POWERS.items() if power in (0, 1)])
def test_gradients_scale_down_to_vectors_whose_square_underflows(name):
    result, given = symdyn.load(f"single_neuron.{name}"), arguments(f"single_neuron.{name}")
    vector = next(k for k in given if k in SCALED and k != "delta")

    def gradient(s):
        tensors = {k: torch.tensor(v) for k, v in scaled(given, s).items()}
        tensors[vector].requires_grad_()
        found = torch.autograd.grad(last(result(**tensors)).sum(), tensors[vector])[0]
        return found * s ** (1 - POWERS[name])

    np.testing.assert_allclose(gradient(SHORT), gradient(1.0), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("make", [np.asarray, torch.as_tensor])
def test_inverses_and_powers_of_lengths_scale_as_well(make):
    beta, delta = arguments("single_neuron.preconditioner")["beta"], np.array([0.7, 0.0, 0.3])
    inverse = symdyn.load("single_neuron.inverse_preconditioner")
    short = inverse(make(SHORT * beta), make(SHORT * delta))
    np.testing.assert_allclose(short * SHORT, inverse(beta, delta), rtol=4e-14)
    for name, power in (("rich_preconditioner", 1), ("rich_inverse", -1), ("rich_potential", 1.5)):
        rich = symdyn.load(f"deep_linear.{name}")
        found = rich(beta=make(SHORT * beta), L=1) / SHORT**power
        np.testing.assert_allclose(found, rich(beta=beta, L=1), rtol=1e-12)
