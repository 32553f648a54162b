"""Results are found by key, by ledger id and by topic; the index needs no import and agrees with what is there."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

import symdyn
from symdyn.catalogue import registry
from symdyn.catalogue.packages import PackageError, home, topic_of
from symdyn.catalogue.registry import (
    PRINTED,
    REGISTERED,
    _scanned,
    broken,
    index,
    load,
    printed_forms,
    results,
)
from symdyn.catalogue.restrictions import of_topic


def test_a_result_is_found_by_key_and_by_ledger_id():
    by_key = symdyn.load("single_neuron.conserved_delta")
    assert by_key is symdyn.load("kunin2024.single-conserved-delta")
    assert by_key.ledger == ("kunin2024.single-conserved-delta",)


@pytest.mark.parametrize(
    "name", ["single_neuron.conserved_dleta", "conserved_delta", "kunin2024.single-conserved-delt"]
)
def test_an_unknown_name_suggests_near_ones(name):
    with pytest.raises(KeyError, match="conserved"):
        load(name)


@pytest.mark.parametrize("name", [3, None, ("single_neuron.potential",)])
def test_a_name_is_a_string(name):
    with pytest.raises(TypeError, match="by its key or by a ledger id, not by"):
        load(name)


def test_an_unknown_topic_is_an_error():
    with pytest.raises(KeyError, match="single_neuron"):
        results("single_neurone")


def test_the_index_agrees_with_the_registered_results():
    found = {r.key: r for r in results()}
    assert set(found) == {e.key for e in index()}
    for entry in index():
        assert found[entry.key].ledger == entry.ledger
        assert found[entry.key].title == entry.title
    assert {f.key: (f.ledger_id,) for f in printed_forms()} == {e.key: e.ledger for e in index("printed")}


def test_the_index_imports_neither_the_mathematics_nor_torch():
    code = (
        "import sys; from symdyn.catalogue.registry import index; assert index(); "
        "print([m for m in ('torch', 'sympy', 'numpy', 'matplotlib') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_a_key_is_looked_up_in_its_own_topic_alone(monkeypatch):
    scanned = []
    monkeypatch.setattr(
        registry, "_scanned", lambda topic, package: scanned.append(topic) or _scanned(topic, package)
    )
    monkeypatch.setattr(registry, "index", lambda *_: pytest.fail("all topics were read"))
    (found,) = registry.named("single_neuron.conserved_delta")
    assert found.key == "single_neuron.conserved_delta" and scanned == ["single_neuron"]


@pytest.mark.parametrize("topic", sorted({e.topic for e in index()}))
def test_no_module_hides_a_result_of_the_same_name(topic):
    package = importlib.import_module(f"derivations.{topic}")
    modules = {m.name for m in pkgutil.iter_modules(package.__path__)}
    assert not modules & {e.key.split(".")[1] for e in index() if e.topic == topic}
    for entry in index():
        if entry.topic == topic:
            assert getattr(package, entry.key.split(".")[1]) is load(entry.key)


SUM = """
import sympy as sp
from symdyn.catalogue.result import printed, result
from symdyn.statements.kinds import Identity

x = sp.Symbol("x", real=True)


@result()
def square():
    "The square of a sum."
    return Identity((x + 1) ** 2, x**2 + 2 * x + 1)
"""
FORM = SUM.replace("@result()", '@printed("kunin2024.single-conserved-delta", quote="")')


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of derivations of a user's own, announced as the topic `sums`; returns its folder."""
    folder = tmp_path / "sums"
    folder.mkdir()
    (folder / "argument.py").write_text(SUM)
    announce(monkeypatch, tmp_path, "sums", "sums")
    yield folder
    index.cache_clear()
    _scanned.cache_clear()
    for known in (REGISTERED, PRINTED):
        for key in [key for key, made in known.items() if made.function.__module__.startswith("sums.")]:
            del known[key]
    for name in [name for name in sys.modules if name.split(".")[0] == "sums"]:
        del sys.modules[name]


def announce(monkeypatch, folder, name, value):
    """Let a distribution of the name of the folder announce a package under a name."""
    metadata = folder / f"of_{folder.name}-1.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: of_{folder.name}\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[symdyn.derivations]\n{name} = {value}\n")
    monkeypatch.syspath_prepend(folder)
    index.cache_clear()
    _scanned.cache_clear()


def test_a_package_of_a_users_own_is_found(package):
    assert load("sums.square").verify().holds is True


@pytest.mark.parametrize("source", [SUM, FORM])
def test_a_key_in_two_modules_is_refused_with_both_named(package, source):
    (package / "again.py").write_text(source)
    with pytest.raises(
        PackageError, match=r"sums\.square is defined in sums\.again and again in sums\.argument; rename one"
    ):
        load("sums.square")
    with pytest.raises(PackageError, match=r"results\('single_neuron'\)"):
        results()
    assert [b.name for b in broken()] == ["sums.square"]
    assert load("single_neuron.potential") in results("single_neuron")


