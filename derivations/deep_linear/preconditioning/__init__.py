"""The preconditioner of isotropic networks, in closed form and in the rich limit."""
