"""Evidence: written by runs, recomputed without torch, stale when the code changes, and never trusted when
broken.
"""

from __future__ import annotations

import dis
import json
import math
import re
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

from numerics.lab import sweep
from numerics.lab.evidence import (
    FOLDER,
    EvidenceError,
    evidence_folder,
    evidence_state,
    load_evidence,
    stale,
    verify_claims,
    write_evidence,
)
from numerics.lab.fingerprint import PACKAGES, source_of
from numerics.lab.names import Packages
from numerics.lab.runs import run_study
from numerics.lab.study import DECISIVE, Cell, StudyError, index, load_study, recomputed_claims
from symdyn.catalogue.registry import verify_study

# Studies all of whose claims hold, at the published setting and as a smoke test.
CONFIRMED = (
    "braun2022.fig-1",
    "braun2022.fig-2ab",
    "braun2022.fig-2c",
    "braun2022.fig-2d",
    "braun2022.fig-6a",
    "braun2022.fig-6b",
    "braun2022.fig-6e-h",
    "braun2022.colour-hierarchy-no-advantage",
    "braun2022.large-zero-balanced-speeds-up",
    "braun2022.fig-3c-e-final-representations",
    "braun2022.fig-4a",
    "braun2022.fig-5a",
    "braun2022.fig-5c",
    "kunin2024.fig-basins",
    "kunin2024.fig-single-neuron-trajectories",
    "kunin2024.fig234-full-rank",
    "kunin2024.fig234-low-rank",
    "kunin2024.fig1a-teacher-student",
    "kunin2024.infinite-width-phase-diagram",
    "naitsaada2023.fig1-eoc-curve",
    "naitsaada2023.fig2-gaussian-variance",
    "naitsaada2023.fig3-orthogonal-variance",
    "naitsaada2023.fig6-correlation-map",
    "naitsaada2023.fig7-correlation-dynamics",
    "naitsaada2023.fig8-correlation-dynamics",
    "naitsaada2023.fig9-correlation-dynamics",
    "naitsaada2023.fig11-correlation-depth-scale",
    "naitsaada2023.fig12-gradient-norm",
    "naitsaada2023.variance-grows-with-depth",
    "signal_propagation.trainable-depth",
    "single_neuron.inductive-bias-tradeoff",
    "wide_linear.function-space",
    "wide_linear.regimes",
)
# Studies whose evidence is of another scale, or contradicts some of what the source says: scale and claims that fail.
FINDINGS: dict[str, tuple[str, set[str]]] = {
    "braun2022.fig-5b": (
        "paper",
        {
            "most-tanh-networks-forget-more",
            "tanh-forgets-more-of-linear-tasks",
            "relu-forgets-more-of-linear-tasks",
        },
    ),
    "braun2022.fig-5de": ("paper", {"tanh-is-not-predicted", "relu-is-not-predicted"}),
    "braun2022.fig-4d-f": (
        "paper",
        {"silent-equal", "near-zero-equal", "printed-peak-intermediate", "printed-peak-order"},
    ),
    "braun2022.fig-3f-learning-curves": (
        "paper",
        {
            "large-zero-balanced-straight-trained",
            "large-zero-balanced-straight-flow",
            "large-zero-balanced-no-drop-trained",
            "large-zero-balanced-no-drop-flow",
            "large-zero-balanced-fast-to-one-loss",
        },
    ),
    "kunin2024.fig1b-phase-portrait": (
        "contrasts",
        {
            "downstream-lazy-at-small-scale",
            "kernel-grows-with-delta",
            "test-error-falls-with-delta",
            "best-is-upstream",
        },
    ),
    "kunin2024.fig1-supporting": ("contrasts", set()),
}
KEYS = (*CONFIRMED, *FINDINGS)


OWN = {"signal_propagation.trainable-depth"}
"""Studies of which no claim is the paper's, so that they decide none of its entries."""


