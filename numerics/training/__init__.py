"""Training: gradient flow and gradient descent, of one network or of many at once, step by step, observed."""
