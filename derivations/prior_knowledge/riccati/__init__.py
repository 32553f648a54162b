"""The matrix Riccati equation of QQᵀ and its exact solutions from every zero-balanced start."""
