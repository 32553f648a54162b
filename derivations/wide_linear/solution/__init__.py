"""Exact trajectories: singular values, signed norms and cosines, matrix Riccati and Bernoulli equations."""
