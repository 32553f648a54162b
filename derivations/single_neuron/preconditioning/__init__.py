"""The preconditioner M(β) of the function's dynamics, and its limits for large balances."""
