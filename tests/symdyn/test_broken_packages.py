"""A broken package of one user has a named row wherever results or studies are listed or checked, makes the check fail,
and leaves all others as they are.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

import numerics.lab.study
from symdyn.catalogue import auditing
from symdyn.catalogue.cache import digest
from symdyn.catalogue.packages import PackageError
from symdyn.catalogue.paper import entry
from symdyn.catalogue.registry import (
    PRINTED,
    REGISTERED,
    _scanned,
    broken,
    index,
    load,
    results,
    verify_study,
)
from symdyn.cli import commands as cli

WHOLE = "single_neuron.conserved_delta"
LEDGER = "kunin2024.single-conserved-delta"
RESULT = """
import sympy as sp
from symdyn.catalogue.result import printed, result
from symdyn.statements.kinds import Identity

x = sp.Symbol("x", real=True)


@result()
def square():
    "The square of a sum."
    return Identity((x + 1) ** 2, x**2 + 2 * x + 1)
"""
STUDY = """
from numerics.lab.study import Plan, study

@study("toy.squares", title="Squares")
def squares():
    scales = {scale: {} for scale in ("smoke", "laptop", "paper")}
    return Plan(scales, lambda cfg: [], None, None, lambda rows: [], {})
"""


def written(text):
    return lambda path: path.write_bytes(text if isinstance(text, bytes) else text.encode())


def loop(path):
    path.symlink_to(path)


def unreadable(sources):
    """Ways to break the module of a package so that its source cannot be read."""
    source = sources.encode()
    mark = source[source.index(b"@") :].split(b"\n")[0]
    computed, number, other = (
        (b"@study(key, title='x')", b"@study(5, title='x')", b"@study([], title='x')")
        if mark.startswith(b"@study")
        else (b"@result(ledger=ids)", b"@result(ledger=[1])", b"@result(ledger=5)")
    )
    return {
        "latin-1": written(source + "# café\n".encode("latin-1") + b'"\xe9"\n'),
        "utf-16": written(b"\xff\xfe@result()@study()" + sources.encode("utf-16-le")),
        "unknown encoding": written(b"# -*- coding: klingon -*-\n" + source),
        "null bytes": written(source + b"\x00"),
        "syntax": written(source + b"def broken(:\n"),
        "indentation": written(source + b"  x = 1\n"),
        "unclosed": written(source + b"x = ((((\n"),
        "deep": written(source + b"x = " + b"(" * 300 + b")" * 300 + b"\n"),
        "deep operators": written(source + b"x = " + b"-" * 100_000 + b"1\n"),
        "python 2": written(source + b"print 'x'\n"),
        "merge conflict": written(source + b"<<<<<<< HEAD\n"),
        "half a file": written(source + b'"""never closed\n'),
        "dangling link": lambda path: path.symlink_to(path.with_name("nowhere.txt")),
        "circle of links": loop,
        "folder": Path.mkdir,
        "pipe": os.mkfifo,
        "computed key": written(source.replace(mark, computed)),
        "key that is no text": written(source.replace(mark, number)),
        "key of another kind": written(source.replace(mark, other)),
        "key twice": written(source + source),
    }  # fmt: skip


RAISING = {
    "error": "raise RuntimeError('no')",
    "error without words": "raise Exception",
    "assertion": "assert False",
    "missing package": "import no_such_package_at_all",
    "missing name": "from os import no_such_name",
    "exit": "import sys; sys.exit('bye')",
    "exit with success": "raise SystemExit(0)",
    "division": "1 / 0",
    "recursion": "f = lambda: f()\nf()",
    "error that cannot be told": "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
    "stop": "next(iter(()))",
    "generator": "raise StopAsyncIteration",
    "no memory": "raise MemoryError",
    "file": "open('/no/such/file')",
    "unicode": "b'\\xff'.decode()",
    "warning": "raise UserWarning('w')",
    "attribute": "None.x",
    "lookup": "{}['x']",
    "name": "undefined",
    "half a character": "raise ValueError('\\ud800')",
    "lines": "raise ValueError('one\\ntwo\\n')",
    "markup": "raise ValueError('[bold]x[/nothing]')",
}


