"""The command line: `symdyn list · show · search · verify · audit · certify · errata · book · cite · study`.

Tables and JSON go to stdout, progress and errors to stderr. Exit status: 0 fine, 1 a check failed, 2 the
request was wrong (an unknown key, an unwritable folder), 130 a study was interrupted. A package that cannot be read has
a row of its own, `broken`, which makes a check fail, and the others go on. Whatever is heavy is imported by the command
that needs it.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symdyn.catalogue.implements import computed_by
from symdyn.catalogue.packages import PackageError, home, imported, said
from symdyn.catalogue.registry import Broken, IndexEntry, broken, confronted_by, index, named
from symdyn.cli.console import (
    RequestError,
    failed,
    near,
    plain,
    print_json,
    progress_bar,
    say,
    table,
    writable,
)

if TYPE_CHECKING:
    from symdyn.catalogue.auditing import AuditEntry
    from symdyn.catalogue.result import Result

CHECK_FAILED = 1
WRONG_REQUEST = 2
INTERRUPTED = 130
BROKEN = "broken"
_UNTOLD = {"evidence": "unknown", "scale": None}

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="The theory of learning dynamics: derived, verified, typeset, compiled, confronted with networks.",
)
study_app = typer.Typer(no_args_is_help=True, help="Experiments that confront the theory with networks.")
app.add_typer(study_app, name="study")

Key = Annotated[str, typer.Argument(help="A key (single_neuron.potential) or a ledger id.")]
Keys = Annotated[list[str], typer.Argument(help="Keys or ledger ids.")]
Topic = Annotated[str | None, typer.Option(help="Only this topic, e.g. single_neuron.")]
Paper = Annotated[str | None, typer.Option(help="Only this paper, e.g. kunin2024.")]
Full = Annotated[bool, typer.Option("--full", help="Also run the studies anew and store their evidence.")]
Scale = Annotated[
    str,
    typer.Option(
        help="smoke (seconds), laptop (minutes), paper (as published) or contrasts, if there is such."
    ),
]
Store = Annotated[bool, typer.Option("--evidence", help="Store the measurements for the audit.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]


def _tell_version(asked: bool) -> None:
    if asked:
        from symdyn import __version__

        plain(f"symdyn {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and end.", is_eager=True, callback=_tell_version),
    ] = False,
) -> None:
    """The theory of learning dynamics: derived, verified, typeset, compiled, confronted with networks."""


def main() -> None:
    """Run the command line; a request that cannot be carried out ends with a message and exit status 2."""
    refusals: tuple[type[Exception], ...] = (RequestError, PackageError, *_study_errors())
    try:
        app()
    except refusals as error:
        failed(str(error))
        sys.exit(WRONG_REQUEST)


@app.command("list")
def list_results(topic: Topic = None, as_json: Json = False) -> None:
    """What there is: every result with its key, its title and the ledger entries it settles."""
    left_out = _left_out(topic)
    entries = [] if left_out and topic not in {e.topic for e in index()} | {None} else _results_of(topic)
    if as_json:
        fields = ("key", "topic", "title", "ledger", "module")
        print_json([{name: getattr(e, name) for name in fields} for e in entries] + _as_json("key", left_out))
        return
    rows = [(e.key, e.title, "\n".join(e.ledger) or "own result") for e in entries]
    columns = ("key", "title", "ledger")
    table(_count(len(rows), "result"), columns, [*rows, *((b.name, BROKEN, "") for b in left_out)])
    _tell(left_out)


@app.command()
def show(
    key: Key,
    steps: Annotated[bool, typer.Option("--steps", help="The derivation, line by line.")] = False,
    as_json: Json = False,
) -> None:
    """One result, or what settles an entry of the ledger: statement, source, hypotheses, how to call it."""
    entry = _entry(key) if _is_entry(key) else None
    results = [_load(name) for name in (_resolve([key]) if entry is None or named(key) else ())]
    described = [_description(result) for result in results]
    if as_json:
        found = [*([entry] if entry and not results else []), *described]
        print_json(found[0] if len(found) == 1 else found)
        return
    if entry is not None:
        _print_entry(entry)
    for result, description in zip(results, described, strict=True):
        _print_description(result, description, steps)


@app.command()
def search(
    words: Annotated[list[str], typer.Argument(help="Words, as in: implicit bias.")],
    as_json: Json = False,
) -> None:
    """Find results, functions, studies, modules and entries of the ledger by what is said of them."""
    from symdyn.catalogue.search import found

    hits = found(" ".join(words))
    if as_json:
        print_json([hit.as_json() for hit in hits])
        return
    if not hits:
        raise RequestError(f"nothing is said of '{' '.join(words)}'; try one word of it, or `symdyn list`")
    rows = [(hit.name, hit.kind, hit.title, hit.place) for hit in hits]
    table(_count(len(rows), "hit"), ("name", "kind", "what it says", "where"), rows)


@app.command()
def verify(
    keys: Annotated[list[str] | None, typer.Argument(help="Keys or ledger ids; all results if none.")] = None,
    full: Full = False,
    as_json: Json = False,
) -> None:
    """Verify results anew, each with its mutants; nothing is taken from the cache."""
    from symdyn.catalogue.auditing import verify_all

    studies = _studies() if full else {}
    wanted = _resolve([key for key in keys if key not in studies]) if keys else [e.key for e in index()]
    left_out = () if keys else _left_out()
    jobs = [e for e in index() if e.key in wanted]
    with progress_bar("verifying") as advance:
        verdicts = verify_all(jobs, advance, use_cache=False)
    ordered = [(job, verdicts[job.key]) for job in jobs]
    if as_json:
        found = [{"key": job.key, **verdict.as_json()} for job, verdict in ordered]
        print_json(found + _as_json("key", left_out))
    else:
        rows = [
            (job.key, verdict.outcome, verdict.grade, f"{verdict.seconds:.2f}", "; ".join(_evidence(verdict)))
            for job, verdict in ordered
        ]
        columns = ("key", "verdict", "grade", "seconds", "evidence")
        table(
            _count(len(rows), "result"),
            columns,
            [*rows, *((b.name, BROKEN, "", "", b.reason) for b in left_out)],
        )
    _tell(left_out)
    if full:
        ids = {ledger_id for job in jobs for ledger_id in job.ledger} | set(keys or ())
        for entry in studies.values():
            if not keys or entry.key in ids:
                _run_study(entry.key, "paper", "cpu", None, evidence=True)
    if left_out or any(not verdict.stands for _, verdict in ordered):
        raise typer.Exit(CHECK_FAILED)


@app.command()
def audit(paper: Paper = None, topic: Topic = None, as_json: Json = False) -> None:
    """Decide every entry of the ledger: its status, how it is known, and by which results."""
    entries = _audited(paper, topic)
    left_out = (*_left_out(topic), *broken("study"), *_ledgers_left_out())
    if as_json:
        print_json([e.as_json() for e in entries] + _as_json("id", left_out))
    else:
        rows = [
            (
                e.id,
                e.status + _remarks(e),
                e.grade + ", kernel" * e.kernel + ", two kernels" * e.two_kernels,
                "\n".join(e.results),
                "\n".join([*(name.partition(".")[2] for name in e.computed_by), *e.confronted_by]),
                f"{e.seconds:.2f}",
            )
            for e in entries
        ]
        columns = ("entry", "status", "grade", "results", "computed and confronted by", "seconds")
        table("audit", columns, [*rows, *((b.name, BROKEN, "", "", "", "") for b in left_out)])
        for name in dict.fromkeys(e.id.partition(".")[0] for e in entries):
            _print_totals(f"{name}: ", [e for e in entries if e.id.partition(".")[0] == name])
        if len({e.id.partition(".")[0] for e in entries}) > 1:
            _print_totals("", entries)
        whole = sum(e.kernel for e in entries)
        plain(f"the kernel has checked a certificate of every claim of {_count(whole, 'entry')}")
    failures = [failure for e in entries for failure in e.failures]
    for failure in dict.fromkeys(failures):
        failed(failure)
    _tell(left_out)
    if failures or left_out:
        raise typer.Exit(CHECK_FAILED)


@app.command()
def certify(
    keys: Annotated[
        list[str] | None, typer.Argument(help="Keys or ledger ids; all of a topic if none.")
    ] = None,
    topic: Topic = None,
    keep: Annotated[
        Path | None, typer.Option("--keep", help="The folder in which the files for Rocq stay.")
    ] = None,
    store: Annotated[
        bool, typer.Option("--store", help="Store what is found of the whole topic, for the audit.")
    ] = False,
    at_least: Annotated[
        float, typer.Option(help="The share of claims, in percent, that must be accepted.", min=0, max=100)
    ] = 100,
    as_json: Json = False,
) -> None:
    """Have Rocq check the scalar claims of results: a second kernel, where `coqc` is installed."""
    from symdyn import certify as rocq

    if bool(keys) == bool(topic) or (store and not topic):
        raise RequestError("name results, or a topic with --topic; --store stores a whole topic")
    jobs = [e for e in _results_of(topic)] if topic else [e for e in index() if e.key in _resolve(keys or [])]
    found = []
    try:
        with writable(keep or Path(tempfile.gettempdir())), progress_bar("certifying") as advance:
            rocq.version()
            for number, job in enumerate(jobs, start=1):
                found.append(rocq.certify(job.key, keep))
                advance(job.key, number, len(jobs))
    except rocq.NoRocq as obstacle:
        raise RequestError(str(obstacle)) from None
    if store:
        plain(f"stored: {rocq.store(jobs[0].module.rpartition('.')[0], found)}")
    if as_json:
        print_json([c.as_json() for c in found])
    else:
        rows = [(c.key, str(c.claims), str(c.accepted), str(c.others)) for c in found]
        table(_count(len(rows), "result"), ("key", "scalar claims", "accepted", "others"), rows)
        accepted, claims = sum(c.accepted for c in found), sum(c.claims for c in found)
        plain(f"{accepted} of {claims} scalar claims are accepted by Rocq {rocq.version()}")
        for c in found:
            for left in c.left:
                failed(f"{left.claim}, on the cell '{left.cell}', leaves: {left.goal}")
    if 100 * sum(c.accepted for c in found) < at_least * sum(c.claims for c in found):
        raise typer.Exit(CHECK_FAILED)


def _print_totals(whose: str, entries: list[AuditEntry]) -> None:
    count = Counter(e.status for e in entries)
    plain(
        f"{whose}{len(entries)} entries: " + ", ".join(f"{n} {status}" for status, n in count.most_common())
    )


@app.command()
def errata(paper: Paper = None, topic: Topic = None, as_json: Json = False) -> None:
    """The printed forms that are refuted: the counterexample and the corrected form of each."""
    entries = [e for e in _audited(paper, topic) if e.status == "erratum"]
    left_out = (*_left_out(topic), *broken("study"), *_ledgers_left_out())
    _tell(left_out)
    if as_json:
        print_json([e.as_json() for e in entries] + _as_json("id", left_out))
        return
    plain(f"{len(entries)} errata")
    for b in left_out:
        say(f"{b.name} ({BROKEN})")
    for e in entries:
        say(f"{e.id} ({e.severity})")
        for name in ("printed", "counterexample", "corrected"):
            plain(f"  {name + ':':<16}{' '.join(getattr(e, name).split())}")


@app.command()
def book(out: Annotated[Path, typer.Option("-o", "--out", help="The folder of the book.")]) -> None:
    """Write the book of results: LaTeX and HTML always, PDF where pdflatex is found."""
    from symdyn.render.book import write_book

    with writable(out), progress_bar("writing") as advance:
        written = write_book(out, advance)
    for path in written.files:
        plain(str(path))
    plain(written.pdf_notice)
    left_out = (*_left_out(), *broken("study"))
    _tell(left_out)
    if written.pdf_failed or left_out:
        raise typer.Exit(CHECK_FAILED)


@app.command()
def cite(keys: Keys) -> None:
    """BibTeX of the papers behind some results, with the places in them."""
    from symdyn.catalogue.citation import cite as records

    results = [_load(name) for name in _resolve(keys)]
    if found := records(*results):
        plain(found)
    for result in results:
        if not result.papers:
            plain(f"% {result.key} names no source: it is a result of its own")


@study_app.command("list")
def list_studies(as_json: Json = False) -> None:
    """The studies there are, and what evidence of each is stored: at which scale, and whether the code changed."""
    studies = _studies()
    left_out: tuple[Broken, ...] = getattr(studies, "broken", ())
    states = [(e, _evidence_state(e)) for e in studies.values()]
    if as_json:
        found = [{"key": e.key, "title": e.title, "module": e.module, **state} for e, state in states]
        print_json(found + _as_json("key", left_out))
        return
    rows = [(e.key, e.title, _stored(state)) for e, state in states]
    count = Counter(state["evidence"] for _, state in states)
    columns = ("key", "title", "evidence")
    table(_count(len(rows), "study"), columns, [*rows, *((b.name, BROKEN, "") for b in left_out)])
    plain("evidence: " + ", ".join(f"{n} {state}" for state, n in count.most_common()))
    for e, state in states:
        if "reason" in state:
            failed(f"{e.key}: {state['reason']}")
    _tell(left_out)


@study_app.command("run")
def run_study(
    key: Annotated[str, typer.Argument(help="The key of a study: the ledger id of what it reproduces.")],
    scale: Scale = "laptop",
    device: Annotated[str, typer.Option(help="cpu, cuda, …")] = "cpu",
    out: Annotated[Path | None, typer.Option(help="The folder of figure, data and claims.")] = None,
    evidence: Store = False,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes of this machine, each on one core; streams, on a card.")
    ] = 1,
    scheduler: Annotated[
        str | None,
        typer.Option(help="A Dask scheduler instead, tcp://host:8786, that sees the same folders."),
    ] = None,
) -> None:
    """Run a study, or the rest of one that was interrupted; leave figure, data and claims in one folder."""
    if key not in _studies():
        raise RequestError(f"unknown study '{key}'. {near(key, _studies())}")
    _run_study(key, scale, device, out, evidence=evidence, workers=workers, scheduler=scheduler)


@study_app.command("reproduce")
def reproduce_study(
    key: Annotated[str, typer.Argument(help="The key of a study with stored evidence.")],
    batches: Annotated[
        int, typer.Option(min=1, help="How many batches run again, spread over the grid.")
    ] = 2,
    device: Annotated[str, typer.Option(help="cpu, cuda, …")] = "cpu",
    beside: Annotated[
        Path | None, typer.Option(help="A checkout of the code that made the evidence, on another processor.")
    ] = None,
) -> None:
    """After a change of code that is to leave numbers alone: repeat a part of the evidence, to the last digit."""
    if key not in _studies():
        raise RequestError(f"unknown study '{key}'. {near(key, _studies())}")
    found = _runner("reproduce")(key, batches, device, beside=beside)
    plain(f"{found.repeated} of {found.cells} cells repeated to the last digit: {found.evidence}")


def _left_out(topic: str | None = None) -> tuple[Broken, ...]:
    """What the indices of results and of printed forms leave out."""
    return tuple(dict.fromkeys((*broken("result", topic), *broken("printed", topic))))


def _ledgers_left_out() -> list[Broken]:
    from symdyn.catalogue.paper import broken_ledgers

    return [Broken(place, "", reason) for place, reason in broken_ledgers()]


def _as_json(key: str, left_out: Iterable[Broken]) -> list[dict[str, Any]]:
    return [{key: b.name, "topic": b.topic, "status": BROKEN, "reason": b.reason} for b in left_out]


def _tell(left_out: Iterable[Broken]) -> None:
    for reason in dict.fromkeys(b.reason for b in left_out):
        failed(reason)


def _count(number: int, noun: str) -> str:
    plural = noun.removesuffix("y") + "ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def _results_of(topic: str | None) -> list[IndexEntry]:
    entries = [e for e in index() if topic in (None, e.topic)]
    if not entries:
        raise RequestError(f"unknown topic '{topic}'. {near(topic or '', {e.topic for e in index()})}")
    return entries


def _resolve(names: list[str]) -> list[str]:
    """The keys of results that some keys or ledger ids name; an unknown one is refused, with near ones."""
    keys: dict[str, None] = {}
    for name in names:
        found = [e.key for e in named(name)]
        if not found:
            raise RequestError(_unknown(name))
        keys.update(dict.fromkeys(found))
    return list(keys)


def _unknown(name: str) -> str:
    from symdyn.catalogue.paper import ledger

    if any(name == e.key for e in index("study")):
        return f"'{name}' is settled by a study, not by a formula: `symdyn study run {name}` runs it."
    if name in ledger():
        return f"no result settles '{name}' yet: it is open. `symdyn show {name}` says what it is."
    for b in _left_out():
        if name == b.name or name.partition(".")[0] == b.topic:
            return b.reason
    known = [e.key for e in index()] + [ledger_id for e in index() for ledger_id in e.ledger]
    return f"unknown key or ledger id '{name}'. {near(name, known)}"


def _load(key: str) -> Result:
    from symdyn.catalogue.registry import load

    return load(key)


def _evidence(verdict: Any) -> list[str]:
    survivors = [f"surviving mutant: {mutant}" for mutant in verdict.survivors]
    return [verdict.evidence, *([f"at {verdict.witness}"] if verdict.witness else []), *survivors]


def _audited(paper: str | None, topic: str | None) -> list[AuditEntry]:
    from symdyn.catalogue.auditing import audit as decide
    from symdyn.catalogue.paper import ledger, papers

    if paper is not None and paper not in papers():
        raise RequestError(f"unknown paper '{paper}'. {near(paper, papers())}")
    topics = {e.topic for e in ledger(paper).values()}
    own = [e.key for e in index() if e.topic == topic]
    if own and topic not in {e.topic for e in ledger().values()}:
        raise RequestError(
            f"the audit is of the entries of the ledger, and the topic '{topic}' has none; its results are "
            f"verified by `symdyn verify {' '.join(own)}`"
        )
    if topic is not None and topic not in topics:
        raise RequestError(f"unknown topic '{topic}'. {near(topic, topics)}")
    with progress_bar("auditing") as advance:
        return decide(paper, topic, advance)


def _description(result: Result) -> dict[str, Any]:
    """What `show` tells of a result, as JSON. Raises PackageError where its code does not let it be told."""
    try:
        result.check_declared()
        return _told(result)
    except (Exception, SystemExit) as error:
        reason = f"{result.key} cannot be shown ({said(error)}): correct it in {result.module}"
        raise PackageError(reason) from error


def _told(result: Result) -> dict[str, Any]:
    return {
        "key": result.key,
        "title": result.title,
        "papers": [paper.key for paper in result.papers],
        "ledger": list(result.ledger),
        "places": [e.where for e in result.entries],
        "kind": type(result.statement).__name__,
        "latex": result.latex(),
        "assumptions": list(result.assumptions),
        "hypotheses": [hypothesis.as_json() for hypothesis in result.supposes],
        "uses": list(result.uses),
        "computed_by": [tie.place for tie in computed_by(result.key)],
        "confronted_by": [e.key for e in confronted_by(result.key)],
        "arguments": [{"name": a.name, "meaning": a.meaning} for a in _arguments(result)],
        "steps": [{"reason": step.reason, "latex": step.latex} for step in result.steps],
    }


def _is_entry(name: str) -> bool:
    """Whether a name is that of an entry of the ledger; the ledger of its own paper alone is read."""
    from symdyn.catalogue.paper import ledger, papers

    paper = name.partition(".")[0]
    return paper in papers() and name in ledger(paper)


def _entry(ledger_id: str) -> dict[str, Any]:
    """What is known of an entry of the ledger; its status as the last audit found it, if that still stands."""
    from symdyn.catalogue.auditing import remembered
    from symdyn.catalogue.paper import entry

    e, found = entry(ledger_id), remembered(ledger_id)
    known = found.as_json() if found is not None else {"id": ledger_id, "topic": e.topic, "status": None}
    return {**known, "where": e.where, "statement": e.statement}


def _print_entry(entry: dict[str, Any]) -> None:
    status = ", ".join(x for x in (entry["status"], entry.get("severity"), entry.get("grade")) if x)
    say(f"{entry['id']}  ({status or 'not audited here yet: symdyn audit'})")
    plain(f"  {entry['where']}")
    if entry.get("hypothesis"):
        plain(f"  hypothesis: {entry['hypothesis']}")
    if entry.get("counterexample"):
        plain(f"  counterexample: {entry['counterexample']}")
    if entry["status"] == "open" or not entry.get("results", [""]):
        plain("  nothing settles it yet; the ledger says:")
        plain(f"  {entry['statement']}")
    for key in entry.get("confronted_by", ()):
        plain(f"  confronted by: {key}  [symdyn study run {key}]")
    plain("")


def _arguments(result: Result) -> tuple[Any, ...]:
    from symdyn.statements.notation import GLOSSARIES

    # A topic that has no glossary has no names for arguments.
    return () if result.value is None or result.topic not in GLOSSARIES else result.arguments


def _print_description(result: Result, description: dict[str, Any], steps: bool) -> None:
    say(f"{result.title}  ({result.key}, {description['kind']})")
    for e in result.entries:
        plain(f"  {e.paper.key}, {e.where}  [{e.id}]")
    plain("\n" + description["latex"] + "\n")
    if description["assumptions"]:
        plain("assumptions: " + "; ".join(description["assumptions"]))
    for hypothesis in description["hypotheses"]:
        source = ", ".join(x for x in (hypothesis["origin"], hypothesis["place"]) if x)
        plain(f"  {source}: {hypothesis['words']}")
    if description["uses"]:
        plain("uses: " + "; ".join(description["uses"]))
    for name in description["computed_by"]:
        plain(f"computed by: {name}")
    for study in confronted_by(result.key):
        plain(f"confronted by: {study.key}, {study.title}  [symdyn study run {study.key}]")
    if description["arguments"]:
        call = ", ".join(a["name"] for a in description["arguments"])
        plain(f"call: {result.name}({call})")
        for argument in description["arguments"]:
            plain(f"  {argument['name']:<10} {argument['meaning']}")
    if steps:
        shown = [step for step in description["steps"] if step["latex"] != description["latex"]]
        if not shown:
            plain("\nno steps: the statement is a definition, or stands as it is")
        _print_meanings(result, {a["name"] for a in description["arguments"]})
        for number, step in enumerate(shown, start=1):
            say(f"\n{number}. {step['reason']}")
            plain(step["latex"])


def _print_meanings(result: Result, told: set[str]) -> None:
    """What the symbols of the statement and its facts mean, without those that are told as arguments."""
    from symdyn.render.points import meanings

    terms = [term for term in meanings(result.statement, result.topic) if term.name not in told]
    if terms:
        plain("\nwhere")
    for term in terms:
        plain(f"  {term.latex:<10} {term.meaning}")


def _studies() -> Any:
    """The studies by key; what cannot be read of their packages is its attribute ``broken``, if it has one."""
    return _runner("index")()


def _runner(name: str) -> Any:
    """What the package of studies offers to the command line: its index, its runner, its kind of error."""
    reasons = []
    for point in entry_points(group="symdyn.runner", name=name):
        try:
            return point.load()
        except (Exception, SystemExit) as error:
            reasons.append(f"{point.value}: {said(error)}")
    if reasons:
        raise RequestError(
            f"the entry point '{name}' of 'symdyn.runner' cannot be loaded ({'; '.join(reasons)})"
        )
    raise RequestError(
        "no package of studies is installed: in a checkout of symdyn, pip install -e '.[numerics]'"
    )


def _answer(holds: bool) -> str:
    return "holds" if holds else "does not hold"


def _study_errors() -> tuple[type[Exception], ...]:
    """The kinds of error with which packages of studies refuse a request or a broken file."""
    kinds = []
    for point in entry_points(group="symdyn.runner", name="error"):
        try:
            kinds.append(point.load())
        except (Exception, SystemExit):  # told by the command that needs the package, if any does
            continue
    return tuple(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Exception))


def _evidence_state(study: Any) -> dict[str, Any]:
    """What the package of a study says of its stored evidence, if it says anything; broken where its code fails."""
    try:
        package = imported(home(study.module))
        return (
            dict(package.evidence_state(study.key)) if hasattr(package, "evidence_state") else dict(_UNTOLD)
        )
    except (Exception, SystemExit) as error:
        return {"evidence": BROKEN, "scale": None, "reason": said(error)}


def _remarks(e: AuditEntry) -> str:
    """What stands beside the status of an entry in the table."""
    from symdyn.catalogue.auditing import NO_COUNTEREXAMPLE

    untold = e.status == "conditional" and e.counterexample == NO_COUNTEREXAMPLE
    return " (stale)" * e.stale + f" ({NO_COUNTEREXAMPLE})" * untold


def _stored(state: dict[str, Any]) -> str:
    """The evidence in a word or two: `paper`, `paper, stale`, `none`, `broken`."""
    shown = {"current": f"{state['scale']}", "stale": f"{state['scale']}, stale"}
    return shown.get(state["evidence"], f"{state['evidence']}")


def _run_study(key: str, scale: str, device: str, out: Path | None, **options: Any) -> None:
    try:
        run = _runner("run")(key, scale, device, out, **options)
    except KeyboardInterrupt:
        failed("stopped; what is finished is kept, and the same command goes on from there")
        raise typer.Exit(INTERRUPTED) from None
    rows = [
        (c.name, _answer(c.holds), f"{c.estimate:.4g}", f"{c.relation} {c.threshold}", c.about)
        for c in run.claims
    ]
    table(f"claims of {key}", ("claim", "result", "measured", "wanted", "about"), rows)
    plain(f"figure, data and claims: {run.folder}")
    if run.evidence is not None:
        plain(f"evidence: {run.evidence}")
