"""The benchmark of the single neuron measures what it says, at a size small enough for a test."""

from __future__ import annotations

import json

import pytest

from benchmarks import compiled, single_neuron


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
