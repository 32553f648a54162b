"""Studies of the spectra of random Jacobians (Nait Saada and Tanner 2023, Sec. 3 and 4)."""
