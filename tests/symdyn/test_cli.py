"""The command line as a user meets it: what it prints where, its exit status, what it says when asked for nonsense."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.console import Console

from symdyn.catalogue import auditing, registry
from symdyn.catalogue.auditing import AuditEntry
from symdyn.catalogue.paper import ledger
from symdyn.catalogue.registry import REGISTERED, index, load
from symdyn.cli import commands as cli
from symdyn.cli import console
from symdyn.cli.commands import main

DELTA = "single_neuron.conserved_delta"
RUNNER = cli._runner
DELTA_ID = "kunin2024.single-conserved-delta"


class Answer(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def symdyn(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """Run the command line in this process."""

    def run(*arguments: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["symdyn", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        captured = capsys.readouterr()
        return Answer(int(stopped.value.code or 0), captured.out, captured.err)

    return run


def entry(status: str = "holds", **extra: object) -> AuditEntry:
    return AuditEntry(DELTA_ID, "single_neuron", status, "proved", (DELTA,), 0.5, **extra)


@pytest.fixture
def audited(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the audit find what a test says."""

    def finds(*entries: AuditEntry) -> None:
        monkeypatch.setattr(auditing, "audit", lambda *_: list(entries))

    return finds


def test_list_shows_every_result_with_its_title_and_ledger_ids(symdyn) -> None:
    answer = symdyn("list")
    assert answer.status == 0
    for e in index():
        assert e.key in answer.out
        assert all(ledger_id in answer.out for ledger_id in e.ledger)


def test_list_as_json_is_the_index(symdyn) -> None:
    listed = json.loads(symdyn("list", "--topic", "single_neuron", "--json").out)
    assert [e["key"] for e in listed] == [e.key for e in index() if e.topic == "single_neuron"]
    assert set(listed[0]) == {"key", "topic", "title", "ledger", "module"}


@pytest.mark.parametrize("name", [DELTA, DELTA_ID])
def test_show_finds_a_result_by_key_and_by_ledger_id(symdyn, name: str) -> None:
    answer = symdyn("show", name)
    assert answer.status == 0
    assert DELTA in answer.out
    assert DELTA_ID in answer.out
    assert r"\eta_w" in answer.out
    assert "read-out weight" in answer.out


def test_show_with_steps_adds_the_derivation(symdyn) -> None:
    without, with_steps = symdyn("show", DELTA).out, symdyn("show", DELTA, "--steps").out
    assert "By the chain rule" not in without
    assert "By the chain rule" in with_steps


def test_the_derivation_says_what_its_symbols_are(symdyn) -> None:
    key = "prior_knowledge.logistic_from_pivots"
    told = symdyn("show", key, "--steps").out.partition("\nwhere\n")[2].partition("\n\n")[0]
    words = dict(line.split(maxsplit=1) for line in told.splitlines())
    assert {"y", "z", "a_1", "s_1", r"\tau"} <= set(words)
    assert words["y"].startswith("e₁² = exp(-2 s₁ t/τ)")
    assert "where" not in symdyn("show", key).out.split()


def test_what_is_told_of_an_argument_is_not_told_twice(symdyn) -> None:
    lines = symdyn("show", DELTA, "--steps").out.splitlines()
    told = [
        line.split(maxsplit=1)[1] for line in lines if line.startswith("  ") and line.split(maxsplit=1)[1:]
    ]
    assert any("read-out weight" in meaning for meaning in told)
    assert len(set(told)) == len(told)


@pytest.mark.parametrize("key", [DELTA, "single_neuron.potential", "single_neuron.model"])
def test_the_derivation_does_not_repeat_the_statement_above_it(symdyn, key: str) -> None:
    answer = symdyn("show", key, "--steps")
    latex = json.loads(symdyn("show", key, "--json").out)["latex"]
    assert answer.out.count(latex) == 1


def test_a_definition_says_that_it_has_no_steps(symdyn) -> None:
    definition = next(e.key for e in index() if type(load(e.key).statement).__name__ == "Definition")
    assert "no steps: " in symdyn("show", definition, "--steps").out


def test_show_as_json(symdyn) -> None:
    shown = json.loads(symdyn("show", DELTA, "--json").out)
    assert shown["key"] == DELTA
    assert shown["papers"] == ["kunin2024"]
    assert [a["name"] for a in shown["arguments"]] == ["a", "w", "eta_a", "eta_w"]
    assert shown["steps"][0]["latex"]


