"""The vocabulary of the single-neuron network f(x) = a wᵀx, β = a w."""

from __future__ import annotations

import sympy as sp

from symdyn.statements.notation import glossary

words = glossary("single_neuron")

t = words.scalar("t", "t", "time, in units of one over the learning rate")
a = words.scalar("a", "a", "read-out weight")
a0 = words.scalar("a0", "a_0", "read-out weight at time zero")
w = words.vector("w", "w", "input weights")
w0 = words.vector("w0", "w_0", "input weights at time zero")
beta = words.vector("beta", r"\beta", "the function of the network, β = a w")
beta0 = words.vector("beta0", r"\beta_0", "the function at time zero")
beta_star = words.vector("beta_star", r"\beta_*", "the least-squares solution")
delta = words.scalar("delta", r"\delta", "the conserved balance η_w a² - η_a‖w‖²")
eta_a = words.scalar("eta_a", r"\eta_a", "learning rate of the read-out weight", default=1, positive=True)
eta_w = words.scalar("eta_w", r"\eta_w", "learning rate of the input weights", default=1, positive=True)

r = words.vector("r", "r", "gradient of the loss in β, X^T ρ for the squared loss")
v = words.vector("v", "v", "a direction in the null space of the data")

mu = words.scalar("mu", r"\mu", "signed norm of β, a‖w‖")
phi = words.scalar("phi", r"\phi", "cosine of the angle between w and β_*")
nu = words.scalar("nu", r"\nu", "ratio wᵀβ_*/a")
nu0 = words.scalar("nu0", r"\nu_0", "ratio wᵀβ_*/a at time zero")
upsilon = words.scalar("upsilon", r"\upsilon", "ratio a/(wᵀβ_*)")
omega = words.scalar("omega", r"\omega", "projection wᵀβ_*")
omega0 = words.scalar("omega0", r"\omega_0", "projection wᵀβ_* at time zero")
s = words.scalar("s", "s", "norm ‖β_*‖")
n = words.scalar("n", "n", "norm ‖w‖, or ‖β‖ where said so")
x = words.scalar("x", "x", "squared norm ‖β‖², times η_a η_w")
c = words.scalar("c", "c", "a constant")
alpha = words.scalar(
    "alpha", r"\alpha", "coordinate along the null space, or scale of the rescaling symmetry"
)

point = words.vector("point", "x", "an input")
point1 = words.vector("point1", "x'", "another input")
fx = words.scalar("fx", "f(x)", "output of a network at an input x")
rho = words.scalar("rho", r"\rho", "residual f(x) - y of one datum")
label = words.scalar("label", "y", "the label of an input")
grad = words.vector(
    "grad", r"\nabla f(x)", "gradient of the output at x in the parameters, times the roots of their rates"
)
grad1 = words.vector("grad1", r"\nabla f(x')", "the same at x'")
outputs = words.vector("outputs", "f", "outputs on the training inputs")
labels = words.vector("labels", "y", "labels of the training inputs")
kernel1 = words.entries("kernel1", "K_{t_1}", "the kernel matrix at one time")
kernel2 = words.entries("kernel2", "K_{t_2}", "the kernel matrix at another time")
turned = words.vector("turned", r"w^\perp", "w turned by a right angle, where there is room for it")
column1 = words.vector("column1", "g", "derivatives of the outputs in one parameter at one time")
column2 = words.vector("column2", "h", "derivatives of the outputs in one parameter at another time")
p = words.vector("p", "p", "the coordinates of a point that count positive")
q = words.vector("q", "q", "the coordinates of a point that count negative")

mu0 = words.scalar("mu0", r"\mu_0", "signed norm of β at time zero")
phi0 = words.scalar("phi0", r"\phi_0", "cosine of the angle between w and β_* at time zero")
E = words.scalar("E", "E", "exp(η_w ∫ a²), what the part of w across β_* has been divided by")
tau = words.scalar("tau", r"\tau", "time in units of one over |δ|")
upsilon0 = words.scalar("upsilon0", r"\upsilon_0", "ratio a/(wᵀβ_*) at time zero")
t_c = words.scalar("t_c", "t_c", "time at which the read-out weight passes through zero")

