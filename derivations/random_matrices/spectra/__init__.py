"""Spectra of random weights: Stieltjes, moment and S-transform, the law of Marčenko and Pastur, one layer."""
