"""Functions of learning with prior knowledge that are more than one formula, each with the result that it computes."""
