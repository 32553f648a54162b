"""How the command line speaks: tables and JSON on stdout, progress and errors on stderr."""

from __future__ import annotations

import difflib
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

FEW = 40
PIPE_WIDTH = 200
"""A pipe has no width of its own: long ids stay in one piece there."""


class RequestError(Exception):
    """A request that cannot be carried out; the message says what was wrong and what to do."""


_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What steers a terminal (escapes, the direction of text) or is half a character; a new line and a tab are none."""


def visible(text: str) -> str:
    r"""The text with what would steer a terminal, or could not be written, spelled out: \u001b."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _console() -> Console:
    return Console() if sys.stdout.isatty() else Console(width=PIPE_WIDTH)


_COLOURS = {
    "holds": "green",
    "PROVED": "green",
    "AGREES": "green",
    "ARGUED": "yellow",
    "conditional": "yellow",
    "erratum": "red",
    "REFUTED": "red",
    "UNKNOWN": "red",
    "does": "red",
    "open": "dim",
}


def _cell(text: str) -> str:
    text = visible(text)
    colour = _COLOURS.get(text.partition(" ")[0])
    return f"[{colour}]{escape(text)}[/]" if colour else escape(text)


def print_json(data: Any) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(visible(json.dumps(data, indent=2, ensure_ascii=False)) + "\n")


def plain(text: str) -> None:
    """Text on stdout as it is but for what would steer the terminal: formulas are neither wrapped nor coloured."""
    sys.stdout.write(visible(text) + "\n")


def say(text: str) -> None:
    """A heading on stdout."""
    _console().print(f"[bold]{escape(visible(text))}[/]", highlight=False)


def failed(message: str) -> None:
    """An error on stderr."""
    words = escape(visible(message))
    Console(stderr=True, soft_wrap=True).print(f"[bold red]error:[/] {words}", highlight=False)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table on stdout; cells are plain text, verdicts and statuses in colour. The first column, which names the
    row, stays in one piece as long as there is room for it.
    """
    grid = Table(
        title=escape(visible(title)),
        title_justify="left",
        header_style="bold",
        show_edge=False,
        pad_edge=False,
    )
    for number, column in enumerate(columns):
        grid.add_column(escape(visible(column)), overflow="fold", no_wrap=number == 0)
    for row in rows:
        grid.add_row(*map(_cell, row))
    _console().print(grid)


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on stderr with the time left; calling it with (what, done, total) moves it."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[what]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None, what="")

        def advance(what: str, done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, what=escape(visible(what)))

        yield advance


def near(wanted: str, known: Iterable[str]) -> str:
    """A sentence with the known names closest to the wanted one: whole, last part, or containing it."""
    names = sorted(set(known))
    close = difflib.get_close_matches(wanted, names, n=3, cutoff=0.6)
    last = {name.rpartition(".")[2]: name for name in names}
    close += [
        last[tail] for tail in difflib.get_close_matches(wanted.rpartition(".")[2], last, n=3, cutoff=0.6)
    ]
    if len(wanted) > 2:
        close += [name for name in names if wanted in name][:3]
    unique = list(dict.fromkeys(close))[:4]
    if unique:
        return f"Did you mean {' or '.join(unique)}?"
    return f"Known: {', '.join(names)}." if len(names) <= FEW else "`symdyn list` shows what there is."


@contextmanager
def writable(folder: Path) -> Iterator[None]:
    """Refuse, before any work is done, a folder that cannot be made or written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise RequestError(
            f"the folder {folder} cannot be written ({error.strerror}); choose another"
        ) from error
    yield
