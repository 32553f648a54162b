"""Functions of piecewise linear networks that are more than one formula, each with the result that it computes."""
