"""The mirror flow of the singular values and its potential, hyperbolic entropy."""