beta_dot = words.vector("beta_dot", r"\dot\beta", "any velocity of β")
dual = words.vector(
    "dual", r"\nabla\Phi(\beta)", "the dual variable of β, the gradient of a potential Φ at β"
)
dual0 = words.vector("dual0", r"\nabla\Phi(\beta_0)", "the dual variable at time zero")
dual_end = words.vector("dual_end", r"\nabla\Phi(\beta_\infty)", "the dual variable in the end")
Phi_beta = words.scalar("Phibeta", r"\Phi(\beta)", "a potential at β")
Phi_start = words.scalar("Phistart", r"\Phi(\beta_0)", "a potential at β_0")
Phi_end = words.scalar("Phiend", r"\Phi(\beta_\infty)", "a potential at β_∞")
Phi_of = words.function(sp.Function("Phi", real=True), r"\Phi", "an unspecified potential")
f_of = words.function(sp.Function("f", real=True), "f", "an unspecified function of ‖β‖²")
h_of = words.function(sp.Function("h", real=True), "h", "an unspecified function of ‖β‖²")
g_of = words.function(sp.Function("g", real=True), "g", "an unspecified function of ‖β‖²")
warp = words.scalar("warp", "g", "how fast the warped time runs, at one moment")
warped = words.scalar("warped", r"\tau", "the warped time, ∫ g")
pull = words.vector("pull", r"X^\top\!\!\textstyle\int\!\rho", "the gradient r in β, integrated over time")
warped_pull = words.vector("warped_pull", r"X^\top\!\!\textstyle\int\!g\rho", "the same in warped time")
row = words.vector("row", r"X^\top\nu", "a vector in the row space of the data")
loss = words.scalar("loss", r"\mathcal L", "the loss, a function of β with the gradient r")
e1 = words.vector("e1", "e_i", "a coordinate direction, or any direction")
e2 = words.vector("e2", "e_j", "another coordinate direction, or any direction")
e3 = words.vector("e3", "e_k", "a third coordinate direction, or any direction")
beta_end = words.vector("beta_inf", r"\beta_\infty", "the function in the end")
a_end = words.scalar("aend", r"a_\infty", "read-out weight in the end")
P = words.scalar("P", "P", "the product a E, which obeys a linear equation")
Q = words.scalar("Q", "Q", "the product ω E, which obeys a linear equation")

any_vector = words.vector("any_vector", "z", "any vector")
fixed = words.vector("fixed", "u", "a fixed direction")
d = words.scalar("d", "d", "dimension of the inputs")

u0 = words.vector("u0", "u_0", "the part of w_0 in the row space of the data")
u_end = words.vector("u_end", r"u_\infty", "the part of w in the row space of the data, in the end")
n0 = words.vector("n0", "n_0", "the part of w_0 in the null space of the data, which stays")
w_end = words.vector("w_end", r"w_\infty", "input weights in the end")
kappa0 = words.scalar("kappa0", r"\kappa_0", "η_w a² + η_a‖w‖² at time zero")
kappa_end = words.scalar("kappaend", r"\kappa_\infty", "η_w a² + η_a‖w‖² in the end")
beta_plus = words.vector("beta_plus", r"\beta_+", "the interpolator of least norm, X^+ y")
delta_row = words.scalar(
    "deltarow", r"\delta'", "the balance δ + η_a‖n_0‖² that the row space of the data sees"
)
k = words.scalar("k", "k", "minus two thirds of zᵀv, the tilt of the objective along the null space")
tilt = words.vector("tilt", "z", "the linear term of the objective of Azulay et al.")
share = words.scalar("share", r"\alpha", "amplitude of the growing mode in a E")