def test_show_loads_nothing_that_it_does_not_print() -> None:
    """Which is what keeps it fast; `python -m benchmarks.command_line` measures it."""
    program = (
        "import sys; from symdyn.cli.commands import main\n"
        "sys.argv = ['symdyn', 'show', sys.argv[1], '--steps']\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", program, DELTA], check=True, capture_output=True, text=True)
    loaded = ran.stderr.split()
    assert DELTA in ran.stdout
    assert {"torch", "scipy", "matplotlib", "h5py"}.isdisjoint(loaded), "libraries"
    topics = {name for name in loaded if name.startswith("derivations.") and name.count(".") == 1}
    assert topics == {"derivations.single_neuron"}
    assert not [name for name in loaded if name.startswith(("numerics.studies", "numerics.networks"))]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("single_neuron.conservd_delta", DELTA),
        ("conserved_delta", DELTA),
        ("kunin2024.single-conserved-delt", DELTA_ID),
        ("kunin24.single-conserved-delta", DELTA_ID),
    ],
)
@pytest.mark.parametrize("command", ["show", "verify", "cite"])
def test_an_unknown_name_suggests_near_ones(symdyn, command: str, wrong: str, right: str) -> None:
    answer = symdyn(command, wrong)
    assert answer.status == 2
    assert answer.out == ""
    assert wrong in answer.err
    assert right in answer.err


def test_a_ledger_entry_without_a_result_is_called_open(symdyn) -> None:
    settled = {ledger_id for e in (*index(), *index("study")) for ledger_id in (e.key, *e.ledger)}
    unsettled = next(ledger_id for ledger_id in ledger() if ledger_id not in settled)
    answer = symdyn("show", unsettled)
    assert answer.status == 0
    assert answer.out.startswith(f"{unsettled}  (open")
    assert "nothing settles it yet; the ledger says:" in answer.out
    told = json.loads(symdyn("show", unsettled, "--json").out)
    assert (told["id"], told["status"]) == (unsettled, "open")
    assert told["statement"] == ledger()[unsettled].statement
    answer = symdyn("verify", unsettled)
    assert answer.status == 2
    assert "it is open" in answer.err


