"""The kernel that takes whole steps on a card, run by Triton's interpreter, which needs no card."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

CASES = Path(__file__).parent / "fused_cases.py"
SOURCE = Path(find_spec("numerics.training.fused_steps").origin).read_text(encoding="utf-8")
# How much further from float64 than float32 itself; with half of its digits it would be a hundred times.
CLOSE = 3.0
WRONG = {
    "into = tl.dot(A2, B1, into)": "pass",
    "into = tl.dot(A1, B2, into)": "pass",
    "active = Z >= 0": "active = Z > 0",
    "move = (speed_w * a)[:, None]": "move = (speed_w * tl.abs(a))[:, None]",
    "a -= speed_a * z_unit * slope": "a -= 1.001 * speed_a * z_unit * slope",
    "s1, s2 = _halves(gamma * r * r_scale)": "s1, s2 = _halves(0.99 * gamma * r * r_scale)",
    "before = turn % networks, turn // networks": "before = turn % networks, 0",
}


def interpreted(*sources):
    """The cases in a process of their own, for Triton decides on its first import whether it interprets."""
    command = [sys.executable, str(CASES), *map(str, sources)]
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def found():
    return interpreted()[0]


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    """What each wrong kernel gives, all in one process."""
    folder = tmp_path_factory.mktemp("wrong")
    for place, (line, changed) in enumerate(WRONG.items()):
        assert SOURCE.count(line) == 1
        (folder / f"wrong_{place}.py").write_text(SOURCE.replace(line, changed), encoding="utf-8")
    return dict(
        zip(WRONG, interpreted(*(folder / f"wrong_{place}.py" for place in range(len(WRONG)))), strict=True)
    )


def right(found):
    """Whether the kernel is as close to float64 as float32 is, and takes neurons on the edge as active."""
    close = all(0 < fused < CLOSE * plain for fused, plain in found["deviations"].values())
    return close and found["edge"] == pytest.approx([0.1, 0.1], rel=1e-6)


def test_it_is_as_close_to_float64_as_float32_is(found):
    assert right(found), found


@pytest.mark.parametrize("line", WRONG)
def test_a_kernel_that_is_wrong_in_one_place_is_noticed(wrong, line):
    assert not right(wrong[line]), wrong[line]


def test_steps_in_several_calls_are_the_same_steps(found):
    assert found["in parts"]


def test_a_network_that_diverges_is_not_finite_and_disturbs_no_other(found):
    assert found["diverged"] == [[True, False, True], [False, False]]


def test_it_takes_what_fits_its_block(found):
    assert found["accepted"] == [True, False, False, False]


def test_on_a_card_it_is_chosen(found):
    assert found["chosen"]