def expected(key):
    """What the audit says of a study: None where it, or the scale of its evidence, decides nothing."""
    if key in OWN:
        return None
    scale, failing = FINDINGS.get(key, ("paper", set()))
    return not failing if scale in DECISIVE else None


TOY = '''"""A toy."""
from numerics.lab.claims import at_most
from numerics.lab.study import Plan, study


def cells(cfg):
    return [{"place": 0}, {"place": 1}]


def claims(measured):
    """What is claimed."""
    return [at_most("small", "at most three", max(measured.values("number")), 3)]


@study("toy.numbers", title="Numbers")
def numbers():
    plain = {"seed": 4}
    return Plan({"smoke": plain, "laptop": plain, "paper": plain}, cells, None, None, claims, {})
'''


def announce(monkeypatch, folder, package):
    """Let a distribution toy-package announce a package of studies."""
    metadata = folder / "toy_package-1.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-package\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[symdyn.studies]\ntoys = {package}\n")
    monkeypatch.syspath_prepend(folder)


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A package of studies of a user's own, announced by an entry point; returns the path of its module."""
    package = tmp_path / "toystudies"
    package.mkdir()
    (package / "__init__.py").write_text("")
    module = package / "numbers.py"
    module.write_text(TOY)
    announce(monkeypatch, tmp_path, "toystudies")
    yield module
    for name in [name for name in sys.modules if name.split(".")[0] == "toystudies"]:
        del sys.modules[name]


def store(folder, *numbers, scale="paper"):
    cells = [Cell({"place": place}, {"number": number}, {}) for place, number in enumerate(numbers)]
    declared = load_study("toy.numbers")
    return write_evidence(
        declared,
        declared.configuration(scale),
        cells,
        device="cpu",
        versions={"numpy": "1"},
        folder=folder,
    )


def test_the_index_lists_every_study_with_its_title():
    entries = index()
    assert set(KEYS) <= set(entries)
    assert all(entries[key].title for key in KEYS)


def test_the_index_imports_no_study():
    code = (
        "import sys; from numerics.lab.study import index; index(); "
        "print([m for m in sys.modules if 'studies.' in m])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_an_unknown_study_suggests_near_ones():
    with pytest.raises(StudyError, match=r"did you mean kunin2024\.fig234-low-rank"):
        load_study("kunin2024.fig234-lowrank")


def test_a_users_own_study_is_found_through_its_entry_point(toy):
    assert load_study("toy.numbers").title == "Numbers"
    assert set(KEYS) <= set(index())


@pytest.mark.parametrize(
    ("package", "reason"),
    [
        ("no_such_package.studies", "is not installed"),
        ("toystudies.nothing", "is not installed"),
        ("toystudies.numbers", "is a module, not a package"),
    ],
)
def test_an_entry_point_that_names_no_package_of_studies_is_named_with_its_distribution(
    toy, tmp_path, monkeypatch, package, reason
):
    announce(monkeypatch, tmp_path, package)
    (left_out,) = index().broken
    message = left_out.reason
    assert set(KEYS) <= set(index())
    assert package in message and reason in message
    assert "correct the entry point 'toys' of toy-package" in message and "uninstall toy-package" in message


def test_a_key_that_is_used_twice_is_refused(toy):
    toy.with_name("again.py").write_text(TOY)
    with pytest.raises(StudyError, match=r"toy\.numbers is defined twice"):
        load_study("toy.numbers")
    assert load_study(KEYS[0]).key == KEYS[0]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (TOY.replace(', title="Numbers"', ""), r"again\.py, line \d+: write key and title out"),
        (TOY.replace('title="Numbers"', 'title=f"{1}"'), r"again\.py, line \d+: write key and title out"),
        (TOY.replace('"toy.numbers", ', ""), r"again\.py, line \d+: write key and title out"),
        ("def broken(:", r"again\.py, line 1, cannot be read: invalid syntax"),
    ],
)
def test_a_module_that_the_index_cannot_read_is_named_with_the_line(toy, source, wanted):
    toy.with_name("again.py").write_text(source)
    (left_out,) = index().broken
    assert left_out.name == "toystudies.again" and re.search(wanted, left_out.reason)
    assert load_study("toy.numbers").title == "Numbers"


