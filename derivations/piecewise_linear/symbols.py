"""The vocabulary of piecewise linear networks, most of all f(x) = Σ_k a_k σ(w_kᵀx).

Scalars and vectors without an index are those of one neuron k. Matrices have symbolic shapes: h hidden neurons, d
inputs, n data. They are words of the matrix calculus; scalars and vectors are those of the glossary.
"""

from __future__ import annotations

import sympy as sp

from symdyn.statements.notation import glossary

words = glossary("piecewise_linear")

a = words.scalar("a", "a_k", "read-out weight of a neuron")
w = words.vector("w", "w_k", "input weights of a neuron")
beta = words.vector("beta", r"\beta_k", "contribution of a neuron to the function, β_k = a_k w_k")
delta = words.scalar("delta", r"\delta_k", "conserved balance of a neuron, η_w a_k² - η_a‖w_k‖²")
eta_a = words.scalar("eta_a", r"\eta_a", "learning rate of the read-out weights", default=1, positive=True)
eta_w = words.scalar("eta_w", r"\eta_w", "learning rate of the input weights", default=1, positive=True)
mu = words.scalar("mu", r"\mu_k", "signed norm of β_k, a_k‖w_k‖")
gamma = words.scalar("gamma", r"\gamma", "slope of the activation on the negative side", default=0)
z = words.scalar("z", "z", "a pre-activation")
c = words.scalar("c", "c_{ki}", "slope of the activation of a neuron at an input")
t = words.scalar("t", "t", "time, or a positive factor")

xi = words.vector("xi", r"\xi_k", "what drives a neuron, Σ_i c_ki x_i (f(x_i) - y_i)")
x = words.vector("x", "x_i", "an input")
y = words.scalar("y", "y_i", "a label")
F = words.scalar("F", "F_i", "the output at an input, divided by the scale")
scale = words.scalar("scale", r"\varepsilon", "a scale that tends to zero")

n1 = words.vector("n1", "w_1", "input weights of a neuron, normal to its boundary")
n2 = words.vector("n2", "w_2", "input weights of another neuron")
p = words.vector("p", "p", "a point of a boundary")
v = words.vector("v", "v", "any vector")
gap = words.vector("gap", r"\Delta\beta", "difference of the predictors of two neighbouring regions")
k = words.scalar("k", "k", "a factor between parallel weights")
kappa_weight = words.scalar("kappaweight", r"\lambda", "a weight of the second layer")

N = words.scalar("N", "N", "number of hidden neurons")
j = words.scalar("j", "j", "a number of chosen neurons")
C = words.scalar("C", r"\tbinom{N}{j}", "number of choices of j of N neurons")
width = words.scalar("h", "h", "number of hidden neurons of a layer")
dimension = words.scalar("d", "d", "dimension of the inputs")
depth = words.scalar("L", "L", "number of hidden layers")
u = words.scalar("u", "u", "a positive number")
m = words.scalar("m", "m", "degree of a harmonic, halved")

alpha = words.scalar("alpha", r"\alpha", "relative scale of the layers, or what divides the output")
tau = words.scalar("tau", r"\tau", "scale of the layers")
beta_a = words.scalar("betaa", r"\beta_a", "standard deviation of the read-out weights")
beta_w = words.scalar("betaW", r"\beta_W", "standard deviation of the input weights")
total = words.scalar("total", r"\Sigma", "scale of the whole network, hβ_aβ_W/α")
ratio = words.scalar("ratio", r"\kappa'", "relative scale of the layers, β_a/β_W")
imbalance = words.scalar("imbalance", r"\Delta", "sum of the balances of a network, divided by α")
first = words.scalar("firstnorm", r"\nu", "squared norm of the first layer, divided by α")
demand = words.scalar("demand", "q", "size of a label, divided by that of its input")
power = words.scalar("power", r"\gamma_\kappa", "γ of the phase diagram: β_aβ_W/α is h^-γ")
power_ratio = words.scalar("powerratio", r"\gamma_{\kappa'}", "γ' of the phase diagram: β_a/β_W is h^-γ'")
g_of = words.function(sp.Function("g", real=True), "g", "an unspecified function")
s = words.scalar("s", "s", "a point of the line")

h, d, n = sp.symbols("h d n", integer=True, positive=True)