@pytest.fixture
def announce(tmp_path, monkeypatch):
    """Let distributions announce packages: ``announce(group, name, value)``."""
    count = Counter()

    def one(group, name, value):
        count["all"] += 1
        metadata = tmp_path / f"of_user{count['all']}-1.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: of_user{count['all']}\nVersion: 1\n"
        )
        (metadata / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")
        index.cache_clear()
        _scanned.cache_clear()

    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    yield one
    index.cache_clear()
    _scanned.cache_clear()
    for known in (REGISTERED, PRINTED):
        for key in [key for key, made in known.items() if made.function.__module__.startswith("user")]:
            del known[key]
    for name in set(sys.modules) - before:
        if name.startswith("user"):
            del sys.modules[name]


@pytest.fixture
def symdyn(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["symdyn", *arguments])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return ended.value.code or 0, out, err

    return call


def told(counts, kind):
    print(
        f"\n{kind}: " + ", ".join(f"{name} {counts[name]}" for name in ("tried", "right", "refused", "wrong"))
    )
    assert counts["tried"] >= 20 and counts["wrong"] == 0


def test_modules_of_results_that_cannot_be_read_are_named_and_the_others_go_on(tmp_path, announce, symdyn):
    whole, counts = index(), Counter()
    packages = []
    for number, (kind, breaks) in enumerate(unreadable(RESULT).items()):
        package = tmp_path / f"user{number}"
        package.mkdir()
        (package / "argument.py").write_text(RESULT)
        breaks(package / "m.py")
        announce("symdyn.derivations", package.name, package.name)
        left_out = broken(topic=package.name)
        counts["tried"] += 1
        named = f"{package.name}.square" if kind == "key twice" else f"{package.name}.m"
        right = [b.name for b in left_out] == [named]
        counts[
            "refused"
            if right and (str(package) in left_out[0].reason or package.name in left_out[0].reason)
            else "wrong"
        ] += 1
        with pytest.raises(PackageError):
            results(package.name)
        packages.append(package.name)
    assert [e for e in index() if e.topic not in packages] == list(whole)
    assert load(WHOLE).verify().holds
    status, out, err = symdyn("list")
    assert status == 0 and WHOLE in out
    assert all(f"{name}.m " in out or f"{name}.square " in out for name in packages)
    assert err.count("error:") == len(packages)
    status, out, _ = symdyn("list", "--json")
    rows = json.loads(out)
    assert status == 0 and len([row for row in rows if row.get("status") == "broken"]) == len(packages)
    assert symdyn("verify", WHOLE)[0] == 0
    told(counts, "modules of results that cannot be read")


def test_modules_of_studies_that_cannot_be_read_are_named_and_the_others_go_on(tmp_path, announce, symdyn):
    whole, counts = numerics.lab.study.index(), Counter()
    for number, (kind, breaks) in enumerate(unreadable(STUDY).items()):
        package = tmp_path / f"user{number}"
        package.mkdir()
        (package / "argument.py").write_text(STUDY.replace("toy.squares", f"toy.squares{number}"))
        breaks(package / "m.py")
        announce("symdyn.studies", package.name, package.name)
        found = numerics.lab.study.index()
        counts["tried"] += 1
        names = [b.name for b in found.broken if b.topic == package.name or b.name == "toy.squares"]
        counts[
            "refused"
            if names == (["toy.squares"] if kind == "key twice" else [f"{package.name}.m"])
            else "wrong"
        ] += 1
        assert f"toy.squares{number}" in found and set(whole) <= set(found)
    status, out, err = symdyn("study", "list")
    assert status == 0 and all(key in out for key in whole)
    assert "user3.m" in out and "toy.squares" in out and err.count("error:") == counts["tried"]
    with pytest.raises(numerics.lab.study.StudyError, match=r"toy\.squares is defined twice: in user"):
        numerics.lab.study.load_study("toy.squares")
    assert numerics.lab.study.load_study("kunin2024.fig-basins").key == "kunin2024.fig-basins"
    told(counts, "modules of studies that cannot be read")


@pytest.mark.parametrize("code", ["", "ledger"])
def test_modules_that_raise_are_rows_and_the_others_are_verified(
    tmp_path, announce, symdyn, monkeypatch, code
):
    """Each is a topic of its own, whose result would settle an entry of the ledger in the second round."""
    counts, jobs = Counter(), []
    for number, raising in enumerate(RAISING.values()):
        package = tmp_path / f"user{number}"
        package.mkdir()
        source = RESULT.replace("@result()", f"@result('{LEDGER}')") if code else RESULT
        (package / "argument.py").write_text(f"{source}\n{raising}\n")
        announce("symdyn.derivations", package.name, package.name)
        jobs.append(f"{package.name}.square")
    wanted = [e for e in index() if e.key in {*jobs, WHOLE}]
    verdicts = auditing.verify_all(wanted, use_cache=True, processes=1)
    for key in jobs:
        counts["tried"] += 1
        verdict = verdicts[key]
        named = (
            verdict.outcome == "INVALID"
            and f"'{key.partition('.')[0]}.argument' cannot be imported" in verdict.evidence
        )
        counts["refused" if named else "wrong"] += 1
        with pytest.raises(PackageError, match="cannot be imported"):
            load(key)
    assert verdicts[WHOLE].holds
    again = auditing.verify_all([e for e in index() if e.key == jobs[0]], use_cache=True)
    assert again[jobs[0]].outcome == "INVALID"  # an obstacle is not remembered
    monkeypatch.setattr(auditing.os, "cpu_count", lambda: 1)
    status, out, _ = symdyn("verify", WHOLE, *jobs)
    assert status == 1 and all(key in out for key in (WHOLE, *jobs))
    if code:
        monkeypatch.setattr(auditing, "ledger", lambda paper: {LEDGER: entry(LEDGER)})
        (found,) = auditing.audit()
        assert found.status == "open" and len(
            [f for f in found.failures if "cannot be imported" in f]
        ) == len(jobs)
    told(counts, "modules that raise")


BAD = """
import sympy as sp
from symdyn.statements.domain import Domain
from symdyn.catalogue.result import result
from symdyn.statements.kinds import Existence, Identity, Inequality

x, y = sp.symbols("x y", real=True)
w = sp.Symbol("w")
SQUARE = Identity((x + 1) ** 2, x**2 + 2 * x + 1)


@result()
def square():
    "The square of a sum."
    return SQUARE
"""
KINDS = {
    "float coefficient": ("", "Identity(0.5 * x + x, 1.5 * x)", "1.50000000000000 is a floating-point number"),
    "raises": ("", "{}['one']", "KeyError: 'one'"),
    "lines": ("", "open('/no/such\\nfile')", "FileNotFoundError"),
    "assertion": ("", "next(iter(()))", "StopIteration"),
    "ends the process": ("", "exit(0)", "SystemExit: 0"),
    "nothing": ("", "None", "returns the statement it derives, not NoneType"),
    "no statement": ("", "x + 1", "returns the statement it derives, not Add"),
    "number in uses": ("uses=(5,)", "SQUARE", "uses=… takes a tuple of keys"),
    "text for uses": ("uses='{topic}.square'", "SQUARE", "uses=… takes a tuple of keys"),
    "unknown base": ("uses=('{topic}.sqare',)", "SQUARE", "which is no result; did you mean {topic}.square"),
    "unknown topic": ("uses=('nowhere.nobody',)", "SQUARE", "which is no result; `symdyn list` shows all"),
    "circular uses": ("uses=('{topic}.bad',)", "SQUARE", "stands on itself: {topic}.bad uses {topic}.bad"),
    "complex symbol": ("", "Identity((w + 1) ** 2, w**2 + 2 * w + 1)", "the symbol w, which is not declared real"),
    "infinity": ("", "Identity(x + sp.oo, sp.oo)", "it contains oo, which is no number"),
    "empty domain": ("domain=Domain((x,), conditions=(x > 1, x < 0))", "SQUARE", "contradict each other"),
    "no cells": ("domain=Domain((x,), cells=())", "SQUARE", "a domain has at least one cell"),
    "wrong domain": ("domain=5", "SQUARE", "domain=… takes a Domain, not 5"),
    "foreign symbol": ("domain=Domain((y,))", "SQUARE", "no value given for x: the domain has no such symbol"),
    "sampler": ("domain=Domain((x,), sampler=lambda *_: 1 / 0)", "SQUARE", "ZeroDivisionError"),
    "recursion": ("", "bad.function()", "RecursionError"),
    "texts": ("", "Identity('x + 1', '1 + x')", "text is not evaluated"),
    "no fact": ("", "Existence('words', (SQUARE, 5))", "fact 2 is to be a statement, not 5"),
    "unknown relation": ("", "Inequality(x**2, '=>')", "the relation is one of >, >=, <, <=, !=, not '=>'"),
    "reason": ("few_mutants=5", "SQUARE", "few_mutants=… takes a reason in words, not 5"),
    "wrong ledger id": ("ledger=('kunin2024.no-such',)", "SQUARE", "unknown ledger id 'kunin2024.no-such'"),
    "unknown option": ("grade='proved'", "SQUARE", "unexpected keyword argument 'grade'"),
}  # fmt: skip
"""What the decorator of a bad result is told, what its derivation returns, and what is said of it."""


def test_a_bad_result_has_one_row_that_says_why_and_the_others_are_verified(
    tmp_path, announce, symdyn, monkeypatch
):
    counts, keys = Counter(), {}
    for number, (kind, (options, returned, _)) in enumerate(KINDS.items()):
        package = tmp_path / f"user{number}"
        package.mkdir()
        (package / "whole.py").write_text(BAD)
        source = BAD.replace("@result()", f"@result({options.format(topic=package.name)})")
        source = source.replace("def square", "def bad").replace("return SQUARE", f"return {returned}")
        (package / "argument.py").write_text(source)
        announce("symdyn.derivations", package.name, package.name)
        keys[f"{package.name}.bad"] = kind
    others = [key.replace(".bad", ".square") for key in keys]
    jobs = [e for e in index() if e.key in {*keys, *others}]
    verdicts = auditing.verify_all(jobs, use_cache=False, processes=1)
    assert all(verdicts[key].holds for key in others)
    for key, kind in keys.items():
        counts["tried"] += 1
        verdict, topic = verdicts[key], key.partition(".")[0]
        right = KINDS[kind][2].format(topic=topic) in verdict.evidence and "\n" not in verdict.evidence
        counts["refused" if right and not verdict.stands and verdict.holds is None else "wrong"] += 1
        assert right, (kind, verdict)
    monkeypatch.setattr(auditing.os, "cpu_count", lambda: 1)
    status, out, _ = symdyn("verify", "--json", *keys, *others)
    assert status == 1 and sorted(row["key"] for row in json.loads(out)) == sorted([*keys, *others])
    status, out, _ = symdyn("list")
    assert status == 0 and all(key in out for key in keys)
    for key, kind in keys.items():
        status, out, err = symdyn("show", key)
        shown = status == 0 and out
        assert shown or (status == 2 and err.startswith("error: ") and err.count("\n") == 1), (kind, out, err)
    told(counts, "bad results")


def test_packages_that_cannot_be_found_or_raise_are_rows(tmp_path, announce, symdyn):
    """The entry point names nothing, something else than a package, or one below a package that raises."""
    counts, before = Counter(), index()
    (tmp_path / "user_plain.py").write_text("")
    values = [
        "no_such_package",
        "no.such.package",
        "user_plain",
        "user_plain.below",
        "os",
        "os.path",
        "sys",
        "..",
        ".user",
        "user plain",
        "5",
        "a-b",
    ]
    for number, raising in enumerate(RAISING.values()):
        above = tmp_path / f"user_above{number}"
        (above / "topic").mkdir(parents=True)
        (above / "__init__.py").write_text(raising)
        values.append(f"{above.name}.topic")
    for number, value in enumerate(values):
        announce("symdyn.derivations", f"topic{number}", value)
        announce("symdyn.studies", f"topic{number}", value)
    studies = [b.name for b in numerics.lab.study.index().broken]
    for number, value in enumerate(values):
        counts["tried"] += 2
        for left_out in (broken(topic=f"topic{number}"), broken("study", f"topic{number}")):
            counts["refused" if [b.name for b in left_out] == [value] else "wrong"] += 1
        counts["tried"] += 1
        counts["refused" if value in studies else "wrong"] += 1
    assert set(index()) == set(before)
    assert load(WHOLE).title and numerics.lab.study.load_study("kunin2024.fig-basins")
    status, out, _ = symdyn("list", "--topic", "single_neuron")
    assert status == 0 and "broken" not in out
    status, out, _ = symdyn("list", "--topic", "topic3")
    assert status == 0 and "user_plain.below" in out
    told(counts, "entry points to nothing")


def test_a_check_of_all_fails_with_a_row_for_what_is_broken(tmp_path, announce, symdyn, monkeypatch):
    announce("symdyn.derivations", "mine", "no_such_package_of_mine")
    announce("symdyn.studies", "mine", "no_such_studies_of_mine")
    monkeypatch.setattr(auditing, "verify_all", lambda *_, **__: {})
    monkeypatch.setattr(cli, "index", lambda kind="result": ())
    status, out, err = symdyn("verify")
    assert status == 1 and "no_such_package_of_mine" in out and "broken" in out and "is not installed" in err
    status, out, _ = symdyn("verify", "--json")
    assert status == 1 and json.loads(out)[0]["status"] == "broken"
    monkeypatch.undo()


@pytest.mark.parametrize("command", ["audit", "errata"])
def test_the_audit_goes_on_beside_what_is_broken(tmp_path, announce, symdyn, monkeypatch, command):
    healthy = auditing.AuditEntry(
        "kunin2024.x", "single_neuron", "erratum", "proved", ("a.b",), 0.0, severity="typo"
    )
    announce("symdyn.derivations", "mine", "no_such_package_of_mine")
    announce("symdyn.studies", "mine", "no_such_studies_of_mine")
    monkeypatch.setattr(cli, "_audited", lambda *_: [healthy])
    status, out, err = symdyn(command)
    assert status == (1 if command == "audit" else 0)
    assert "kunin2024.x" in out and "no_such_package_of_mine" in out and "no_such_studies_of_mine" in out
    assert "is not installed" in err
    status, out, _ = symdyn(command, "--json")
    assert [row["status"] for row in json.loads(out)] == ["erratum", "broken", "broken"]


def test_the_packages_that_ship_keep_their_names(tmp_path, announce):
    """A user's entry point of a name that symdyn's own distribution uses is left out; ours are where they were."""
    before = set(index()) | set(index("study"))
    for number in range(3):
        package = tmp_path / f"user{number}"
        package.mkdir()
        (package / "argument.py").write_text(RESULT)
        announce("symdyn.derivations", "single_neuron", package.name)
        announce("symdyn.studies", "numerics", package.name)
        assert set(index()) | set(index("study")) == before
        assert package.name in [b.name for b in broken(topic="single_neuron")]
    assert load(WHOLE).key == WHOLE


def test_a_study_that_takes_the_key_of_another_is_told_and_others_go_on(tmp_path, announce, symdyn):
    package = tmp_path / "user0"
    package.mkdir()
    (package / "argument.py").write_text(STUDY.replace("toy.squares", "kunin2024.fig-basins"))
    announce("symdyn.studies", "user0", "user0")
    with pytest.raises(
        numerics.lab.study.StudyError, match=r"fig-basins is defined twice: in .*user0\.argument"
    ):
        numerics.lab.study.load_study("kunin2024.fig-basins")
    with pytest.raises(PackageError, match=r"fig-basins is defined in .*user0\.argument"):
        verify_study("kunin2024.fig-basins")
    assert numerics.lab.study.load_study("kunin2024.fig234-full-rank")
    assert "kunin2024.fig-basins" in [b.name for b in broken("study")]


@pytest.mark.parametrize("raising", [*RAISING.values()], ids=[*RAISING])
def test_the_evidence_of_a_package_that_raises_is_broken_and_its_entry_open(
    tmp_path, announce, monkeypatch, raising
):
    package = tmp_path / "user0"
    package.mkdir()
    (package / "__init__.py").write_text(raising)
    (package / "argument.py").write_text(STUDY)
    announce("symdyn.studies", "user0", "user0")
    study = numerics.lab.study.index()["toy.squares"]
    state = cli._evidence_state(study)
    assert state["evidence"] == "broken" and "user0" in state["reason"]
    assert cli._stored(state) == "broken"
    failures = []
    assert auditing._of_study("toy.squares", failures) == ("open", "", {})
    assert len(failures) == 1 and "'user0' cannot be imported" in failures[0]
    with pytest.raises(numerics.lab.study.StudyError, match=r"user0\.argument, .* cannot be imported"):
        numerics.lab.study.load_study("toy.squares")


def test_evidence_that_raises_whatever_leaves_its_entry_open(monkeypatch):
    for error in (
        KeyError("x"),
        ZeroDivisionError(),
        SystemExit(3),
        OSError(28, "No space"),
        RecursionError(),
    ):

        def raising(key, error=error):
            raise error

        monkeypatch.setattr(auditing, "verify_study", raising)
        failures = []
        assert auditing._of_study("kunin2024.fig-basins", failures)[0] == "open"
        assert type(error).__name__ in failures[0]


def test_an_entry_whose_decision_raises_is_open_and_the_others_are_decided(monkeypatch):
    decide = auditing._audit_entry

    def raising(e, *rest):
        if e.id == LEDGER:
            raise ZeroDivisionError("of a user")
        return decide(e, *rest)

    monkeypatch.setattr(auditing, "_audit_entry", raising)
    monkeypatch.setattr(auditing, "verify_all", lambda *_: {})
    found = auditing._decided(entry(LEDGER), [], {})
    assert found.status == "open" and found.failures == (f"{LEDGER}: ZeroDivisionError: of a user",)


def test_a_module_that_ends_its_process_is_a_row_and_the_others_are_verified(tmp_path, announce, monkeypatch):
    for number in range(2):
        package = tmp_path / f"user{number}"
        package.mkdir()
        (package / "argument.py").write_text(RESULT + ("import os; os._exit(3)" if number == 0 else ""))
        announce("symdyn.derivations", package.name, package.name)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    jobs = [e for e in index() if e.topic in ("user0", "user1")]
    verdicts = auditing.verify_all(jobs, processes=2, use_cache=False)
    assert verdicts["user0.square"].outcome == "UNKNOWN" and "died" in verdicts["user0.square"].evidence
    assert verdicts["user1.square"].holds


@pytest.mark.parametrize("value", ["no_such_module:run", "os:no_such_name", "user_raising:x", "sys:maxsize"])
def test_a_broken_runner_of_studies_is_told_where_it_is_needed_alone(tmp_path, announce, symdyn, value):
    (tmp_path / "user_raising.py").write_text("raise SystemExit")
    announce("symdyn.runner", "error", value)
    announce("symdyn.runner", "index", value)
    assert symdyn("list", "--topic", "single_neuron")[0] == 0


def test_a_module_in_an_encoding_that_it_names_is_read(tmp_path, announce):
    package = tmp_path / "user0"
    package.mkdir()
    source = "# -*- coding: latin-1 -*-\n" + RESULT.replace("square of a sum", "carré d'une somme")
    (package / "argument.py").write_bytes(source.encode("latin-1"))
    announce("symdyn.derivations", "user0", "user0")
    assert [e.title for e in index() if e.topic == "user0"] == ["The carré d'une somme"]
    assert load("user0.square").title == "The carré d'une somme"


def test_a_title_may_be_empty(tmp_path, announce):
    for number, words in enumerate(["", " ", "\\n\\n", "\\n  x"]):
        package = tmp_path / f"user{number}"
        package.mkdir()
        (package / "argument.py").write_text(RESULT.replace('"The square of a sum."', f'"{words}"'))
        announce("symdyn.derivations", package.name, package.name)
        assert [e.title for e in index() if e.topic == package.name] == [words[-1:].strip("n ") or "square"]


def test_a_file_that_cannot_be_read_does_not_stop_the_cache(tmp_path):
    (tmp_path / "a.py").write_text("x")
    whole = digest([tmp_path / "a.py"])
    (tmp_path / "b.py").symlink_to(tmp_path / "nowhere")
    (tmp_path / "c.py").mkdir()
    os.mkfifo(tmp_path / "d.py")
    assert digest(sorted(tmp_path.iterdir())) != whole
