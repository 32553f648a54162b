"""Functions of the deep linear network that are more than one formula, each with the result that it computes."""