def test_show_of_an_entry_tells_its_status_once_it_was_audited(symdyn, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SYMDYN_CACHE", str(tmp_path))
    name = "kunin2024.single-conserved-delta"
    assert f"{name}  (not audited here yet: symdyn audit)" in symdyn("show", name).out
    jobs = [e for kind in ("result", "printed") for e in index(kind) if name in e.ledger]
    auditing.verify_all(jobs, processes=1)
    out = symdyn("show", name).out
    assert f"{name}  (holds, proved)" in out
    assert "single_neuron.conserved_delta" in out
    assert json.loads(symdyn("show", name, "--json").out)["key"] == "single_neuron.conserved_delta"


def test_the_version_is_told(symdyn) -> None:
    answer = symdyn("--version")
    assert (answer.status, answer.out.strip()) == (
        0,
        f"symdyn {importlib.metadata.version('symdyn-learning')}",
    )


def test_search_prints_what_says_the_words_and_refuses_what_nothing_says(symdyn) -> None:
    answer = symdyn("search", "implicit", "bias")
    assert answer.status == 0
    assert "single_neuron.implicit_bias_of_the_neuron" in answer.out
    hits = json.loads(symdyn("search", "riccati", "--json").out)
    assert {"name", "kind", "title", "place"} == set(hits[0])
    assert not any("/home" in hit["place"] or hit["place"].startswith("/") for hit in hits)
    answer = symdyn("search", "zzzz")
    assert answer.status == 2
    assert "nothing is said of 'zzzz'" in answer.err


def test_show_names_what_computes_and_what_confronts_a_result(symdyn) -> None:
    out = symdyn("show", "single_neuron.final_branch").out
    assert "computed by: derivations.single_neuron.basin" in out
    assert "confronted by: kunin2024.fig-basins" in out


@pytest.mark.parametrize("command", ["verify", "cite"])
def test_an_entry_that_a_study_settles_is_not_called_open(symdyn, command: str) -> None:
    answer = symdyn(command, "kunin2024.fig-basins")
    assert answer.status == 2
    assert "`symdyn study run kunin2024.fig-basins`" in answer.err
    assert "open" not in answer.err


def test_a_study_is_verified_in_full_by_its_own_key(symdyn, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    monkeypatch.setattr(cli, "_run_study", lambda key, *_, **options: ran.append((key, options)))
    answer = symdyn("verify", "--full", DELTA, "kunin2024.fig-basins")
    assert answer.status == 0
    assert ran == [("kunin2024.fig-basins", {"evidence": True})]
    assert answer.out.splitlines()[0].strip() == "1 result"


@pytest.mark.parametrize(
    "arguments", [("list", "--topic", "single_nueron"), ("audit", "--topic", "single_nueron")]
)
def test_an_unknown_topic_suggests_a_near_one(symdyn, arguments: tuple[str, ...]) -> None:
    answer = symdyn(*arguments)
    assert answer.status == 2
    assert "single_neuron" in answer.err


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """Let an entry point `my_topic` name what a test says; the packages that ship are announced all the same."""
    registry.index.cache_clear()
    registry._scanned.cache_clear()
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "my_package" / "my_topic"
    package.mkdir(parents=True)
    (package / "argument.py").write_text(OWN_RESULT, encoding="utf-8")
    (tmp_path / "my_package" / "plain.py").write_text(OWN_RESULT, encoding="utf-8")
    packages = registry.packages

    def announce(name: str) -> None:
        monkeypatch.setattr(
            registry,
            "packages",
            lambda group: packages(group) | ({"my_topic": name} if group.endswith("derivations") else {}),
        )

    yield announce
    registry.index.cache_clear()
    registry._scanned.cache_clear()
    REGISTERED.pop("my_topic.square", None)
    for name in [name for name in sys.modules if name.split(".")[0] == "my_package"]:
        del sys.modules[name]


OWN_RESULT = """
import sympy as sp
from symdyn.catalogue.result import result
from symdyn.statements.kinds import Identity

x = sp.Symbol("x", real=True)


@result(topic="my_topic")
def square():
    "The square of a sum."
    return Identity((x + 1) ** 2, x**2 + 2 * x + 1)
"""


@pytest.mark.parametrize(
    "command", [("list",), ("show", DELTA), ("verify", DELTA), ("cite", DELTA)], ids=lambda words: words[0]
)
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("my_package.plain", "names a module; name a package"),
        ("no_such_package.topic", "is not installed"),
        ("my_package.no_such_topic", "is not installed"),
    ],
)
def test_an_entry_point_that_names_no_package_does_not_stand_in_the_way_of_the_others(
    symdyn, announced, command: tuple[str, ...], name: str, reason: str
) -> None:
    announced(name)
    answer = symdyn(*command)
    assert answer.status == 0 and answer.out
    if command == ("list",):
        (line,) = answer.err.strip().splitlines()
        assert line.startswith("error:") and name in line and reason in line
        (row,) = (row for row in answer.out.splitlines() if row.startswith(name))
        assert "broken" in row


def test_the_audit_of_a_topic_without_entries_leads_to_its_results(symdyn, announced) -> None:
    announced("my_package.my_topic")
    answer = symdyn("audit", "--topic", "my_topic")
    assert answer.status == 2
    assert "entries of the ledger" in answer.err and "symdyn verify my_topic.square" in answer.err
    assert symdyn("verify", "my_topic.square").status == 0


def test_a_result_without_source_says_so_when_cited(symdyn, announced) -> None:
    announced("my_package.my_topic")
    assert symdyn("cite", "my_topic.square").out == (
        "% my_topic.square names no source: it is a result of its own\n"
    )
    both = symdyn("cite", DELTA, "my_topic.square").out
    assert "@inproceedings{kunin2024" in both and "% my_topic.square" in both


