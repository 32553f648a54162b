"""CPU budgets: a check that takes too long is undecided, not endless."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sympy.core.random


class BudgetExceeded(Exception):
    """The CPU time or the memory of a check is used up."""


def bound_memory(gigabytes: int = 4) -> None:
    """Bound the memory of this process, so that a check that grows without end fails alone."""
    try:
        import resource
    except ImportError:  # not a POSIX system: no bound to set
        return
    size = gigabytes << 30
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size if hard < 0 else min(size, hard), hard))


SEED = 1


@contextmanager
def cpu_budget(seconds: float) -> Iterator[None]:
    """Raise BudgetExceeded once the block has used so much CPU time of this process.

    The timer needs the main thread of a POSIX process; elsewhere the block runs without a budget. SymPy draws at
    random when it factors, and may be unlucky: it draws the same in each block, so that a proof takes the same time.
    """
    sympy.core.random.seed(SEED)
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGVTALRM"):
        yield
        return

    def expire(*_: Any) -> None:
        raise BudgetExceeded(f"more than {seconds:g} s of CPU time")

    previous = signal.signal(signal.SIGVTALRM, expire)
    outer = signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    except MemoryError as error:
        raise BudgetExceeded("more memory than a check may use") from error
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, *outer)
        signal.signal(signal.SIGVTALRM, previous)
