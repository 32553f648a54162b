"""How much has to be trusted for the word PROVED: the lines of every module of symdyn that a check runs.

    python docs/trusted_lines.py

Follows the imports from the check of statements, those of functions included. What only prints, compiles to arrays, or
keeps verdicts is not reached by a check and does not count.
"""

from __future__ import annotations

import ast
from pathlib import Path

import symdyn

ROOT = Path(symdyn.__file__).parent
START = ("symdyn.proof.check", "symdyn.statements.kinds", "symdyn.statements.matrix")
NOT_BY_A_CHECK = ("symdyn.render", "symdyn.catalogue", "symdyn.statements.notation")
OF_THE_COMPILER = ("symdyn.compile.named",)
"""Named quantities are part of claims; the rest of the compiler makes values of arrays, which proves nothing."""


def file_of(module: str) -> Path | None:
    """The file of a module of symdyn, or None for what is none."""
    stem = ROOT.joinpath(*module.split(".")[1:])
    found = [p for p in (stem.with_suffix(".py"), stem / "__init__.py") if p.is_file()]
    return found[0] if found and module.startswith("symdyn.") else None


def imported(path: Path) -> set[str]:
    """The modules of symdyn that a file names in its imports, wherever they stand."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if file_of(name) and _counts(name)}


def _counts(module: str) -> bool:
    if module.startswith("symdyn.compile"):
        return module in OF_THE_COMPILER
    return not module.startswith(NOT_BY_A_CHECK)


def reached() -> dict[str, int]:
    """Each module that a check runs, with its lines."""
    seen: dict[str, int] = {}
    waiting = list(START)
    while waiting:
        module = waiting.pop()
        path = file_of(module)
        if path is not None and module not in seen:
            seen[module] = len(path.read_text(encoding="utf-8").splitlines())
            waiting += imported(path)
    return seen


def main() -> None:
    lines = reached()
    for module, count in sorted(lines.items(), key=lambda pair: -pair[1]):
        print(f"{count:>6}  {module}")
    print(f"{sum(lines.values()):>6}  lines in {len(lines)} modules")


if __name__ == "__main__":
    main()