def test_a_key_twice_in_one_module_is_refused(package):
    (package / "argument.py").write_text(SUM + SUM)
    (left_out,) = broken("printed")
    assert left_out.reason.startswith("sums.square is defined twice in sums.argument")


def test_a_topic_that_is_not_that_of_the_entry_point_is_named(package):
    (package / "argument.py").write_text(SUM.replace("@result()", '@result(topic="squares")'))
    message = r"of sums\.argument is squares\.square, but .* the topic 'sums': write @result\(topic='sums'\)"
    with pytest.raises(PackageError, match=message):
        load("sums.square")
    with pytest.raises(PackageError, match=message):
        results("sums")


def test_the_topic_is_the_name_of_the_entry_point_not_of_a_folder(package, tmp_path, monkeypatch):
    (package / "argument.py").write_text(FORM)
    announce(monkeypatch, tmp_path, "my_sums", "sums")
    assert [form.key for form in printed_forms("my_sums")] == ["my_sums.square"]
    assert [e.topic for e in index("printed") if e.key == "my_sums.square"] == ["my_sums"]


NESTED = """
import sympy as sp
from symdyn.catalogue.result import result
from symdyn.statements.kinds import Identity

x = sp.Symbol("x", real=True)


@result()
def cube():
    "The cube of a sum."
    return Identity((x + 1) ** 3, x**3 + 3 * x**2 + 3 * x + 1)
"""


def test_modules_in_folders_belong_to_the_topic_of_their_package(package):
    inner = package / "powers" / "odd"
    inner.mkdir(parents=True)
    (package / "powers" / "__init__.py").write_text("")
    (inner / "__init__.py").write_text("")
    (inner / "third.py").write_text(NESTED)
    (package / "notes").mkdir()  # a folder that is no package holds no modules
    (package / "notes" / "fourth.py").write_text(NESTED)
    (inner / "again").symlink_to(package / "powers")  # a circle of folders ends
    assert {e.key: e.module for e in index() if e.topic == "sums"} == {
        "sums.square": "sums.argument",
        "sums.cube": "sums.powers.odd.third",
    }
    assert load("sums.cube").verify().holds is True
    assert home("sums.powers.odd.third") == "sums"
    assert topic_of("sums.powers.odd.third") == "sums"


def test_the_hypotheses_of_a_topic_hold_in_its_folders_too(package):
    (package / "powers").mkdir()
    (package / "powers" / "__init__.py").write_text("")
    (package / "powers" / "third.py").write_text(NESTED)
    (package / "hypotheses.py").write_text(
        "from symdyn.statements.hypothesis import standing\nHYPOTHESES = (standing('Sec. 1', 'x > 0', 'd'),)\n"
    )
    assert [h.words for h in of_topic("sums.powers.third")] == ["x > 0"]


def test_a_package_within_another_that_announces_itself_is_a_topic_of_its_own(package, tmp_path, monkeypatch):
    (package / "__init__.py").write_text("")
    inner = package / "powers"
    inner.mkdir()
    (inner / "__init__.py").write_text("")
    (inner / "third.py").write_text(NESTED)
    other = tmp_path / "other"
    other.mkdir()
    announce(monkeypatch, other, "powers", "sums.powers")
    assert {e.key for e in index() if e.module.startswith("sums.")} == {"sums.square", "powers.cube"}


def test_two_packages_of_one_name_are_refused_with_both_named(package, tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    announce(monkeypatch, other, "sums", "more_sums")
    with pytest.raises(
        PackageError, match=r"'sums' of 'symdyn\.derivations' names (more_)?sums and again (more_)?sums"
    ):
        load("sums.square")
    assert load("single_neuron.potential")


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (SUM + "def broken(:", r"argument\.py, line \d+, cannot be read: invalid syntax"),
        (
            SUM.replace("@result()", "@result(ledger=ids)"),
            r"argument\.py, line 9: write ledger ids out as literals",
        ),
        (
            SUM.replace("@result()", "@result(ledger=5)"),
            r"argument\.py, line 9: write ledger ids out as literals",
        ),
    ],
)
def test_a_module_that_the_index_cannot_read_is_named_with_the_line(package, source, wanted):
    (package / "argument.py").write_text(source)
    with pytest.raises(PackageError, match=wanted):
        load("sums.square")
    with pytest.raises(PackageError, match=wanted):
        results("sums")


def test_a_topic_without_a_glossary_is_shown_and_says_why_it_does_not_compile(package, capsys, monkeypatch):
    from symdyn.cli import commands as cli

    monkeypatch.setattr(sys, "argv", ["symdyn", "show", "sums.square"])
    with pytest.raises(SystemExit) as exit_status:
        cli.main()
    assert not exit_status.value.code
    assert "The square of a sum" in capsys.readouterr().out
    with pytest.raises(TypeError, match=r'none is declared with symdyn\.glossary\("sums"\)'):
        load("sums.square")(1.0)
