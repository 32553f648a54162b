"""Members out of domain are refused by name, or become NaN without harm to the others."""

from functools import partial

import numpy as np
import pytest
import torch

from symdyn.arrays import backends as arrays
from symdyn.arrays import linalg, members
from symdyn.arrays.members import Bound, confine, nan_unless, within

BACKENDS = [(np, np.asarray), (torch, torch.as_tensor)]


def bounds(xp):
    return (
        Bound("x", members.finite(xp, 2), "finite", np.eye(2)),
        Bound("x", partial(linalg.is_definite, xp), "positive definite", np.eye(2)),
        *members.positive(xp, "rate"),
    )


@pytest.mark.parametrize(("xp", "convert"), BACKENDS, ids=["numpy", "torch"])
def test_bad_members_are_replaced_and_then_nan_and_good_ones_stay_as_they_are(xp, convert):
    x = np.stack([2 * np.eye(2), np.full((2, 2), np.nan), -np.eye(2), 3 * np.eye(2)])
    given = arrays.collect(x=convert(x), rate=convert(np.array([1.0, 1.0, 1.0, -1.0])))
    read, good = confine(False, given, *bounds(xp))
    np.testing.assert_array_equal(read["x"], [2 * np.eye(2), np.eye(2), np.eye(2), 3 * np.eye(2)])
    assert good.tolist() == [True, False, False, False]
    filled = np.asarray(nan_unless(xp, good, read["x"]))
    np.testing.assert_array_equal(filled[0], x[0])
    assert np.isnan(filled[1:]).all()


def test_with_checks_the_first_bound_that_fails_is_named_and_good_arguments_are_not_touched():
    read = arrays.collect(x=[np.eye(2), [[1.0, 2.0], [2.0, 1.0]]], rate=-1.0)
    with pytest.raises(ValueError, match="x must be positive definite; it is not at index 1"):
        confine(True, read, *bounds(np))
    with pytest.raises(ValueError, match="rate must be positive and finite"):
        confine(True, read, *members.positive(np, "rate"))
    same, everywhere = confine(True, read, *bounds(np)[:1])
    assert same is read and everywhere is None
    assert nan_unless(np, everywhere, read["x"]) is read["x"]


def test_parts_of_members_are_good_where_both_are():
    outer, inner = np.array([True, False]), np.array([True, True, False])
    assert within(outer, inner).tolist() == [[True, True, False], [False] * 3]
    assert within(None, None) is None


@pytest.mark.parametrize("value", [np.ones(2), "1", None, 1j], ids=str)
def test_one_number_is_one_real_number(value):
    assert members.one_number("x", np.array(2)) == members.one_number("x", 2.0) == 2.0
    with pytest.raises(TypeError, match="x must be one real number"):
        members.one_number("x", value)
