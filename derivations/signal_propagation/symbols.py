"""The vocabulary of signal propagation in wide low-rank networks."""

from __future__ import annotations

from symdyn.statements.notation import glossary

words = glossary("signal_propagation")
words.compiles = (
    False  # its results are about series, means and laws, which the functions of the topic compute
)

q = words.scalar("q", "q", "length of the pre-activations of a layer, |h|²/N")
q_star = words.scalar("q_star", "q^*", "a fixed point of the length map")
q_next = words.scalar("q_next", "q^{l}", "length in the layer after")
c = words.scalar("c", "c", "correlation of the pre-activations of two inputs")
c_star = words.scalar("c_star", "c^*", "a fixed point of the correlation map")
epsilon = words.scalar("epsilon", r"\epsilon", "a small perturbation of a length or correlation")
gamma = words.scalar("gamma", r"\gamma", "the ratio r/N of rank to width")
sigma = words.scalar("sigma", r"\sigma_\alpha", "standard deviation of the coefficients, times √N")
sigma_b = words.scalar("sigma_b", r"\sigma_b", "standard deviation of the bias")
sigma_w = words.scalar("sigma_w", r"\sigma_W", "standard deviation of full-rank weights, times √N")
kappa = words.scalar(
    "kappa", r"\kappa", "correlation of the biases of two directions: 1 for one scalar a layer"
)
s = words.scalar("s", "s", "σ_α² times the mean of φ², the variance that the weights give to a coefficient")
s12 = words.scalar("s12", "s_{12}", "σ_α² times the mean of φ(h_1)φ(h_2) for two inputs")
s22 = words.scalar("s22", "s_{22}", "σ_α² times the mean of φ(h_2)² for the second input")
unseen = words.scalar("unseen", r"s_{22\mid 1}", "what is left of s_22 when the first input is known")
m2 = words.scalar("m2", r"E\phi^2", "the mean of φ² over a normal variable of variance q")
m12 = words.scalar("m12", r"E\phi\phi", "the mean of φ(u_1)φ(u_2)")
N = words.scalar("N", "N", "width")
N_in = words.scalar("N_in", "N_{l-1}", "width of the layer before")
N_out = words.scalar("N_out", "N_l", "width of the layer")
N_next = words.scalar("N_next", "N_{l+1}", "width of the layer after")
r = words.scalar("r", "r", "rank")
x = words.scalar("x", "x", "threshold of a distribution function, or a real number")
y = words.scalar("y", "y", "a positive number, a logarithm or a coordinate")
chi = words.scalar("chi", r"\chi_\gamma", "γσ_α²∫φ'(√q* z)² Dz")
slope = words.scalar("slope", r"\mathcal V'(q^*)", "slope of the length map at its fixed point")
rate = words.scalar("rate", "R", "γσ_α²∫φ'(u_1*)φ'(u_2*), slope of the correlation map at its fixed point")
depth = words.scalar("depth", "L", "depth, the number of layers")
layer = words.scalar("layer", "l", "index of a layer")
steps = words.scalar("steps", "n", "number of layers between two")
q_tilde = words.scalar(
    "q_tilde", r"\tilde q^{l+1}", "mean square of the gradient in a pre-activation one layer after"
)
mu1 = words.scalar("mu1", r"\mu_1", "∫ φ'(√q z)² Dz")
d1 = words.scalar("d1", r"\delta_1", "gradient in the first pre-activation")
d2 = words.scalar("d2", r"\delta_2", "gradient in the second pre-activation")
c1 = words.scalar("c1", "C_1", "first entry of a column of C")
c2 = words.scalar("c2", "C_2", "second entry of it")
z1 = words.scalar("z1", "z_1", "a standard normal variable, or a coefficient of the pre-activations")
z2 = words.scalar("z2", "z_2", "another one")
bias = words.scalar("bias", "b", "the value of the one bias of a layer")
chi_next = words.scalar("chi_next", r"\chi'", "γσ_α²∫φ'(√q z)² Dz one layer after")
