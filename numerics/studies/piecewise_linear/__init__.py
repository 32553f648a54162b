"""Studies of two-layer ReLU networks."""
