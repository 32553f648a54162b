"""A second opinion on scalar claims: each is printed as a lemma for Rocq, whose kernel accepts a proof or does not.

    from symdyn.certify import certify
    certify("single_neuron.potential").accepted

The lemma is printed from the statement, not from the normal form of the engine; see `symdyn.certify.lemma` for what it
supposes. What `symdyn certify` found of a whole topic is stored with the package of the topic, under a hash of its
source; `symdyn audit` shows it as long as the source is the same.
"""

from __future__ import annotations

import functools
import json
import tempfile
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from symdyn.cache import digest
from symdyn.certify.claims import lemmas, not_scalar
from symdyn.certify.coqc import SECONDS, NoRocq, check, version
from symdyn.certify.lemma import Lemma
from symdyn.registry import load, package_files

__all__ = ["Certificate", "Left", "NoRocq", "certify", "store", "stored", "version"]

REPORT = "certified.json"


@dataclass(frozen=True)
class Left:
    """A claim that Rocq did not accept: which, on which cell, and the goal that its proof left."""

    claim: str
    cell: str
    goal: str


@dataclass(frozen=True)
class Certificate:
    """How many of the scalar claims of a result, each on each cell, Rocq accepted; `others` it was not asked."""

    key: str
    claims: int
    accepted: int
    others: int = 0
    left: tuple[Left, ...] = ()

    @property
    def two_kernels(self) -> bool:
        """Whether Rocq accepts all that the result claims: limits, orders and matrix words are not asked of it."""
        return self.claims > 0 and self.accepted == self.claims and not self.others

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def certify(key: str, folder: Path | None = None, seconds: int = SECONDS) -> Certificate:
    """Have Rocq check the scalar claims of a result; its file stays in `folder` if one is given.

    A lemma with a hypothesis that is false at a point of the domain is not accepted. Raises NoRocq where coqc is
    missing.
    """
    version()
    result = load(key)
    found = list(lemmas(result.key, result.statement, result.domain))
    left = [Left(*what) for what in found if not isinstance(what, Lemma)]
    empty = [lemma for lemma in found if isinstance(lemma, Lemma) and lemma.false]
    left += [Left(lemma.claim, lemma.cell, f"false: {'; '.join(lemma.false)}") for lemma in empty]
    asked = [lemma for lemma in found if isinstance(lemma, Lemma) and not lemma.false]
    with tempfile.TemporaryDirectory() as own:
        answers = check(asked, folder or Path(own), key.replace(".", "_"), seconds) if asked else []
    left += [Left(a.lemma.claim, a.lemma.cell, a.left) for a in answers if not a.accepted]
    others = not_scalar(result.statement, result.domain)
    return Certificate(key, len(found), sum(a.accepted for a in answers), others, tuple(left))


@functools.cache
def source_digest(package: str) -> str:
    """A hash of the modules of a package, which make the statements."""
    return digest(file for _, file in package_files(package))


def store(package: str, certificates: list[Certificate]) -> Path:
    """Write what was found of all results of a package next to its modules."""
    data = {
        "rocq": version(),
        "source": source_digest(package),
        "results": {
            c.key: {"claims": c.claims, "accepted": c.accepted, "others": c.others} for c in certificates
        },
    }
    file = Path(str(files(package) / REPORT))
    file.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return file


def stored(package: str) -> dict[str, Certificate]:
    """What is stored of the results of a package; nothing where its modules have changed since."""
    file = files(package) / REPORT
    if not file.is_file():
        return {}
    data = json.loads(file.read_text(encoding="utf-8"))
    if data["source"] != source_digest(package):
        return {}
    return {key: Certificate(key, **found) for key, found in data["results"].items()}
