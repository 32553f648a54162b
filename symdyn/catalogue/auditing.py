"""The ledger against the registry: every entry of the papers, its status, and how it is known."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

from symdyn.catalogue.cache import Cache
from symdyn.catalogue.implements import computed_by
from symdyn.catalogue.packages import home, said
from symdyn.catalogue.paper import Entry, entry, ledger
from symdyn.catalogue.registry import IndexEntry, confronted_by, index, load, load_printed, verify_study
from symdyn.catalogue.restrictions import added_to
from symdyn.catalogue.result import PrintedVerdict
from symdyn.proof.budget import bound_memory
from symdyn.proof.check import decide
from symdyn.proof.standing import standing
from symdyn.proof.verdict import Verdict, weakest
from symdyn.statements.hypothesis import Hypothesis, joined

STATUSES = ("holds", "extraction", "conditional", "erratum", "open")
"""Statuses, best first: the status of an entry is the worst of its parts."""

AT_MOST_LOST = 10.0
"""Seconds of verification after which the verdicts reached so far are written."""

DIED = "the process that verified"

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class AuditEntry:
    """One entry of the ledger with its status, its grade and what they rest on."""

    id: str
    topic: str
    status: str
    grade: str
    results: tuple[str, ...]
    seconds: float
    printed: str = ""
    counterexample: str = ""
    corrected: str = ""
    severity: str = ""
    hypothesis: str = ""
    stale: bool = False
    two_kernels: bool = False
    kernel: bool = False
    failures: tuple[str, ...] = field(default=())

    @property
    def computed_by(self) -> tuple[str, ...]:
        """The functions that compute what its results state."""
        return tuple(dict.fromkeys(tie.place for key in self.results for tie in computed_by(key)))

    @property
    def confronted_by(self) -> tuple[str, ...]:
        """The studies that confront its results with trained networks."""
        own = [self.id] if self.id in self.results else []
        return tuple(
            dict.fromkeys([*own, *(study.key for key in self.results for study in confronted_by(key))])
        )

    def as_json(self) -> dict[str, Any]:
        """The fields that belong to the status."""
        out: dict[str, Any] = {
            "id": self.id,
            "topic": self.topic,
            "status": self.status,
            "grade": self.grade,
            "results": list(self.results),
            "computed_by": list(self.computed_by),
            "confronted_by": list(self.confronted_by),
            "seconds": round(self.seconds, 4),
        }
        if self.status == "erratum":
            names: tuple[str, ...] = ("printed", "counterexample", "corrected", "severity")
        elif self.status == "conditional":
            names = ("hypothesis", "counterexample")
        else:
            names = ()
        out.update({name: getattr(self, name) for name in names})
        if self.stale:
            out["stale"] = True
        if self.two_kernels:
            out["two_kernels"] = True
        if self.kernel:
            out["kernel"] = True
        if self.failures:
            out["failures"] = list(self.failures)
        return out


def audit(
    paper: str | None = None,
    topic: str | None = None,
    progress: Progress | None = None,
    processes: int | None = None,
    use_cache: bool = True,
) -> list[AuditEntry]:
    """Decide every entry of the ledger (of a paper, of a topic), in ledger order.

    `progress(key, done, total)` is called after each verification. Raises KeyError for an unknown paper or topic.
    """
    entries = [e for e in ledger(paper).values() if topic is None or e.topic == topic]
    if not entries:
        known = sorted({e.topic for e in ledger(paper).values()})
        raise KeyError(f"no topic '{topic}'; the ledger has {', '.join(known)}")
    wanted = {e.id for e in entries}
    jobs = [r for r in (*index("result"), *index("printed")) if wanted & set(r.ledger)]
    verdicts = verify_all(jobs, progress, processes, use_cache)
    certified = _certified(jobs, use_cache)
    return [_decided(e, jobs, verdicts, certified) for e in entries]


def remembered(ledger_id: str) -> AuditEntry | None:
    """An entry as it was decided last, from the cache alone; None where one of its verdicts is not there."""
    e = entry(ledger_id)
    jobs = [r for r in (*index("result"), *index("printed")) if ledger_id in r.ledger]
    opened = {home(job.module): Cache(home(job.module)) for job in jobs}
    found: dict[str, Any] = {}
    uses: dict[str, tuple[str, ...]] = {}
    waiting, entries = list(jobs), {r.key: r for r in index("result")}
    while waiting:
        job = waiting.pop()
        package = home(job.module)
        known = opened.setdefault(package, Cache(package)).get(job.key, job.module)
        if known is None:
            return None
        found[job.key] = _thaw(job.kind, known)
        uses |= _stands_on(job, known)
        waiting += [entries[key] for key in uses.get(job.key, ()) if key not in found]
    stood = {
        job.key: standing(job.key, found.__getitem__, uses.__getitem__)
        for job in jobs
        if job.kind == "result"
    }
    return _decided(e, jobs, found | stood, _certified(jobs, True))


def errata(paper: str | None = None, topic: str | None = None) -> list[AuditEntry]:
    """The entries whose printed form is refuted, with the counterexample and the corrected form."""
    return [e for e in audit(paper, topic) if e.status == "erratum"]


def verify_all(
    jobs: Iterable[IndexEntry],
    progress: Progress | None = None,
    processes: int | None = None,
    use_cache: bool = True,
) -> dict[str, Any]:
    """Verdicts on results and printed forms by key, from the cache or computed on several processes.

    A result is worth no more than what it stands on, all the way down. What cannot be verified, since its module cannot
    be imported for instance, is INVALID and says why.
    """
    jobs = list(jobs)
    entries = {e.key: e for e in index("result")}
    own: dict[str, Any] = {}
    uses: dict[str, tuple[str, ...]] = {}
    waiting = jobs
    while waiting:  # what some stand on is known when they have been verified
        found, stands_on = _verdicts(waiting, progress, processes, use_cache)
        own |= found
        uses |= stands_on
        below = dict.fromkeys(key for keys in stands_on.values() for key in keys if key not in own)
        waiting = [entries[key] for key in below]
    stood = {
        job.key: standing(job.key, own.__getitem__, uses.__getitem__) for job in jobs if job.kind == "result"
    }
    return {job.key: own[job.key] for job in jobs} | stood


def _verdicts(
    jobs: list[IndexEntry], progress: Progress | None, processes: int | None, use_cache: bool
) -> tuple[dict[str, Any], dict[str, tuple[str, ...]]]:
    """The verdict on each by itself, and what the results among them stand on.

    Both come from the process that verifies: the code of a package may end the process that imports it.
    """
    caches = {home(job.module): None for job in jobs}
    opened: dict[str, Cache] = {package: Cache(package) for package in caches} if use_cache else {}
    found: dict[str, Any] = {}
    uses: dict[str, tuple[str, ...]] = {job.key: () for job in jobs if job.kind == "result"}
    todo: list[IndexEntry] = []
    for job in jobs:
        cache = opened.get(home(job.module))
        known = cache.get(job.key, job.module) if cache is not None else None
        if known is None:
            todo.append(job)
        else:
            found[job.key] = _thaw(job.kind, known)
            uses |= _stands_on(job, known)
    written = time.monotonic()
    try:
        for job, data, obstacle in _run(todo, processes):
            found[job.key] = _hindered(job, obstacle) if obstacle else _thaw(job.kind, data)
            uses |= {} if obstacle else _stands_on(job, data)
            cache = opened.get(home(job.module))
            if cache is not None and not obstacle:
                cache.put(job.key, job.module, data)
            if time.monotonic() - written > AT_MOST_LOST:
                _write(opened)
                written = time.monotonic()
            if progress is not None:
                progress(job.key, len(found), len(jobs))
    finally:  # what an interrupt leaves undone is not all
        if todo:
            _write(opened)
    return found, uses


def _write(opened: dict[str, Cache]) -> None:
    for cache in opened.values():
        cache.write()


def _stands_on(job: IndexEntry, data: Any) -> dict[str, tuple[str, ...]]:
    return {job.key: tuple(data["uses"])} if job.kind == "result" else {}


def _run(jobs: list[IndexEntry], processes: int | None) -> Iterable[tuple[IndexEntry, Any, str]]:
    """Each job with what it returns, or with what hindered it."""
    workers = min(processes or os.cpu_count() or 1, len(jobs))
    if workers <= 1:
        for job in jobs:
            yield job, *_attempt(job.kind, job.key)
        return
    with _pool(workers) as pool:
        yield from _answers({pool.submit(_attempt, job.kind, job.key): job for job in jobs})


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that verify. They do not run the script again that asks for verdicts, which may do so at its top."""
    main = sys.modules["__main__"]
    script = main.__dict__.pop("__file__", None) if main.__spec__ is None else None
    try:
        with ProcessPoolExecutor(workers, get_context("forkserver"), initializer=bound_memory) as pool:
            yield pool
    finally:
        if script is not None:
            main.__file__ = script


