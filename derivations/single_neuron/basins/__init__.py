"""The basins of attraction and the separatrix between them."""
