"""Printed forms of the wide network at the inputs that tell them from the true ones."""

from __future__ import annotations

import sympy as sp

from symdyn.catalogue.paper import ledger
from symdyn.catalogue.registry import index

SWAP = sp.Matrix([[0, 1], [1, 0]])


def test_at_beta_zero_the_singular_values_move_and_their_vectors_do_not_say_so():
    A, W, one = sp.zeros(2), sp.eye(2), sp.eye(2)
    assert -one == A * A.T - W * W.T  # isotropic, δ = -1, h = d = c
    G = W.T * A - SWAP
    velocity = -(G * A.T * A + W.T * W * G)
    assert velocity == SWAP
    t = sp.Symbol("t", positive=True)
    assert set((t * velocity).singular_values()) == {t}  # λ = (t, t), so that λ̇ = (1, 1)
    assert (one.T * velocity * one).diagonal() == sp.zeros(1, 2)  # diag(UᵀβV) with U = V = I
    M = sp.sqrt((-1) ** 2 + 4 * 0)
    assert M == 1
    assert (-M * (one.T * G * one)).diagonal() == sp.zeros(1, 2)  # -M ∇_λ L, and of Theorem 11 as well


def test_the_printed_form_needs_its_hypothesis(verdicts):
    verdict = verdicts["wide_linear.printed_singular_value_derivative"]
    assert verdict.status == "conditional"
    assert verdict.witness is not None


def test_the_input_of_the_counterexample_is_refuted_by_itself():
    from derivations.wide_linear.solution import singular_values as here
    from symdyn.proof.check import decide

    only = here.balanced_two.with_cells(here.VANISHING)
    assert decide(here.first_velocities(here.isotropic_velocities()), only).holds is False


def test_no_sentence_about_ease_is_refuted():
    assert "kunin2024.ch-solvability" in ledger("kunin2024")
    assert not [e.key for e in index("printed") if "kunin2024.ch-solvability" in e.ledger]


def test_nu_leaves_the_basis_of_s_where_they_do_not_commute():
    S, nu = sp.diag(1, 4), sp.Matrix([[0, 1], [0, 0]])
    assert S * nu != nu * S
    velocity = S - nu - nu * nu
    assert velocity[0, 1] != 0
