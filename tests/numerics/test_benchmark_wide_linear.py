"""The benchmark of the matrix Riccati system measures what it says, at a size small enough for a test."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import wide_linear


@pytest.fixture
def small(monkeypatch):
    changes = {"SIZE": 2, "TIMES": 20, "HORIZONS": (1.0, 2.0), "REFERENCE_TIMES": (0.5, 1.0), "REPEATS": 1}
    for name, value in {**changes, "DIGITS": 50}.items():
        monkeypatch.setattr(wide_linear, name, value)


def test_the_closed_form_is_the_most_accurate_and_every_method_is_listed(small, tmp_path, capsys):
    wide_linear.main(["--json", str(tmp_path / "result.json")])
    result = json.loads((tmp_path / "result.json").read_text())
    closed, *integrators = result["rows"]
    assert [row["what"] for row in integrators] == [f"solve_ivp, {name}" for name in wide_linear.METHODS]
    assert closed["error"] < 1e-14
    assert all(1e-14 < row["error"] < 1e-7 for row in integrators)
    for row in integrators:
        assert row["ratio"] == pytest.approx(np.divide(row["seconds"], closed["seconds"]).tolist())
    assert "more accurate: " in capsys.readouterr().out


def test_the_exit_status_says_whether_the_ratio_was_reached(small, monkeypatch):
    monkeypatch.setattr(wide_linear, "WANTED_RATIO", 0.0)
    assert wide_linear.main([]) == 0
    monkeypatch.setattr(wide_linear, "WANTED_RATIO", 1e9)
    assert wide_linear.main([]) == 1
