"""The benchmark of the exact flow measures what it says, at a size small enough for a test."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import prior_knowledge


@pytest.fixture
def small(monkeypatch):
    for name, value in {"STARTS": 4, "TIMES": 12, "SAMPLE": 1, "HORIZONS": (5.0, 20.0)}.items():
        monkeypatch.setattr(prior_knowledge, name, value)


def test_the_exact_solution_is_the_more_accurate_at_every_horizon(small, tmp_path, capsys):
    prior_knowledge.main(["--size", "3", "--json", str(tmp_path / "result.json")])
    result = json.loads((tmp_path / "result.json").read_text())
    assert [row["horizon"] for row in result["rows"]] == [5.0, 20.0]
    for row in result["rows"]:
        assert row["exact_error"] < 1e-13 < row["integration_error"] < 1e-7
        assert row["ratio"] == pytest.approx(row["integration_seconds"] / row["exact_seconds"])
        assert row["network_ratio"] == pytest.approx(row["integration_seconds"] / row["network_seconds"])
        assert row["floor_ratio"] == pytest.approx(row["exact_seconds"] / row["floor_seconds"])
    assert "extrapolated from 1 starts" in capsys.readouterr().out


def test_the_exit_status_says_whether_the_ratio_was_reached(small, monkeypatch):
    monkeypatch.setattr(prior_knowledge, "WANTED_RATIO", 0.0)
    assert prior_knowledge.main(["--size", "2"]) == 0
    monkeypatch.setattr(prior_knowledge, "WANTED_RATIO", 1e9)
    assert prior_knowledge.main(["--size", "2"]) == 1


def test_the_starts_are_balanced_and_can_learn_their_tasks():
    from derivations.prior_knowledge import separatrix_distance

    W1, W2, sigma = prior_knowledge.random_starts(4, 5)
    np.testing.assert_allclose(np.swapaxes(W2, 1, 2) @ W2, W1 @ np.swapaxes(W1, 1, 2), atol=1e-14)
    assert (separatrix_distance(W1, W2, sigma) > 1e-4).all()
