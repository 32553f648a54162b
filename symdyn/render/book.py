"""Writing the book: `symdyn.tex` and `index.html` always, `symdyn.pdf` where pdflatex is found."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from symdyn.render.book_html import html_book
from symdyn.render.book_latex import latex_book
from symdyn.render.chapters import Progress, chapters

SECONDS = 180
"""How long one run of pdflatex may take."""


@dataclass(frozen=True)
class Written:
    """The files of a book, and whether there is a PDF among them and why not."""

    files: tuple[Path, ...]
    pdf_notice: str
    pdf_failed: bool


def write_book(folder: Path, progress: Progress | None = None) -> Written:
    """Derive, audit and typeset everything into a folder, which must exist."""
    content = chapters(progress)
    tex, page = folder / "symdyn.tex", folder / "index.html"
    tex.write_text(latex_book(content), encoding="utf-8")
    page.write_text(html_book(content), encoding="utf-8")
    pdf, notice, pdf_failed = _pdf(tex)
    return Written((tex, page, *pdf), notice, pdf_failed)


def _pdf(tex: Path) -> tuple[tuple[Path, ...], str, bool]:
    program = shutil.which("pdflatex")
    if program is None:
        return (), "no PDF: pdflatex was not found on the PATH (the LaTeX and HTML books are complete)", False
    options = ["-interaction=nonstopmode", "-halt-on-error", "-file-line-error"]
    with tempfile.TemporaryDirectory() as work:
        shutil.copy(tex, work)
        for _ in range(2):  # the table of contents and the references need the second
            run = subprocess.run(
                [program, *options, tex.name], cwd=work, capture_output=True, timeout=SECONDS, check=False
            )
            if run.returncode != 0:
                log = run.stdout.decode("utf-8", "replace")
                return (), f"no PDF: {program} stopped\n{_first_error(log, tex.name)}", True
        target = tex.with_suffix(".pdf")
        shutil.copy(Path(work, target.name), target)
    return (target,), f"PDF made with {program}", False


def _first_error(log: str, name: str) -> str:
    lines = log.splitlines()
    at = next(
        (i for i, line in enumerate(lines) if line.startswith((f"./{name}:", "!"))), max(0, len(lines) - 12)
    )
    return "\n".join(lines[at : at + 8])
