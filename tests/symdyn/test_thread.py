"""The thread from a formula to the function that computes it, to the study that confronts it, and back."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import derivations
from numerics import measures
from symdyn.catalogue.contents import Section
from symdyn.catalogue.implements import computed_by, implements, ties
from symdyn.catalogue.packages import home
from symdyn.catalogue.registry import confronted_by, index
from symdyn.catalogue.search import found

TOPICS = sorted({e.topic for e in index()})


@pytest.mark.parametrize("topic", TOPICS)
def test_the_contents_of_a_topic_list_each_of_its_results_once_in_its_folder(topic):
    page = importlib.import_module(f"derivations.{topic}")
    listed = [(name, section.folder) for section in page.CONTENTS for name in section.results]
    where = {e.key.partition(".")[2]: e.module.split(".")[2:-1] for e in index() if e.topic == topic}
    assert Counter(name for name, _ in listed) == Counter(list(where))
    assert {name: folder for name, folder in listed} == {n: "/".join(f) for n, f in where.items()}
    assert all(isinstance(section, Section) and section.title for section in page.CONTENTS)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_offers_what_its_contents_list(topic):
    page = importlib.import_module(f"derivations.{topic}")
    names = dir(page)
    assert set(names) == {*page.EVALUATORS, *(name for s in page.CONTENTS for name in s.results)}
    for name in names:
        assert getattr(page, name) is not None
    with pytest.raises(AttributeError, match="has no result and no function 'nothing'"):
        page.nothing  # noqa: B018


def test_a_contents_page_costs_nothing_to_import():
    code = (
        "import sys; import derivations.single_neuron; "
        "assert not {'sympy', 'numpy', 'torch', 'yaml'} & set(sys.modules), 'heavy'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_evaluator_is_tied_to_results_that_exist():
    known = {e.key for e in index()}
    assert {key for tie in ties() for key in tie.keys} <= known
    tied = {
        (home(tie.module).rpartition(".")[2], tie.name)
        for tie in ties()
        if tie.module.startswith("derivations.")
    }
    offered = {(t, n) for t in TOPICS for n in importlib.import_module(f"derivations.{t}").EVALUATORS}
    assert tied == offered


GENERAL = {
    "DriftRecorder": "follows any quantity",
    "shape_of": "describes a curve of losses",
    "SpectralMoments": "what `spectral_moments` returns",
    "singular_values": "of the Jacobian of any network",
    "spectral_moments": "of the Jacobian of any network, of which results state the limit",
    "gradient_norms": "of any network, of which results state the limit",
}
"""What is offered of the measures without a tie, since no result states it."""


def test_every_measure_is_tied_to_the_result_that_states_it():
    offered = {f"numerics.measures.{name}" for name in dir(measures)} - {
        f"numerics.measures.{name}" for name in GENERAL
    }
    assert offered == {tie.place for tie in ties() if tie.module.startswith("numerics.measures.")}
    assert "numerics.starts.single_neuron_start" in {tie.place for tie in ties()}


def test_the_tie_that_is_read_is_the_tie_that_the_function_has():
    for tie in ties():
        function = getattr(importlib.import_module(tie.module), tie.name)
        assert function.implements == tie.keys
        package, _, name = tie.place.rpartition(".")
        assert getattr(importlib.import_module(package), name) is function


@pytest.mark.parametrize("keys", [(), ("potential",), ("a.b.c",), (3,), ("single_neuron.",), ("a.b", "")])
def test_what_is_no_key_ties_nothing(keys):
    with pytest.raises(ValueError, match="name the results that the function computes by their keys"):
        implements(*keys)


def test_every_study_confronts_results_that_exist():
    known = {e.key for e in index()}
    assert {e.key: set(e.confronts) - known for e in index("study") if set(e.confronts) - known} == {}
    assert [e.key for e in index("study") if not e.confronts] == []


def test_the_index_has_the_titles_and_ties_that_the_studies_have():
    for e in index("study"):
        function = ast.parse(Path(importlib.import_module(e.module).__file__).read_text(encoding="utf-8"))
        declared = next(
            made
            for made in vars(importlib.import_module(e.module)).values()
            if getattr(made, "key", None) == e.key
        )
        assert function.body
        assert (declared.title, declared.confronts) == (e.title, e.confronts)


def test_from_a_formula_to_a_trained_network_and_back():
    assert [tie.place for tie in computed_by("single_neuron.final_branch")] == [
        "derivations.single_neuron.basin"
    ]
    assert [tie.place for tie in computed_by("single_neuron.conserved_delta")] == [
        "numerics.measures.single_neuron_delta"
    ]
    assert [e.key for e in confronted_by("single_neuron.final_branch")] == ["kunin2024.fig-basins"]
    assert computed_by("single_neuron.no_such_result") == confronted_by("single_neuron.no_such_result") == ()


QUESTIONS = {
    "riccati": "prior_knowledge.weight_riccati",
    "implicit bias": "single_neuron.implicit_bias_of_the_neuron",
    "separatrix": "derivations.prior_knowledge.separatrix_distance",
    "hyperbolic entropy": "wide_linear.entropy",
    "kernel distance": "single_neuron.kernel_distance",
    "conserved delta": "single_neuron.conserved_delta",
    "forgetting": "derivations.prior_knowledge.forgetting",
    "two colouring": "derivations.piecewise_linear.two_colouring",
    "basins": "kunin2024.fig-basins",
    "theorem 5": "kunin2024.thm5-azulay",
}


@pytest.mark.parametrize("words", QUESTIONS)
def test_a_reader_finds_what_he_searches_for_among_the_first(words):
    assert QUESTIONS[words] in [hit.name for hit in found(words)][:8]


@pytest.mark.parametrize("words", ["zzz", "riccati zzz", "zzz implicit bias"])
def test_a_hit_holds_every_word_and_what_nothing_says_is_not_found(words):
    assert found(words) == []


def test_a_word_is_found_by_its_beginning_whatever_the_case():
    assert "prior_knowledge.weight_riccati" in [hit.name for hit in found("RICC")]
    assert found("iccati") == []


def test_a_search_without_words_is_refused():
    with pytest.raises(ValueError, match="search for a word"):
        found(" -- ")


def test_every_folder_of_a_topic_says_what_it_holds():
    root = Path(derivations.__file__).parent
    for folder in root.glob("*/*/__init__.py"):
        assert ast.get_docstring(ast.parse(folder.read_text(encoding="utf-8"))), folder