def _answers(futures: dict[Future[Any], IndexEntry]) -> Iterable[tuple[IndexEntry, Any, str]]:
    """What each job returns. A process that dies takes those of the others with it: each runs again, by itself."""
    again = []
    for future in as_completed(futures):
        try:
            yield futures[future], *future.result()
        except BrokenExecutor:
            again.append(futures[future])
    for job in again:
        with _pool(1) as pool:
            try:
                yield job, *pool.submit(_attempt, job.kind, job.key).result()
            except BrokenExecutor:
                yield job, None, f"{DIED} '{job.key}' died: correct {job.module}"


def _attempt(kind: str, key: str) -> tuple[Any, str]:
    """What ``verify_job`` returns, or what it raises, in words: the code of a package may raise anything."""
    try:
        return verify_job(kind, key), ""
    except (Exception, SystemExit) as error:
        return None, said(error)


def _hindered(job: IndexEntry, obstacle: str) -> Any:
    """What its own code hinders is invalid; where a process died, that may have been for another reason."""
    outcome = "UNKNOWN" if obstacle.startswith(DIED) else "INVALID"
    verdict = Verdict(outcome, "tested", f"cannot be verified: {obstacle}")
    return verdict if job.kind == "result" else PrintedVerdict(job.key, verdict)


def verify_job(kind: str, key: str) -> Any:
    """Verify one result or printed form, for a worker process."""
    if kind == "result":
        result = load(key)
        return result.verify_alone().as_json() | {"uses": list(result.uses)}
    found = _printed(key).verify()
    under = found.under.as_json() if found.under is not None else None
    return {"key": key, "stated": found.stated.as_json(), "under": under}


