"""CPU budgets: a check that takes too long is undecided, not endless."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class BudgetExceeded(Exception):
    """The CPU time of a check is used up."""


@contextmanager
def cpu_budget(seconds: float) -> Iterator[None]:
    """Raise BudgetExceeded once the block has used so much CPU time of this process.

    The timer needs the main thread of a POSIX process; elsewhere the block runs without a budget.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGVTALRM"):
        yield
        return

    def expire(*_: Any) -> None:
        raise BudgetExceeded(f"more than {seconds:g} s of CPU time")

    previous = signal.signal(signal.SIGVTALRM, expire)
    outer = signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, *outer)
        signal.signal(signal.SIGVTALRM, previous)
