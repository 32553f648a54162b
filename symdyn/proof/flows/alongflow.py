"""What is claimed along a flow: that a rate vanishes, where the flow keeps what is said of its symbols.

A relation of a flow for an inner product is written out before a rate is judged, and a dependent quantity of a domain
is one symbol for what it stands for. Both must stay true as the flow goes on, or a rate that vanishes says nothing:
their own rates are proved to agree first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from symdyn.calculus.gram import Flow
from symdyn.calculus.vectors import Dot
from symdyn.proof.claim import Finding, Zero, atoms, components, tower
from symdyn.proof.undecided import Undecided
from symdyn.statements.domain import Cell, Domain


@dataclass(frozen=True)
class RateVanishes(Zero):
    """x, a rate of `quantity` along the flow minus what it is said to be, vanishes; the flow keeps its relations."""

    label: str = "time derivative"
    flow: Flow | None = field(default=None, hash=False)
    quantity: Any = ()

    def prove(self, domain: Domain, cell: Cell) -> Finding:
        self._need_kept(domain, cell)
        return super().prove(domain, cell)

    def test(self, domain: Domain, cell: Cell) -> Finding:
        self._need_kept(domain, cell)
        return super().test(domain, cell)

    def _need_kept(self, domain: Domain, cell: Cell) -> None:
        for what, drift in self._drifts(domain):
            t = tower(cell)
            if any(t.convert(c)[0] for c in components(domain.unfold(drift, cell))):
                raise Undecided(f"the flow does not keep the relation {what}")

    def _drifts(self, domain: Domain) -> Iterator[tuple[str, Any]]:
        flow = self.flow
        if flow is None:
            return
        for symbol, value in flow.relations.items():
            if isinstance(symbol, Dot):
                yield f"{symbol} = {value}", flow.unfold(flow.derivative(symbol) - flow.derivative(value))
        for symbol in sorted(_spoken_of(self.quantity) & set(domain.let), key=str):
            value = domain.let[symbol]
            mine = flow.derivative(1 * symbol if symbol not in flow.relations else flow.relations[symbol])
            yield f"{symbol} = {value}", flow.unfold(mine - flow.derivative(1 * value))


def _spoken_of(x: Any) -> set[Any]:
    """The symbols and vectors of a quantity, those in its inner products among them."""
    found = atoms(x)
    return found | {v for dot in found if isinstance(dot, Dot) for v in (dot.left, dot.right)}
