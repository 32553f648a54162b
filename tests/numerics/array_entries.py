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
from numerics.studies.prior_knowledge.exact import coupled_modes as two_modes
from numerics.tasks import teacher_student
from numerics.training import (
    ensembles,
    flows,
    linear_descent,
    linear_ensembles,
    loop,
    native_steps,
    observers,
)

# Modules of `numerics` that run, store, compare and draw studies, or are built on what the entries below have read.
MACHINERY = {
    "measures.arrays": "the rule itself, which the entries show",
    "lab.checkpoint": "files of a run",
    "lab.definitions": "source code",
    "lab.evidence": "files of evidence",
    "lab.fingerprint": "source code",
    "training.fused_steps": "steps of networks that ensembles.networks has read",
    "training.loop": "steps of parameters that its callers have read",
    "measures.evaluation": "a user's network, which keeps its dtype",
    "lab.names": "source code",
    "measures.jacobians": "a user's network, which keeps its dtype",
    "measures.neighbours": "a user's network, which keeps its dtype",
    "starts.edge_of_chaos": "a user's network, which keeps its dtype",
    "starts.low_rank": "a weight to be filled, which keeps its dtype",
    "networks.random_layers": "networks that are drawn there",
    "studies.piecewise_linear.phase_plane": "measurements of studies",
    "lab.figures": "figures of studies",
    "studies.piecewise_linear.portraits": "cells of studies",
    "lab.provenance": "devices and versions",
    "lab.reproduction": "files of evidence",
    "lab.runs": "studies by name",
    "training.steppers": "steps of networks that ensembles.networks has read",
    "lab.store": "files of a run",
    "studies.piecewise_linear.width_diagram_figure": "the figure of a study",
    "lab.study": "studies by name",
    "lab.sweep": "cells of studies",
}

# What the other modules have besides: draws, settings and words, and what holds results that were made here.
NO_ARRAYS = (
    "lab.claims.Claim",
    "lab.claims.Measurement",
    "lab.claims.Measurements",
    "measures.conserved.DriftRecorder",
    "training.continual.drawn_sequences",
    "training.continual.foretold_and_measured",
    "training.continual.random_sequence",
    "training.continual.random_task",
    "tasks.semantic.contrasts",
    "training.ensembles.Training",
    "training.ensembles.log_checkpoints",
    "training.linear_descent.orthonormal",
    "training.linear_descent.random_start",
    "training.linear_descent.whitened_inputs",
    "training.native_steps.Native",
    "training.native_steps.available",
    "training.native_steps.compiler_version",
    "training.observers.parameter_distance",
    "training.observers.delta_drift",
    "networks.low_rank.LowRankLinear",
    "tasks.digits.Digits",
    "tasks.digits.digits",
    "tasks.teacher_student.Task",
    "tasks.teacher_student.draw_task",
    "tasks.teacher_student.held_out",
    "tasks.teacher_student.unit_rows",
    "training.wide_relu.balanced_start",
    "training.wide_relu.circle_task",
    "training.wide_relu.gaussian_start",
    "piecewise_linear.Regions",
    "prior_knowledge.Learnable",
    "wide_linear.LinearFlow",
    "deep_linear.isotropic_init",
    "wide_linear.isotropic_init",
    "random_matrices.JacobianLaw",
    "random_matrices.SlopeLaw",
    "random_matrices.SpectralLaw",
    "random_matrices.exact_linear_moments",
    "random_matrices.jacobian_density",
    "random_matrices.jacobian_moments",
    "random_matrices.jacobian_variance",
    "random_matrices.largest_depth",
    "random_matrices.slope_law",
    "random_matrices.spectral_law",
    "signal_propagation.Activation",
    "signal_propagation.activation",
    "signal_propagation.edge_points",
    "signal_propagation.fixed_points",
    "signal_propagation.one_bias_edge",
    "signal_propagation.one_bias_scales",
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
MAPS = {"sigma_alpha2": TWO, "sigma_b2": ONE, "gamma": np.array(1.0), "phi": "erf"}
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


def learned(**arguments):
    """The weights after two steps of the loop."""
    learner = linear_descent.whitened_learner(**arguments)
    return [learner.state for _ in loop.reached(learner, [2])]


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
    "lab.claims.mean_at_least": partial(claims.mean_at_least, "name", "statement"),
    "lab.claims.mean_at_most": partial(claims.mean_at_most, "name", "statement"),
    "lab.claims.at_least": partial(claims.at_least, "name", "statement"),
    "lab.claims.at_most": partial(claims.at_most, "name", "statement"),
    "lab.claims.between": partial(claims.between, "name", "statement"),
    "lab.order.order_claim": lambda steps, errors: order.order_claim(
        "name", "statement", [(steps, errors)] * 2
    ),
    "training.ensembles.train": trained_ensemble,
    "training.flows.gradient_descent": descent,
    "training.linear_descent.whitened_learner": learned,
    "training.linear_descent.stacked": lambda W0, W1: linear_descent.stacked([(W0, W1), (M, S)]),
    "training.linear_ensembles.padded": lambda matrices: linear_ensembles.padded([matrices, EYE]),
    "training.native_steps.Blocks": lambda X, y: native_steps.Blocks.of(X, y),
    "networks.linear.DeepLinear": lambda a0, W1, W2: DeepLinear(a0, [W1, W2]),
    "training.observers.Networks": lambda a, W, X: observers.Networks(a, W, *torch.ones(2, 2)).outputs(X),
    "training.observers.mean_square": watched(observers.mean_square),
    "training.observers.kernel_distance": watched(observers.kernel_distance),
    "training.observers.hamming_distance": watched(observers.hamming_distance),
    "training.observers.standard_observers": all_watched,
    "studies.prior_knowledge.exact.coupled_modes.interpolated": lambda shown, times, a1: (
        two_modes.interpolated(shown, times, (a1, CURVES, CURVES))
    ),
    "studies.prior_knowledge.exact.coupled_modes.mean_deviation": lambda a1, b: two_modes.mean_deviation(
        (a1, CURVES, b), (CURVES, CURVES, CURVES)
    ),
    "wide_linear.signed_svd_path": mapped,
    "deep_linear.preconditioner": lambda a, W1, W2: deep.preconditioner(a, [W1, W2]),
}