def test_an_interrupted_study_says_how_to_go_on(symdyn, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_runner", lambda name: interrupted if name == "run" else RUNNER(name))
    answer = symdyn("study", "run", "kunin2024.fig-basins")
    assert answer.status == 130
    assert answer.err.count("\n") == 1 and "the same command goes on" in answer.err


def test_a_name_like_no_other_gets_the_list_of_known_ones(symdyn) -> None:
    answer = symdyn("audit", "--topic", "zzz")
    assert answer.status == 2
    assert "Known: " in answer.err
    assert "single_neuron" in answer.err


def test_a_broken_evidence_file_is_named_and_not_touched(symdyn, monkeypatch: pytest.MonkeyPatch) -> None:
    from numerics.lab.evidence import EvidenceError

    def broken(*_: object) -> None:
        raise EvidenceError("the evidence file x.json is broken; run the study again")

    monkeypatch.setattr(auditing, "audit", broken)
    answer = symdyn("audit")
    assert answer.status == 2
    assert answer.out == ""
    assert "x.json is broken" in answer.err


def test_an_unknown_paper_suggests_a_near_one(symdyn) -> None:
    answer = symdyn("audit", "--paper", "kunin24")
    assert answer.status == 2
    assert "kunin2024" in answer.err


def test_verify_reports_verdict_grade_and_evidence(symdyn) -> None:
    answer = symdyn("verify", DELTA)
    assert answer.status == 0
    assert all(word in answer.out for word in (DELTA, "PROVED", "proved", "mutants refuted"))


def test_keys_stay_in_one_piece_in_a_narrow_terminal(symdyn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "_console", lambda: Console(width=80))
    answer = symdyn("list", "--topic", "piecewise_linear")
    assert all(e.key in answer.out for e in index() if e.topic == "piecewise_linear")
    assert max(map(len, answer.out.splitlines())) <= 80


def test_verify_as_json(symdyn) -> None:
    (verdict,) = json.loads(symdyn("verify", DELTA_ID, "--json").out)
    assert verdict["key"] == DELTA
    assert verdict["holds"] is True
    assert verdict["outcome"] == "PROVED"
    assert len(verdict["mutants"]) >= 3


def test_audit_as_json_has_the_agreed_fields_in_ledger_order(symdyn, audited) -> None:
    audited(
        entry(),
        entry("erratum", printed="p", counterexample="x = 1", corrected="c", severity="typo"),
        entry("conditional", hypothesis="h", counterexample="x = 2"),
    )
    holds, erratum, conditional = json.loads(symdyn("audit", "--json").out)
    common = {"id", "topic", "status", "grade", "results", "computed_by", "confronted_by", "seconds"}
    assert set(holds) == common
    assert set(erratum) == common | {"printed", "counterexample", "corrected", "severity"}
    assert set(conditional) == common | {"hypothesis", "counterexample"}


def test_open_entries_and_refuted_printed_forms_are_no_failure(symdyn, audited) -> None:
    audited(entry("open"), entry("erratum", counterexample="x = 1", severity="typo"))
    answer = symdyn("audit")
    assert answer.status == 0
    assert "2 entries: 1 open, 1 erratum" in answer.out


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_a_failure_ends_the_audit_with_status_one_and_is_named_on_stderr(symdyn, audited, as_json) -> None:
    audited(entry(), entry("open", failures=("single_neuron.x: surviving mutant",)))
    answer = symdyn("audit", *as_json)
    assert answer.status == 1
    assert "surviving mutant" in answer.err


def test_errata_lists_errata_only(symdyn, audited) -> None:
    audited(
        entry(), entry("erratum", printed="p", counterexample="δ = 1", corrected="c", severity="substantive")
    )
    answer = symdyn("errata")
    assert answer.status == 0
    assert answer.out.splitlines()[0] == "1 errata"
    assert "substantive" in answer.out
    assert "δ = 1" in answer.out
    assert len(json.loads(symdyn("errata", "--json").out)) == 1


def test_cite_prints_bibtex_of_each_paper_once(symdyn) -> None:
    answer = symdyn("cite", DELTA, DELTA_ID)
    assert answer.status == 0
    assert answer.out.count("@inproceedings{kunin2024,") == 1


@pytest.mark.parametrize("command", [("book", "-o"), ("study", "run", "kunin2024.fig234-full-rank", "--out")])
def test_an_unwritable_folder_is_refused_before_any_work(
    symdyn, tmp_path: Path, command: tuple[str, ...]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    start = time.perf_counter()
    answer = symdyn(*command, str(blocked / "book"))
    assert answer.status == 2
    assert "cannot be written" in answer.err
    assert time.perf_counter() - start < 5
    assert blocked.read_text() == "in the way"


def test_studies_are_listed(symdyn) -> None:
    assert "kunin2024.fig234-full-rank" in symdyn("study", "list").out
    listed = json.loads(symdyn("study", "list", "--json").out)
    assert {"key", "title", "module", "evidence", "scale"} == set(listed[0])


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        ({"evidence": "current", "scale": "paper"}, "paper"),
        ({"evidence": "stale", "scale": "laptop"}, "laptop, stale"),
        ({"evidence": "none", "scale": None}, "none"),
        ({"evidence": "broken", "scale": None}, "broken"),
    ],
)
def test_the_list_of_studies_says_what_evidence_is_stored(symdyn, monkeypatch, state, shown: str) -> None:
    import numerics.studies

    monkeypatch.setattr(numerics.studies, "evidence_state", lambda _: state)
    answer = symdyn("study", "list")
    row = next(line for line in answer.out.splitlines() if line.startswith("kunin2024.fig-basins"))
    assert row.rpartition("│")[2].strip() == shown
    assert answer.out.splitlines()[-1] == f"evidence: {len(index('study'))} {state['evidence']}"


