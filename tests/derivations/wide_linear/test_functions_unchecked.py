"""Without checks what is out of domain is NaN, and no other member of the batch notices."""

import numpy as np
import pytest
import torch

from derivations.wide_linear import (
    conserved,
    hyperbolic_entropy,
    hyperbolic_entropy_gradient,
    hyperbolic_entropy_hessian,
    isotropic_flow,
    isotropic_init,
    isotropic_preconditioner,
    matrix_riccati,
    neuron_preconditioners,
    neuron_sum,
    preconditioner,
    signed_svd_path,
)

GOOD, BAD, SIZE = [0, 2], 1, 3
RNG = np.random.default_rng(0)
A, W = isotropic_init(SIZE, SIZE, SIZE, 0.3, RNG, batch=3)
TASK = RNG.normal(size=(3, SIZE, SIZE))
GRAM = TASK.swapaxes(-1, -2) @ TASK
RATES = {"eta_a": np.array([0.5, 0.4, 0.3]), "eta_w": np.array(1.2)}
WEIGHTS = {"A": A, "W": W, **RATES}
SCALARS = {"x": RNG.normal(size=3), "delta": np.array([0.5, -0.3, 0.2]), **RATES}
BETAS = W[..., :, :, None] * A[..., :, None, :]
PATH = TASK[:, None] + np.linspace(0, 0.1, 4)[:, None, None]
CASES = [
    (conserved, WEIGHTS),
    (preconditioner, WEIGHTS),
    (neuron_sum, WEIGHTS),
    (neuron_preconditioners, {"betas": BETAS, "deltas": RNG.normal(size=(3, SIZE)), **RATES}),
    (isotropic_preconditioner, {"beta": TASK, "delta": np.array([0.4, 0.0, -0.4]), **RATES}),
    (
        matrix_riccati,
        {"t": np.array(0.4), "nu0": 0.3 * TASK, "C0": GRAM, "gram": GRAM, "delta": np.array(0.3)},
    ),
    (isotropic_flow, {"t": np.array(0.4), "A": A, "W": W, "beta_star": TASK}),
    (hyperbolic_entropy, SCALARS),
    (hyperbolic_entropy_gradient, SCALARS),
    (hyperbolic_entropy_hessian, SCALARS),
    (signed_svd_path, {"beta": PATH}),
]
EACH = [
    pytest.param(function, given, name, id=f"{function.__name__}-{name}")
    for function, given in CASES
    for name in given
    if np.ndim(given[name])
]


def parts(found):
    return found if isinstance(found, tuple) else (found,)


def spoiled(given, name, value):
    """The arguments with an entry of the bad member of one of them replaced, in all its parts if it has some."""
    changed = given[name].copy()
    changed[BAD, ..., *(0,) * min(2, changed.ndim - 1)] = value
    return {**given, name: changed}


@pytest.mark.parametrize("convert", [np.asarray, torch.tensor], ids=["numpy", "torch"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(("function", "given", "name"), EACH)
def test_a_member_that_is_not_finite_is_nan_and_the_others_are_what_they_are_alone(
    function, given, name, value, convert
):
    found = function(**{n: convert(x) for n, x in spoiled(given, name, value).items()}, check=False)
    alone = function(**{n: x[GOOD] if np.ndim(x) else x for n, x in given.items()})
    for mine, expected in zip(parts(found), parts(alone), strict=True):
        np.testing.assert_allclose(np.asarray(mine)[GOOD], expected, rtol=1e-12, atol=1e-13)
        # of a neuron that is not finite, the others of its network still have their preconditioners
        inside = np.asarray(mine)[BAD, 0] if name == "deltas" else np.asarray(mine)[BAD]
        assert np.isnan(inside).all()


@pytest.mark.parametrize(
    ("function", "given", "name"), [case for case in EACH if case.values[0] is not signed_svd_path]
)
def test_gradients_of_the_others_are_right_also_in_what_they_share_with_it(function, given, name):
    shared = {n: np.asarray(x) if np.ndim(x) == 0 or n == name else x[0] for n, x in given.items()}

    def gradients(arguments, members):
        tensors = {n: torch.tensor(x, dtype=torch.float64, requires_grad=True) for n, x in arguments.items()}
        found = parts(function(**tensors, check=False))
        return torch.autograd.grad(sum((x[members] ** 2).sum() for x in found), list(tensors.values()))

    with_bad = gradients(spoiled(shared, name, np.nan), GOOD)
    alone = gradients({**shared, name: shared[name][GOOD]}, [0, 1])
    for key, mine, expected in zip(shared, with_bad, alone, strict=True):
        torch.testing.assert_close(mine[GOOD] if key == name else mine, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (isotropic_preconditioner, {"beta": np.eye(2), "delta": 1.0, "eta_a": -1.0}),
        (isotropic_flow, {"t": -1.0, "A": np.eye(2), "W": np.eye(2), "beta_star": np.eye(2)}),
        (isotropic_flow, {"t": 1.0, "A": np.eye(2), "W": np.eye(2), "beta_star": np.eye(2), "eta_w": 0.0}),
        (matrix_riccati, {"t": np.inf, "nu0": [[0.0]], "C0": [[1.0]], "gram": [[1.0]], "delta": 0.0}),
        (matrix_riccati, {"t": 1.0, "nu0": [[0.0]], "C0": [[1.0]], "gram": [[-1.0]], "delta": 0.0}),
        (matrix_riccati, {"t": 1.0, "nu0": [[0.0]], "C0": [[-1.0]], "gram": [[1.0]], "delta": 0.0}),
        (
            matrix_riccati,
            {"t": 1.0, "nu0": 0 * np.eye(2), "C0": np.eye(2), "gram": [[1, 5], [0, 1]], "delta": 0},
        ),
        (neuron_preconditioners, {"betas": np.zeros((1, 2, 2)), "deltas": [1.0]}),
        (neuron_sum, {"A": [[0.0, 0.0], [1.0, 0.0]], "W": np.eye(2)}),
        (hyperbolic_entropy, {"x": 1.0, "delta": 0.0}),
    ],
)
def test_what_is_finite_and_out_of_domain_is_refused_or_nan(function, given):
    with pytest.raises(ValueError, match="must be"):
        function(**given)
    assert all(np.isnan(x).all() for x in parts(function(**given, check=False)))


def test_a_time_out_of_domain_leaves_the_other_times():
    flow = isotropic_flow([0.5, -1.0, np.inf], A, W, TASK, check=False)
    nu, C = matrix_riccati([0.5, -1.0, np.inf], TASK, GRAM, GRAM, 0.3, check=False)
    for found in (*flow, nu, C):
        assert np.isfinite(found[:, 0]).all() and np.isnan(found[:, 1:]).all()
    np.testing.assert_array_equal(flow.beta[:, 0], isotropic_flow(0.5, A, W, TASK).beta)


def test_inside_a_transform_nothing_can_be_refused_and_a_bad_member_is_nan():
    beta = torch.tensor(spoiled({"beta": TASK}, "beta", np.nan)["beta"])
    found = torch.vmap(lambda x: isotropic_preconditioner(x, 0.3))(beta)
    assert found[BAD].isnan().all()
    torch.testing.assert_close(found[GOOD], isotropic_preconditioner(beta[GOOD], 0.3))
