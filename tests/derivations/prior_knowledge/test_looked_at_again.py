"""Printed forms of the two-layer network at the inputs that tell them from the true ones."""

from __future__ import annotations

import mpmath as mp
import pytest
import sympy as sp

from symdyn.catalogue.registry import load


def function_at(time, W1, W2, sigma):
    """W₂W₁ of 2 × 2 weights on the flow with τ = 1, in 30 digits."""
    with mp.workdps(30):

        def velocity(_, z):
            first, second = (mp.matrix(2, 2) for _ in "12")
            first[0, 0], first[0, 1], first[1, 0], first[1, 1] = z[:4]
            second[0, 0], second[0, 1], second[1, 0], second[1, 1] = z[4:]
            gap = sigma - second * first
            return [*(second.T * gap), *(gap * first.T)]

        start = [mp.mpf(x) for x in (*W1, *W2)]
        z = mp.odefun(velocity, 0, start, tol=mp.mpf(10) ** -15)(time)
        first, second = mp.matrix([z[:2], z[2:4]]), mp.matrix([z[4:6], z[6:]])
        return second * first


TASK = mp.matrix([[2, 0], [0, 1]])


def test_a_product_with_the_singular_vectors_of_the_task_leaves_them_without_balance():
    W1, W2 = sp.Matrix([[1, 0], [1, 1]]), sp.Matrix([[2, 0], [-1, 1]]) / 4
    assert sp.diag(2, 1) / 4 == W2 * W1
    assert W1 * W1.T != W2.T * W2
    gap = sp.diag(2, 1) - W2 * W1
    velocity = W2 * W2.T * gap + gap * W1.T * W1
    assert (velocity[0, 1], velocity[1, 0]) == (sp.Rational(45, 32), sp.Rational(9, 16))
    later = function_at(0.2, W1, W2, TASK)
    assert abs(later[0, 1]) > 0.1


def test_a_large_reversed_mode_is_not_learned():
    root = mp.sqrt(2)
    W1, W2 = (root, 0, 0, root), (root, 0, 0, -root)
    later = function_at(15, W1, W2, TASK)
    assert abs(later[0, 0] - 2) < 1e-9
    assert abs(later[1, 1]) < 1e-9
    assert abs(later[0, 1]) + abs(later[1, 0]) < 1e-9


def test_a_start_without_overlap_tends_to_zero():
    with mp.workdps(30):
        start = [mp.mpf(1), mp.mpf(-1)]

        def velocity(_, z):
            gap = 1 - z[0] * z[1]
            return [z[1] * gap, z[0] * gap]

        w1, w2 = mp.odefun(velocity, 0, start, tol=mp.mpf(10) ** -15)(10)
    assert abs(w1 * w2) < 1e-8


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("printed_decoupled_start", "conditional"),
        ("printed_any_start", "erratum"),
        ("printed_speed_of_large_starts", "conditional"),
        ("printed_end_of_large_starts", "conditional"),
    ],
)
def test_the_printed_form_is_refuted_where_it_claims_too_much(name, status, verdicts):
    verdict = verdicts[f"prior_knowledge.{name}"]
    assert verdict.status == status
    assert verdict.witness is not None


def test_the_decoupled_modes_print_that_the_coupling_is_zero():
    assert "b(0)=0" in load("prior_knowledge.decoupled_modes").latex()
