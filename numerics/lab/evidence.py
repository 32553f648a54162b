"""Evidence: the measurements of a study at a stated setting, stored in a small file that is committed.

A file holds the measurements, the configuration with its seeds, the versions, the device and a hash of the
definitions that made them (``numerics.lab.fingerprint``). ``symdyn study run KEY --evidence`` writes it; nobody else
does, and a digest makes an edit by hand evident. After a change of code that leaves the numbers alone,
``numerics.lab.reproduction`` repeats a part of them and notes it in the file. The claims are
recomputed from the measurements whenever they are asked for, which needs neither torch nor scipy.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from numerics.lab.claims import Claim
from numerics.lab.fingerprint import Source, source_of
from numerics.lab.study import (
    DECISIVE,
    OWN_STUDIES,
    Cell,
    Study,
    StudyError,
    index,
    load_study,
    recomputed_claims,
)
from symdyn.catalogue.packages import home

FOLDER = Path(__file__).parents[1] / "evidence"
SCHEMA = 3
FIELDS = (
    "schema",
    "study",
    "scale",
    "configuration",
    "versions",
    "device",
    "source",
    "cells",
    "claims",
    "digest",
)


class EvidenceError(StudyError):
    """An evidence file is missing or broken."""


def evidence_folder(module: str) -> Path:
    """Where the evidence of the studies of a module is kept: beside the package of studies, as ``numerics/evidence``
    is beside ``numerics/studies``, or in that package where no other holds it. Raises EvidenceError for a module
    outside of any package.
    """
    package = home(module) if "." in module else ""
    if package == OWN_STUDIES:
        return FOLDER
    spec = importlib.util.find_spec(package) if package else None
    if spec is None or not spec.submodule_search_locations:
        raise EvidenceError(
            f"the study of {module} belongs to no package, so there is no place for its evidence; put it into a "
            "package that an entry point of symdyn.studies names"
        )
    place = Path(next(iter(spec.submodule_search_locations)))
    return (place.parent if "." in package else place) / "evidence"


def made(folder: Path) -> Path:
    """The folder, which exists and can be written from now on. Raises EvidenceError if not."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise EvidenceError(f"cannot write evidence into {folder}: {error.strerror}") from None


def _folder_of(key: str) -> Path:
    """Where the evidence of a study is; that of an unknown one would be here."""
    entry = index().get(key)
    return FOLDER if entry is None else evidence_folder(entry.module)


def write_evidence(
    study: Study,
    configuration: Mapping[str, Any],
    cells: Sequence[Cell],
    *,
    device: str,
    versions: Mapping[str, str],
    folder: Path | None = None,
    source: Source | None = None,
) -> Path:
    """Store the numbers of a finished run, where ``evidence_folder`` says unless told otherwise. Returns the path of
    the file. Raises EvidenceError if it cannot be written.

    ``source`` is the code that ran, as it was when the run began (default: as it is now).
    """
    rows = [{"cell": dict(cell.cell), "values": dict(cell.values)} for cell in cells]
    source = source or source_of(study.module, study.attribute)
    content = {
        "schema": SCHEMA,
        "study": study.key,
        "scale": configuration["scale"],
        "configuration": dict(configuration),
        "versions": dict(versions),
        "device": device,
        "source": source.as_dict(),
        "cells": rows,
        "claims": [claim.as_dict() for claim in recomputed_claims(study, rows)],
    }
    return rewrite_evidence(content, folder or evidence_folder(study.module))


def rewrite_evidence(content: Mapping[str, Any], folder: Path) -> Path:
    """Store the content of an evidence file, with its digest. Raises EvidenceError if it cannot be written."""
    body = {name: value for name, value in content.items() if name != "digest"}
    path = made(folder) / f"{body['study']}.json"
    write_text(path, _text({**body, "digest": _digest(body)}))
    return path


