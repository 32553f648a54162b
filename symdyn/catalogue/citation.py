"""BibTeX of what was used."""

from __future__ import annotations

from typing import Any

from symdyn.catalogue.registry import load


def cite(*results: Any) -> str:
    """BibTeX records of the papers behind some results, with the places in them.

    Takes results, keys or ledger ids; called without any, raises ValueError.
    """
    if not results:
        raise ValueError("name the results to cite: symdyn.cite(result, …)")
    places: dict[Any, list[str]] = {}
    for item in results:
        found = load(item) if isinstance(item, str) else item
        for e in found.entries:
            places.setdefault(e.paper, []).append(e.where)
    records = [paper.bibtex(note="; ".join(dict.fromkeys(where))) for paper, where in places.items()]
    return "\n\n".join(records)
