"""The network f(x) = AᵀWx: its gradient flow, its balances, and the surfaces on which its neurons move."""
