"""A check that takes too long, or too much memory, is undecided."""

from __future__ import annotations

import subprocess
import sys

import pytest
import sympy as sp

from symdyn.proof.budget import BudgetExceeded, cpu_budget
from symdyn.proof.zero.tower import Tower, Undecided


def test_a_loop_without_end_is_stopped():
    with pytest.raises(BudgetExceeded, match=r"0\.05 s"), cpu_budget(0.05):
        while True:
            pass


def test_budgets_nest_and_leave_no_timer_behind():
    with cpu_budget(5):
        with pytest.raises(BudgetExceeded), cpu_budget(0.05):
            while True:
                pass
        assert sum(range(1000)) == 499500


def test_memory_is_bounded():
    code = (
        "from symdyn.proof.budget import *\n"
        "bound_memory(1)\n"
        "try:\n"
        "    with cpu_budget(20): bytearray(3 << 30)\n"
        "except BudgetExceeded as error: print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "memory" in out


def test_normal_forms_that_would_fill_the_memory_are_undecided():
    many = sp.symbols("z0:30", real=True)
    with pytest.raises(Undecided, match="too large"):
        Tower({}.get).convert(sum(many) ** 12)
