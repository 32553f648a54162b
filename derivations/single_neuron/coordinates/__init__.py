"""Coordinates in which the weights move: signed norm and cosine, the plane of a and ω, the modes of whitened data."""