def _printed(key: str) -> Any:
    return load_printed(next(e for e in index("printed") if e.key == key))


def _thaw(kind: str, data: Any) -> Any:
    if kind == "result":
        return Verdict.from_json({name: value for name, value in data.items() if name != "uses"})
    under = Verdict.from_json(data["under"]) if data["under"] else None
    return PrintedVerdict(data["key"], Verdict.from_json(data["stated"]), under)


def _decided(
    e: Entry,
    jobs: list[IndexEntry],
    verdicts: dict[str, Any],
    certified: frozenset[str] = frozenset(),
) -> AuditEntry:
    """The entry decided; open, with the reason, where the code of a package does not let it be."""
    try:
        return _audit_entry(e, jobs, verdicts, certified)
    except (Exception, SystemExit) as error:
        return AuditEntry(e.id, e.topic, "open", "", (), 0.0, failures=(f"{e.id}: {said(error)}",))


def _audit_entry(
    e: Entry,
    jobs: list[IndexEntry],
    verdicts: dict[str, Any],
    certified: frozenset[str] = frozenset(),
) -> AuditEntry:
    results = [j.key for j in jobs if j.kind == "result" and e.id in j.ledger]
    forms = [j.key for j in jobs if j.kind == "printed" and e.id in j.ledger]
    study = e.id in {s.key for s in index("study")}
    failures, statuses, grades, seconds = [], [], [], 0.0
    added: list[Hypothesis] = []
    for key in results:
        verdict: Verdict = verdicts[key]
        seconds += verdict.seconds
        grades.append(verdict.grade)
        statuses.append("holds" if verdict.stands else "open")
        if verdict.stands:
            added += added_to(load(key))
        else:
            failures.append(f"{key}: {verdict.outcome}, {verdict.evidence}{_survivors(verdict)}")
    extra: dict[str, Any] = {}
    for key in forms:
        found: PrintedVerdict = verdicts[key]
        seconds += found.stated.seconds + (found.under.seconds if found.under else 0.0)
        statuses.append(found.status)
        grades.append(found.under.grade if found.under else found.stated.grade)
        extra = _joined(extra, _of_printed_form(key, found, results, failures))
    if added:
        told = "; ".join(_printed(key).hypothesis for key in forms if verdicts[key].status == "conditional")
        status, more = _of_added(e.id, added, told, failures)
        statuses.append(status)
        extra = _joined(more, extra)
    if study:
        status, grade, more = _of_study(e.id, failures)
        statuses.append(status)
        grades.append(grade)
        extra = _joined(extra, more)
        results = [*results, e.id]
    status = max(statuses, key=STATUSES.index, default="open")
    if status == "erratum" and not results:
        failures.append(f"{e.id}: the printed form is refuted, but no result gives the corrected form")
    grade = weakest(grades) if status != "open" else ""
    extra["two_kernels"] = status != "open" and not study and bool(results) and certified.issuperset(results)
    whole = [verdicts[key].certificates.complete for key in results if key != e.id]
    extra["kernel"] = status != "open" and not study and bool(whole) and all(whole)
    return AuditEntry(
        e.id, e.topic, status, grade, tuple(results), seconds, failures=tuple(failures), **extra
    )


