"""Words on NumPy and torch arrays with leading batch axes, against exact evaluation and plain code."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
import torch

from symdyn.calculus.matrix import (
    Index,
    basis,
    diagonal,
    entry,
    evaluate,
    evaluate_arrays,
    eye,
    kron,
    matrix,
    sum_over,
    trace,
    vec,
    vector,
)

n, m = sympy.symbols("n m", integer=True, positive=True)
a = sympy.Symbol("a", real=True)
A, S, R = matrix("A", n, m), matrix("S", n, n), matrix("R", n, n)
u, w = vector("u", n), vector("w", m)
k, j = Index("k", n), Index("j", n)
EXPRESSIONS = {
    "product": S @ A @ w,
    "inverse": S.inverse().T @ R + sympy.sqrt(1 + a**2) * eye(n),
    "kron": kron(S, A),
    "vec": vec(A @ w @ w.T),
    "diagonal": diagonal(S @ R),
    "double sum": sum_over(k, sum_over(j, entry(S, k, j) ** 3 * entry(R, k, k) * (basis(k) @ basis(j).T))),
    "row": u.T @ A,
    "mixed": (u.T @ S @ u) * A + trace(R) * sum_over(k, entry(S, k, k) ** 2) * (u @ w.T),
}


def arrays(batch=()):
    generator = np.random.default_rng(3)
    shapes = {A: (3, 2), S: (3, 3), R: (3, 3), u: (3,), w: (2,)}
    return {x: generator.normal(size=(*batch, *shape)) for x, shape in shapes.items()} | {
        a: generator.normal(size=batch)
    }


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_arrays_agree_with_exact_evaluation(name):
    values = arrays()
    exact = {x: sympy.sympify(y.tolist()) if y.ndim == 0 else y.tolist() for x, y in values.items()}
    expected = np.array(evaluate(EXPRESSIONS[name], exact).tolist(), dtype=float)
    found = evaluate_arrays(EXPRESSIONS[name], values)
    assert found.shape == tuple(size for size in expected.shape if size != 1)
    np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_batches_are_loops_and_torch_agrees(name):
    x, values = EXPRESSIONS[name], arrays((4,))
    values[w] = values[w][0]  # a constant beside a batch
    looped = [
        evaluate_arrays(x, {y: (z if y is w else z[item]) for y, z in values.items()}) for item in range(4)
    ]
    batched = evaluate_arrays(x, values)
    batched = np.broadcast_to(batched, np.shape(looped))
    np.testing.assert_allclose(batched, looped, rtol=1e-12, atol=1e-13)
    tensors = evaluate_arrays(x, {y: torch.tensor(z) for y, z in values.items()})
    assert tensors.dtype == torch.float64
    np.testing.assert_allclose(
        np.broadcast_to(tensors.numpy(), batched.shape), batched, rtol=1e-12, atol=1e-13
    )


def test_scalars_and_dtypes():
    values = {S: np.ones((2, 3, 3), dtype=np.float32), u: np.ones(3, dtype=np.float32)}
    scalar = evaluate_arrays((u.T @ S @ u).scalar() + trace(S), values)
    assert scalar.dtype == np.float32 and scalar.shape == (2,) and scalar.tolist() == [12.0, 12.0]
    assert evaluate_arrays(n * (u.T @ u).scalar(), {u: np.ones(3)}) == 9.0


def test_torch_gradients_flow_through_words():
    tensor = torch.tensor([[1.0, 2.0], [3.0, 5.0]], dtype=torch.float64, requires_grad=True)
    evaluate_arrays(sum_over(k, entry(S, k, k) ** 3) + trace(S @ S), {S: tensor}).backward()
    expected = 2 * tensor.detach().T + torch.diag(3 * torch.diagonal(tensor.detach()) ** 2)
    torch.testing.assert_close(tensor.grad, expected)


def test_free_indices_pick_entries():
    values = {S: np.arange(9.0).reshape(3, 3)}
    assert evaluate_arrays(entry(S, k, j), values, indices={k: 1, j: 2}) == 5.0
