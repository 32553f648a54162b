"""Running a study: from its key to the folder of results.

A run keeps its finished cells as it goes (``numerics.lab.store``) and a killed run continues where it stopped; a
folder that holds another configuration, other code or other versions is refused. At the end the folder also
holds figure.png, figure.pdf, data.nc and claims.json.
"""

from __future__ import annotations

from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numerics.lab.claims import Claim
from numerics.lab.evidence import EvidenceError, evidence_folder, load_evidence, made, write_evidence
from numerics.lab.fingerprint import source_of
from numerics.lab.provenance import check_device, check_packages, device_name, versions
from numerics.lab.store import check_writable, claim_folder, save_results, sole_user
from numerics.lab.study import DECISIVE, Cell, Study, StudyError, load_study, recomputed_claims
from numerics.lab.sweep import complete
from numerics.lab.sweep import workers as chosen


@dataclass(frozen=True)
class Run:
    """A finished run: where its files are, what it found, and the evidence file if one was written."""

    folder: Path
    cells: list[Cell]
    claims: list[Claim]
    evidence: Path | None


def run_study(
    study: str | Study,
    scale: str = "laptop",
    device: str = "cpu",
    out: str | Path | None = None,
    *,
    evidence: bool = False,
    progress: bool = True,
    executor: Executor | None = None,
    workers: int = 1,
    scheduler: str | None = None,
) -> Run:
    """Run a study, or the rest of it, and leave figure, data and claims in one folder.

    ``study`` is a key or a Study; ``out`` defaults to ``studies/<key>/<scale>`` in the current folder. With
    ``evidence`` the measurements are also stored where the audit finds them. The progress bar goes to stderr.
    Batches run in this process, one after the other, on ``workers`` processes of this machine (streams, if the
    device is a card), on the Dask cluster of a ``scheduler``, or on any other ``executor`` (``numerics.lab.sweep``).
    Raises StudyError, before any work starts, for an unknown key or scale, a missing package, a device that is not
    there, a folder that cannot be written, a folder that holds results of something else, a grid that is empty, has a
    cell twice or has coordinates that cannot be stored, evidence of a study outside of any package, and evidence of a
    scale that decides nothing in the place of some that does; and, once its cells are kept, for results that do not
    fit into one data set or are not drawn.
    """
    study = load_study(study) if isinstance(study, str) else study
    configuration = study.configuration(scale)
    check_packages()
    check_device(device)
    folder = Path(out) if out is not None else Path("studies") / study.key / scale
    source = source_of(study.module, study.attribute)
    identity: dict[str, Any] = {
        "configuration": configuration,
        "device": device_name(device),
        "source": source.hash,
        "versions": versions(study, configuration, device),
    }
    check_writable(folder)
    store = made(evidence_folder(study.module)) if evidence else None
    if store is not None:
        _keep_what_decides(study, scale, store)
    with sole_user(folder):
        claim_folder(folder, identity)
        with nullcontext(executor) if executor else chosen(workers, scheduler, device) as where:
            cells = complete(
                study,
                configuration,
                device,
                folder,
                progress=progress,
                executor=where,
                recorded=identity,
            )
        rows = [{"cell": dict(cell.cell), "values": dict(cell.values)} for cell in cells]
        claims = recomputed_claims(study, rows)
        save_results(study, identity, cells, claims, folder)
        path = None
        if store is not None:
            path = write_evidence(
                study,
                configuration,
                cells,
                device=identity["device"],
                versions=identity["versions"],
                folder=store,
                source=source,
            )
    return Run(folder=folder, cells=cells, claims=claims, evidence=path)


def _keep_what_decides(study: Study, scale: str, store: Path) -> None:
    """Raises StudyError where evidence that decides an entry would give way to some that does not."""
    try:
        held = load_evidence(study.key, store)["scale"]
    except EvidenceError:  # none, or none that can be read
        return
    if held in DECISIVE and scale not in DECISIVE:
        raise StudyError(
            f"the evidence of {study.key} is of scale {held}, which decides its entry; that of scale {scale} would "
            f"take its place and decide nothing. Run at --scale {held}, leave out --evidence, or remove "
            f"{store / study.key}.json"
        )
