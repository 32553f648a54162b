"""The network f(x) = a wᵀx: its gradient flow, what it conserves, and the landscape of its loss."""
