"""Studies of signals and gradients in wide low-rank networks (Nait Saada and Tanner 2023, Sec. 1, 2 and App. A)."""
