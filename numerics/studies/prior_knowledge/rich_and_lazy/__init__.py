"""Rich and lazy learning: learning curves, representations and rates."""
