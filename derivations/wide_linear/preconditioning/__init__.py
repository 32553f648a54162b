"""The preconditioner neuron by neuron, for large balances, and for isotropic balance as a function of β alone."""
