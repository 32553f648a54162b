"""Measures for anyone's networks: tangent kernels, balances, learning curves."""
