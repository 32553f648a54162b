"""Steps in C: the same numbers as those of torch, for all shapes, and clear errors where there is no compiler."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from numerics.lab.provenance import versions
from numerics.lab.study import load_study
from numerics.studies.piecewise_linear.portraits import steps_by, train_seed
from numerics.tasks.teacher_student import draw_task, students
from numerics.training import ensembles, native_steps
from numerics.training.ensembles import networks, train
from numerics.training.observers import parameter_distance

needs_a_compiler = pytest.mark.skipif(not native_steps.available(), reason="needs a C compiler")
STEPS = 12
TAU, DELTA = np.array([0.3, 1.0, 0.6]), np.array([1.0, 0.0, -0.7])
RATES = {"eta_a": np.array([1.0, 2.0, 0.5]), "eta_w": np.array([1.0, 0.5, 2.0])}
# Sizes d, h, n that fill vectors, tiles and blocks, fall short of them, or exceed them by one; and the leak γ.
SIZES = [
    (100, 50, 70, 0.0),
    (5, 6, 12, 0.1),
    (65, 8, 65, 1.0),
    (16, 12, 64, 0.3),
    (1, 2, 1, 0.0),
    (33, 14, 129, 0.5),
    (130, 2, 33, 0.0),
]
SMALL = {"d": 5, "h": 6, "k": 2, "n": 12, "test_size": 20, "rate": 5e-3}  # A phase portrait.
CLOSE = 3.0  # How much further from float64 than torch's own float32.
WRONG = {
    "a[i] * (z[": "1.001f * a[i] * (z[",
    "z[i * BLOCK + j] >= 0 ? r[j]": "z[i * BLOCK + j] > 0 ? r[j]",
    "leaked[j] = gamma * r[j]": "leaked[j] = 0.99f * gamma * r[j]",
    "r[j] = -y[j]": "r[j] = y[j]",
    "move = speed_w[network] * a[i]": "move = speed_w[0] * a[i]",
    "a[i] -= speed_a[network]": "a[i] -= 1.001f * speed_a[network]",
    "slope += xi[i * width + k] * W[i * d + k];": "",
    "k < depth": "k + 1 < depth",
    "block < blocks": "block < 1",
    "memset(xi, 0, h * width * sizeof(REAL));": "memset(xi, 0, width * sizeof(REAL));",
    "low = band * rows / bands": "low = band * (rows / bands)",
    "default:": "default: break;",
}


def setting(d, h, n, gamma):
    task = draw_task(3, d=d, h=h, k=3, n=n)
    start = networks(*students(task, TAU, DELTA), **RATES, gamma=gamma)
    return start, task.X, task.y, np.array([1.0, 0.5, 1.5]) / n


def native(start, X, y, step, counts=(STEPS,), dtype=torch.float64, **options):
    now = start.to(dtype=dtype)
    data = native_steps.Blocks.of(X.to(dtype), y.to(dtype))
    stepper = native_steps.Native(now, torch.as_tensor(step).to(dtype), data, **options)
    for count in counts:
        stepper.steps(count)
    return now


def by_torch(start, X, y, step, dtype=torch.float64):
    return train(start, X, y, step=step, checkpoints=[STEPS], observers={}, dtype=dtype).networks


def distance(first, second):
    return (((first.a - second.a) ** 2).sum(-1) + ((first.W - second.W) ** 2).sum((-2, -1))).sqrt()


def right(**options):
    """Whether all sizes give the numbers of torch in float64, and neurons on the edge are active."""
    pairs = [(native(*setting(*sizes), **options), by_torch(*setting(*sizes))) for sizes in SIZES]
    edge = networks(torch.ones(1, 1).double(), torch.zeros(1, 1, 2).double())
    found = native(edge, torch.eye(2), torch.ones(2), np.array([0.1]), counts=(1,), **options)
    return found.W.tolist() == [[[0.1, 0.1]]] and all(
        torch.allclose(one.a, other.a, rtol=1e-12, atol=1e-14)
        and torch.allclose(one.W, other.W, rtol=1e-12, atol=1e-14)
        for one, other in pairs
    )


@needs_a_compiler
def test_steps_in_c_are_those_of_torch():
    assert right()


@needs_a_compiler
def test_a_program_that_is_wrong_in_one_place_is_noticed(tmp_path):
    source = native_steps.SOURCE.read_text(encoding="utf-8")
    for place, (line, changed) in enumerate(WRONG.items()):
        assert source.count(line) == 1, line
        wrong = tmp_path / f"wrong_{place}.c"
        wrong.write_text(source.replace(line, changed), encoding="utf-8")
        assert not right(source=wrong), line


@needs_a_compiler
def test_float32_is_as_close_to_float64_as_that_of_torch():
    for sizes in SIZES:
        start, *data = setting(*sizes)
        exact, single = by_torch(start, *data), by_torch(start, *data, dtype=torch.float32)
        found = native(start, *data, dtype=torch.float32)
        assert found.W.dtype == torch.float32
        off, plain = distance(found, exact), distance(single, exact)
        assert 0 < off.max() < CLOSE * plain.max(), sizes


@needs_a_compiler
def test_steps_in_several_calls_chunks_and_threads_are_the_same_steps():
    start, X, y, step = setting(*SIZES[1])
    whole = native(start, X, y, step)
    parts = native(start, X, y, step, counts=(5, 0, 7))
    options = {"step": step, "checkpoints": [5, STEPS], "observers": {"moved": parameter_distance}}
    trained = train(start, X, y, **options, compiled=True, chunk=1, threads=2)
    for other in (parts, trained.networks):
        assert torch.equal(whole.a, other.a) and torch.equal(whole.W, other.W)
    assert (trained.measured["moved"] > 0).all()


@needs_a_compiler
def test_a_network_that_diverges_is_not_finite_and_disturbs_no_other():
    start, X, y, step = setting(*SIZES[1])
    healthy = native(start, X, y, step, counts=(400,))
    found = native(start, X, y, step * np.array([1, 1e6, 1]), counts=(400,))
    assert found.W.isfinite().flatten(1).all(-1).tolist() == [True, False, True]
    assert torch.equal(found.W[[0, 2]], healthy.W[[0, 2]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"part": lambda part: part.to(device="meta")}, "W is torch.float64 on meta"),
        ({"part": lambda part: replace(part, a=part.a.float())}, "a is torch.float32"),
        ({"part": lambda part: part.to(dtype=torch.float32)}, "columns is torch.float64"),
        ({"part": lambda part: replace(part, W=part.W.mT.contiguous().mT)}, "with strides"),
        (
            {"part": lambda part: replace(part, W=part.W[..., 1:].contiguous())},
            r"columns must be \(1, 4, 32\)",
        ),
        ({"part": lambda part: replace(part, a=part.a[:, 1:].contiguous())}, r"a must be \(3, 6\)"),
        ({"part": lambda part: replace(part, eta_a=part.eta_a[:0])}, r"eta_a must be \(3,\)"),
        ({"part": lambda part: replace(part, eta_w=part.eta_w[:1])}, r"eta_w must be \(3,\)"),
        ({"speed": lambda speed: speed[:2]}, r"speed must be \(3,\) .* it is \(2,\)"),
        (
            {"data": lambda data: replace(data, rows=data.rows[..., :5].contiguous())},
            r"rows must be \(1, 32, 8\)",
        ),
        (
            {"data": lambda data: replace(data, rows=data.rows[:, :16].contiguous())},
            r"rows must be \(1, 32, 8\)",
        ),
        ({"data": lambda data: replace(data, targets=data.targets[:0])}, r"targets must be \(1, 32\)"),
        ({"data": lambda data: replace(data, targets=data.targets.float())}, "targets is torch.float32"),
    ],
)
def test_what_does_not_fit_is_refused_before_c_reads_it(change, message):
    start, X, y, step = setting(*SIZES[1])
    given = {"part": start, "speed": torch.as_tensor(step), "data": native_steps.Blocks.of(X, y)}
    with pytest.raises(ValueError, match=message):
        native_steps.Native(
            **{name: change.get(name, lambda same: same)(value) for name, value in given.items()}
        )


@needs_a_compiler
def test_a_negative_number_of_steps_is_refused():
    with pytest.raises(ValueError, match="must not be negative, it is -1"):
        native(*setting(*SIZES[1]), counts=(-1,))


def test_only_a_cpu_takes_steps_in_c(monkeypatch):
    start, X, y, step = setting(*SIZES[1])
    asked = []
    monkeypatch.setattr(ensembles, "_stepper", lambda part, speed, data, compiled: asked.append(compiled))
    ensembles._Run(start, X, y, torch.as_tensor(step), {}, torch.float64, "meta", 1, 1, True)
    assert asked == [True] * 3


@needs_a_compiler
@pytest.mark.parametrize("networks_at_once", [1, 40])
def test_a_call_takes_few_steps_of_many_networks(networks_at_once):
    """An ensemble of any size hears soon that it is to stop: large parts take few steps a call, small ones many."""
    start, X, y, _ = setting(100, 50, 640, 0.0)
    place = [0] * networks_at_once
    rates = start.eta_a[place], start.eta_w[place]
    part = replace(start, a=start.a[place], W=start.W[place], eta_a=rates[0], eta_w=rates[1])
    stepper = native_steps.Native(part, torch.ones(networks_at_once), native_steps.Blocks.of(X, y))
    work = 4 * networks_at_once * 50 * 100 * 640 * stepper.longest
    assert stepper.longest == native_steps.LONGEST if networks_at_once == 1 else 1e10 < work < 2e10


def test_without_a_compiler_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler -O3")
    assert not native_steps.available()
    advice = r"install gcc or clang, name yours in the environment variable CC.*there is no no-such-compiler"
    with pytest.raises(RuntimeError, match=advice):
        native(*setting(*SIZES[1]))
    with pytest.raises(RuntimeError, match=advice):
        native_steps.compiler_version()


FAILS = "open('asked', 'a').write('once '); sys.exit('gone wrong')"
WRITES_TEXT = "open(sys.argv[sys.argv.index('-o') + 1], 'w').write('no library')"


@pytest.mark.parametrize(
    ("program", "seconds", "reason"),
    [
        (FAILS, 60, "(?s)could not compile native_steps.c.*gone wrong"),
        ("pass", 60, "steps.so"),
        (WRITES_TEXT, 60, "steps.so"),
        ("time.sleep(20)", 0.2, "timed out"),
    ],
    ids=["fails", "writes nothing", "writes a text", "hangs"],
)
def test_a_compiler_that_does_not_work_counts_as_none(program, seconds, reason, tmp_path, monkeypatch):
    script = tmp_path / "compiler.py"
    script.write_text(f"import sys, time\n{program}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CC", shlex.join([sys.executable, str(script)]))
    monkeypatch.setattr(native_steps, "COMPILER_SECONDS", seconds)
    assert not native_steps.available(torch.float64)
    with pytest.raises(RuntimeError, match=reason):
        native(*setting(*SIZES[1]))
    if program == FAILS:
        assert (tmp_path / "asked").read_text(encoding="utf-8") == "once "


def test_a_command_that_cannot_be_read_counts_as_no_compiler(monkeypatch):
    monkeypatch.setenv("CC", "cc 'unbalanced")
    assert not native_steps.available()


@needs_a_compiler
def test_a_library_without_steps_counts_as_none(monkeypatch):
    monkeypatch.setenv("CC", f"{os.environ.get('CC') or shutil.which('cc') or 'gcc'} -Dsteps=other")
    assert not native_steps.available()


@needs_a_compiler
def test_a_compiler_is_known_by_its_version_and_flags_not_by_its_name(monkeypatch):
    plain, command = native_steps.compiler_version(), os.environ.get("CC") or "cc"
    monkeypatch.setenv("CC", shutil.which(command) or command)
    assert native_steps.compiler_version() == plain != ""
    monkeypatch.setenv("CC", f"{command} -ffp-contract=off")
    assert native_steps.compiler_version() == f"{plain} -ffp-contract=off"


def test_only_numbers_that_c_has_are_trained_in_c():
    assert not native_steps.available(torch.bfloat16)
    assert not native_steps.available(torch.float16)


@needs_a_compiler
def test_what_a_compiler_says_is_passed_on(tmp_path):
    broken = tmp_path / "broken.c"
    broken.write_text("int main( {", encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"(?s)could not compile broken.c:.*error"):
        native(*setting(*SIZES[1]), source=broken)


@needs_a_compiler
def test_a_phase_portrait_is_the_same_without_a_compiler(monkeypatch):
    cells = [{"seed": 3, "tau": tau, "delta": delta} for tau, delta in ((0.3, 1.0), (1.0, -0.5))]
    configuration = SMALL | {"steps": 200, "dtype": "float64"}
    taken = []
    original = native_steps.Native.steps
    monkeypatch.setattr(
        native_steps.Native, "steps", lambda self, count: (taken.append(count), original(self, count))
    )
    compiled = train_seed(cells, configuration, "cpu", None)
    assert sum(taken) >= 200
    taken.clear()
    assert steps_by(configuration, "cpu") == {"steps": f"C, {native_steps.compiler_version()}"}
    monkeypatch.setenv("CC", "no-such-compiler")
    assert steps_by(configuration, "cpu") == {"steps": "torch"}
    plain = train_seed(cells, configuration, "cpu", None)
    assert not taken
    for one, other in zip(compiled, plain, strict=True):
        assert one.values == pytest.approx(other.values, rel=1e-8)


@pytest.mark.parametrize("key", ["kunin2024.fig1b-phase-portrait", "kunin2024.fig1-supporting"])
def test_the_phase_portraits_record_what_takes_their_steps(key):
    study = load_study(key)
    cfg = study.configuration("smoke")
    assert versions(study, cfg, "cpu")["steps"] == steps_by(cfg, "cpu")["steps"]


@needs_a_compiler
def test_a_state_from_c_is_not_continued_by_torch(tmp_path):
    start, X, y, step = setting(*SIZES[1])
    options = {"step": step, "checkpoints": [1, 2], "observers": {}, "resume": tmp_path}
    train(start, X, y, **options)
    with pytest.raises(ValueError, match="state of another run"):
        train(start, X, y, **options, compiled=True)
