"""Studies of the single-neuron network."""
