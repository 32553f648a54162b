"""Results are found by key, by ledger id and by topic; the index needs no import and agrees with what is there."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

import symdyn
from symdyn.registry import index, load, printed_forms, results


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
        "import sys; from symdyn.registry import index; assert index(); "
        "print([m for m in ('torch', 'sympy', 'numpy', 'matplotlib') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


@pytest.mark.parametrize("topic", sorted({e.topic for e in index()}))
def test_no_module_hides_a_result_of_the_same_name(topic):
    package = importlib.import_module(f"derivations.{topic}")
    modules = {m.name for m in pkgutil.iter_modules(package.__path__)}
    assert not modules & {e.key.split(".")[1] for e in index() if e.topic == topic}
    for entry in index():
        if entry.topic == topic:
            assert getattr(package, entry.key.split(".")[1]) is load(entry.key)
