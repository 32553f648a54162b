"""No module needs itself through others, deferred imports included: what is below can be read without what is above."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

import grimp
import pytest


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    graph = grimp.build_graph(
        "symdyn", "derivations", "numerics", exclude_type_checking_imports=True, cache_dir=None
    )
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def circle(imports: Mapping[str, set[str]]) -> list[str]:
    """The modules of an import circle, the first of them again at the end; none where there is no circle."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_module_imports_itself_through_others(imports):
    assert len(imports) > 300
    assert circle(imports) == []


@pytest.mark.parametrize(
    ("below", "above"),
    [
        ("symdyn.statements.domain", "symdyn.proof.check"),
        ("symdyn.catalogue.registry", "symdyn.catalogue.result"),
        ("symdyn.proof.claim", "symdyn.statements.kinds"),
        ("symdyn.lemmas.page", "symdyn.proof.certificates.certified"),
    ],
)
def test_one_import_upwards_is_found(imports, below: str, above: str):
    found = circle(imports | {below: imports[below] | {above}})
    assert found[0] == found[-1]
    assert {below, above} <= set(found)
