"""The tangent kernel K = X M Xᵀ: how it moves, and how far."""
