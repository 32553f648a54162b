"""The training loop: where it stops, what its steppers hold, and that each way of taking steps fits into it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from numerics.networks.single_neuron import SingleNeuron
from numerics.training import ensembles, native_steps
from numerics.training.flows import gradient_descent
from numerics.training.linear_descent import descend, random_start, whitened_learner
from numerics.training.loop import Descent, Iterated, increasing, reached
from numerics.training.steppers import Stepper


class Counted:
    """A stepper that notes what it is given."""

    def __init__(self, longest):
        self.longest, self.given = longest, []

    def steps(self, count):
        self.given.append(count)


def test_the_loop_takes_the_steps_between_the_times_and_no_more():
    stepper = Counted(longest=4)
    seen = [(k, sum(stepper.given)) for k in reached(stepper, [0, 1, 1, 11])]
    assert seen == [(0, 0), (1, 1), (1, 1), (11, 11)]
    assert stepper.given == [1, 4, 4, 2]


def test_a_loop_that_is_left_takes_no_further_step():
    stepper = Counted(longest=4)
    for k in reached(stepper, range(100)):
        if k == 3:
            break
    assert sum(stepper.given) == 3


@pytest.mark.parametrize("times", [[-1], [3, 2], [0, 5, 4]])
def test_steps_are_not_taken_back(times):
    with pytest.raises(ValueError, match="taken back"):
        list(reached(Counted(longest=4), times))


@pytest.mark.parametrize("time", [2.5, float("nan"), "2", None])
def test_the_loop_is_at_no_broken_number_of_steps(time):
    stepper = Counted(longest=4)
    with pytest.raises(TypeError, match="integer"):
        list(reached(stepper, [time]))
    assert stepper.given == []


def test_every_parameter_has_a_speed():
    with pytest.raises(ValueError, match="2 parameters need as many speeds, got 1"):
        Descent(lambda: None, [torch.ones(1), torch.ones(1)], [0.1])


@pytest.mark.parametrize("record", [[], [1, 1], [2, 1], [-1, 2], [0, 8], [0.5, 2], [0, 1.5, 7]])
def test_a_record_that_is_none_is_refused(record):
    with pytest.raises(ValueError, match=r"record must increase within 0 \.\. 7"):
        increasing(record, 7)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), "2", None])
def test_a_record_of_what_is_no_number_is_refused(number):
    with pytest.raises(ValueError, match="record must increase"):
        increasing([0, number], 7)


def test_a_record_of_any_kind_of_whole_numbers_is_read():
    for record in (range(0, 8, 7), np.array([0, 7]), (k for k in (0, 7)), [0.0, 7.0]):
        found = increasing(record, 7)
        assert found == [0, 7] and all(type(k) is int for k in found)


def test_what_was_kept_of_steps_in_closed_form_stays_as_it_was():
    start = np.array([1.0, 2.0])
    learner = Iterated(lambda x, k: (x - 0.5 * x, k + 1), [start, 0])
    kept = [learner.state for _ in reached(learner, [0, 1, 3])]
    np.testing.assert_array_equal([x for x, _ in kept], [start, start / 2, start / 8])
    assert [k for _, k in kept] == [0, 1, 3]


def test_descent_by_differentiation_is_descent_in_closed_form():
    generator = np.random.default_rng(0)
    W1, W2 = random_start(4, 3, 2, 1.0, generator)
    sigma = generator.standard_normal((2, 3))
    first, second = descend(W1, W2, sigma, rate=0.05, steps=30, record=[30])
    weights = [torch.tensor(W, requires_grad=True) for W in (W1, W2)]
    goal = torch.as_tensor(sigma)
    stepper = Descent(lambda: 0.5 * ((weights[1] @ weights[0] - goal) ** 2).sum(), weights, [0.05, 0.05])
    assert list(reached(stepper, [30])) == [30]
    for closed, found in zip((first[0], second[0]), weights, strict=True):
        np.testing.assert_allclose(found.detach().numpy(), closed, rtol=1e-12)


@pytest.mark.parametrize("library", [np, torch], ids=["numpy", "torch"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_steps_in_closed_form_keep_the_library_and_the_precision(library, precision):
    dtype = getattr(library, precision)
    W1, W2, sigma = (library.ones(shape, dtype=dtype) for shape in ((4, 3), (2, 4), (2, 3)))
    stepper = whitened_learner(W1, W2, sigma, 0.01)
    for _ in reached(stepper, [5]):
        assert [W.dtype for W in stepper.state] == [dtype, dtype]


SPEED = torch.full((3,), 1e-2, dtype=torch.float64)
WAYS = {
    "torch": lambda part, X, y: Stepper(part, SPEED, X, X.T.contiguous(), y, False),
    "C": lambda part, X, y: native_steps.Native(part, SPEED, native_steps.Blocks.of(X, y)),
}


@pytest.mark.parametrize("name", WAYS)
def test_steppers_of_ensembles_take_the_steps_of_the_loop(name):
    """In the loop a stack learns, to the last digit, what ``ensembles.train`` makes of it."""
    if name == "C" and not native_steps.available(torch.float64):
        pytest.skip("no C compiler")
    generator = torch.Generator().manual_seed(0)
    a, W, X, y = (
        torch.randn(shape, generator=generator, dtype=torch.float64)
        for shape in ((3, 5), (3, 5, 4), (9, 4), (9,))
    )
    start = ensembles.networks(a, W, eta_a=0.5)
    now = start.to(dtype=torch.float64)
    kept = [now.a.clone() for _ in reached(WAYS[name](now, X, y), [10, 60])]
    options = {"step": 1e-2, "observers": {}, "compiled": name == "C", "chunk": 3}
    for found, last in zip(kept, (10, 60), strict=True):
        trained = ensembles.train(start, X, y, checkpoints=[last], **options)
        assert torch.equal(found, trained.networks.a)


def test_descent_goes_on_to_the_last_step_and_shows_only_what_is_recorded():
    network, same = (SingleNeuron(0.5, [1.0, -1.0]) for _ in range(2))
    data = {"X": np.eye(2), "y": np.ones(2), "rates": {"a": 1.0, "w": 1.0}, "step": 0.1, "steps": 6}
    seen = []

    def observe(net):
        seen.append(1)
        return {"a": net.a}

    found = gradient_descent(network, **data, record=[4, 2, 4], observe=observe)
    whole = gradient_descent(same, **data, record=range(7), observe=lambda net: {"a": net.a})
    np.testing.assert_array_equal(found["a"], whole["a"][[2, 4]])
    assert len(seen) == 2 and network.a.item() == whole["a"][-1] == same.a.item()
    assert gradient_descent(network, **data, record=[], observe=observe) == {}
