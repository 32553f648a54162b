"""Functions of random matrices that are more than one formula, each with the result that it computes."""
