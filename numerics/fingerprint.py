"""Which code a result stands on: a hash of the source that a study runs, comments and docstrings left out."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import io
import tokenize
from pathlib import Path

PACKAGES = ("numerics", "derivations", "symdyn")
# What stores, draws or lists results without touching the numbers: a change there leaves them valid.
BOOKKEEPING = {
    f"numerics.{name}"
    for name in ("study", "runs", "provenance", "store", "sweep", "checkpoint", "claims", "evidence", "plots")
}


def source_hashes(module: str) -> dict[str, str]:
    """The hash of a module and of every module of our packages and of its own that it reaches by import statements,
    at any depth.

    Package ``__init__`` files and the bookkeeping of the studies are left out. A package that finds its names when
    they are asked for, as those of the derivations do, counts with all its modules where it is imported as a whole or
    where a name that is no module is imported from it. Modules of other distributions are not followed; their
    versions are recorded with the results. A C source of a module's name beside it counts as it is.
    """
    found: dict[str, str] = {}
    waiting, packages = [module], frozenset({*PACKAGES, module.split(".")[0]})
    while waiting:
        name = waiting.pop()
        path = _path(name)
        if name in found or name in BOOKKEEPING or path is None or path.name == "__init__.py":
            continue
        found[name], imports = _read(name, path.read_text(encoding="utf-8"), packages)
        if (native := path.with_suffix(".c")).is_file():
            found[f"{name}.c"] = hashlib.sha256(native.read_bytes()).hexdigest()[:16]
        waiting.extend(imports)
    return dict(sorted(found.items()))


@functools.lru_cache(maxsize=1024)
def _read(name: str, source: str, packages: frozenset[str]) -> tuple[str, tuple[str, ...]]:
    """The hash of a module and what it imports; many studies stand on the same modules."""
    return hashlib.sha256(bare_source(source).encode()).hexdigest()[:16], tuple(
        _imports(source, name, packages)
    )


def combined(hashes: dict[str, str]) -> str:
    """One hash of many."""
    return hashlib.sha256(
        "\n".join(f"{name} {value}" for name, value in sorted(hashes.items())).encode()
    ).hexdigest()[:16]


def bare_source(source: str) -> str:
    """The source without comments, docstrings and blank lines, which do not change what it does."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node, clean=False) is not None
        ):
            text = node.body[0]
            lines[text.lineno - 1 : text.end_lineno] = [""] * (text.end_lineno - text.lineno + 1)
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _imports(source: str, module: str, packages: frozenset[str]) -> list[str]:
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name(
                "." * node.level + (node.module or ""), module.rpartition(".")[0]
            )
            if base.split(".")[0] in packages:
                inside = [f"{base}.{alias.name}" for alias in node.names]
                modules = [name for name in inside if _path(name) is not None]
                names += modules if len(modules) == len(inside) else [base, *modules]
    ours = [name for name in names if name.split(".")[0] in packages]
    return [*ours, *(part for name in ours for part in _parts_of_a_lazy_package(name))]


def _parts_of_a_lazy_package(name: str) -> list[str]:
    """All modules of a package that defines ``__getattr__``; none for anything else."""
    path = _path(name)
    if path is None or path.name != "__init__.py":
        return []
    body = ast.parse(path.read_text(encoding="utf-8")).body
    if not any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in body):
        return []
    return [f"{name}.{part.stem}" for part in sorted(path.parent.glob("*.py")) if part.stem != "__init__"]


def _path(module: str) -> Path | None:
    """The file of a module, found without importing the module itself; None for what is not a module."""
    top, *rest = module.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None or not spec.submodule_search_locations:
        return None
    for folder in spec.submodule_search_locations:
        base = Path(folder).joinpath(*rest)
        for candidate in (base.with_suffix(".py"), base / "__init__.py"):
            if candidate.is_file():
                return candidate
    return None