def _certified(jobs: list[IndexEntry], use_cache: bool) -> frozenset[str]:
    """The results of which Rocq accepted all that they claim, as the reports stored with their packages say."""
    from symdyn.certify import stored

    found: set[str] = set()
    results = [job for job in jobs if job.kind == "result"]
    for package in {home(job.module) for job in results}:
        own = [job for job in results if home(job.module) == package]
        with suppress(
            Exception, SystemExit
        ):  # code that cannot be read is named elsewhere, and certifies nothing
            found.update(key for key, c in stored(package, own, use_cache).items() if c.two_kernels)
    return frozenset(found)


def _joined(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """The remarks of both, where an entry has several printed forms, or a printed form and a study."""
    texts = {
        name: "; ".join(dict.fromkeys(x for x in (first.get(name), second.get(name)) if x))
        for name in (first | second).keys() - {"stale", "severity"}
    }
    return first | second | texts


NO_COUNTEREXAMPLE = "no counterexample given"


def _of_added(
    name: str, added: list[Hypothesis], told: str, failures: list[str]
) -> tuple[str, dict[str, str]]:
    """Status and remarks of an entry whose results need what the paper does not say.

    That something fails without it is shown by a printed form of the entry, or by a counterexample that the engine
    refutes; an entry without either is conditional too, and says so. `told` is what printed forms say already.
    """
    found = []
    for hypothesis in dict.fromkeys(added):
        if hypothesis.counterexample is None:
            continue
        verdict = decide(hypothesis.counterexample(), None)
        if verdict.holds is not False:
            failures.append(f"{name}: the counterexample without '{hypothesis.words}' is {verdict.outcome}")
            return "open", {}
        found.append(str(verdict.witness))
    if not found and not told:
        found.append(NO_COUNTEREXAMPLE)
    untold = [hypothesis for hypothesis in added if hypothesis.words not in told]
    return "conditional", {"hypothesis": joined(untold), "counterexample": "; ".join(found)}


def _survivors(verdict: Verdict) -> str:
    return "; survivors: " + "; ".join(verdict.survivors) if verdict.survivors else ""


def _of_printed_form(
    key: str, found: PrintedVerdict, results: list[str], failures: list[str]
) -> dict[str, str]:
    from symdyn.render.latex import statement_latex
    from symdyn.render.points import occurring

    if found.status == "open":
        undecided = found.under if found.stated.holds is False else found.stated
        failures.append(f"{key}: {undecided.evidence if undecided else ''}")
        return {}
    form = _printed(key)
    if found.status == "holds":
        if form.severity or form.hypothesis:
            failures.append(f"{key}: declared defective, but the printed form holds")
        return {}
    if not form.severity and not form.hypothesis:
        failures.append(
            f"{key}: refuted ({found.witness}), but neither a severity nor a hypothesis is declared"
        )
    extra = {"counterexample": str(occurring(form.statement, found.witness)) if found.witness else ""}
    if found.status == "conditional":
        return extra | {"hypothesis": form.hypothesis}
    corrected = "; ".join(load(r).latex() for r in results if form.ledger_id in load(r).ledger)
    return extra | {
        "printed": statement_latex(form.statement, form.key.split(".")[0]),
        "corrected": corrected,
        "severity": form.severity,
    }


def _of_study(key: str, failures: list[str]) -> tuple[str, str, dict[str, Any]]:
    """Status, grade and remarks from the stored measurement of a study, its claims computed anew."""
    try:
        found = verify_study(key)
    except (Exception, SystemExit) as error:  # whatever the code of its package raises
        refused = isinstance(error, RuntimeError) and str(error)  # StudyError says what to do
        failures.append(f"{key}: {refused or said(error)}")
        return "open", "", {}
    extra: dict[str, Any] = {"stale": bool(found["stale"])}
    if found["status"] in ("conditional", "erratum"):
        extra |= {"counterexample": found["evidence"], "hypothesis": found.get("hypothesis", "")}
        extra |= {"printed": found.get("claim", ""), "corrected": found.get("corrected", "")}
        extra["severity"] = found.get("severity", "substantive")
    return found["status"], found["grade"], extra
