r"""The vocabulary of the two-layer linear network ŷ = W₂W₁x and its task.

Shapes are symbolic: i inputs, o outputs, h hidden neurons, P data, m singular values. Time is in units of one step of
gradient descent, and τ is one over the learning rate.
"""

from __future__ import annotations

import sympy as sp

from symdyn.calculus.matrix import Rules, positive
from symdyn.statements.notation import glossary

words = glossary("prior_knowledge")

i, o, h, P, m = sp.symbols("i o h P m", integer=True, positive=True)

W1 = words.matrix("W1", h, i, "W_1", "input weights, one hidden neuron a row")
W2 = words.matrix("W2", o, h, "W_2", "output weights, one output a row")
sigma_yx = words.matrix("sigma_yx", o, i, r"\tilde\Sigma^{yx}", "input-output correlation of the task")
sigma_xx = words.matrix("sigma_xx", i, i, r"\tilde\Sigma^{xx}", "correlation of the inputs", symmetric=True)
X = words.matrix("X", i, P, "X", "inputs, one datum a column")
Y = words.matrix("Y", o, P, "Y", "targets, one datum a column")

tau = words.scalar("tau", r"\tau", "time constant, one over the learning rate", default=1, positive=True)
t = words.scalar("t", "t", "time, in steps of gradient descent")

TIMED = Rules(positive(tau))
"""What is supposed of the time constant."""

SIZES = ({i: 2, h: 3, o: 2, P: 3}, {i: 3, h: 1, o: 2, P: 2}, {i: 1, h: 2, o: 3, P: 4})
"""Shapes at which false claims are refuted."""

a1 = words.scalar("a1", "a_1", "connection within the first mode at time zero")
a2 = words.scalar("a2", "a_2", "connection within the second mode at time zero")
b = words.scalar("b", "b", "coupling of the two modes at time zero")
s = words.scalar("s", "s", "a singular value of the task, or both where they are equal")
s1 = words.scalar("s1", "s_1", "first singular value of the task")
s2 = words.scalar("s2", "s_2", "second singular value of the task")
g1 = words.scalar("first", "a_1", "connection within the first mode at time t")
g2 = words.scalar("second", "a_2", "connection within the second mode at time t")
g12 = words.scalar("mixed", "b", "coupling of the two modes at time t")
y = words.scalar("y", "y", "e₁² = exp(-2 s₁ t/τ), which falls from 1 to 0")
z = words.scalar("z", "z", "e₂² = exp(-2 s₂ t/τ), which falls from 1 to 0")
size = words.scalar("size", r"\varepsilon", "size of a start, which multiplies all of A(0)ᵀA(0)")
c = words.scalar("c", "c", "a positive constant")
u = words.scalar("u", "u", "a coordinate")
v = words.scalar("v", "v", "another coordinate")
r1 = words.scalar("r1", "r_1", "the coordinate 1/e₁² - 1, which grows from 0 with the time")
r2 = words.scalar("r2", "r_2", "the coordinate 1/e₂² - 1")

start = words.vector("start", "v", "right singular vector of the start, for one output")
task = words.vector("task", r"\tilde v", "right singular vector of the task, for one output")

plus = words.scalar(
    "plus", "q_+^2", "square of the start along a mode of F that grows, for one hidden neuron"
)
minus = words.scalar("minus", "q_-^2", "square of the start along the mode of F that decays")
rest = words.scalar("rest", "q_0^2", "square of the start along the kernel of F")
plus_t = words.scalar("growing", "q_+^2", "square along the growing mode at time t")
minus_t = words.scalar("decaying", "q_-^2", "square along the decaying mode at time t")
rest_t = words.scalar("staying", "q_0^2", "square along the kernel at time t")
reversed_t = words.scalar(
    "reversed", "v", "strength of a reversed mode, -1 times the network function along it"
)
w1 = words.scalar("w1", "w_1", "input weight of a network with one input, one hidden neuron and one output")
w2 = words.scalar("w2", "w_2", "output weight of this network")

x0, x1, x2, x3 = (
    words.scalar(f"x{k}", f"x_{k}", f"strength of the features shared below a node of level {k} of a tree")
    for k in range(4)
)
sigma0, sigma1, sigma2, sigma3 = (
    words.scalar(f"sigma{k}", rf"\sigma_{k}", f"singular value of a tree task for contrasts of level {k}")
    for k in range(4)
)