def test_claims_are_recomputed_from_the_stored_numbers(toy, tmp_path):
    store(tmp_path, 1, 2)
    verdict = verify_claims("toy.numbers", tmp_path)
    assert verdict["holds"] is True and verdict["status"] == "holds"
    assert verdict["grade"] == "simulated" and verdict["stale"] is False
    assert "1 of 1 claims hold over 2 cells" in verdict["evidence"]
    store(tmp_path, 1, 4)
    verdict = verify_claims("toy.numbers", tmp_path)
    assert verdict["holds"] is False
    assert "not: small" in verdict["evidence"]


def test_a_stricter_claim_is_judged_on_the_old_measurements(toy, tmp_path):
    store(tmp_path, 1, 2)
    toy.write_text(TOY.replace('measured.values("number")), 3)', 'measured.values("number")), 1)'))
    for name in ("toystudies.numbers", "toystudies"):
        del sys.modules[name]
    verdict = verify_claims("toy.numbers", tmp_path)
    assert verdict["holds"] is False and verdict["stale"] is False


def test_without_evidence_nothing_is_claimed(toy, tmp_path):
    verdict = verify_claims("toy.numbers", tmp_path)
    assert verdict["holds"] is None and verdict["status"] == "open"
    assert "symdyn study run toy.numbers" in verdict["evidence"]


@pytest.mark.parametrize(
    ("about", "status"),
    [
        ([("paper", True), ("check", True), ("own", False)], "holds"),
        ([("paper", True), ("paper", False), ("check", True)], "conditional"),
        ([("paper", False), ("check", True)], "erratum"),
        ([("paper", True), ("check", False)], "open"),
        ([("paper", False), ("check", False)], "open"),
    ],
)
def test_the_status_of_the_source_follows_from_its_own_claims_and_from_the_checks(
    about, status, toy, tmp_path
):
    lines = ", ".join(
        f'at_most("c{place}", "claim {place}", {0 if holds else 2}, 1, about="{whose}")'
        for place, (whose, holds) in enumerate(about)
    )
    toy.write_text(TOY.replace('at_most("small", "at most three", max(measured.values("number")), 3)', lines))
    store(tmp_path, 1, 2)
    verdict = verify_claims("toy.numbers", tmp_path)
    assert verdict["status"] == status
    assert ("hypothesis" in verdict) is (status == "conditional")
    assert ("corrected" in verdict) is (status == "erratum")


@pytest.mark.parametrize("second", [2, 4])
def test_a_smaller_scale_than_that_of_the_source_decides_nothing(second, toy, tmp_path):
    store(tmp_path, 1, second, scale="laptop")
    verdict = verify_claims("toy.numbers", tmp_path)
    assert (verdict["status"], verdict["holds"]) == ("open", None)
    assert ("not: small" in verdict["evidence"]) is (second == 4)


def test_the_package_of_studies_answers_the_audit():
    found = verify_study("kunin2024.fig234-full-rank")
    assert found["status"] == "holds" and found["grade"] == "simulated"


def test_evidence_is_stale_when_the_code_changes_and_not_when_words_do(toy, tmp_path):
    store(tmp_path, 1, 2)
    evidence = load_evidence("toy.numbers", tmp_path)
    toy.write_text(TOY.replace("A toy.", "Another toy.").replace("def cells", "# why not\ndef cells"))
    assert stale(evidence) is False
    toy.write_text(TOY.replace('{"place": 1}', '{"place": 2}'))
    assert stale(evidence) is True


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[:40], "is broken"),
        (lambda text: text.replace("[1, 2]", "[1, 3]"), "was changed after it was written"),
        (lambda text: text.replace("[1, 2]", "[1]"), "the cells of the evidence file .* are broken"),
        (lambda text: text.replace('"versions"', '"version"'), "lacks versions"),
        (lambda text: text.replace('"schema": 3', '"schema": 9'), "another schema"),
        (lambda text: "[]", "lacks"),
    ],
)
def test_damaged_evidence_is_named_and_not_used(toy, tmp_path, damage, message):
    path = store(tmp_path, 1, 2)
    path.write_text(damage(path.read_text()))
    with pytest.raises(EvidenceError, match=message):
        verify_claims("toy.numbers", tmp_path)


