"""Implicit bias: which interpolator an isotropic deep network learns."""
