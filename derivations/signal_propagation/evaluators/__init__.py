"""Functions of signal propagation that are more than one formula, each with the result that it computes."""