def test_cells_with_other_numbers_than_their_neighbours_are_stored_as_they_are(toy, tmp_path):
    declared = load_study("toy.numbers")
    cells = [
        Cell({"place": 0}, {"number": 1}, {}),
        Cell({"place": 1}, {"number": 2, "list": [1.5, None]}, {}),
        Cell({"word": "x"}, {"number": None}, {}),
    ]
    options = {"device": "cpu", "versions": {}, "folder": tmp_path}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("numerics.lab.evidence.recomputed_claims", lambda *_: [])
        write_evidence(declared, declared.configuration("paper"), cells, **options)
    stored = load_evidence("toy.numbers", tmp_path)["cells"]
    assert stored == [{"cell": dict(cell.cell), "values": dict(cell.values)} for cell in cells]


def test_the_evidence_of_a_users_study_stays_in_the_users_package(toy):
    path = store(None, 1, 2)
    assert path == toy.parent / "evidence" / "toy.numbers.json"
    assert verify_claims("toy.numbers")["status"] == "holds"
    assert evidence_state("toy.numbers") == {"evidence": "current", "scale": "paper"}
    assert evidence_folder(load_study(KEYS[0]).module) == FOLDER
    assert not (FOLDER / path.name).exists()


def test_evidence_stands_beside_a_package_of_studies_within_another(toy):
    inside = toy.parent / "studies"
    inside.mkdir()
    (inside / "__init__.py").write_text("")
    assert evidence_folder("toystudies.studies.numbers") == toy.parent / "evidence"


def test_a_study_outside_of_any_package_has_no_place_for_evidence():
    with pytest.raises(EvidenceError, match="belongs to no package"):
        evidence_folder("__main__")


def test_evidence_that_cannot_be_written_says_why(toy, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EvidenceError, match="cannot write"):
        store(tmp_path / "file", 1, 2)


@contextmanager
def watched(key):
    """Every function of ours that runs meanwhile, and every definition at the top of its module that it reads, counts
    in the hash of the study: found by watching, not by reading the source.
    """
    codes = {}

    def note(frame, event, argument):
        if event == "call":
            codes.setdefault(frame.f_code, frame.f_globals.get("__name__", ""))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    packages = Packages(frozenset(PACKAGES))
    entry = index()[key]
    counted = set(source_of(entry.module, entry.attribute).definitions)
    names = {name for code, module in codes.items() for name in definitions_in(code, module, packages)}
    assert names
    assert names - counted == set()


def definitions_in(code, module, packages):
    """The definition that a code belongs to, and those of its module that it reads."""
    if module.split(".")[0] not in PACKAGES or packages.is_kept(module):
        return set()
    statements = packages.module(module).statements
    top, *inner = code.co_qualname.split(".")
    if top not in statements or top == "__getattr__" or (not inner and packages.module(module).class_of(top)):
        return set()  # the body of a module or a class, a lazy name, or what a dataclass makes
    method = f"{top}.{inner[0]}" if inner and packages.module(module).class_of(top) else top
    read = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"} & set(statements)
    return {f"{module}.{name}" for name in {top, method, *read}}


@pytest.mark.parametrize("key", CONFIRMED)
def test_every_study_runs_at_smoke_scale_and_its_claims_hold(key, tmp_path, monkeypatch):
    monkeypatch.setattr(sweep, "measure", watched(key)(sweep.measure))
    result = run_study(key, "smoke", out=tmp_path, progress=False)
    assert [claim.name for claim in result.claims if not claim.holds] == []
    assert (tmp_path / "figure.png").stat().st_size > 10_000


