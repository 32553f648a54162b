"""Initialisations: isotropic balance, Gaussian weights, and how far these are from isotropic."""
