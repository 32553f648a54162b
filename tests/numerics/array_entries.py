"""Where a user's arrays enter: an example of every argument that takes them, and names into which none enters.

Examples are small integers, so that every kind of array holds the same numbers. A name is in one table only;
`test_array_kinds` finds the names by introspection.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

import derivations.deep_linear as deep
from derivations.wide_linear import signed_svd_path
from numerics.lab import claims, order
from numerics.networks.linear import DeepLinear
from numerics.networks.single_neuron import SingleNeuron
from numerics.studies.prior_knowledge import coupled_modes as two_modes
from numerics.tasks import teacher_student
from numerics.training import ensembles, flows, linear_descent, linear_ensembles, native_steps, observers

# Modules of `numerics` that run, store, compare and draw studies, or are built on what the entries below have read.
MACHINERY = {
    "arrays": "the rule itself, which the entries show",
    "checkpoint": "files of a run",
    "definitions": "source code",
    "evidence": "files of evidence",
    "fingerprint": "source code",
    "fused_steps": "steps of networks that ensembles.networks has read",
    "measuring": "a user's network, which keeps its dtype",
    "names": "source code",
    "neighbours": "a user's network, which keeps its dtype",
    "phase_plane": "measurements of studies",
    "plots": "figures of studies",
    "portraits": "cells of studies",
    "provenance": "devices and versions",
    "reproduction": "files of evidence",
    "runs": "studies by name",
    "steppers": "steps of networks that ensembles.networks has read",
    "store": "files of a run",
    "studies": "studies themselves",
    "study": "studies by name",
    "sweep": "cells of studies",
}

# What the other modules have besides: draws, settings and words, and what holds results that were made here.
NO_ARRAYS = (
    "claims.Claim",
    "claims.Measurement",
    "claims.Measurements",
    "conserved.DriftRecorder",
    "continual.drawn_sequences",
    "continual.foretold_and_measured",
    "continual.random_sequence",
    "continual.random_task",
    "data.semantic.contrasts",
    "ensembles.Training",
    "ensembles.log_checkpoints",
    "linear_descent.orthonormal",
    "linear_descent.random_start",
    "linear_descent.whitened_inputs",
    "native_steps.Native",
    "native_steps.available",
    "native_steps.compiler_version",
    "observers.parameter_distance",
    "observers.delta_drift",
    "teacher_student.Task",
    "teacher_student.draw_task",
    "teacher_student.held_out",
    "teacher_student.unit_rows",
    "wide_relu.balanced_start",
    "wide_relu.circle_task",
    "wide_relu.gaussian_start",
    "piecewise_linear.functions.Regions",
    "prior_knowledge.functions.Learnable",
    "wide_linear.functions.LinearFlow",
    "deep_linear.functions.isotropic_init",
    "wide_linear.functions.isotropic_init",
)

# Results that compile and have no arguments: fixed matrices, or ones of a size alone.
NO_ARGUMENTS = {
    "prior_knowledge.aligned_start",
    "prior_knowledge.relabelings_like_reversal",
    "single_neuron.rank_one_inverse",
}
MATRICES = ("kernel1", "kernel2")  # arguments of compiled results that are matrices, though no Letters


def array(*entries) -> np.ndarray:
    return np.array(entries, float)


ONE, TWO, THREE = array(1, 2), array(3, 1), array(2, 5)
EYE = np.eye(2)
M = array([1, 2], [3, 1])
S = array([2, 1], [1, 3])
WHITE = array([1, 1], [1, -1])
STACK = np.stack([M, S])
TIMES = array(0, 1, 2, 3)
CURVES = array([1, 2, 3, 2], [3, 2, 1, 4])
DATA = {"X": M, "y": ONE}
NEURON = {"a0": array(1, 2), "w0": M}
LEARNER = {"W1": EYE, "W2": EYE, "sigma_yx": S}
LAYERS = {"a": ONE, "W": M, "X": S}
RATES = {"eta_a": np.array(2.0), "eta_w": np.array(3.0)}
BATCH_RATES = {"eta_a": array(2, 1), "eta_w": array(1, 3)}
RUN = flows.Trajectory(TIMES, CURVES, np.stack([CURVES, CURVES + 1], -1))
OUTER = np.stack([np.outer(ONE, TWO), np.outer(TWO, THREE)])
OTHER = flows.Trajectory(TIMES, CURVES + 1, np.stack([CURVES, CURVES + 2], -1))
TASK = teacher_student.draw_task(0, d=2, h=2, k=2, n=2)


def generator():
    return np.random.default_rng(1)


def stack() -> observers.Networks:
    return ensembles.networks(array([1, 2], [2, 1]), STACK)


def later() -> observers.Networks:
    return ensembles.networks(array([1, 3], [2, 2]), STACK + 1)


def formula(t, a0, w0, beta_star, eta_a, eta_w):
    from derivations.single_neuron import trajectory

    return trajectory(t=t, a0=a0, w0=w0, beta_star=beta_star, eta_a=eta_a, eta_w=eta_w)


def trained_ensemble(a, W, eta_a, eta_w, X, y, step):
    start = ensembles.networks(a, W, eta_a=eta_a, eta_w=eta_w)
    watched = {"delta": observers.delta_drift}
    found = ensembles.train(start, X, y, step=step, checkpoints=[0, 2], observers=watched, threads=1)
    return found.measured, found.networks


def descent(X, y, rate):
    network = SingleNeuron(1.0, [1.0, 2.0])
    rates = {"a": rate, "w": 1.0}
    options = {"step": 0.01, "steps": 2, "record": [0, 2], "observe": lambda net: {"w": net.w}}
    return flows.gradient_descent(network, X, y, rates=rates, **options)


def watched(make):
    """An observer made from data, as it sees two stacks of networks."""
    return lambda **data: make(**data)(stack(), later())


def all_watched(**data):
    return [observe(stack(), later()) for observe in observers.standard_observers(**data).values()]


def mapped(beta):
    """U diag(s) V^T of the path: the signs of U and V are free."""
    U, s, V = signed_svd_path(beta)
    return (U * s[..., None, :]) @ V.swapaxes(-1, -2), s


# Entries of another shape than one array a name, or whose answer is a function. The names stay.
CALLED = {
    "claims.mean_at_least": partial(claims.mean_at_least, "name", "statement"),
    "claims.mean_at_most": partial(claims.mean_at_most, "name", "statement"),
    "claims.at_least": partial(claims.at_least, "name", "statement"),
    "claims.at_most": partial(claims.at_most, "name", "statement"),
    "claims.between": partial(claims.between, "name", "statement"),
    "order.order_claim": lambda steps, errors: order.order_claim("name", "statement", [(steps, errors)] * 2),
    "ensembles.train": trained_ensemble,
    "flows.gradient_descent": descent,
    "linear_descent.stacked": lambda W0, W1: linear_descent.stacked([(W0, W1), (M, S)]),
    "linear_ensembles.padded": lambda matrices: linear_ensembles.padded([matrices, EYE]),
    "native_steps.Blocks": lambda X, y: native_steps.Blocks.of(X, y),
    "networks.linear.DeepLinear": lambda a0, W1, W2: DeepLinear(a0, [W1, W2]),
    "observers.Networks": lambda a, W, X: observers.Networks(a, W, *torch.ones(2, 2)).outputs(X),
    "observers.mean_square": watched(observers.mean_square),
    "observers.kernel_distance": watched(observers.kernel_distance),
    "observers.hamming_distance": watched(observers.hamming_distance),
    "observers.standard_observers": all_watched,
    "two_modes.interpolated": lambda shown, times, a1: two_modes.interpolated(
        shown, times, (a1, CURVES, CURVES)
    ),
    "two_modes.mean_deviation": lambda a1, b: two_modes.mean_deviation(
        (a1, CURVES, b), (CURVES, CURVES, CURVES)
    ),
    "wide_linear.functions.signed_svd_path": mapped,
    "deep_linear.functions.preconditioner": lambda a, W1, W2: deep.preconditioner(a, [W1, W2]),
}

# Every array of an entry is given in every kind; what is no array stays.
ENTRIES = {
    "agreement.delta_drift": {"trained": RUN, **BATCH_RATES},
    "agreement.deviations": {"trained": RUN, "exact": OTHER, **DATA, **BATCH_RATES},
    "agreement.exact_trajectory": {
        "formula": formula, "horizon": ONE, "records": 2, **NEURON, "beta_star": THREE, **BATCH_RATES
    },
    "agreement.train_at_steps": {**NEURON, **DATA, "horizon": ONE, "counts": [2], "records": 2, **BATCH_RATES},
    "claims.at_least": {"estimate": np.array(2.0), "threshold": np.array(1.0)},
    "claims.at_most": {"estimate": np.array(2.0), "threshold": np.array(1.0)},
    "claims.between": {name: np.array(float(k)) for k, name in enumerate(("low", "estimate", "high"), 1)},
    "claims.differences": {"first": CURVES[0], "second": TIMES},
    "claims.mean": {"samples": TIMES},
    "claims.mean_and_stderr": {"samples": TIMES},
    "claims.mean_at_least": {"samples": TIMES, "threshold": np.array(1.0)},
    "claims.mean_at_most": {"samples": TIMES, "threshold": np.array(1.0)},
    "claims.rank_correlation": {"first": CURVES[1], "second": TIMES},
    "claims.ratios": {"first": CURVES[0], "second": 1 + TIMES},
    "claims.relative_deviations": {"first": CURVES[0], "second": 1 + TIMES},
    "conserved.layer_balance": {"A": STACK, "W": STACK + 1, **BATCH_RATES},
    "conserved.neuron_deltas": {"a": M, "W": STACK, **BATCH_RATES},
    "conserved.single_neuron_delta": {"a": ONE, "w": M, **BATCH_RATES},
    "continual.correlation": {"X": M, "Y": S},
    "continual.imbalance": {"W1": M, "W2": S},
    "continual.losses": {"W1": STACK, "W2": STACK, "X": STACK, "Y": STACK, "activation": "relu"},
    "continual.neuron_imbalance": {"W1": M, "W2": S},
    "continual.second_moment": {"Y": M},
    "continual.train": {
        "W1": EYE, "W2": M, "X": S, "Y": S, "activation": "tanh", "rate": 0.01, "steps": 2, "record": [0, 2]
    },
    "continual.train_sequence": {
        "W1": EYE, "W2": M, "X": STACK, "Y": STACK, "activation": "relu", "rate": 0.01, "steps": 2
    },
    "data.semantic.hierarchy": {"strengths": 1 + TIMES, "features": np.eye(8)},
    "ensembles.networks": {"a": M, "W": STACK, **BATCH_RATES},
    "ensembles.train": {"a": M, "W": STACK, **BATCH_RATES, **DATA, "step": ONE},
    "flows.Trajectory": {"t": TIMES, "a": CURVES, "w": np.stack([CURVES, CURVES], -1)},
    "flows.gradient_descent": {**DATA, "rate": np.array(2.0)},
    "flows.gradient_flow": {**NEURON, **DATA, "times": TIMES[:2], **BATCH_RATES, "rtol": 1e-3},
    "flows.sum_of_squares": {"beta": M, **DATA},
    "flows.train_single_neuron": {**NEURON, **DATA, "step": ONE, "steps": 1, "record": [0, 1], **BATCH_RATES},
    "flows.wide_gradient_flow": {"A0": EYE, "W0": EYE, "X": S, "Y": M, "times": TIMES[:2], **RATES, "rtol": 1e-3},
    "init.single_neuron_start": {"beta0": M, "delta": ONE, **BATCH_RATES},
    "kernels.kernel_distance": {"K1": STACK, "K2": S},
    "kernels.single_neuron_ntk": {"a": ONE, "w": M, "X": S, **BATCH_RATES},
    "kernels.two_layer_linear_ntk": {**LAYERS, **RATES},
    "kernels.two_layer_ntk": {**LAYERS, **RATES, "gamma": np.array(1.0)},
    "learned_starts.crossing": {"times": TIMES, "rising": CURVES, "level": np.array(2.0)},
    "learned_starts.finite_or_none": {"time": np.array(2.0)},
    "learned_starts.learned_weights": {"sigma_yx": M, "N_h": 3, "generator": generator},
    "learned_starts.on_wrong_side": {**LEARNER},
    "learned_starts.to_learnable_side": {**LEARNER, "sigma_yx": M},
    "learning_curve.reaches": {"t": TIMES, "falling": 4 - TIMES, "level": np.array(2.0)},
    "learning_curve.shape_of": {"t": np.arange(9.0), "loss": array(100, 90, 20, 9, 8, 4, 3, 2, 1), "sigma": M},
    "linear_descent.descend": {**LEARNER, "rate": np.array(1.0), "steps": 2, "record": [0, 2]},
    "linear_descent.stacked": {"W0": M, "W1": S},
    "linear_descent.whitened_loss": {"function": STACK, "sigma_yx": M, "rest": ONE},
    "linear_descent.zero_balanced_start": {"N_h": 3, "N_i": 2, "N_o": 2, "values": ONE, "generator": generator},
    "linear_ensembles.observed": {"W1": STACK, "W2": STACK, "X": M, "Y": S},
    "linear_ensembles.padded": {"matrices": M},
    "linear_ensembles.tangent_kernel": {"inputs": STACK, "readouts": S, "X": M},
    "linear_ensembles.unexplained": {"X": M, "Y": S},
    "native_steps.Blocks": DATA,
    "networks.linear.DeepLinear": {"a0": ONE, "W1": M, "W2": S},
    "networks.linear.WideLinear": {"A0": M, "W0": S},
    "networks.parameters.floating": {"a0": ONE, "w0": M},
    "networks.single_neuron.SingleNeuron": NEURON,
    "networks.two_layer.TwoLayer": {"a0": ONE, "W0": M},
    "observers.Networks": {"a": M, "W": STACK, "X": M},
    "observers.hamming_distance": {"X": M},
    "observers.kernel_distance": {"X": M},
    "observers.mean_square": DATA,
    "observers.standard_observers": {**DATA, "X_test": S, "y_test": TWO},
    "order.fit_order": {"steps": array(1, 2, 4), "errors": array(1, 3, 4)},
    "order.has_order": {"order": np.array(1.0), "stderr": np.array(0.0)},
    "order.order_claim": {"steps": array(1, 2, 4), "errors": array(1, 3, 4)},
    "relearning.classical_scaling": {"points": array([1, 2], [3, 1], [7, 7])},
    "relearning.colour_hierarchy": {"generator": generator, "W1": np.eye(8), "W2": np.eye(8)},
    "relearning.learned_next_to": {"W1": EYE, "W2": S, "sigma": S},
    "relearning.learning_time": {"times": TIMES, "loss": array([9, 6, 3, 0], [9, 9, 9, 9]), "sigma": M},
    "relearning.losses": {"function": STACK, "sigma": M},
    "relearning.train": {"W1": EYE, "W2": EYE, "sigma": S, "rate": 0.01, "horizon": 0.02},
    "rich_lazy.blocks": {"matrix": S, "inputs": 1},
    "rich_lazy.flow": {"kind": "small random", "W1": M, "W2": S, "sigma": S, "times": TIMES[:2]},
    "rich_lazy.gaps": {"matrix": np.eye(4), "sigma": S},
    "rich_lazy.start": {
        "kind": "large zero-balanced", "cfg": {"hidden": 3, "large": 1.0, "small": 0.1}, "seed": 0, "sigma": S
    },
    "rich_lazy.state": {"W1": M, "W2": S},
    "rich_lazy.task_state": {"sigma": M},
    "rich_lazy.trained": {"W1": EYE, "W2": EYE, "sigma": S, "times": array(0, 1, 2), "rate": 0.5},
    "teacher_student.outputs": {"a": ONE, "W": M, "X": S},
    "teacher_student.relative_scale": {"tau": ONE, "delta": TWO},
    "teacher_student.students": {"task": TASK, "tau": ONE, "delta": TWO},
    "two_modes.at_moments": {"times": TIMES, "curves": CURVES, "moments": ONE},
    "two_modes.connections": {"gram": STACK},
    "two_modes.interpolated": {"shown": ONE, "times": TIMES, "a1": CURVES},
    "two_modes.largest_rise": {"size": CURVES},
    "two_modes.learned_time": {"times": TIMES, "a1": CURVES, "a2": CURVES[::-1].copy(), "s": array(2, 1)},
    "two_modes.mean_deviation": {"a1": CURVES + 1, "b": CURVES + 2},
    "two_modes.numbers_or_none": {"times": TIMES},
    "two_modes.peak_time": {"times": TIMES, "b": CURVES},
    "two_modes.printed_peak": {"a1": ONE, "a2": TWO, "b": array(2, 0), "s": array(9, 9)},
    "two_modes.trained": {"A": STACK, "U": EYE, "s": TWO, "V": EYE, "rate": 0.01, "spacing": 0.02, "count": 2},
    "wide_relu.descend": {"a": ONE, "W": M, **DATA, "fitted": 1e-3, "step": 0.1, "most_steps": 3},
    "wide_relu.directions": {"a": ONE, "W": M},
    "wide_relu.measures": {"a0": ONE, "W0": M, **DATA, "fitted": 1e-3, "step": 0.1, "most_steps": 3},
    "prior_knowledge.exact_decision.decide": LEARNER,
    "deep_linear.functions.inductive_bias": {"beta": M, "beta0": S, "depth": 2, "delta": -ONE},
    "deep_linear.functions.interpolating_solution": {
        "X": array([1, 2]), "y": array(3), "beta0": TWO, "depth": 2, "delta": np.array(-1.0)
    },
    "deep_linear.functions.isotropic_preconditioner": {"beta": M, "delta": -ONE, "depth": 3},
    "deep_linear.functions.preconditioner": {"a": ONE, "W1": M, "W2": S},
    "piecewise_linear.functions.activation_regions": {"W": M, "gamma": np.array(0.0)},
    "piecewise_linear.functions.coordinates_rhs": {**LAYERS, "y": TWO, "gamma": np.array(0.0), **RATES},
    "piecewise_linear.functions.ntk": {**LAYERS, "gamma": np.array(0.0), **RATES},
    "piecewise_linear.functions.scale_init": {"W": EYE, "a": array(1, 1), "tau": np.array(2.0), "delta": np.array(3.0)},
    "piecewise_linear.functions.two_colouring": {"regions": M, "gamma": np.array(0.0)},
    "prior_knowledge.functions.ata": {"t": TIMES, "gram0": S, "s": ONE, "tau": np.array(2.0)},
    "prior_knowledge.functions.ata_2x2": {
        "t": TIMES,
        **{name: np.array(float(x)) for name, x in zip(("a1", "a2", "b", "s1", "s2", "tau"), "231542", strict=True)},
    },
    "prior_knowledge.functions.effective_start": {"gram0": np.stack([S, EYE]), "s": TWO},
    "prior_knowledge.functions.forgetting": {"sigmas": STACK, "second_moments": array(90, 80)},
    "prior_knowledge.functions.learnable": {**LEARNER, "tau": np.array(2.0)},
    "prior_knowledge.functions.missed_modes": {"permutation": array(1, 0, 2)},
    "prior_knowledge.functions.network_function": {"t": TIMES, **LEARNER, "tau": np.array(2.0)},
    "prior_knowledge.functions.ntk": {"t": TIMES, **LEARNER, "X": WHITE, "tau": np.array(2.0)},
    "prior_knowledge.functions.offdiagonal_peak": {
        name: np.array(float(x)) for name, x in zip(("a1", "a2", "b", "s", "tau"), "23191", strict=True)
    },
    "prior_knowledge.functions.qqt": {"t": TIMES, **LEARNER, "tau": np.array(2.0)},
    "prior_knowledge.functions.reversal": {"t": TIMES, "W1": EYE, "W2": EYE, "tau": np.array(2.0)},
    "prior_knowledge.functions.reversal_like": {"permutation": array(1, 0, 2)},
    "prior_knowledge.functions.rsm_input": {"t": TIMES, **LEARNER, "X": WHITE, "tau": np.array(2.0)},
    "prior_knowledge.functions.rsm_output": {"t": TIMES, **LEARNER, "Y": M, "tau": np.array(2.0)},
    "prior_knowledge.functions.separatrix_distance": LEARNER,
    "prior_knowledge.functions.shallow": {
        "t": TIMES, "W0": M, "sigma_yx": M, "sigma_xx": S, "tau": np.array(2.0)
    },
    "prior_knowledge.functions.weights": {"t": TIMES, **LEARNER, "tau": np.array(2.0)},
    "single_neuron.functions.basin": {**NEURON, "beta_star": THREE, **BATCH_RATES},
    "single_neuron.functions.crossing_time": {**NEURON, "beta_star": THREE, **BATCH_RATES},
    "single_neuron.functions.implicit_bias": {
        "X": array([1, 2, 1]), "y": array(3), "a0": np.array(2.0), "w0": array(1, 1, 2), **RATES
    },
    "single_neuron.functions.mu_phi": {"t": TIMES, **NEURON, "beta_star": THREE, **BATCH_RATES},
    "single_neuron.functions.nullspace_alpha": {
        "beta_star": array(2, 0), "v": array(0, 1), "a0": np.array(1.0), "w0": ONE, "sign": np.array(1.0)
    },
    "single_neuron.functions.separatrix_distance": {**NEURON, "beta_star": THREE, **BATCH_RATES},
    "single_neuron.functions.trajectory": {"t": TIMES, **NEURON, "beta_star": THREE, **BATCH_RATES},
    "wide_linear.functions.conserved": {"A": STACK, "W": STACK, **BATCH_RATES},
    "wide_linear.functions.hyperbolic_entropy": {"x": M, "delta": ONE, **RATES},
    "wide_linear.functions.hyperbolic_entropy_gradient": {"x": M, "delta": ONE, **RATES},
    "wide_linear.functions.hyperbolic_entropy_hessian": {"x": M, "delta": ONE, **RATES},
    "wide_linear.functions.isotropic_flow": {"t": TIMES, "A": EYE, "W": EYE, "beta_star": S, **RATES},
    "wide_linear.functions.isotropic_preconditioner": {"beta": M, "delta": np.array(1.0), **RATES},
    "wide_linear.functions.matrix_riccati": {"t": TIMES, "nu0": M, "C0": S, "gram": S, "delta": np.array(1.0)},
    "wide_linear.functions.neuron_preconditioners": {"betas": OUTER, "deltas": ONE, **RATES},
    "wide_linear.functions.neuron_sum": {"A": M, "W": S, **RATES},
    "wide_linear.functions.preconditioner": {"A": M, "W": S, **RATES},
    "wide_linear.functions.regime": {"h": 2, "d": 2, "c": 2, "deltas": array(90, 80), "beta_k": OUTER, "beta_star": M},
    "wide_linear.functions.signed_svd_path": {"beta": STACK},
    "wide_linear.functions.unvec": {"vector": 1 + TIMES, "d": 2},
    "wide_linear.functions.vec": {"beta": M},
}  # fmt: skip

# The examples of entries that take tensors or exact numbers alone.
BASES = {
    "native_steps.Blocks": torch.as_tensor,
    "observers.Networks": torch.as_tensor,
    "prior_knowledge.exact_decision.decide": lambda x: x.astype(int),
    "prior_knowledge.functions.missed_modes": lambda x: x.astype(int),
    "prior_knowledge.functions.reversal_like": lambda x: x.astype(int),
}
# Other words for an argument, in errors.
CALLED_BESIDES = {
    "W0": [r"networks\[0\]\[0\]"],
    "W": [r"layer \d"],
    "W1": [r"Ws\[0\]", r"networks\[0\]\[1\]"],
    "W2": [r"Ws\[1\]"],
    "regions": [r"W\b", r"layer \d"],
}
# Arguments that exclude others of the same entry.
LEFT_OUT = {
    "wide_linear.functions.neuron_sum": {"betas", "deltas"},
}
# What a network of the user takes is for the network to say.
OF_A_NETWORK = ("kernels.ntk", "conserved.balances", "networks.two_layer.activation")
