"""What the documentation shows is what happens."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from symdyn.catalogue.registry import index
from symdyn.cli.commands import main

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    client.execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) >= 5
    assert all(cell.execution_count for cell in code)


def test_there_is_a_notebook() -> None:
    assert "from_delta_to_network" in [path.stem for path in NOTEBOOKS]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_stored_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)


def python_blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_python_in_the_guides_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = python_blocks((ROOT / name).read_text(encoding="utf-8"))
    assert blocks
    space: dict[str, object] = {"__name__": "guide"}
    for block in blocks:
        exec(compile(block, name, "exec"), space)


def commands(text: str) -> list[str]:
    return re.findall(r"^(?:\$ )?symdyn ((?:list|show|verify|cite)\b[^\n#]*)", text, re.MULTILINE)


def test_commands_in_the_readme_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = commands((ROOT / "README.md").read_text(encoding="utf-8"))
    assert shown
    for command in shown:
        monkeypatch.setattr(sys, "argv", ["symdyn", *shlex.split(command)])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert not stopped.value.code, command
        assert capsys.readouterr().out


def test_the_gallery_shows_every_study() -> None:
    gallery = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = re.findall(r"^## (\S+)$", gallery, re.MULTILINE)
    assert sorted(shown) == sorted(entry.key for entry in index("study"))
    assert len(re.findall(r"\]\(figures/\w+\.png\)", gallery)) == len(shown)


def test_links_between_files_lead_somewhere() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", prose):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
