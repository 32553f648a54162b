"""The dimension-free calculi: Gram (scalars and vectors), isotropic (radial operators), matrix (words), and their bridges."""