def test_evidence_is_none_current_stale_or_broken(tmp_path: Path) -> None:
    from numerics.lab import evidence
    from numerics.lab.fingerprint import source_of

    key = "kunin2024.fig-basins"
    file = tmp_path / f"{key}.json"
    assert evidence.evidence_state(key, tmp_path) == {"evidence": "none", "scale": None}
    stored = json.loads((evidence.FOLDER / file.name).read_text("utf-8"))
    stored.pop("reproduced", None)  # later code that repeated it would keep it current
    entry = evidence.index()[key]
    for source, state in ((source_of(entry.module, entry.attribute).hash, "current"), ("another", "stale")):
        stored["source"]["hash"] = source
        stored["digest"] = evidence._digest({**stored, "cells": evidence._unpacked(stored["cells"])})
        file.write_text(json.dumps(stored), "utf-8")
        assert evidence.evidence_state(key, tmp_path) == {"evidence": state, "scale": "paper"}
    file.write_text("{", "utf-8")
    assert evidence.evidence_state(key, tmp_path)["evidence"] == "broken"


def test_a_study_runs_on_the_workers_it_is_given(symdyn, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Run(NamedTuple):
        claims: tuple[object, ...] = ()
        folder: str = "somewhere"
        evidence: None = None

    def run(*arguments: object, **options: object) -> Run:
        asked.append((*arguments, options))
        return Run()

    given = cli._runner
    monkeypatch.setattr(cli, "_runner", lambda name: run if name == "run" else given(name))
    key = "kunin2024.fig-basins"
    assert symdyn("study", "run", key, "--workers", "2", "--scale", "smoke").status == 0
    assert symdyn("study", "run", key, "--scheduler", "tcp://host:8786").status == 0
    assert asked == [
        (key, "smoke", "cpu", None, {"evidence": False, "workers": 2, "scheduler": None}),
        (key, "laptop", "cpu", None, {"evidence": False, "workers": 1, "scheduler": "tcp://host:8786"}),
    ]


def test_no_workers_are_refused(symdyn) -> None:
    answer = symdyn("study", "run", "kunin2024.fig-basins", "--workers", "0")
    assert answer.status == 2
    assert "greater than or equal to 1" in answer.err


def test_processes_and_a_scheduler_at_once_are_refused(symdyn, tmp_path: Path) -> None:
    answer = symdyn(
        *("study", "run", "kunin2024.fig-basins", "--scale", "smoke", "--out", str(tmp_path / "out")),
        *("--workers", "2", "--scheduler", "tcp://host:8786"),
    )
    assert answer.status == 2
    assert "not both" in answer.err


def test_an_unknown_study_suggests_a_near_one(symdyn) -> None:
    answer = symdyn("study", "run", "kunin2024.fig234-ful-rank")
    assert answer.status == 2
    assert "kunin2024.fig234-full-rank" in answer.err


def test_an_unknown_scale_is_refused(symdyn, tmp_path: Path) -> None:
    answer = symdyn("study", "run", "kunin2024.fig234-full-rank", "--scale", "huge", "--out", str(tmp_path))
    assert answer.status == 2
    assert "laptop" in answer.err


def test_python_m_symdyn_is_the_command(symdyn) -> None:
    command = [sys.executable, "-m", "symdyn", "list", "--json"]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    assert json.loads(run.stdout) == json.loads(symdyn("list", "--json").out)


def test_the_real_audit_decides_every_entry_it_has_results_for(symdyn) -> None:
    answer = symdyn("audit", "--topic", "single_neuron", "--json")
    entries = json.loads(answer.out)
    assert [e["id"] for e in entries] == [e.id for e in ledger().values() if e.topic == "single_neuron"]
    assert {e["status"] for e in entries if DELTA in e["results"]} == {"holds"}
    assert answer.status == 0, answer.err