@pytest.mark.parametrize("key", FINDINGS)
def test_a_study_with_findings_runs_at_smoke_scale_and_its_checks_hold(key, tmp_path, monkeypatch):
    """So small a scale says nothing about the claims of the source."""
    monkeypatch.setattr(sweep, "measure", watched(key)(sweep.measure))
    result = run_study(key, "smoke", out=tmp_path, progress=False)
    assert [claim.name for claim in result.claims if claim.about == "check" and not claim.holds] == []
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def without_rounding(claim):
    """The numbers of a claim, whose last digits depend on the machine's own order of summation."""
    return [math.nan if claim[name] is None else claim[name] for name in ("estimate", "stderr")]


def words(claim):
    return {name: value for name, value in claim.items() if name not in ("estimate", "stderr")}


@pytest.mark.parametrize("key", KEYS)
def test_committed_evidence_is_of_the_stated_setting_and_says_the_same_when_recomputed(key):
    evidence = load_evidence(key)
    scale, failing = FINDINGS.get(key, ("paper", set()))
    assert evidence["scale"] == scale
    study = load_study(key)
    assert evidence["configuration"] == json.loads(json.dumps(study.configuration(scale)))
    claims = [
        json.loads(json.dumps(claim.as_dict())) for claim in recomputed_claims(study, evidence["cells"])
    ]
    for claim, stored in zip(claims, evidence["claims"], strict=True):
        assert without_rounding(claim) == pytest.approx(
            without_rounding(stored), rel=1e-9, abs=1e-15, nan_ok=True
        )
        assert words(claim) == words(stored)
    assert {claim["name"] for claim in claims if not claim["holds"]} == failing


@pytest.mark.parametrize("key", KEYS)
def test_where_a_value_is_missing_nothing_is_claimed(key):
    study, rows = load_study(key), load_evidence(key)["cells"]
    for name in {name for row in rows for name in row["values"]} - set(study.plan.absent):
        place = max(place for place, row in enumerate(rows) if name in row["values"])
        lost = rows[place] | {"values": rows[place]["values"] | {name: None}}
        (claim,) = recomputed_claims(study, [*rows[:place], lost, *rows[place + 1 :]])
        assert (claim.name, claim.about, claim.holds) == ("all-measured", "check", False)
        assert f"{name!r} of the cell {rows[place]['cell']}" in claim.statement


@pytest.mark.parametrize("lost", [math.nan, [1.0, None], [[1.0], [math.nan]]])
def test_a_value_that_is_no_number_is_missing(lost):
    study = load_study(KEYS[0])
    (claim,) = recomputed_claims(study, [{"cell": {"place": 3}, "values": {"of no study": lost}}])
    assert (claim.name, claim.holds) == ("all-measured", False)


