"""Functions of the wide linear network that are more than one formula, each with the result that it computes."""
