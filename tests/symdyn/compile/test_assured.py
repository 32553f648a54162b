"""What lost its digits is computed anew: its value, its gradient, and nothing but it; inside transforms it is NaN."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import sympy as sp
import torch

from symdyn.catalogue.registry import load
from symdyn.compile import bounds
from symdyn.compile.anew import Exact
from symdyn.compile.function import Argument, build
from tests.agreement import accuracy, subjects

x, y = sp.symbols("x y", real=True)
ARGUMENTS = (Argument("x", x), Argument("y", y))
TINY = 1e-9

# Formulas whose digits cancel at small x, as they stand, with what is left of them.
CANCELLING = {
    "cosine": ((1 - sp.cos(x)) / x**2 * y, lambda x, y: y * (1 - x * x / 12) / 2),
    "exponential": ((sp.exp(x) - 1 - x) / x**2 + y, lambda x, y: 0.5 + x / 6 + y),
    "root": ((sp.sqrt(1 + x**2) - 1) * y, lambda x, y: y * x * x / 2),
    "sine": ((x - sp.sin(x)) * y / x**3, lambda x, y: y / 6 - y * x * x / 120),
}


@pytest.fixture(params=sorted(CANCELLING))
def cancelling(request):
    value, left = CANCELLING[request.param]
    return build(value, ARGUMENTS, name="g"), left


def test_the_kernel_alone_is_wrong_and_the_function_is_right(cancelling):
    function, left = cancelling
    raw = function._kernels["numpy"][0](np, np.array(TINY), np.array(TINY), np.array(3.0))[0]
    right = left(TINY, 3.0)
    assert abs(raw - right) > 1e-9 * abs(right)
    for found in (function(TINY, 3.0), function.torch(TINY, 3.0), function(np.float64(TINY), 3.0)):
        assert float(found) == pytest.approx(right, rel=1e-14)


def test_gradients_are_those_of_what_is_left(cancelling):
    function, left = cancelling
    given = [torch.tensor([0.7, TINY, 2.0], dtype=torch.float64), torch.tensor(3.0, dtype=torch.float64)]
    for value in given:
        value.requires_grad_(True)
    function(*given).sum().backward()
    plain = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (TINY, 3.0)]
    slope, other = torch.autograd.grad(left(*plain), plain)
    assert given[0].grad[1].item() == pytest.approx(slope.item(), rel=1e-9, abs=1e-15)
    moderate = [torch.tensor([0.7, 2.0], dtype=torch.float64), torch.tensor(3.0, dtype=torch.float64)]
    for value in moderate:
        value.requires_grad_(True)
    function(*moderate).sum().backward()
    assert torch.equal(given[0].grad[[0, 2]], moderate[0].grad)
    assert (given[1].grad - moderate[1].grad).item() == pytest.approx(other.item(), rel=1e-9)


def test_the_other_members_keep_their_bits_and_are_not_computed_anew(cancelling, monkeypatch):
    function, _ = cancelling
    asked = []
    exactly = Exact.exactly
    monkeypatch.setattr(
        Exact, "exactly", lambda self, rows: asked.append(len(rows[0])) or exactly(self, rows)
    )
    many = np.linspace(0.5, 3.0, 5000)
    function(many, 3.0)
    assert asked == []
    mixed = np.insert(many, 4321, TINY)
    found = function(mixed, 3.0)
    assert asked == [1]
    np.testing.assert_array_equal(
        np.delete(found, 4321), function._kernels["numpy"][0](np, many, many, np.full(5000, 3.0))[0]
    )


def test_inside_transforms_and_unchecked_it_is_nan(cancelling):
    function, _ = cancelling
    given = np.array([0.7, TINY, 2.0])
    tensor = torch.tensor(given)
    for found in (
        function(given, 3.0, check=False),
        function(tensor, 3.0, check=False),
        torch.vmap(lambda one: function(one, 3.0))(tensor),
        torch.compile(lambda one: function(one, 3.0), backend="eager", fullgraph=True)(tensor),
    ):
        assert np.isnan(np.asarray(found)).tolist() == [False, True, False]


def test_what_the_rounding_of_the_input_costs_is_forgiven(monkeypatch):
    """x − y near x = y is as uncertain as its arguments: nothing is computed anew for it."""
    monkeypatch.setattr(Exact, "exactly", lambda *_: pytest.fail("computed anew"))
    function = build(sp.exp(x) - sp.exp(y), ARGUMENTS, name="g")
    assert function(1.0 + 1e-12, 1.0) == pytest.approx(np.exp(1.0) * 1e-12, rel=1e-3)


def test_powers_that_leave_the_range_on_the_way_are_no_matter():
    function = build((x**2 + y**2) / y**2, ARGUMENTS, name="g")
    assert function(1e200, 1e190) == pytest.approx(1e20, rel=1e-14)
    assert function(1e-190, 1e-200) == pytest.approx(1e20, rel=1e-14)
    assert function.torch(1e200, 1e190).item() == pytest.approx(1e20, rel=1e-14)
    assert np.isnan(function(1e200, 1e190, check=False))
    assert function(1e200, 1.0) == np.inf


def test_gradients_are_finite_where_those_of_the_kernel_are_not():
    function = build(sp.exp(x) / (y + sp.exp(x)), ARGUMENTS, name="g")
    given = torch.tensor([0.0, 1000.0], dtype=torch.float64, requires_grad=True)
    found = function(given, 1.0)
    found.sum().backward()
    np.testing.assert_allclose(found.detach(), [0.5, 1.0], rtol=1e-14)
    np.testing.assert_allclose(given.grad, [0.25, 0.0], rtol=1e-12, atol=1e-300)


def test_products_of_matrices_that_underflow_on_the_way_have_values():
    """Finite, and wrong: 1e-170 squared is zero before the rate makes it 1e-40."""
    balance = load("wide_linear.conserved_balance")
    A, W = np.array([[1e-170], [1.0]]), np.zeros((2, 1))
    for given in ((A, W), (torch.tensor(A), torch.tensor(W))):
        found = balance(*given, eta_a=1.0, eta_w=1e300)
        np.testing.assert_allclose(found, [[1e-40, 1e130], [1e130, 1e300]], rtol=1e-14)


def test_products_of_matrices_that_leave_the_range_have_values_and_gradients():
    balance = load("wide_linear.conserved_balance")
    A, W = [[1e200], [1.0]], [[1e-200, 1.0], [1.0, 2.0]]
    tensors = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (A, W)]
    for found in (balance(A, W), balance(*tensors).detach().numpy()):
        assert np.isinf(found[0, 0]) and found[1, 1] == -4 and found[0, 1] == pytest.approx(1e200)
    balance(*tensors)[1, 1].backward()
    np.testing.assert_allclose(tensors[0].grad, [[0.0], [2.0]])
    np.testing.assert_allclose(tensors[1].grad, [[0.0, 0.0], [-2.0, -4.0]])
    assert np.isnan(balance(A, W, check=False)).all()


@pytest.mark.parametrize("topic", ["single_neuron", "piecewise_linear", "deep_linear", "wide_linear"])
def test_no_kernel_is_further_off_than_its_bound(topic):
    """The bounds are of first order: twice as much is granted to them, and what underflows in the end."""
    tried = 0
    for subject in subjects.compiled_subjects(topic):
        if not isinstance(subject, subjects.Compiled) or subject._program.matrices:
            continue
        kernel = subject.function._assurance._bounds["numpy"]
        for arguments in list(accuracy.cases(subject, "grid", "float64"))[:12]:
            exact = {name: subjects.fractions(value) for name, value in arguments.items()}
            try:
                subject._admit(exact)
                true = subject.exact(exact, 400)
            except subjects.Refused:
                continue
            given = [np.array([value]) for value in arguments.values()]
            with np.errstate(all="ignore"):
                pairs = kernel(np, given[0], *given)
            for (value, bound), components in zip(pairs, true, strict=True):
                shape = np.shape(np.asarray(value))[1:]
                found = np.ravel(np.broadcast_to(value, (1, *shape)))
                allowed = np.ravel(np.broadcast_to(bound, (1, *shape)))
                for one, error, right in zip(found, allowed, components, strict=True):
                    if not np.isfinite(error) or not mpmath.isfinite(right) or not np.isfinite(one):
                        continue
                    tried += 1
                    slack = 2 * bounds.ROUNDOFF * error + 1e-307
                    assert abs(mpmath.mpf(float(one)) - right) <= slack, (
                        subject.key,
                        arguments,
                        one,
                        right,
                        error,
                    )
    print(f"\n{topic}: {tried} values within their bounds")
    assert tried > 20
