"""The vocabulary of random matrices: spectra of weights and of the input-output Jacobian."""

from __future__ import annotations

from symdyn.statements.notation import glossary

words = glossary("random_matrices")
words.compiles = (
    False  # its results are about series, means and laws, which the functions of the topic compute
)

z = words.scalar(
    "z", "z", "argument of a transform, real and outside of the spectrum where no other is named"
)
u = words.scalar("u", "u", "the inverse 1/z of the argument of G and M")
x = words.scalar("x", "x", "a point of a spectrum")
y = words.scalar("y", "y", "another point of a spectrum, or the imaginary part of z")
m = words.scalar("m", "m", "the value M(z) of the moment transform, a coordinate instead of z")
c = words.scalar("c", "c", "a positive factor of a matrix")
gamma = words.scalar("gamma", r"\gamma", "the ratio r/N of rank to width")
root = words.scalar("root", r"\sqrt{\gamma}", "the root of the ratio of rank to width")
gamma2 = words.scalar("gamma2", r"{\gamma'}", "another ratio of rank to width")
sigma = words.scalar("sigma", r"\sigma_\alpha", "standard deviation of the coefficients, times √N")
L = words.scalar("L", "L", "depth, the number of layers")
depth = words.scalar("depth", "{L'}", "another depth")
N = words.scalar("N", "N", "width")
N_in = words.scalar("N_in", "N_{l-1}", "width of the layer before")
N_out = words.scalar("N_out", "N_l", "width of the layer")
r = words.scalar("r", "r", "rank")
phi_slope = words.scalar("phi_slope", r"{\phi'}", "the slope of the activation at a unit")
phi_slope2 = words.scalar("phi_slope2", r"{\phi'_2}", "the slope of the activation at another unit")
w0 = words.scalar("w0", "W^{(0)}", "the weight before a layer of one unit")
w1 = words.scalar("w1", "W^{(1)}", "the weight after it")
q_star = words.scalar("q_star", "q^*", "the fixed point of the length map")
chi = words.scalar("chi", r"\chi_\gamma", "γσ_α²μ_1, the mean squared singular value of one layer")
excess = words.scalar("excess", r"\varepsilon", "μ_2/μ_1² - 1, which is not negative")
mu1 = words.scalar("mu1", r"\mu_1", "∫ φ'(√q* z)² Dz")
mu2 = words.scalar("mu2", r"\mu_2", "∫ φ'(√q* z)⁴ Dz")
mu3 = words.scalar("mu3", r"\mu_3", "∫ φ'(√q* z)⁶ Dz")
mu4 = words.scalar("mu4", r"\mu_4", "∫ φ'(√q* z)⁸ Dz")
mu5 = words.scalar("mu5", r"\mu_5", "∫ φ'(√q* z)¹⁰ Dz")
s1 = words.scalar("s1", "s_1", "first coefficient of γσ_α² S of WᵀW")
s2 = words.scalar("s2", "s_2", "second coefficient of γσ_α² S of WᵀW")
s3 = words.scalar("s3", "s_3", "third coefficient of γσ_α² S of WᵀW")
s4 = words.scalar("s4", "s_4", "fourth coefficient of γσ_α² S of WᵀW")
a1 = words.scalar("a1", "a_1", "first moment of a law")
a2 = words.scalar("a2", "a_2", "second moment of a law")
a3 = words.scalar("a3", "a_3", "third moment of a law")
b1 = words.scalar("b1", "b_1", "first moment of another law")
b2 = words.scalar("b2", "b_2", "second moment of another law")
b3 = words.scalar("b3", "b_3", "third moment of another law")
p1 = words.scalar("p1", "p_1", "the mass of an atom")
p2 = words.scalar("p2", "p_2", "the mass of another atom")
x1 = words.scalar("x1", "x_1", "the place of an atom")
x2 = words.scalar("x2", "x_2", "the place of another atom")
