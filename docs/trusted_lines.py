"""How much has to be trusted: the lines for a claim that has a certificate, and those for any other proof.

    python docs/trusted_lines.py

For a claim with a certificate: the kernel, what writes the claim as a lemma, and the calculus that writes out what the
statement says; a test sees to it that no other module runs when a lemma is written and its certificate is checked. For
any other proof: every module that a check runs, by following the imports, those of functions included. What only
prints, compiles to arrays, or keeps verdicts is not reached by a check and does not count.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

import symdyn

ROOT = Path(symdyn.__file__).parent
KERNEL = tuple(f"symdyn.kernel.{name}" for name in ("signs", "lemma", "polynomials", "steps"))
WRITING = tuple(f"symdyn.lemmas.{name}" for name in ("page", "claims", "algebra"))
STATEMENTS = (
    "symdyn.statements.kinds",
    "symdyn.statements.matrix",
    "symdyn.statements.inference",
    "symdyn.statements.domain",
    "symdyn.compile.named",
    "symdyn.calculus.formula",
    "symdyn.calculus.parts",
    "symdyn.calculus.vectors",
    "symdyn.calculus.gram",
    "symdyn.calculus.isotropic",
    "symdyn.calculus.bridge",
    "symdyn.calculus.matrix.expression",
    "symdyn.proof.signs.defined",
    "symdyn.proof.zero.hyperbolic",
)
"""What says what a statement claims of scalars, where it is claimed, and where functions are defined."""
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


def counted(modules: Iterable[str]) -> dict[str, int]:
    """Each of some modules with its lines."""
    files = {module: file_of(module) for module in modules}
    return {
        module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in files.items() if path
    }


def main() -> None:
    print("a claim with a certificate")
    parts = {"the kernel": KERNEL, "writing the lemma": WRITING, "what statements say": STATEMENTS}
    for name, modules in parts.items():
        print(f"{sum(counted(modules).values()):>8}  {name}")
    certified = counted((*KERNEL, *WRITING, *STATEMENTS))
    print(f"{sum(certified.values()):>8}  lines in {len(certified)} modules")
    print("any other proof")
    lines = reached()
    for module, count in sorted(lines.items(), key=lambda pair: -pair[1]):
        print(f"{count:>8}  {module}")
    print(f"{sum(lines.values()):>8}  lines in {len(lines)} modules")


if __name__ == "__main__":
    main()
