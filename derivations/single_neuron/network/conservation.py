"""The conserved quantity of the single-neuron network.

Gradient flow on f(x) = a wᵀx keeps δ = η_w a² - η_a‖w‖² fixed, because rescaling a → c a, w → w/c leaves the network
unchanged. The gradient r in β is opaque here, so the law holds for every loss and every data set
(kunin2024, App. A.1).
"""

from __future__ import annotations

from derivations.single_neuron.symbols import a, eta_a, eta_w, r, w
from symdyn.calculus.gram import Flow, inner, norm2
from symdyn.catalogue.result import result
from symdyn.statements.kinds import Conservation

flow = Flow({a: -eta_a * inner(w, r), w: -eta_w * a * r})


@result(ledger=("kunin2024.single-conserved-delta",), arguments=("a", "w", "eta_a", "eta_w"))
def conserved_delta() -> Conservation:
    """The conserved quantity of the single-neuron network."""
    return Conservation(eta_w * a**2 - eta_a * norm2(w), under=flow, name=r"\delta")