def _text(content: Mapping[str, Any]) -> str:
    """JSON with one line for each cell and each claim; the names of a cell's numbers stand before the first of them."""
    parts = []
    for name, value in content.items():
        if name == "cells":
            body = _lines(
                [_head(group) + _lines(group["rows"], 3) + "}" for group in _packed(value)], 2, dump=str
            )
        elif name == "claims":
            body = _lines(value, 2)
        else:
            body = _dump(value)
        parts.append(f" {_dump(name)}: {body}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _head(group: Mapping[str, Any]) -> str:
    return f'{{"cell": {_dump(group["cell"])}, "values": {_dump(group["values"])}, "rows": '


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _lines(entries: Sequence[Any], indent: int, dump: Callable[[Any], str] = _dump) -> str:
    space = "\n" + " " * indent
    return "[" + space + f",{space}".join(map(dump, entries)) + space[:-1] + "]"


def _packed(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Neighbouring cells with the same coordinates and numbers, by name, as one table."""
    groups = groupby(rows, key=lambda row: (list(row["cell"]), list(row["values"])))
    return [
        {
            "cell": cell,
            "values": values,
            "rows": [[*row["cell"].values(), *row["values"].values()] for row in group],
        }
        for (cell, values), group in groups
    ]


def _unpacked(groups: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for group in groups:
        cell, values = group["cell"], group["values"]
        for row in group["rows"]:
            found = dict(zip([*cell, *values], row, strict=True))
            rows.append({"cell": {n: found[n] for n in cell}, "values": {n: found[n] for n in values}})
    return rows


def load_evidence(key: str, folder: Path | None = None) -> dict[str, Any]:
    """The stored evidence of a study. Raises EvidenceError if there is none, or if the file is broken or was
    edited.
    """
    path = (folder or _folder_of(key)) / f"{key}.json"
    again = f"run `symdyn study run {key} --scale paper --evidence` to write it anew"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise EvidenceError(f"there is no evidence for {key}; {again}") from None
    except OSError as error:
        raise EvidenceError(f"the evidence file {path} cannot be read ({error.strerror}); {again}") from None
    except (ValueError, RecursionError) as error:  # broken JSON, or what is not UTF-8
        raise EvidenceError(f"the evidence file {path.name} is broken ({error}); {again}") from None
    missing = [name for name in FIELDS if not isinstance(content, dict) or name not in content]
    if missing:
        raise EvidenceError(f"the evidence file {path.name} lacks {', '.join(missing)}; {again}")
    if content["schema"] != SCHEMA or content["study"] != key:
        raise EvidenceError(
            f"the evidence file {path.name} belongs to another study or another schema; {again}"
        )
    try:
        content["cells"] = _unpacked(content["cells"])
        digest = _digest(content)
    except (TypeError, KeyError, ValueError) as error:
        raise EvidenceError(
            f"the cells of the evidence file {path.name} are broken ({error}); {again}"
        ) from None
    if content["digest"] != digest:
        raise EvidenceError(f"the evidence file {path.name} was changed after it was written; {again}")
    return content


def stale(evidence: Mapping[str, Any]) -> bool:
    """Whether the evidence is of another configuration than its study has now at that scale, or the code that it stands
    on has changed since it was written, or last repeated a part of it (``numerics.lab.reproduction``).
    """
    study = load_study(evidence["study"])
    if evidence["scale"] not in study.plan.scales:
        return True
    if evidence["configuration"] != as_json(study.configuration(evidence["scale"])):
        return True
    now = source_of(study.module, study.attribute).hash
    return now not in (evidence["source"]["hash"], evidence.get("reproduced", {}).get("hash"))


def as_json(value: object) -> object:
    """A value as it comes back from a file."""
    return json.loads(_dump(value))


def evidence_state(key: str, folder: Path | None = None) -> dict[str, str | None]:
    """What is stored for a study: "evidence" is none, current, stale or broken, and "scale"
    that of the run.
    """
    folder = folder or _folder_of(key)
    if not (folder / f"{key}.json").exists():
        return {"evidence": "none", "scale": None}
    try:
        stored = load_evidence(key, folder)
    except EvidenceError:
        return {"evidence": "broken", "scale": None}
    return {"evidence": "stale" if stale(stored) else "current", "scale": stored["scale"]}


def verify_claims(key: str, folder: Path | None = None) -> dict[str, object]:
    """Recompute the claims of a study from its stored measurements, and say what they make of its source.

    Returns "status", "holds", "grade", "evidence" (a sentence), "stale" and "claims". The status is "holds"
    if every claim of the source holds, "conditional" if some do, "erratum" if none does. It is "open", and
    ``holds`` is None, without evidence, where a check fails, for then the measurement does not count, and for
    evidence of a scale that is neither that of the source nor its contrasts, which cannot tell. What a status
    other than "holds" rests on is named: "claim" (what was claimed) and "hypothesis" or "corrected" (what was
    found).
    Raises EvidenceError for a broken file and StudyError for an unknown study.
    """
    study = load_study(key)
    folder = folder or _folder_of(key)
    if not (folder / f"{key}.json").exists():
        sentence = f"not run yet: symdyn study run {key} --scale paper --evidence"
        return {
            "status": "open",
            "holds": None,
            "grade": "simulated",
            "evidence": sentence,
            "stale": False,
            "claims": [],
        }
    stored = load_evidence(key, folder)
    claims = recomputed_claims(study, stored["cells"])
    broken = [claim for claim in claims if not claim.holds]
    sentence = (
        f"{len(claims) - len(broken)} of {len(claims)} claims hold over {len(stored['cells'])} cells "
        f"(scale {stored['scale']}, {stored['device']})"
    )
    if "reproduced" in stored:
        sentence += f", {stored['reproduced']['cells']} of them repeated to the last digit by later code"
    if broken:
        sentence += "; not: " + ", ".join(claim.name for claim in broken)
    status = _status(claims)
    if stored["scale"] not in DECISIVE:
        status = "open"
    return {
        "status": status,
        "holds": None if status == "open" else not broken,
        "grade": "simulated",
        "evidence": sentence,
        "stale": stale(stored),
        "claims": [claim.as_dict() for claim in claims],
        **_findings(status, claims),
    }


def _status(claims: Sequence[Claim]) -> str:
    stated = [claim.holds for claim in claims if claim.about == "paper"]
    if not stated or not all(claim.holds for claim in claims if claim.about == "check"):
        return "open"
    if all(stated):
        return "holds"
    return "conditional" if any(stated) else "erratum"


def _findings(status: str, claims: Sequence[Claim]) -> dict[str, str]:
    failed = [claim for claim in claims if claim.about == "paper" and not claim.holds]
    found = "; ".join(
        f"{claim.name}: measured {claim.estimate:g}, {claim.relation} {claim.threshold}" for claim in failed
    )
    claimed = "; ".join(claim.statement for claim in failed)
    if status == "conditional":
        return {"claim": claimed, "hypothesis": f"all but what was not found ({found})"}
    if status == "erratum":
        return {"claim": claimed, "corrected": found, "severity": "substantive"}
    return {}


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises EvidenceError if it cannot be written, or has half a character."""
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise EvidenceError(f"cannot write {path}: {error}") from None
    write_bytes(path, content)


def write_bytes(path: Path, content: bytes | memoryview) -> None:
    """Write a file whole or not at all, and wait until it is on the disk. Raises EvidenceError if it cannot be written,
    on a full disk say.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            with open(draft, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        except OSError:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise EvidenceError(
            f"cannot write {path}: {error.strerror}; free some space, or move away what is in its place, and do it "
            "again: what is finished is kept"
        ) from None


def _digest(content: Mapping[str, Any]) -> str:
    body = {name: value for name, value in content.items() if name != "digest"}
    return hashlib.sha256(json.dumps(body, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]
