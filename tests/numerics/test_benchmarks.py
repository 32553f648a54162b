"""The benchmarks measure what they say, at sizes small enough for a test."""

from __future__ import annotations

import json

import pytest

from benchmarks import compiled, ensembles, gpu_phase_portrait, single_neuron


@pytest.fixture
def small(monkeypatch):
    for name, value in {"NETWORKS": 50, "TIMES": 20, "SAMPLE": 2, "REFERENCED": 1}.items():
        monkeypatch.setattr(single_neuron, name, value)
    monkeypatch.setattr(single_neuron, "REFERENCE_TIMES", (0.2, 0.5))


def test_the_exact_solution_is_the_most_accurate_and_every_method_is_listed(small, tmp_path, capsys):
    single_neuron.main(["--json", str(tmp_path / "result.json")])
    result = json.loads((tmp_path / "result.json").read_text())
    exact, *integrators = result["rows"]
    assert [row["what"] for row in integrators] == [f"solve_ivp, {name}" for name in single_neuron.METHODS]
    assert exact["error"] < 1e-14
    assert all(1e-14 < row["error"] < 1e-7 for row in integrators)
    assert all(row["ratio"] == pytest.approx(row["seconds"] / exact["seconds"]) for row in integrators)
    assert "extrapolated from 2 networks" in capsys.readouterr().out


def test_the_exit_status_says_whether_the_ratio_was_reached(small, monkeypatch):
    monkeypatch.setattr(single_neuron, "WANTED_RATIO", 0.0)
    assert single_neuron.main([]) == 0
    monkeypatch.setattr(single_neuron, "WANTED_RATIO", 1e9)
    assert single_neuron.main([]) == 1


def test_the_compiled_potential_keeps_the_digits_that_the_printed_formula_loses(monkeypatch, capsys):
    monkeypatch.setattr(compiled, "POINTS", 400)
    assert compiled.main() == 0
    rows = {line[:16].strip(): line.split() for line in capsys.readouterr().out.splitlines()[1:3]}
    assert float(rows["compiled"][-1]) < 1e-14 < 1e-3 < float(rows["naive lambdify"][-1])


@pytest.fixture
def few(monkeypatch):
    sizes = {"NETWORKS": 4, "DATA": 40, "KERNEL_DATA": 60, "SQUARE": 64, "STRETCHES": 2, "ROUNDS": 1}
    for name, value in sizes.items():
        monkeypatch.setattr(ensembles, name, value)


def test_ensembles_and_kernels_are_timed_against_their_alternatives(few, monkeypatch, tmp_path):
    monkeypatch.setattr(ensembles, "WANTED", dict.fromkeys(ensembles.WANTED, 0.0))
    assert ensembles.main(["--threads", "1", "--json", str(tmp_path / "result.json")]) == 0
    result = json.loads((tmp_path / "result.json").read_text())
    seconds, ratios = result["seconds"], result["ratios"]
    assert result["kernel deviation"] < 1e-6
    step = seconds["step of the ensemble"]
    assert ratios["step against NumPy"] == pytest.approx(4 * seconds["step of one network in NumPy"] / step)
    fraction = 4 * 4 * 40 * 100 * 50 / step / (1e9 * result["matmul GFLOP/s"])
    assert ratios["fraction of matmul"] == pytest.approx(fraction)
    monkeypatch.setattr(ensembles, "WANTED", dict.fromkeys(ensembles.WANTED, 1e9))
    assert ensembles.main(["--threads", "1"]) == 1


def test_the_portrait_runs_in_parts_and_counts_the_steps_of_each(tmp_path, capsys):
    command = ["--scale", "smoke", "--device", "cpu", "--out", str(tmp_path)]
    assert gpu_phase_portrait.main([*command, "--seconds", "0.4"]) == 2
    first = json.loads((tmp_path / "speed.json").read_text())
    assert not first["complete"] and first["claims"] is None
    assert gpu_phase_portrait.main(command) == 0
    second = json.loads((tmp_path / "speed.json").read_text())
    assert second["complete"] and len(second["claims"]) == 14
    steps = [part["network steps in this part"] for part in (first, second)]
    assert sum(steps) == 12 * 2000 and steps[1] > 0
    operations = 4 * 200 * 100 * 50 * steps[1]
    assert second["FLOP/s"] == pytest.approx(operations / second["seconds of this part"])
    assert second["fraction of matmul in float32"] == pytest.approx(
        second["FLOP/s"] / second["matmul FLOP/s"]["float32"]
    )
    assert (tmp_path / "figure.png").exists()
    assert "stopped; the same command goes on from here" in capsys.readouterr().err