def test_claims_are_recomputed_where_torch_scipy_and_matplotlib_are_absent():
    code = (
        "import sys\n"
        "for name in ('torch', 'scipy', 'matplotlib', 'xarray', 'h5netcdf'):\n"
        "    sys.modules[name] = None\n"
        "from numerics.lab.evidence import verify_claims\n"
        f"print([verify_claims(key)['holds'] for key in {KEYS!r}])\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str([expected(key) for key in KEYS])


def test_only_evidence_of_known_studies_is_committed():
    assert {path.stem for path in FOLDER.glob("*.json")} == set(KEYS)


@pytest.mark.parametrize(
    ("key", "name", "spoil"),
    [
        ("braun2022.fig-1", "deviation_function", lambda value: [value[-1]] * len(value)),
        ("braun2022.fig-1", "loss_half_time", lambda value: 1.0),
        ("braun2022.fig-2ab", "deviation_ntk", lambda value: [10 * x for x in value]),
        ("braun2022.fig-2ab", "deviation_inputs", lambda value: [x**2 for x in value]),
        ("braun2022.fig-2ab", "off_loss", lambda value: 0.001),
        ("braun2022.fig-2c", "deviation", lambda value: [value[0], value[2], value[1], *value[3:]]),
        ("braun2022.fig-2c", "deviation", lambda value: [x**0.8 for x in value]),
        ("braun2022.fig-2c", "off", lambda value: 0.001),
        ("braun2022.fig-2d", "deviation", lambda value: [0.02]),
        ("braun2022.fig-2d", "deviation", lambda value: [0.002]),
        ("braun2022.fig-2d", "slightly_off", lambda value: 0.0005),
        ("braun2022.fig-2d", "removed", lambda value: 0.4),
        ("braun2022.fig-6a", "exact_size_at_end", lambda value: 1e-6),
        ("braun2022.fig-6a", "error_at_end", lambda value: 0.01),
        ("braun2022.fig-6a", "learned", lambda value: 6.0),
        ("braun2022.fig-6a", "escape", lambda value: value and 1.04 * value),
        ("braun2022.fig-6a", "predicted", lambda value: value + 3),
        ("braun2022.fig-6a", "following", lambda value: [value[0]] * len(value)),
        ("braun2022.fig-6a", "formulas_apart", lambda value: 1e-9),
        ("braun2022.fig-6b", "errors", lambda value: [error**2 for error in value]),
        ("braun2022.fig-6b", "slowest", lambda value: value - 0.2),
        ("braun2022.fig-6b", "deep_slowest", lambda value: 0.1),
        ("braun2022.fig-6b", "deep_learned", lambda value: 10.0),
        ("braun2022.fig-6e-h", "exact_loss_at_end", lambda value: value + 1e-5),
        ("braun2022.fig-6e-h", "loss_at_end", lambda value: value + 0.5),
        ("braun2022.fig-6e-h", "time", lambda value: value**0.3),
        ("braun2022.fig-6e-h", "exact_time", lambda value: value and 1.1 * value),
        ("braun2022.fig-6e-h", "functions_apart", lambda value: 1e-3),
        ("braun2022.fig-6e-h", "following", lambda value: [x**0.8 for x in value]),
        ("braun2022.fig-6e-h", "escape", lambda value: value + 2),
        ("braun2022.colour-hierarchy-no-advantage", "known_time", lambda value: 0.8 * value),
        ("braun2022.colour-hierarchy-no-advantage", "random_exact_time", lambda value: 1.3 * value),
        ("braun2022.colour-hierarchy-no-advantage", "random_limit_time", lambda value: 1.01 * value),
        ("braun2022.colour-hierarchy-no-advantage", "known_loss_at_end", lambda value: 0.5),
        ("braun2022.colour-hierarchy-no-advantage", "reflected", lambda value: True),
        ("braun2022.colour-hierarchy-no-advantage", "other_side_loss", lambda value: 0.0),
        ("braun2022.large-zero-balanced-speeds-up", "time", lambda value: 5 + value / 10),
        ("braun2022.large-zero-balanced-speeds-up", "exact_time", lambda value: value**1.1),
        ("braun2022.large-zero-balanced-speeds-up", "following", lambda value: [x + 0.01 for x in value]),
        ("braun2022.large-zero-balanced-speeds-up", "function_at_end", lambda value: 1e-3),
        ("braun2022.large-zero-balanced-speeds-up", "exact_hidden_at_end", lambda value: 1e-3),
        ("braun2022.large-zero-balanced-speeds-up", "hidden_at_end", lambda value: [value[0]] * len(value)),
        ("braun2022.fig-4a", "deviation_across", lambda value: [value[0]] * len(value)),
        ("braun2022.fig-4a", "uncoupled_within", lambda value: value / 50),
        ("braun2022.fig-4a", "unlike", lambda value: value + 1e-9),
        ("kunin2024.fig234-full-rank", "rk45_error", lambda value: value + 1e-3),
        ("kunin2024.fig234-full-rank", "descent_w", lambda value: [value[0]] * len(value)),
        ("kunin2024.fig234-full-rank", "kernel_at_end", lambda value: 0.2),
        ("kunin2024.fig234-full-rank", "kernel_half_time", lambda value: 1.0),
        ("kunin2024.fig234-low-rank", "rk45_error", lambda value: value + 1e-3),
        ("kunin2024.fig234-low-rank", "alpha_rk45", lambda value: -value),
        ("kunin2024.fig234-low-rank", "angle_to_start", lambda value: 20.0),
        ("kunin2024.fig-single-neuron-trajectories", "rk45_error_nu", lambda value: value + 1e-3),
        ("kunin2024.fig-single-neuron-trajectories", "rk45_error_w2", lambda value: value + 1e-3),
        ("kunin2024.fig1a-teacher-student", "mean_turn", lambda value: value / 3),
        ("kunin2024.fig1a-teacher-student", "mean_turn", lambda value: value + 10),
        ("kunin2024.fig1a-teacher-student", "steps_to_a_tenth", lambda value: 100 + value // 100),
        ("wide_linear.function-space", "beta", lambda value: [value[0]] * len(value)),
        ("wide_linear.function-space", "largest_kernel_distance", lambda value: value / 3),
        ("wide_linear.function-space", "detour", lambda value: value + 0.1),
        ("kunin2024.infinite-width-phase-diagram", "movement", lambda value: value**0.5),
        ("kunin2024.infinite-width-phase-diagram", "kernel_distance", lambda value: 0.1),
        ("kunin2024.infinite-width-phase-diagram", "kernel_distance_halfway", lambda value: value / 3),
        ("kunin2024.infinite-width-phase-diagram", "directions_after", lambda value: 12.0),
        ("kunin2024.infinite-width-phase-diagram", "flipped", lambda value: 1 - value),
        ("kunin2024.infinite-width-phase-diagram", "delta_mean", lambda value: 0.9 * value),
        ("wide_linear.regimes", "predicted", lambda value: "rich"),
        ("wide_linear.regimes", "measured", lambda value: {"lazy": "rich"}.get(value, value)),
        ("single_neuron.inductive-bias-tradeoff", "error", lambda value: value + 1e-3),
        ("single_neuron.inductive-bias-tradeoff", "distance_to_shortest", lambda value: value**2),
        ("single_neuron.inductive-bias-tradeoff", "angle_to_start", lambda value: -value),
    ],
)
def test_claims_fail_on_measurements_that_contradict_them(key, name, spoil):
    rows = load_evidence(key)["cells"]
    measured = [row for row in rows if name in row["values"]]
    assert measured
    for row in measured:
        row["values"] = row["values"] | {name: spoil(row["values"][name])}
    assert not all(claim.holds for claim in recomputed_claims(load_study(key), rows))


@pytest.mark.parametrize(
    ("part", "name", "value", "claim"),
    [
        ("slice", "disagreements", 1, "sign-on-grid"),
        ("slice", "surface_error", 1e-3, "surface-measured"),
        ("slice", "arrived", -10_000, "starts-arrived"),
        ("pair", "sign_below", 1.0, "pairs-separate"),
    ],
)
def test_one_contradiction_in_one_cell_breaks_the_claim_on_basins(part, name, value, claim):
    rows = load_evidence("kunin2024.fig-basins")["cells"]
    place = next(place for place, row in enumerate(rows) if row["cell"]["part"] == part)
    rows[place] = rows[place] | {"values": rows[place]["values"] | {name: value}}
    claims = recomputed_claims(load_study("kunin2024.fig-basins"), rows)
    assert [found.name for found in claims if not found.holds] == [claim]


def test_a_grid_without_one_side_of_the_phase_diagram_does_not_count():
    key = "kunin2024.infinite-width-phase-diagram"
    rows = [
        row
        for row in load_evidence(key)["cells"]
        if row["cell"].get("gamma", 1.0) in (0.5, 1.0, 1.75) and row["cell"].get("gamma_prime", 0.0) <= 0
    ]
    claims = recomputed_claims(load_study(key), rows)
    assert [claim.name for claim in claims if claim.about == "check" and not claim.holds] == [
        "every-side-has-points"
    ]
