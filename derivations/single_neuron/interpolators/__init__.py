"""Implicit bias: which interpolator the network learns, by Theorem 1, its relatives, and closed forms."""
