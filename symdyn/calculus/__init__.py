"""The dimension-free calculi (Gram, isotropic, matrix words) and the bridges between them."""
