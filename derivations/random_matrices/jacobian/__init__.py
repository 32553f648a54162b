"""The input-output Jacobian: moments of JJᵀ to any order and depth, and their variance."""
