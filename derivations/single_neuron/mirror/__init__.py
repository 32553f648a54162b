"""Mirror flows in warped time: when the inverse preconditioner is a Hessian, and the potential Φ_δ."""
