"""Arguments decide backend, dtype and device; checks name what is wrong; elementary functions are safe at edges."""

import subprocess
import sys
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import pytest
import torch

from symdyn.arrays import backends as arrays


@pytest.mark.parametrize(
    "values, dtype",
    [
        ((1, 2.5, [1, 2]), np.float64),
        ((np.float32(1), 2.5, [1, 2]), np.float32),
        ((np.arange(3), np.float32(1), 0), np.float64),
        ((np.arange(3), 1.0, 2.0), np.float64),
        ((np.ones(2, np.float32), np.ones(2), 1), np.float64),
    ],
)
def test_numpy_dtype_is_decided_by_arrays(values, dtype):
    read = arrays.collect(x=values[0], y=values[1], z=values[2])
    assert read.xp is np and not read.traced
    assert all(array.dtype == dtype for array in read)


def test_torch_dtype_is_decided_by_tensors():
    read = arrays.collect(x=torch.ones(2), y=np.linspace(0, 1, 3), z=[1.0, 2.0], n=3)
    assert read.xp is torch
    assert all(array.dtype == torch.float32 for array in read)
    np.testing.assert_array_equal(read["y"].numpy(), np.float32([0, 0.5, 1]))
    assert arrays.collect(x=torch.arange(3))["x"].dtype == torch.float64
    assert arrays.collect(x=torch.ones(2), y=torch.ones(2, dtype=torch.float64))["x"].dtype == torch.float64


def test_torch_is_not_imported_for_numpy_arguments():
    code = (
        "import sys; from symdyn.arrays import backends; backends.collect(x=1.0);"
        "sys.exit('torch' in sys.modules or 'scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "value",
    [1j, np.ones(2, np.float16), "text", [True], None, torch.ones(2, dtype=torch.half), torch.tensor([True])],
)
def test_data_that_is_not_real_is_refused_by_name(value):
    with pytest.raises(TypeError, match="weights must"):
        arrays.collect(weights=value)


def test_ragged_lists_are_refused_by_name():
    with pytest.raises(ValueError, match="weights must be a rectangular array"):
        arrays.collect(weights=[[1.0], [1.0, 2.0]])


def test_tensors_on_two_devices_are_refused():
    with pytest.raises(ValueError, match="one device; got x on cpu, y on meta"):
        arrays.collect(x=torch.ones(1), y=torch.ones(1, device="meta"))


def test_transforms_and_compilers_are_traced_and_eager_calls_are_not():
    seen = []

    def look(x):
        seen.append(arrays.collect(x=x, y=2.0).traced)
        return x

    look(torch.ones(2))
    torch.func.vmap(look)(torch.ones(2))
    torch.func.grad(look)(torch.ones(()))
    assert seen == [False, True, True]
    compiled = torch.compile(lambda x: x + arrays.collect(x=x, y=2.0).traced, fullgraph=True, backend="eager")
    assert compiled(torch.zeros(1)) == 1


class Untraced:
    """Modules that a compiler must not look into, since imports change them meanwhile."""

    def get(self, name):
        if torch.compiler.is_dynamo_compiling():
            raise RuntimeError("dictionary keys changed during iteration")
        return {"torch": torch}.get(name)


def test_a_compiler_does_not_look_into_the_loaded_modules(monkeypatch):
    monkeypatch.setattr(arrays, "_torch", None, raising=False)
    monkeypatch.setattr(arrays, "sys", SimpleNamespace(modules=Untraced()))
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: arrays.collect(x=x, y=2.0)["y"] + x, fullgraph=True, backend="eager")
    assert compiled(torch.ones(1)) == 3
    assert arrays.loaded_torch() is torch


def test_torch_is_found_once_it_is_loaded_and_not_imported(monkeypatch):
    monkeypatch.setattr(arrays, "_torch", None)
    monkeypatch.delitem(sys.modules, "torch")
    assert arrays.loaded_torch() is None and not arrays.is_tensor(1.0)
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert arrays.loaded_torch() is torch and arrays.is_tensor(torch.ones(1))


