"""Which code a result stands on: a hash of the source that a study runs, comments and docstrings left out."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import io
import sys
import tokenize
from pathlib import Path

from numerics.study import StudyError

PACKAGES = ("numerics", "derivations", "symdyn")
# What stores, draws or lists results without touching the numbers: a change there leaves them valid.
BOOKKEEPING = {
    f"numerics.{name}"
    for name in [
        "study",
        "studies",
        "runs",
        "provenance",
        "store",
        "sweep",
        "checkpoint",
        "claims",
        "evidence",
        "plots",
    ]
}
# Tokens whose line ends are characters of a string; those of f-strings are tokens of their own from Python 3.12 on.
STRINGS = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def source_hashes(module: str) -> dict[str, str]:
    """The hash of a module and of every module of our packages and of its own that it reaches by import statements,
    at any depth.

    A module in no package is followed to the modules and packages in its own folder, and one that ``python -m`` runs is
    known by its own name. The ``__init__`` files above a module count with it. The bookkeeping of the studies is left
    out, and so is an ``__init__`` file that is empty or finds its names when they are asked for; a package of the
    latter kind, as those of the derivations are, counts with all its modules where it is imported as a whole or where a
    name that is no module is imported from it. Modules of other distributions are not followed; their versions are
    recorded with the results. A C source of a module's name beside it counts as it is. Raises StudyError for a module
    whose source cannot be found, such as a notebook or a script.
    """
    if module == "__main__":
        module = getattr(sys.modules[module].__spec__, "name", module)
    if _path(module) is None:
        raise StudyError(
            f"the source of {module} cannot be found, so nobody could say which code made the results: define the "
            "study in a module of its own, a file that is imported"
        )
    found: dict[str, str] = {}
    waiting, packages = [module], frozenset({*PACKAGES, *_companions(module)})
    while waiting:
        name = waiting.pop()
        path = _path(name)
        if name in found or name in BOOKKEEPING or path is None or _says_nothing(path):
            continue
        within = name if path.name == "__init__.py" else name.rpartition(".")[0]
        found[name], statements = _read(path.read_text(encoding="utf-8"))
        if (native := path.with_suffix(".c")).is_file():
            found[f"{name}.c"] = hashlib.sha256(native.read_bytes()).hexdigest()[:16]
        waiting.extend([*_imports(statements, within, packages), *_above(name)])
    return dict(sorted(found.items()))


def _above(module: str) -> list[str]:
    """The packages that a module is in: their ``__init__`` files run before it."""
    parts = module.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def _companions(module: str) -> set[str]:
    """The top-level names that belong to a module: its package, or itself and what lies in its folder, unless
    distributions are installed there.
    """
    top = module.split(".")[0]
    path = _path(top)
    if path is None or path.name == "__init__.py" or path.parent.name in ("site-packages", "dist-packages"):
        return {top}
    packages = {folder.parent.name for folder in path.parent.glob("*/__init__.py")}
    return {top, *packages, *(file.stem for file in path.parent.glob("*.py"))}


def _says_nothing(path: Path) -> bool:
    """Whether a file is an ``__init__`` without code, or one whose names are found when they are asked for."""
    if path.name != "__init__.py":
        return False
    source = path.read_text(encoding="utf-8")
    return (
        _is_lazy(source) or not bare_source(source).replace("from __future__ import annotations", "").strip()
    )


@functools.lru_cache(maxsize=1024)
def _is_lazy(source: str) -> bool:
    return any(
        isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in ast.parse(source).body
    )


@functools.lru_cache(maxsize=1024)
def _read(source: str) -> tuple[str, tuple[ast.Import | ast.ImportFrom, ...]]:
    """The hash of a source and its import statements; many studies stand on the same modules."""
    statements = tuple(
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)
    )
    return hashlib.sha256(bare_source(source).encode()).hexdigest()[:16], statements


def combined(hashes: dict[str, str]) -> str:
    """One hash of many."""
    return hashlib.sha256(
        "\n".join(f"{name} {value}" for name, value in sorted(hashes.items())).encode()
    ).hexdigest()[:16]


def bare_source(source: str) -> str:
    """The source without comments, docstrings and blank lines, which do not change what it does."""
    lines, inside = source.split("\n"), set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        first, last = token.start[0], token.end[0]
        if token.type == tokenize.COMMENT:
            lines[first - 1] = lines[first - 1][: token.start[1]]
        elif token.type in STRINGS:
            inside.update(range(first, last))
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node, clean=False) is not None
        ):
            inside.difference_update(range(node.body[0].lineno, node.body[0].end_lineno))
            _blank(lines, node.body[0])
    return "\n".join(
        line if number in inside else line.rstrip()
        for number, line in enumerate(lines, start=1)
        if number in inside or line.strip()
    )


def _blank(lines: list[str], docstring: ast.stmt) -> None:
    """Take a docstring out of the lines; code that shares its first or its last line stays."""
    first, last = docstring.lineno - 1, docstring.end_lineno - 1
    before = lines[first].encode()[: docstring.col_offset].decode()
    after = lines[last].encode()[docstring.end_col_offset :].decode().strip(" ;")
    lines[first : last + 1] = [""] * (last - first + 1)
    lines[first] = before + after if before.strip() or after else ""


def _imports(
    statements: tuple[ast.Import | ast.ImportFrom, ...], within: str, packages: frozenset[str]
) -> list[str]:
    """The modules that statements in a package reach, by the files that are there now."""
    names = []
    for node in statements:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        else:
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), within)
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
    if not _is_lazy(path.read_text(encoding="utf-8")):
        return []
    return [f"{name}.{part.stem}" for part in sorted(path.parent.glob("*.py")) if part.stem != "__init__"]


def _path(module: str) -> Path | None:
    """The file of a module, found without importing the module itself; None for what is not a module."""
    top, *rest = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except ValueError:  # a script or a notebook
        return None
    if spec is None:
        return None
    if not spec.submodule_search_locations:
        return Path(spec.origin) if not rest and str(spec.origin).endswith(".py") else None
    for folder in spec.submodule_search_locations:
        base = Path(folder).joinpath(*rest)
        for candidate in (base.with_suffix(".py"), base / "__init__.py"):
            if candidate.is_file():
                return candidate
    return None
