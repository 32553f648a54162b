"""The network f(x) = aᵀW_L⋯W_1x: its gradient flow, isotropic weights, and Gaussian ones."""
