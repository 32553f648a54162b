"""The audit: every entry of the ledger once, in its order, with a status that comes from verdicts."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from symdyn.catalogue import auditing
from symdyn.catalogue.auditing import AuditEntry, audit
from symdyn.catalogue.paper import ledger
from symdyn.catalogue.registry import index, load
from symdyn.catalogue.result import PrintedVerdict
from symdyn.proof.verdict import Certificates, Verdict, Witness


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SYMDYN_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def warm(tmp_path_factory, verdicts, cache_of_the_run):
    """A cache of its own with the verdicts of the run."""
    return shutil.copytree(cache_of_the_run, tmp_path_factory.mktemp("warm") / "cache")


@pytest.fixture(scope="module")
def single_neuron(warm):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYMDYN_CACHE", str(warm))
        return audit(topic="single_neuron")


def test_every_entry_appears_once_and_in_ledger_order(single_neuron):
    expected = [e.id for e in ledger("kunin2024").values() if e.topic == "single_neuron"]
    assert len(expected) == 116
    assert [e.id for e in single_neuron] == expected


def test_every_entry_of_the_single_neuron_is_decided(single_neuron):
    assert [e.id for e in single_neuron if e.status == "open"] == []
    assert [(e.id, e.failures) for e in single_neuron if e.failures] == []


def test_the_json_has_the_fields_of_its_status(single_neuron):
    always = {"id", "topic", "status", "grade", "results", "computed_by", "confronted_by", "seconds"}
    extra = {
        "holds": set(),
        "conditional": {"hypothesis", "counterexample"},
        "erratum": {"printed", "counterexample", "corrected", "severity"},
    }
    for e in single_neuron:
        data = json.loads(json.dumps(e.as_json()))
        assert set(data) - {"stale", "two_kernels", "kernel"} == always | extra[e.status]
        assert e.results, f"{e.id} is {e.status} without a result"
        for name in extra[e.status]:
            assert data[name], f"{e.id}: no {name}"


def test_a_warm_audit_recomputes_nothing(single_neuron, warm, monkeypatch):
    monkeypatch.setenv("SYMDYN_CACHE", str(warm))
    monkeypatch.setattr(auditing, "verify_job", lambda *_: pytest.fail("verified again"))
    assert audit(topic="single_neuron", processes=1) == single_neuron


@pytest.mark.parametrize("piped", [False, True], ids=["a file", "piped into python"])
def test_a_script_without_a_guard_asks_for_verdicts_on_several_processes(tmp_path, piped):
    lines = (
        "from symdyn.catalogue.auditing import verify_all",
        "from symdyn.catalogue.registry import index",
        "jobs = [*index()][:4]",
        "found = verify_all(jobs, use_cache=False, processes=2)",
        "print('asked', {key: v.outcome for key, v in found.items()}, __file__)",
    )
    script = tmp_path / "script.py"
    script.write_text("\n".join(lines))
    command = [sys.executable] if piped else [sys.executable, str(script)]
    given = script.read_text() if piped else None
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=120)
    assert done.stdout.count("asked") == 1, done.stderr
    assert "UNKNOWN" not in done.stdout
    assert done.stdout.strip().endswith("<stdin>" if piped else str(script))


def test_what_is_verified_before_an_interrupt_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("SYMDYN_CACHE", str(tmp_path))
    jobs = [e for e in index() if e.key in ("single_neuron.model", "single_neuron.regime")]

    def interrupt(key, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        auditing.verify_all(jobs, interrupt, processes=1)
    assert list(auditing.Cache("derivations.single_neuron").entries) == [jobs[0].key]
    monkeypatch.setattr(auditing, "AT_MOST_LOST", -1.0)
    written = []
    monkeypatch.setattr(auditing, "_write", lambda opened: written.append(len(opened)))
    auditing.verify_all(jobs[1:], processes=1)
    assert written == [1, 1]


def test_a_broken_cache_is_set_aside(tmp_path, caplog):
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "derivations.single_neuron.json").write_text("{ not json")
    auditing.Cache("derivations.single_neuron")
    assert "redone" in caplog.text
    assert (folder / "derivations.single_neuron.broken").read_text() == "{ not json"


@pytest.fixture
def kept(tmp_path):
    """A cache with one verdict that was not reached, and its file."""
    cache = auditing.Cache("derivations.single_neuron")
    cache.put("single_neuron.loss", "derivations.single_neuron.loss", {"outcome": "UNKNOWN"})
    cache.write()
    return cache.file


def known():
    cache = auditing.Cache("derivations.single_neuron")
    return cache.get("single_neuron.loss", "derivations.single_neuron.loss")


def test_what_is_kept_is_believed(kept):
    assert known() == {"outcome": "UNKNOWN"}


@pytest.mark.parametrize(
    ("old", "new"),
    [("UNKNOWN", "PROVED"), ("single_neuron.loss", "single_neuron.los"), ('"found"', '"lost"')],
)
def test_what_is_not_what_was_written_is_redone(kept, old, new):
    kept.write_text(kept.read_text().replace(old, new))
    assert known() is None


@pytest.mark.parametrize(
    "entries", [[], {"single_neuron.loss": 1}, {"single_neuron.loss": {"stamp": None}}, "x"]
)
def test_malformed_entries_are_redone(kept, entries):
    kept.write_text(json.dumps({"entries": entries}))
    assert known() is None


def test_a_verdict_is_stamped_with_all_that_its_module_imports(monkeypatch):
    """The preconditioner of piecewise linear neurons is made of the quantities of the single neuron."""
    from symdyn.catalogue import cache

    changed = cache._file("derivations.single_neuron.quantities")
    read = {name: cache.module_digest(name) for name in MODULES}
    original = cache.digest
    monkeypatch.setattr(cache, "digest", lambda files: original(files) + "changed" * (changed in list(files)))
    cache.module_digest.cache_clear()
    try:
        anew = {name for name in MODULES if cache.module_digest(name) != read[name]}
    finally:
        cache.module_digest.cache_clear()
    assert anew == set(MODULES) - {"derivations.prior_knowledge.quantities"}


MODULES = (
    "derivations.single_neuron.quantities",
    "derivations.single_neuron.preconditioning.of_the_neuron",
    "derivations.piecewise_linear.network.neuron",
    "derivations.prior_knowledge.quantities",
)


def test_an_unwritable_cache_costs_nothing_but_a_notice(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("SYMDYN_CACHE", str(tmp_path / "file" / "below"))
    (tmp_path / "file").write_text("")
    auditing.Cache("derivations.single_neuron").write()
    assert "could not be cached" in caplog.text


def test_broken_evidence_is_a_failure_of_its_entry_alone(monkeypatch):
    def broken(key):
        raise RuntimeError(f"the evidence file of {key} is broken")

    monkeypatch.setattr(auditing, "verify_study", broken)
    found = auditing._audit_entry(ledger("kunin2024")["kunin2024.fig-basins"], [], {})
    assert found.status == "open"
    assert "is broken" in found.failures[0]


def test_topics_without_results_are_open_and_no_failure():
    entries = audit(topic="deep_networks")
    assert {e.status for e in entries} == {"open"}
    assert not any(e.failures for e in entries)


def test_unknown_topics_and_papers_are_errors():
    with pytest.raises(KeyError, match="single_neuron"):
        audit(paper="kunin2024", topic="single_neurons")
    with pytest.raises(KeyError, match="unknown paper"):
        audit(paper="kunin2023")


def decided(outcome, **more):
    return Verdict(outcome, "proved", "evidence", witness=Witness({"x": "1"}, "residual = 1"), **more)


def test_a_surviving_mutant_is_a_failure_and_leaves_the_entry_open(monkeypatch):
    key = "single_neuron.conserved_delta"
    verdicts = {key: decided("PROVED", survivors=("sign of a",))}
    job = next(j for j in auditing.index() if j.key == key)
    entry = ledger("kunin2024")["kunin2024.single-conserved-delta"]
    found = auditing._audit_entry(entry, [job], verdicts)
    assert found.status == "open"
    assert "sign of a" in found.failures[0]


@pytest.mark.parametrize(
    ("stated", "under", "status"),
    [
        (decided("PROVED"), None, "holds"),
        (decided("AGREES"), None, "holds"),
        (decided("REFUTED"), None, "erratum"),
        (decided("REFUTED"), decided("PROVED"), "conditional"),
        (decided("REFUTED"), decided("REFUTED"), "open"),
        (decided("UNKNOWN"), None, "open"),
        (decided("REFUTED"), replace(decided("PROVED"), survivors=("m",)), "open"),
    ],
)
def test_the_status_of_a_printed_form_follows_from_its_verdicts(stated, under, status):
    assert PrintedVerdict("single_neuron.form", stated, under).status == status


def test_verdicts_survive_json():
    verdict = load("single_neuron.potential").verify()
    assert Verdict.from_json(json.loads(json.dumps(verdict.as_json()))) == verdict


def test_open_is_never_worse_than_reported():
    entry = AuditEntry("kunin2024.x", "t", "open", "", (), 0.0)
    assert entry.as_json() == {
        "id": "kunin2024.x",
        "topic": "t",
        "status": "open",
        "grade": "",
        "results": [],
        "computed_by": [],
        "confronted_by": [],
        "seconds": 0.0,
    }


def test_an_entry_with_two_printed_forms_keeps_the_remarks_of_both():
    first = {"counterexample": "x = 1", "hypothesis": "x > 1"}
    second = {"counterexample": "y = 2", "hypothesis": "x > 1", "stale": True}
    assert auditing._joined(first, second) == {
        "counterexample": "x = 1; y = 2",
        "hypothesis": "x > 1",
        "stale": True,
    }


def test_an_entry_says_kernel_if_every_claim_of_its_results_has_a_checked_certificate():
    entry = next(e for e in ledger("kunin2024").values() if e.id == "kunin2024.single-conserved-delta")
    jobs = [j for j in auditing.index("result") if entry.id in j.ledger]
    assert jobs
    for certificates, kernel in (
        (Certificates(3, 3), True),
        (Certificates(3, 2, left=("one is left",)), False),
        (Certificates(3, 3, others=1), False),
        (Certificates(0, 0), False),
    ):
        verdict = Verdict("PROVED", "proved", "", certificates=certificates)
        found = auditing._audit_entry(entry, jobs, {job.key: verdict for job in jobs})
        assert found.kernel is kernel
        assert found.as_json().get("kernel", False) is kernel
        assert Verdict.from_json(json.loads(json.dumps(verdict.as_json()))) == verdict
    unknown = Verdict("UNKNOWN", "tested", "", certificates=Certificates(3, 3))
    assert not auditing._audit_entry(entry, jobs, {job.key: unknown for job in jobs}).kernel
