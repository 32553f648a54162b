"""Ensembles: each network learns as if it were alone, to the published numbers, and survives interruptions."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
import torch

from numerics.lab.order import fit_order, has_order
from numerics.networks.two_layer import TwoLayer
from numerics.tasks.teacher_student import draw_task, held_out, outputs, students
from numerics.training import steppers
from numerics.training.ensembles import log_checkpoints, networks, train
from numerics.training.flows import gradient_descent
from numerics.training.observers import (
    delta_drift,
    hamming_distance,
    mean_square,
    parameter_distance,
    standard_observers,
)
from numerics.training.steppers import UNROLLED, Graphed, Stepper

SIZES = {"d": 5, "h": 6, "k": 2, "n": 12}
TAU, DELTA = np.array([0.3, 1.0, 0.6, 0.3, 0.5]), np.array([1.0, 0.0, -1.0, -0.2, 0.4])
RATES = {"eta_a": np.array([1.0, 2.0, 0.5, 1.0, 3.0]), "eta_w": np.array([1.0, 0.5, 0.5, 2.0, 1.0])}
STEP = np.array([0.02, 0.01, 0.03, 0.02, 0.01])


@pytest.fixture
def task():
    return draw_task(7, **SIZES)


def stack(task, gamma=0.0):
    return networks(*students(task, TAU, DELTA), **RATES, gamma=gamma)


def learn(task, gamma=0.0, *, last=40, **options):
    settings = {"step": STEP, "checkpoints": [0, 10, last], "observers": {"moved": parameter_distance}}
    return train(stack(task, gamma), task.X, task.y, **(settings | options))


@pytest.mark.parametrize("gamma", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("chunk", [None, 2])
def test_each_network_of_an_ensemble_learns_as_if_it_were_alone(task, gamma, chunk):
    """Against automatic differentiation of a torch network, one at a time."""
    found = learn(task, gamma, chunk=chunk, threads=2).networks
    start = stack(task, gamma)
    for place in range(len(TAU)):
        alone = TwoLayer(start.a[place], start.W[place], gamma)
        gradient_descent(
            alone,
            task.X,
            task.y,
            rates={"a": RATES["eta_a"][place], "W": RATES["eta_w"][place]},
            step=STEP[place],
            steps=40,
            record=[],
            observe=None,
        )
        torch.testing.assert_close(found.a[place], alone.a.detach(), rtol=1e-11, atol=1e-13)
        torch.testing.assert_close(found.W[place], alone.W.detach(), rtol=1e-11, atol=1e-13)
    assert (found.a - start.a).abs().max() > 1e-2


@pytest.mark.parametrize("gamma", [0.0, 0.1])
def test_the_fused_activation_gives_the_same_numbers(task, gamma, monkeypatch):
    monkeypatch.setattr(steppers, "_compiled_gates", lambda: steppers._plain_gates)
    start, plain = stack(task, gamma), learn(task, gamma)
    data = [value.contiguous() for value in (task.X, task.X.T, task.y)]
    Stepper(start, torch.as_tensor(STEP), *data, compiled=True).steps(40)
    torch.testing.assert_close(start.W, plain.networks.W, rtol=1e-12, atol=1e-14)


def test_neurons_on_the_edge_are_active():
    """σ′(0) = 1: a neuron whose input is exactly zero takes part, as in the published program."""
    start = networks(torch.ones(1, 1).double(), torch.zeros(1, 1, 2).double())
    found = train(start, torch.eye(2), torch.ones(2), step=0.1, checkpoints=[1], observers={})
    assert found.networks.W.tolist() == [[[0.1, 0.1]]]


def test_float32_stays_near_float64_and_is_observed_in_float64(task):
    single, double = learn(task, dtype=torch.float32), learn(task)
    assert single.networks.a.dtype == torch.float32 and single.measured["moved"].dtype == np.float64
    np.testing.assert_allclose(single.measured["moved"], double.measured["moved"], rtol=1e-4)
    assert not np.array_equal(single.measured["moved"], double.measured["moved"])


def test_the_balance_drifts_at_first_order_in_the_step(task):
    drifts = []
    for halvings in range(4):
        count = 500 * 2**halvings
        settings = {"step": STEP / 2**halvings, "checkpoints": [count], "observers": {"drift": delta_drift}}
        drifts.append(train(stack(task), task.X, task.y, **settings).measured["drift"][:, 0])
    fits = [fit_order(0.5 ** np.arange(4), column) for column in np.transpose(drifts)]
    assert all(has_order(*fit) for fit in fits), fits


def test_a_run_that_was_stopped_goes_on_from_its_last_checkpoint(task, tmp_path):
    whole = learn(task, threads=1, dtype=torch.float32)
    seen = []

    def stopping(start, now):
        seen.append(len(now))
        if len(seen) == 4:  # Once of a fixed network, by which it is known again.
            raise KeyboardInterrupt
        return parameter_distance(start, now)

    with pytest.raises(KeyboardInterrupt):
        learn(task, threads=1, dtype=torch.float32, observers={"moved": stopping}, resume=tmp_path)
    steps = []
    original = Stepper.steps
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stepper, "steps", lambda self, count: (steps.append(count), original(self, count)))
        resumed = learn(task, threads=1, dtype=torch.float32, resume=tmp_path)
    assert steps == [30]
    assert torch.equal(resumed.networks.W, whole.networks.W)
    np.testing.assert_array_equal(resumed.measured["moved"], whole.measured["moved"])


@pytest.mark.parametrize(
    "change",
    [
        {"step": 0.5 * STEP},
        {"dtype": torch.float32},
        {"last": 50},
        {"observers": {"moved": delta_drift}},
        {"observers": {"distance": parameter_distance}},
    ],
)
def test_the_state_of_another_run_is_refused(task, tmp_path, change):
    learn(task, resume=tmp_path)
    with pytest.raises(ValueError, match="state of another run"):
        learn(task, **({"resume": tmp_path} | change))


def test_the_same_measure_of_other_data_is_another_observer(task, tmp_path):
    def loss(X, y):
        return {"observers": {"loss": mean_square(X, y)}, "resume": tmp_path}

    first = learn(task, **loss(task.X, task.y))
    again = learn(task, **loss(task.X.clone(), task.y))
    np.testing.assert_array_equal(again.measured["loss"], first.measured["loss"])
    with pytest.raises(ValueError, match="state of another run"):
        learn(task, **loss(task.X, task.y + 1e-3))


def test_observers_of_neurons_and_of_whole_weights_are_known_again(task, tmp_path):
    observers = {"weights": lambda start, now: now.W, "signs": lambda start, now: now.a > 0}
    first = learn(task, observers=observers, resume=tmp_path)
    again = learn(task, observers=dict(observers), resume=tmp_path)
    assert first.measured["weights"].shape == (*stack(task).W.shape, 3)
    np.testing.assert_array_equal(again.measured["signs"], first.measured["signs"])
    with pytest.raises(ValueError, match="state of another run"):
        learn(task, observers=observers | {"weights": lambda start, now: 2 * now.W}, resume=tmp_path)


def test_a_broken_state_is_named(task, tmp_path):
    learn(task, resume=str(tmp_path))
    (tmp_path / "state.npz").write_bytes(b"not an archive")
    with pytest.raises(ValueError, match=r"state\.npz is broken .* remove it to begin anew"):
        learn(task, resume=tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"chunk": -1}, "chunk must be at least 1, got -1"),
        ({"threads": 0}, "threads must be at least 1, got 0"),
        ({"checkpoints": [0.5, 1]}, r"increasing step numbers from 0 on, got \[0\.5, 1\]"),
        ({"checkpoints": []}, "increasing step numbers"),
    ],
)
def test_counts_that_are_none_are_refused(task, change, message):
    with pytest.raises(ValueError, match=message):
        learn(task, **change)


@pytest.mark.parametrize("empty", ["networks", "neurons", "data"])
def test_nothing_to_train_is_refused(task, empty):
    start = stack(task)
    if empty != "data":
        part = slice(0) if empty == "networks" else (slice(None), slice(0))
        rates = {} if empty == "networks" else RATES
        start = networks(start.a[part], start.W[part], **rates)
    count = 0 if empty == "data" else len(task.X)
    with pytest.raises(ValueError, match="at least one network, neuron, input and datum is needed"):
        train(start, task.X[:count], task.y[:count], step=0.1, checkpoints=[1], observers={})


def test_data_that_require_gradients_and_whole_numbers_of_any_kind_are_taken(task):
    X = task.X.clone().requires_grad_()
    found = learn(task, checkpoints=np.array([0.0, 10.0, 40.0]))
    other = train(stack(task), X, task.y, step=STEP, checkpoints=[0, 10, 40], observers={})
    assert torch.equal(found.networks.W, other.networks.W)


def test_weights_of_any_layout_are_taken(task):
    a, W = students(task, TAU, DELTA)
    strided = networks(a.T.contiguous().T, W.transpose(1, 2).contiguous().transpose(1, 2), **RATES)
    found = train(strided, task.X, task.y, step=STEP, checkpoints=[40], observers={})
    torch.testing.assert_close(found.networks.W, learn(task).networks.W, rtol=1e-13, atol=1e-15)


def test_threads_of_torch_are_left_as_they_were(task):
    before = torch.get_num_threads()
    learn(task, threads=1)
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"checkpoints": [10, 5]}, "increasing step numbers"),
        ({"checkpoints": []}, "increasing step numbers"),
        *[({"checkpoints": [0, bad]}, "increasing step numbers") for bad in (np.nan, np.inf, 0.5, "1")],
        *[
            ({"dtype": dtype}, f"in torch.float32 or torch.float64, not in {dtype}")
            for dtype in (torch.float16, torch.bfloat16, torch.int32)
        ],
        ({"observers": {"one": lambda start, now: now.a.mean()}}, r"'one' returned the shape \(\) for"),
        ({"observers": {"two": lambda start, now: now.a[:1, 0]}}, r"'two' returned the shape \(1,\) for"),
        ({"step": np.ones(3)}, r"step must be a scalar or \(5,\)"),
    ],
)
def test_settings_that_do_not_fit_are_refused(task, change, message):
    with pytest.raises(ValueError, match=message):
        learn(task, **change)


def test_data_and_networks_that_do_not_fit_are_refused(task):
    with pytest.raises(ValueError, match=r"X must be \(n, 5\)"):
        train(stack(task), task.X.T, task.y, step=STEP, checkpoints=[1], observers={})
    with pytest.raises(ValueError, match=r"a must be \(B, h\)"):
        networks(torch.ones(2, 3), torch.ones(2, 4, 5))


@pytest.mark.parametrize("gamma", [1.5, np.nan])
def test_a_slope_above_one_is_refused(gamma):
    with pytest.raises(ValueError, match="gamma must be a number up to 1"):
        networks(torch.ones(2, 3), torch.ones(2, 3, 4), gamma=gamma)


def test_lists_are_read_with_all_of_their_digits():
    generator = np.random.default_rng(4)
    numbers = [generator.standard_normal(shape) for shape in ((2, 3), (2, 3, 4), (5, 4), 5)]
    found = []
    for a, W, X, y in (numbers, [value.tolist() for value in numbers]):
        run = train(
            networks(a, W), X, y, step=0.01, checkpoints=[20], observers={"moved": parameter_distance}
        )
        found.append(run.measured["moved"])
    np.testing.assert_array_equal(*found)


def test_every_measure_of_a_network_that_diverged_is_nan_and_of_no_other(task):
    data = torch.as_tensor(task.X), torch.as_tensor(task.y)
    step = STEP * np.array([1, 1e6, 1, 1, 1])
    found = learn(task, step=step, last=500, observers=standard_observers(*data, *data)).measured
    for name, values in found.items():
        assert np.isfinite(values[:, 0]).all(), name
        assert np.isnan(values[:, -1]).tolist() == [False, True, False, False, False], name


def test_signs_that_are_not_known_of_one_neuron_are_not_counted():
    start = networks(np.ones((2, 3)), np.ones((2, 3, 2)))
    now = networks(np.ones((2, 3)), np.where(np.arange(12).reshape(2, 3, 2) == 4, np.nan, -1.0))
    assert np.array_equal(
        hamming_distance(torch.ones(5, 2).double())(start, now), [np.nan, 3.0], equal_nan=True
    )


def test_checkpoints_are_logarithmic_and_end_with_the_last_step():
    assert log_checkpoints(1000) == [0, 10, 100, 1000]
    assert log_checkpoints(2500) == [0, 10, 100, 1000, 2500]
    assert log_checkpoints(100, per_decade=2) == [0, 3, 10, 32, 100]


ANCHORS = {
    ("test_loss", 0.1, 1.0): 0.0015167659,
    ("kernel_distance", 0.1, 0.375): 0.2385023795,
    ("kernel_distance", 0.3705, -1.0): 3.14936e-5,
    ("parameter_distance", 1.995, -1.0): 0.0211254028,
    ("parameter_distance", 0.1, 0.125): 0.7275941636,
}


def test_the_published_numbers_come_out_after_a_hundred_steps():
    """Means over the 16 seeds of the published notebook; sizes, rates and draws are the published ones.

    At τ = 0.1 the learning rate is 0.5, and the kernel distance then depends on the last digit of draws and labels at
    the level of 1e-3. The digits depend on the processor, so the largest distance is given twice that much room here;
    the evidence of the study holds it to 1e-3.
    """
    grid = np.logspace(-1, 0.3, 17)
    cells = [(grid[0], 1.0), (grid[0], 0.375), (grid[7], -1.0), (grid[16], -1.0), (grid[0], 0.125)]
    tau, delta = np.transpose(cells)
    X_test, found, untrained = held_out(100, 10_000), [], []
    for seed in range(100, 116):
        task = draw_task(seed, d=100, h=50, k=3, n=1000)
        y_test = outputs(task.teacher_a, task.teacher_W, X_test)
        watched = standard_observers(task.X, task.y, X_test, y_test)
        watched = {name: watched[name] for name in ("test_loss", "kernel_distance", "parameter_distance")}
        run = train(
            networks(*students(task, tau, delta)),
            task.X,
            task.y,
            step=2 * 5e-3 / tau**2 / 1000,
            checkpoints=[100],
            observers=watched,
        )
        found.append({name: values[:, 0] for name, values in run.measured.items()})
        untrained.append((y_test**2).mean().item())
    assert np.mean(untrained) == pytest.approx(0.016476159053, abs=1e-9)
    for place, ((name, _, _), expected) in enumerate(ANCHORS.items()):
        tolerance = {"rel": 0, "abs": 1e-6}
        if name == "kernel_distance":
            tolerance = {"rel": 2e-3 if expected > 0.1 else 1e-3, "abs": 0}
        mean = np.mean([row[name][place] for row in found])
        assert mean == pytest.approx(expected, **tolerance), name


class FakeCuda:
    """What the graph of steps asks of torch.cuda, on a CPU: a capture leaves no trace, a replay repeats it."""

    class Stream:
        def wait_stream(self, other):
            pass

        def synchronize(self):
            pass

    class CUDAGraph:
        replays = 0

        def replay(self):
            type(self).replays += 1
            self.stepper.steps(UNROLLED)

    def __init__(self, stepper):
        self.stepper, self.capturing = stepper, False

    def current_stream(self):
        return self.Stream()

    def stream(self, stream):
        return nullcontext()

    @contextmanager
    def graph(self, graph, stream, capture_error_mode):
        assert isinstance(stream, self.Stream) and capture_error_mode == "thread_local"
        before = self.stepper.a.clone(), self.stepper.W.clone()
        yield
        assert not torch.equal(before[1], self.stepper.W)
        self.stepper.a.copy_(before[0])
        self.stepper.W.copy_(before[1])
        graph.stepper = self.stepper


def test_a_graph_of_steps_starts_where_the_networks_are_and_takes_every_step_once(task, monkeypatch):
    whole = learn(task, last=120)
    start = stack(task)
    data = [value.contiguous() for value in (task.X, task.X.T, task.y)]
    stepper = Stepper(start, torch.as_tensor(STEP), *data, compiled=False)
    monkeypatch.setattr(steppers.torch, "cuda", FakeCuda(stepper))
    graphed = Graphed(stepper)
    torch.testing.assert_close(start.W, stack(task).W, rtol=0, atol=0)
    graphed.steps(120)
    assert FakeCuda.CUDAGraph.replays == 2
    torch.testing.assert_close(start.W, whole.networks.W, rtol=1e-13, atol=1e-15)
