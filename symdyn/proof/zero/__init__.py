"""Whether an expression is identically zero: normal forms in towers of roots, polynomials, exponentials."""
