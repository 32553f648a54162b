"""Functions of the single-neuron network that are more than one formula, each with the result that it computes."""
