"""A second opinion on scalar claims: each is printed as a lemma for Rocq, whose kernel accepts a proof or does not.

    from symdyn.certify import certify
    certify("single_neuron.potential").accepted

The lemma is printed from the statement, not from the normal form of the engine; see `symdyn.lemmas.page` for what it
supposes. What `symdyn certify` found of a whole topic is stored with the package of the topic, under a hash of the
lemmas; `symdyn audit` shows it as long as the same lemmas are printed.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from symdyn.catalogue.cache import Cache, digest
from symdyn.catalogue.registry import IndexEntry, load
from symdyn.certify.claims import lemmas, others, printed
from symdyn.certify.coqc import SECONDS, NoRocq, check, version
from symdyn.lemmas.page import Lemma

__all__ = ["Certificate", "Left", "NoRocq", "certify", "lemmas_digest", "store", "stored", "version"]

REPORT = "certified.json"


@dataclass(frozen=True)
class Left:
    """A claim that Rocq did not accept: which, on which cell, and the goal that its proof left."""

    claim: str
    cell: str
    goal: str


@dataclass(frozen=True)
class Certificate:
    """How many of the scalar claims of a result, each on each cell, Rocq accepted; `others` it was not asked.

    `lemmas` is a hash of these claims as they are printed.
    """

    key: str
    claims: int
    accepted: int
    others: int = 0
    lemmas: str = ""
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
    left += [Left(lemma.claim, lemma.cell, f"false at a point, {'; '.join(lemma.false)}") for lemma in empty]
    asked = [lemma for lemma in found if isinstance(lemma, Lemma) and not lemma.false]
    with tempfile.TemporaryDirectory() as own:
        answers = check(asked, folder or Path(own), key.replace(".", "_"), seconds) if asked else []
    left += [Left(a.lemma.claim, a.lemma.cell, a.left) for a in answers if not a.accepted]
    return Certificate(
        key,
        len(found),
        sum(a.accepted for a in answers),
        others(result.statement, result.domain),
        lemmas_digest(key),
        tuple(left),
    )


def lemmas_digest(key: str) -> str:
    """A hash of the scalar claims of a result as they are printed, hypotheses and all."""
    result = load(key)
    texts = printed(result.key, result.statement, result.domain)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def store(package: str, certificates: list[Certificate]) -> Path:
    """Write what was found of all results of a package next to its modules."""
    names = ("claims", "accepted", "others", "lemmas")
    results = {c.key: {name: getattr(c, name) for name in names} for c in certificates}
    file = Path(str(files(package) / REPORT))
    text = json.dumps({"rocq": version(), "results": results}, indent=1)
    file.write_text(text + "\n", encoding="utf-8")
    return file


def stored(package: str, jobs: Iterable[IndexEntry], use_cache: bool = True) -> dict[str, Certificate]:
    """What is stored of results of a package, as far as they still claim what they claimed then.

    That takes printing all lemmas; the hash of those of a module that has not changed is remembered.
    """
    file = files(package) / REPORT
    if not file.is_file():
        return {}
    found = {key: Certificate(key, **c) for key, c in json.loads(file.read_text("utf-8"))["results"].items()}
    cache = Cache(f"{package}.lemmas") if use_cache else None
    lemmas = Path(__file__).parents[1] / "lemmas"
    printer = digest(lemmas / name for name in ("page.py", "claims.py"))
    kept, learnt = {}, False
    for job in jobs:
        if job.key not in found:
            continue
        name = f"{job.key} {printer}"
        now = cache.get(name, job.module) if cache is not None else None
        if now is None:
            now = lemmas_digest(job.key)
            if cache is not None:
                cache.put(name, job.module, now)
                learnt = True
        if now == found[job.key].lemmas:
            kept[job.key] = found[job.key]
    if learnt and cache is not None:
        cache.write()
    return kept