# Every array of an entry is given in every kind; what is no array stays.
ENTRIES = {
    "studies.single_neuron.agreement.delta_drift": {"trained": RUN, **BATCH_RATES},
    "studies.single_neuron.agreement.deviations": {"trained": RUN, "exact": OTHER, **DATA, **BATCH_RATES},
    "studies.single_neuron.agreement.exact_trajectory": {
        "formula": formula, "horizon": ONE, "records": 2, **NEURON, "beta_star": THREE, **BATCH_RATES
    },
    "studies.single_neuron.agreement.train_at_steps": {
        **NEURON, **DATA, "horizon": ONE, "counts": [2], "records": 2, **BATCH_RATES,
    },
    "lab.claims.at_least": {"estimate": np.array(2.0), "threshold": np.array(1.0)},
    "lab.claims.at_most": {"estimate": np.array(2.0), "threshold": np.array(1.0)},
    "lab.claims.between": {name: np.array(float(k)) for k, name in enumerate(("low", "estimate", "high"), 1)},
    "lab.claims.differences": {"first": CURVES[0], "second": TIMES},
    "lab.claims.mean": {"samples": TIMES},
    "lab.claims.mean_and_stderr": {"samples": TIMES},
    "lab.claims.mean_at_least": {"samples": TIMES, "threshold": np.array(1.0)},
    "lab.claims.mean_at_most": {"samples": TIMES, "threshold": np.array(1.0)},
    "lab.claims.rank_correlation": {"first": CURVES[1], "second": TIMES},
    "lab.claims.ratios": {"first": CURVES[0], "second": 1 + TIMES},
    "lab.claims.relative_deviations": {"first": CURVES[0], "second": 1 + TIMES},
    "measures.conserved.layer_balance": {"A": STACK, "W": STACK + 1, **BATCH_RATES},
    "measures.conserved.neuron_deltas": {"a": M, "W": STACK, **BATCH_RATES},
    "measures.conserved.single_neuron_delta": {"a": ONE, "w": M, **BATCH_RATES},
    "training.continual.correlation": {"X": M, "Y": S},
    "training.continual.imbalance": {"W1": M, "W2": S},
    "training.continual.losses": {"W1": STACK, "W2": STACK, "X": STACK, "Y": STACK, "activation": "relu"},
    "training.continual.neuron_imbalance": {"W1": M, "W2": S},
    "training.continual.second_moment": {"Y": M},
    "training.continual.train": {
        "W1": EYE, "W2": M, "X": S, "Y": S, "activation": "tanh", "rate": 0.01, "steps": 2, "record": [0, 2]
    },
    "training.continual.train_sequence": {
        "W1": EYE, "W2": M, "X": STACK, "Y": STACK, "activation": "relu", "rate": 0.01, "steps": 2
    },
    "tasks.semantic.hierarchy": {"strengths": 1 + TIMES, "features": np.eye(8)},
    "training.ensembles.networks": {"a": M, "W": STACK, **BATCH_RATES},
    "training.ensembles.train": {"a": M, "W": STACK, **BATCH_RATES, **DATA, "step": ONE},
    "training.flows.Trajectory": {"t": TIMES, "a": CURVES, "w": np.stack([CURVES, CURVES], -1)},
    "training.flows.gradient_descent": {**DATA, "rate": np.array(2.0)},
    "training.flows.gradient_flow": {**NEURON, **DATA, "times": TIMES[:2], **BATCH_RATES, "rtol": 1e-3},
    "training.flows.sum_of_squares": {"beta": M, **DATA},
    "training.flows.train_single_neuron": {
        **NEURON, **DATA, "step": ONE, "steps": 1, "record": [0, 1], **BATCH_RATES,
    },
    "training.flows.wide_gradient_flow": {
        "A0": EYE, "W0": EYE, "X": S, "Y": M, "times": TIMES[:2], **RATES, "rtol": 1e-3,
    },
    "starts.balanced.single_neuron_start": {"beta0": M, "delta": ONE, **BATCH_RATES},
    "measures.kernels.kernel_distance": {"K1": STACK, "K2": S},
    "measures.kernels.single_neuron_ntk": {"a": ONE, "w": M, "X": S, **BATCH_RATES},
    "measures.kernels.two_layer_linear_ntk": {**LAYERS, **RATES},
    "measures.kernels.two_layer_ntk": {**LAYERS, **RATES, "gamma": np.array(1.0)},
    "starts.learned_starts.crossing": {"times": TIMES, "rising": CURVES, "level": np.array(2.0)},
    "starts.learned_starts.finite_or_none": {"time": np.array(2.0)},
    "starts.learned_starts.learned_weights": {"sigma_yx": M, "N_h": 3, "generator": generator},
    "starts.learned_starts.on_wrong_side": {**LEARNER},
    "starts.learned_starts.to_learnable_side": {**LEARNER, "sigma_yx": M},
    "measures.learning_curve.reaches": {"t": TIMES, "falling": 4 - TIMES, "level": np.array(2.0)},
    "measures.learning_curve.shape_of": {
        "t": np.arange(9.0), "loss": array(100, 90, 20, 9, 8, 4, 3, 2, 1), "sigma": M,
    },
    "training.linear_descent.descend": {**LEARNER, "rate": np.array(1.0), "steps": 2, "record": [0, 2]},
    "training.linear_descent.stacked": {"W0": M, "W1": S},
    "training.linear_descent.whitened_loss": {"function": STACK, "sigma_yx": M, "rest": ONE},
    "training.linear_descent.whitened_learner": {**LEARNER, "rate": array([1.0])},
    "training.linear_descent.zero_balanced_start": {
        "N_h": 3, "N_i": 2, "N_o": 2, "values": ONE, "generator": generator,
    },
    "training.linear_ensembles.observed": {"W1": STACK, "W2": STACK, "X": M, "Y": S},
    "training.linear_ensembles.padded": {"matrices": M},
    "training.linear_ensembles.tangent_kernel": {"inputs": STACK, "readouts": S, "X": M},
    "training.linear_ensembles.unexplained": {"X": M, "Y": S},
    "training.native_steps.Blocks": DATA,
    "networks.linear.DeepLinear": {"a0": ONE, "W1": M, "W2": S},
    "networks.linear.WideLinear": {"A0": M, "W0": S},
    "networks.parameters.floating": {"a0": ONE, "w0": M},
    "networks.single_neuron.SingleNeuron": NEURON,
    "networks.two_layer.TwoLayer": {"a0": ONE, "W0": M},
    "training.observers.Networks": {"a": M, "W": STACK, "X": M},
    "training.observers.hamming_distance": {"X": M},
    "training.observers.kernel_distance": {"X": M},
    "training.observers.mean_square": DATA,
    "training.observers.standard_observers": {**DATA, "X_test": S, "y_test": TWO},
    "lab.order.fit_order": {"steps": array(1, 2, 4), "errors": array(1, 3, 4)},
    "lab.order.has_order": {"order": np.array(1.0), "stderr": np.array(0.0)},
    "lab.order.order_claim": {"steps": array(1, 2, 4), "errors": array(1, 3, 4)},
    "training.relearning.classical_scaling": {"points": array([1, 2], [3, 1], [7, 7])},
    "training.relearning.colour_hierarchy": {"generator": generator, "W1": np.eye(8), "W2": np.eye(8)},
    "training.relearning.learned_next_to": {"W1": EYE, "W2": S, "sigma": S},
    "training.relearning.learning_time": {
        "times": TIMES, "loss": array([9, 6, 3, 0], [9, 9, 9, 9]), "sigma": M,
    },
    "training.relearning.losses": {"function": STACK, "sigma": M},
    "training.relearning.train": {"W1": EYE, "W2": EYE, "sigma": S, "rate": 0.01, "horizon": 0.02},
    "studies.prior_knowledge.rich_and_lazy.rich_lazy.blocks": {"matrix": S, "inputs": 1},
    "studies.prior_knowledge.rich_and_lazy.rich_lazy.flow": {
        "kind": "small random", "W1": M, "W2": S, "sigma": S, "times": TIMES[:2],
    },
    "studies.prior_knowledge.rich_and_lazy.rich_lazy.gaps": {"matrix": np.eye(4), "sigma": S},
    "studies.prior_knowledge.rich_and_lazy.rich_lazy.start": {
        "kind": "large zero-balanced", "cfg": {"hidden": 3, "large": 1.0, "small": 0.1}, "seed": 0, "sigma": S
    },
    "studies.prior_knowledge.rich_and_lazy.rich_lazy.state": {"W1": M, "W2": S},
    "studies.prior_knowledge.rich_and_lazy.rich_lazy.task_state": {"sigma": M},
    "studies.prior_knowledge.rich_and_lazy.rich_lazy.trained": {
        "W1": EYE, "W2": EYE, "sigma": S, "times": array(0, 1, 2), "rate": 0.5,
    },
    "tasks.teacher_student.outputs": {"a": ONE, "W": M, "X": S},
    "tasks.teacher_student.relative_scale": {"tau": ONE, "delta": TWO},
    "tasks.teacher_student.students": {"task": TASK, "tau": ONE, "delta": TWO},
    "studies.prior_knowledge.exact.coupled_modes.at_moments": {"times": TIMES, "curves": CURVES, "moments": ONE},
    "studies.prior_knowledge.exact.coupled_modes.connections": {"gram": STACK},
    "studies.prior_knowledge.exact.coupled_modes.interpolated": {"shown": ONE, "times": TIMES, "a1": CURVES},
    "studies.prior_knowledge.exact.coupled_modes.largest_rise": {"size": CURVES},
    "studies.prior_knowledge.exact.coupled_modes.learned_time": {
        "times": TIMES, "a1": CURVES, "a2": CURVES[::-1].copy(), "s": array(2, 1),
    },
    "studies.prior_knowledge.exact.coupled_modes.mean_deviation": {"a1": CURVES + 1, "b": CURVES + 2},
    "studies.prior_knowledge.exact.coupled_modes.numbers_or_none": {"times": TIMES},
    "studies.prior_knowledge.exact.coupled_modes.peak_time": {"times": TIMES, "b": CURVES},
    "studies.prior_knowledge.exact.coupled_modes.printed_peak": {
        "a1": ONE, "a2": TWO, "b": array(2, 0), "s": array(9, 9),
    },
    "studies.prior_knowledge.exact.coupled_modes.trained": {
        "A": STACK, "U": EYE, "s": TWO, "V": EYE, "rate": 0.01, "spacing": 0.02, "count": 2,
    },
    "training.wide_relu.descend": {"a": ONE, "W": M, **DATA, "fitted": 1e-3, "step": 0.1, "most_steps": 3},
    "training.wide_relu.directions": {"a": ONE, "W": M},
    "training.wide_relu.measures": {"a0": ONE, "W0": M, **DATA, "fitted": 1e-3, "step": 0.1, "most_steps": 3},
    "prior_knowledge.evaluators.exact_decision.decide": LEARNER,
    "signal_propagation.chi": {**MAPS, "q": ONE},
    "signal_propagation.correlation_gap": {**MAPS, "gap": array(0, 1), "q": ONE},
    "signal_propagation.correlation_map": {**MAPS, "c": array(0, 1), "q": ONE},
    "signal_propagation.depth_scales": MAPS,
    "signal_propagation.edge_of_chaos": {"sigma_b2": ONE, "gamma": np.array(1.0), "phi": "erf"},
    "signal_propagation.fixed_point": MAPS,
    "signal_propagation.from_fixed_point": {"q_star": ONE, "gamma": np.array(1.0), "phi": "erf"},
    "signal_propagation.length_map": {**MAPS, "q": ONE},
    "deep_linear.inductive_bias": {"beta": M, "beta0": S, "depth": 2, "delta": -ONE},
    "deep_linear.interpolating_solution": {
        "X": array([1, 2]), "y": array(3), "beta0": TWO, "depth": 2, "delta": np.array(-1.0)
    },
    "deep_linear.isotropic_preconditioner": {"beta": M, "delta": -ONE, "depth": 3},
    "deep_linear.preconditioner": {"a": ONE, "W1": M, "W2": S},
    "piecewise_linear.activation_regions": {"W": M, "gamma": np.array(0.0)},
    "piecewise_linear.coordinates_rhs": {**LAYERS, "y": TWO, "gamma": np.array(0.0), **RATES},
    "piecewise_linear.ntk": {**LAYERS, "gamma": np.array(0.0), **RATES},
    "piecewise_linear.scale_init": {"W": EYE, "a": array(1, 1), "tau": np.array(2.0), "delta": np.array(3.0)},
    "piecewise_linear.two_colouring": {"regions": M, "gamma": np.array(0.0)},
    "prior_knowledge.ata": {"t": TIMES, "gram0": S, "s": ONE, "tau": np.array(2.0)},
    "prior_knowledge.ata_2x2": {
        "t": TIMES,
        **{name: np.array(float(x)) for name, x in zip(("a1", "a2", "b", "s1", "s2", "tau"), "231542", strict=True)},
    },
    "prior_knowledge.effective_start": {"gram0": np.stack([S, EYE]), "s": TWO},
    "prior_knowledge.forgetting": {"sigmas": STACK, "second_moments": array(90, 80)},
    "prior_knowledge.learnable": {**LEARNER, "tau": np.array(2.0)},
    "prior_knowledge.missed_modes": {"permutation": array(1, 0, 2)},
    "prior_knowledge.network_function": {"t": TIMES, **LEARNER, "tau": np.array(2.0)},
    "prior_knowledge.ntk": {"t": TIMES, **LEARNER, "X": WHITE, "tau": np.array(2.0)},
    "prior_knowledge.offdiagonal_peak": {
        name: np.array(float(x)) for name, x in zip(("a1", "a2", "b", "s", "tau"), "23191", strict=True)
    },
    "prior_knowledge.qqt": {"t": TIMES, **LEARNER, "tau": np.array(2.0)},
    "prior_knowledge.reversal": {"t": TIMES, "W1": EYE, "W2": EYE, "tau": np.array(2.0)},
    "prior_knowledge.reversal_like": {"permutation": array(1, 0, 2)},
    "prior_knowledge.rsm_input": {"t": TIMES, **LEARNER, "X": WHITE, "tau": np.array(2.0)},
    "prior_knowledge.rsm_output": {"t": TIMES, **LEARNER, "Y": M, "tau": np.array(2.0)},
    "prior_knowledge.separatrix_distance": LEARNER,
    "prior_knowledge.shallow": {
        "t": TIMES, "W0": M, "sigma_yx": M, "sigma_xx": S, "tau": np.array(2.0)
    },
    "prior_knowledge.weights": {"t": TIMES, **LEARNER, "tau": np.array(2.0)},
    "single_neuron.basin": {**NEURON, "beta_star": THREE, **BATCH_RATES},
    "single_neuron.crossing_time": {**NEURON, "beta_star": THREE, **BATCH_RATES},
    "single_neuron.implicit_bias": {
        "X": array([1, 2, 1]), "y": array(3), "a0": np.array(2.0), "w0": array(1, 1, 2), **RATES
    },
    "single_neuron.mu_phi": {"t": TIMES, **NEURON, "beta_star": THREE, **BATCH_RATES},
    "single_neuron.nullspace_alpha": {
        "beta_star": array(2, 0), "v": array(0, 1), "a0": np.array(1.0), "w0": ONE, "sign": np.array(1.0)
    },
    "single_neuron.separatrix_distance": {**NEURON, "beta_star": THREE, **BATCH_RATES},
    "single_neuron.trajectory": {"t": TIMES, **NEURON, "beta_star": THREE, **BATCH_RATES},
    "wide_linear.conserved": {"A": STACK, "W": STACK, **BATCH_RATES},
    "wide_linear.hyperbolic_entropy": {"x": M, "delta": ONE, **RATES},
    "wide_linear.hyperbolic_entropy_gradient": {"x": M, "delta": ONE, **RATES},
    "wide_linear.hyperbolic_entropy_hessian": {"x": M, "delta": ONE, **RATES},
    "wide_linear.isotropic_flow": {"t": TIMES, "A": EYE, "W": EYE, "beta_star": S, **RATES},
    "wide_linear.isotropic_preconditioner": {"beta": M, "delta": np.array(1.0), **RATES},
    "wide_linear.matrix_riccati": {"t": TIMES, "nu0": M, "C0": S, "gram": S, "delta": np.array(1.0)},
    "wide_linear.neuron_preconditioners": {"betas": OUTER, "deltas": ONE, **RATES},
    "wide_linear.neuron_sum": {"A": M, "W": S, **RATES},
    "wide_linear.preconditioner": {"A": M, "W": S, **RATES},
    "wide_linear.regime": {"h": 2, "d": 2, "c": 2, "deltas": array(90, 80), "beta_k": OUTER, "beta_star": M},
    "wide_linear.signed_svd_path": {"beta": STACK},
    "wide_linear.unvec": {"vector": 1 + TIMES, "d": 2},
    "wide_linear.vec": {"beta": M},
}  # fmt: skip

# The examples of entries that take tensors or exact numbers alone.
BASES = {
    "training.native_steps.Blocks": torch.as_tensor,
    "training.observers.Networks": torch.as_tensor,
    "prior_knowledge.evaluators.exact_decision.decide": lambda x: x.astype(int),
    "prior_knowledge.missed_modes": lambda x: x.astype(int),
    "prior_knowledge.reversal_like": lambda x: x.astype(int),
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
    "wide_linear.neuron_sum": {"betas", "deltas"},
}
# What a network of the user takes is for the network to say.
OF_A_NETWORK = ("measures.kernels.ntk", "measures.conserved.balances", "networks.two_layer.activation")
