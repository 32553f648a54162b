"""A study: one figure or experiment as a grid of cells, a way to run them, a figure, and claims fixed in
advance.

    @study("kunin2024.fig234-full-rank", title="Full-rank data: …")
    def full_rank():
        return Plan(scales=…, cells=…, run=…, figure=…, claims=…)

The decorated function is called when the module is imported; it only names functions. A study module imports
torch, scipy and matplotlib inside ``run`` and ``figure``, so that its claims can be recomputed where none of
them is installed.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.lab.claims import Claim, Measurement, Measurements, at_most
from symdyn.catalogue.packages import PackageError, below, declarations, said
from symdyn.catalogue.registry import Broken

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCALES = ("smoke", "laptop", "paper")
DECISIVE = ("paper", "contrasts")
OWN_STUDIES = "numerics.studies"


class StudyError(RuntimeError):
    """A study cannot be found, run, resumed or read; the message says why and what to do."""


@dataclass(frozen=True)
class Plan:
    """What a study consists of.

    scales   the configuration of each of "smoke" (seconds), "laptop" (minutes on two cores) and "paper" (as
             published); a large study may add "contrasts": the published sizes, rates and length of training, in
             the cells that the claims compare.
    cells    ``cells(cfg)`` lists the grid as dictionaries of labelled coordinates.
    run      ``run(batch, cfg, device, resume)`` measures a list of cells and returns one ``Cell`` for each.
             ``resume`` is a folder of the batch's own, for checkpoints within a long batch.
    figure   ``figure(results)`` draws a list of ``Cell`` and returns a matplotlib Figure.
    claims   ``claims(measurements)`` returns the claims, from the numbers alone.
    dims     names the axes of the curves, {"S": ("time",)}, for the stored data set.
    batch    how many cells ``run`` takes at most at once; None for no limit.
    shared   the coordinates in which the cells of a batch agree: ("seed",), say, where a seed decides the data.
    absent   the values that may be None, because they do not exist in some cells: the time of a crossing, say. Where
             any other is missing, of a network that diverged for instance, nothing is claimed.
    tools    ``tools(cfg, device)`` names, with its version, what the numbers depend on here beside the packages: the
             compiler of a program that ``run`` uses, say.
    """

    scales: Mapping[str, Mapping[str, object]]
    cells: Callable[[Mapping[str, Any]], list[dict[str, Any]]]
    run: Callable[[list[dict[str, Any]], Mapping[str, Any], str, Path], list[Cell]]
    figure: Callable[[list[Cell]], Figure]
    claims: Callable[[Measurements], list[Claim]]
    dims: Mapping[str, tuple[str, ...]]
    batch: int | None = 1
    shared: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    tools: Callable[[Mapping[str, Any], str], Mapping[str, str]] | None = None


@dataclass(frozen=True)
class Cell(Measurement):
    """The outcome of one cell: a measurement, and what is drawn of it.

    ``values`` are numbers (or None, for one that does not exist) and go into the evidence; ``curves`` are
    arrays, of the same shapes in every cell, and go into the figure and the data set only.
    """

    curves: Mapping[str, Any]


@dataclass(frozen=True)
class Study:
    """A plan with its key (the ledger id of what it reproduces, or a name of our own), its title, its module, and the
    keys of the results that it confronts with trained networks.
    """

    key: str
    title: str
    module: str
    plan: Plan
    attribute: str
    confronts: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Callable[[str, str], Study], tuple[str, str]]:
        """Studies travel to other processes by name."""
        return _imported, (self.module, self.attribute)

    def configuration(self, scale: str) -> dict[str, object]:
        """The full configuration of a run at a scale. Raises StudyError for an unknown scale."""
        if scale not in self.plan.scales:
            raise StudyError(
                f"study {self.key} has no scale {scale!r}: choose one of {', '.join(self.plan.scales)}"
            )
        return {"study": self.key, "scale": scale, **self.plan.scales[scale]}


def study(key: str, *, title: str, confronts: tuple[str, ...] = ()) -> Callable[[Callable[[], Plan]], Study]:
    """Declare a study. `confronts` names the results that it holds against trained networks, as in
    "single_neuron.conserved_delta". Raises ValueError if a scale is missing or unknown.
    """

    def declare(definition: Callable[[], Plan]) -> Study:
        plan = definition()
        if tuple(plan.scales) not in (SCALES, (*SCALES, "contrasts")):
            raise ValueError(
                f"study {key}: the scales must be {SCALES}, with or without 'contrasts', got {tuple(plan.scales)}"
            )
        return Study(key, title, definition.__module__, plan, definition.__name__, tuple(confronts))

    return declare


def _imported(module: str, attribute: str) -> Study:
    return getattr(importlib.import_module(module), attribute)


@dataclass(frozen=True)
class Entry:
    """A line of the index: where a study is defined."""

    key: str
    title: str
    module: str
    attribute: str


class Index(dict[str, Entry]):
    """The studies by key, and what cannot be read or means two things, each with a reason."""

    broken: tuple[Broken, ...] = ()


def index() -> Index:
    """All studies of this package and of the packages behind the entry points ``symdyn.studies``, without
    importing them.

    The source is read for ``@study(key, title=…)`` with literal arguments; importing no study keeps the
    listing instant. A package or a module that cannot be read, and a key that is used twice, is left out and named in
    ``broken``: one package does not stand in the way of the others.
    """
    points = {point.value: point for point in entry_points(group="symdyn.studies")}
    found: dict[str, list[Entry]] = {}
    broken = []
    for package in sorted({OWN_STUDIES, *points}):
        topic = points[package].name if package in points else package
        try:
            modules = _modules(package, points.get(package))
        except StudyError as error:
            broken.append(Broken(package, topic, str(error)))
            continue
        for module, path in modules:
            try:
                entries = _declared(module, path)
            except StudyError as error:
                broken.append(Broken(module, topic, str(error)))
                continue
            for entry in entries:
                found.setdefault(entry.key, []).append(entry)
    for key, (first, *others) in found.items():
        if others:
            words = f"study {key} is defined twice: in {first.module} and in {others[0].module}; rename one of the two"
            broken.append(Broken(key, key, words))
    studies = Index({key: entry for key, (entry, *others) in found.items() if not others})
    studies.broken = tuple(broken)
    return studies


def load_study(key: str) -> Study:
    """The study with this key. Raises StudyError, with the nearest keys and what cannot be read, if there is none, and
    where its module cannot be imported.
    """
    entries = index()
    if key not in entries:
        twice = [b.reason for b in entries.broken if b.name == key]
        if twice:
            raise StudyError(twice[0])
        near = get_close_matches(key, entries, n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(entries)}"
        raise StudyError(
            "; ".join([f"no study has the key {key!r}; {hint}", *(b.reason for b in entries.broken)])
        )
    entry = entries[key]
    try:
        found = getattr(importlib.import_module(entry.module), entry.attribute)
    except (Exception, SystemExit) as error:  # whatever the code of the module raises
        raise StudyError(
            f"{entry.module}, which defines the study {key}, cannot be imported ({said(error)}): correct it, or "
            "uninstall its package"
        ) from error
    if not isinstance(found, Study):
        raise StudyError(f"{entry.module}.{entry.attribute} is not a study, although it is decorated as one")
    return found


def _modules(package: str, point: EntryPoint | None = None) -> list[tuple[str, Path]]:
    """The modules of a package and their files, found without importing it."""
    try:
        spec = importlib.util.find_spec(package)
    except (ModuleNotFoundError, ValueError):  # a package above it is missing, or the name is none
        spec = None
    except (Exception, SystemExit) as error:  # whatever the code of a package above it raises
        raise StudyError(
            f"the package of studies {package!r} cannot be imported ({said(error)}){_remedy(point)}"
        ) from error
    if spec is None or spec.submodule_search_locations is None:
        wrong = "is not installed" if spec is None else "is a module, not a package (a folder of modules)"
        raise StudyError(f"the package of studies {package!r} {wrong}{_remedy(point)}")
    folders = [Path(place) for place in spec.submodule_search_locations]
    try:
        return [found for folder in folders for found in below(package, folder)]
    except OSError as error:
        raise StudyError(
            f"the package of studies {package!r} cannot be read ({error}){_remedy(point)}"
        ) from None


def _remedy(point: EntryPoint | None) -> str:
    """Who names the package, and what can be done."""
    if point is None:
        return ""
    owner = f"of {point.dist.name}" if point.dist else "of an unknown distribution"
    removal = f", or uninstall {point.dist.name}" if point.dist else ""
    return f": correct the entry point {point.name!r} {owner} in the group symdyn.studies{removal}"


def _declared(module: str, path: Path) -> tuple[Entry, ...]:
    """The studies that a module declares; its source is read again only when the file has changed."""
    try:
        status = path.stat()
        changed: tuple[int, ...] = (status.st_mtime_ns, status.st_size, status.st_ino)
    except OSError:  # told by whoever reads it
        changed = ()
    return _read_from(module, path, changed)


@functools.lru_cache(maxsize=512)
def _read_from(module: str, path: Path, changed: tuple[int, ...]) -> tuple[Entry, ...]:
    try:
        body = declarations(path)
    except PackageError as error:
        raise StudyError(str(error)) from None
    entries = []
    for node in body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for call in node.decorator_list:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "study":
                try:
                    key, title = _written_out(call)
                except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                    raise StudyError(
                        f"{path}, line {call.lineno}: write key and title out, as in "
                        '@study("my_studies.decay", title="…"): the index reads them from the source'
                    ) from None
                entries.append(Entry(key, title, module, node.name))
    return tuple(entries)


def _written_out(call: ast.Call) -> tuple[str, str]:
    """Key and title of a decorator. Raises ValueError if they are not one literal text each."""
    titles = [word.value for word in call.keywords if word.arg == "title"]
    found = [ast.literal_eval(node) for node in (*call.args, *titles)]
    if len(call.args) != 1 or len(titles) != 1 or not all(isinstance(text, str) for text in found):
        raise ValueError
    return found[0], found[1]


def recomputed_claims(declared: Study, rows: Sequence[Mapping[str, Any]]) -> list[Claim]:
    """The claims of a study from stored rows {"cell": …, "values": …}; where a value is missing that may not be absent,
    a check alone, which fails.
    """
    missing = [
        f"{name!r} of the cell {dict(row['cell'])}"
        for row in rows
        for name, value in row["values"].items()
        if name not in declared.plan.absent and _is_missing(value)
    ]
    if missing:
        words = f"how many values are missing, so that nothing is claimed of the others: {missing[0]}, say"
        return [at_most("all-measured", words, len(missing), 0, about="check")]
    return declared.plan.claims(Measurements([Measurement(row["cell"], row["values"]) for row in rows]))


def _is_missing(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_is_missing, value))
    return value is None or value != value
