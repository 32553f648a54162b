"""What runs while a lemma is written and its certificate is checked: no more than docs/trusted_lines.py counts."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import symdyn
from symdyn.catalogue.registry import load
from symdyn.kernel import check
from symdyn.lemmas.algebra import claimed
from symdyn.lemmas.claims import not_scalar, scalar_claims, written
from symdyn.proof.certificates.certificate_search import NotFound, certificate
from symdyn.proof.zero.exponents import simpler

ROOT = Path(symdyn.__file__).parent
COUNT = runpy.run_path(str(ROOT.parent / "docs" / "trusted_lines.py"))
KEYS = (
    "single_neuron.grad_potential",
    "single_neuron.polar_dynamics",
    "single_neuron.downstream_fitting",
    "piecewise_linear.partition",
    "wide_linear.scalar_preconditioner",
    "wide_linear.entropy",
)


class Watched:
    """Collects the modules of symdyn of which a function is called."""

    def __init__(self) -> None:
        self.modules: set[str] = set()

    def __enter__(self) -> Watched:
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: Any) -> None:
        sys.setprofile(None)

    def _called(self, frame: Any, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(ROOT):
            self.modules.add(".".join(("symdyn", *path.relative_to(ROOT).with_suffix("").parts)))

    def hint(self, cell: Any, e: Any) -> Any:
        """What the search says of an exponent: not believed, but owed."""
        sys.setprofile(None)
        try:
            return simpler(cell, e)
        finally:
            sys.setprofile(self._called)


def test_no_other_module_runs_than_those_that_are_counted() -> None:
    watched = Watched()
    checked = 0
    for key in KEYS:
        result = load(key)
        statement, domain = result.statement, result.statement.domain or result.domain
        with watched:
            not_scalar(statement, domain, True)
            claims = [c for c in scalar_claims(key, statement, domain, True) if len(c) > 2]
        for claim in claims[:3]:
            with watched:
                made = claimed(written(*claim, watched.hint)[0])
            try:
                proof = certificate(made)
            except NotFound:
                continue
            with watched:
                check(made, proof)
            checked += 1
    counted = {*COUNT["KERNEL"], *COUNT["WRITING"], *COUNT["STATEMENTS"]}
    assert watched.modules <= counted, watched.modules - counted
    assert {*COUNT["KERNEL"], *COUNT["WRITING"]} <= watched.modules
    assert checked > 12


def test_the_kernel_stays_short() -> None:
    assert sum(COUNT["counted"](COUNT["KERNEL"]).values()) < 1000


def test_the_page_on_trust_says_how_much_it_is() -> None:
    page = (ROOT.parent / "docs" / "trust.md").read_text(encoding="utf-8")
    kernel, writing, says = (
        sum(COUNT["counted"](COUNT[n]).values()) for n in ("KERNEL", "WRITING", "STATEMENTS")
    )
    for number in (kernel, writing + says, sum(COUNT["reached"]().values())):
        said = [
            int(n.replace(",", "")) for n in page.replace(".", " ").split() if n.replace(",", "").isdecimal()
        ]
        assert any(abs(n - number) <= number / 20 for n in said), number
