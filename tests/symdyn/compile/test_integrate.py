"""Integration until an event."""

import numpy as np
import pytest

from symdyn.compile import integrate


def test_the_state_at_the_event():
    state = integrate.state_when(
        lambda x: x[0] - 2.0, lambda x: np.array([x[1], -x[1]]), np.array([0.0, 4.0])
    )
    np.testing.assert_allclose(state, [2.0, 2.0], rtol=1e-9)


def test_an_event_that_never_happens_is_undecided():
    with pytest.raises(integrate.NotReached):
        integrate.state_when(lambda x: x[0] - 2.0, lambda x: -x, np.array([1.0]), horizon=1e3)


def test_unreasonable_effort_is_undecided():
    with pytest.raises(integrate.NotReached, match="too many steps"):
        integrate.state_when(lambda x: x[0] - 2.0, lambda x: np.array([x[1], -x[0]]), np.array([0.0, 1.0]))