def test_broadcast_shape_names_what_does_not_fit():
    assert arrays.broadcast_shape(a=(3, 1), b=(2,), c=()) == (3, 2)
    with pytest.raises(
        ValueError, match=r"c has batch shape \(4,\), which does not broadcast with \(3, 2\) of a, b"
    ):
        arrays.broadcast_shape(a=(3, 1), b=(2,), c=(4,))


def test_require_lists_batch_indices():
    good = np.array([[True, False], [True, True], [False, True]])
    with pytest.raises(ValueError, match=r"x must be small; it is not at index \(0, 1\), \(2, 0\)$"):
        arrays.require("x", good, "small")
    with pytest.raises(ValueError, match=r"index 0, 1, 2, 3, 4 and 5 more$"):
        arrays.require("x", torch.zeros(10, dtype=torch.bool), "small")
    with pytest.raises(ValueError, match=r"^x must be small$"):
        arrays.require("x", np.False_, "small")
    arrays.require("x", np.ones(3, bool), "small")


def test_checks_of_values():
    read = arrays.collect(v=[[1.0, 0.0], [0.0, 0.0], [np.nan, 1.0]], e=[1.0, -1.0, np.inf])
    with pytest.raises(ValueError, match="v must be finite; it is not at index 2"):
        arrays.require_finite(read, vectors=("v",))
    with pytest.raises(ValueError, match="v must be a non-zero vector; it is not at index 1"):
        arrays.require_nonzero(read, "v")
    with pytest.raises(ValueError, match="e must be positive and finite; it is not at index 1, 2"):
        arrays.require_positive(read, "e")
    with pytest.raises(ValueError, match=r"e must be a vector.*shape is \(\)"):
        arrays.check_vector("e", np.array(1.0))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_phi1_value_and_gradient(dtype):
    points = [-1e18, -700.0, -3.0, -0.11, -0.09, -1e-5, -1e-20, 0.0, 1e-20, 1e-3, 0.0999, 0.1001, 2.0, 50.0]
    x = torch.tensor(points, dtype=dtype, requires_grad=True)
    y = arrays.phi1(torch, x)
    (slope,) = torch.autograd.grad(y.sum(), x)
    with mp.workdps(60):
        for point, value, gradient in zip(x.tolist(), y.tolist(), slope.tolist(), strict=True):
            z = mp.mpf(point)
            true = mp.expm1(z) / z if point else mp.mpf(1)
            true_slope = (mp.exp(z) - true) / z if point else mp.mpf(1) / 2
            assert abs(value - true) <= 4 * torch.finfo(dtype).eps * abs(true)
            assert abs(gradient - true_slope) <= 100 * torch.finfo(dtype).eps * abs(true_slope) + 1e-37
    np.testing.assert_allclose(arrays.phi1(np, x.detach().numpy()), y.detach().numpy(), rtol=1e-6)


def test_square_roots_and_norms_have_finite_gradients_at_zero():
    zero = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    total = arrays.sqrt(torch, zero).sum() + arrays.norm(torch, zero) + arrays.hypot(torch, zero, zero).sum()
    total = total + arrays.divide(torch, zero, zero).sum()
    (gradient,) = torch.autograd.grad(total, zero)
    assert total == 0 and torch.equal(gradient, torch.zeros(3, dtype=torch.float64))


def test_norm_neither_overflows_nor_underflows():
    x = np.array([[3e300, 4e300], [3e-300, 4e-300], [0.0, 0.0], [3.0, np.nan]])
    with arrays.quiet(np):
        np.testing.assert_allclose(arrays.norm(np, x), [5e300, 5e-300, 0.0, np.nan], rtol=1e-15)


def test_divide_fills_where_the_denominator_vanishes():
    np.testing.assert_array_equal(
        arrays.divide(np, np.ones(2), np.array([0.0, 2.0]), fill=np.inf), [np.inf, 0.5]
    )
