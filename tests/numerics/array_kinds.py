"""Kinds of arrays, and what counts as right: the helpers of `test_array_kinds`."""

from __future__ import annotations

import warnings
from dataclasses import fields, is_dataclass

import numpy as np
import scipy.sparse
import torch

with warnings.catch_warnings():  # torch warns at the first use of these
    warnings.simplefilter("ignore")
    torch.quantize_per_tensor(torch.tensor([1.0, 2.0]), 1.0, 0, torch.qint8)
    torch.eye(2).to_sparse_csr()
    torch.masked.masked_tensor(torch.ones(1), torch.ones(1, dtype=torch.bool))
    torch.nested.nested_tensor([torch.ones(1)])

NONE = object()


# Kinds of arrays: each takes an array of float64, small integers all of them, and gives the same numbers in another
# kind, or NONE where it has none of that shape.


def numpy_kind(dtype):
    return lambda x: x.astype(dtype)


def torch_kind(dtype):
    return lambda x: torch.tensor(x.tolist(), dtype=torch.float64).reshape(x.shape).to(dtype)


def reversed_in_memory(x):
    return x[::-1].copy()[::-1] if x.ndim else NONE


def read_only(x):
    found = x.copy()
    found.flags.writeable = False
    return found


def frame(x):
    import pandas

    return {1: pandas.Series, 2: pandas.DataFrame}.get(x.ndim, lambda _: NONE)(x)


def labelled(x):
    import xarray

    return xarray.DataArray(x)


SIGNED = [getattr(torch, f"int{bits}") for bits in (8, 16, 32, 64)]
UNSIGNED = [getattr(torch, f"uint{bits}") for bits in (8, 16, 32, 64)]
WIDENED = {
    **{f"numpy {name}": numpy_kind(name) for name in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")},
    **{f"numpy {name}": numpy_kind(name) for name in ("bool", "f2", "f4", "f8", ">f4", ">f8", ">i4", "g")},
    **{str(dtype): torch_kind(dtype) for dtype in (*SIGNED, *UNSIGNED, torch.bool)},
    **{
        str(dtype): torch_kind(dtype)
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64)
    },
    "list": lambda x: x.tolist(),
    "reversed": reversed_in_memory,
    "read-only": read_only,
    "column-major": lambda x: np.array(x, order="F"),
    "nothing masked": lambda x: np.ma.array(x, mask=np.zeros(x.shape, bool)),
    "numpy.matrix": lambda x: np.asmatrix(x) if x.ndim == 2 else NONE,
    "pandas": frame,
    "xarray": labelled,
    "objects": lambda x: x.astype(int).astype(object),
    "tensor that learns": lambda x: torch.tensor(x, requires_grad=True),
}


def hiding(x):
    mask = np.zeros(x.shape, bool)
    mask.flat[0] = True
    return np.ma.array(x, mask=mask) if x.size else NONE


def structured(x):
    found = np.zeros(x.shape, [("value", float)])
    found["value"] = x
    return found


def sparse(layout):
    return lambda x: torch.tensor(x).to_sparse(layout=layout) if x.ndim == 2 else NONE


def with_imaginary_part(dtype):
    return lambda x: torch.tensor(x + 1j).to(dtype)


REFUSED = {
    "masked": hiding,
    "list with a masked": lambda x: [hiding(x)[0], *x[1:]] if x.ndim else NONE,
    "scipy matrix": lambda x: scipy.sparse.csr_matrix(x) if x.ndim == 2 else NONE,
    "scipy array": lambda x: scipy.sparse.coo_array(x) if x.ndim == 2 else NONE,
    "coo": sparse(torch.sparse_coo),
    "csr": sparse(torch.sparse_csr),
    "csc": sparse(torch.sparse_csc),
    "quantised": lambda x: torch.quantize_per_tensor(torch.tensor(x).float(), 1.0, 0, torch.qint8),
    "nested": lambda x: torch.nested.nested_tensor([torch.tensor(row) for row in x]) if x.ndim > 1 else NONE,
    "masked tensor": lambda x: torch.masked.masked_tensor(torch.tensor(x), torch.tensor(hiding(x).mask)),
    "float8": lambda x: torch.tensor(x).to(torch.float8_e4m3fn),
    "complex array": lambda x: x + 1j,
    "complex array, single": lambda x: (x + 1j).astype(np.complex64),
    "complex tensor": with_imaginary_part(torch.complex128),
    "complex tensor, single": with_imaginary_part(torch.complex64),
    "strings": lambda x: x.astype(str),
    "bytes": lambda x: x.astype("S"),
    "list of strings": lambda x: x.astype(str).tolist(),
    "text": lambda x: "1.5",
    "bytes of text": lambda x: b"1.5",
    "objects of text": lambda x: x.astype(str).astype(object),
    "objects of nothing": lambda x: np.full(x.shape, None, object),
    "dates": lambda x: x.astype("M8[ns]"),
    "durations": lambda x: x.astype("m8[ns]"),
    "structured": structured,
    "set": lambda x: {1.0},
    "dictionary": lambda x: {"x": x},
}
SHORT = ("f2", "f4", ">f4", "float16", "bfloat16", "float32")


# What a function returns, flat, in float64.


def sizes(value) -> list[int]:
    """The sizes of all arrays in what a function returns."""
    if isinstance(value, torch.nn.Module):
        value = list(value.parameters())
    if is_dataclass(value):
        value = [getattr(value, field.name) for field in fields(value)]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)) and value:
        return [size for part in value for size in sizes(part)]
    return [len(flat(value))]


def flat(value) -> list:
    if isinstance(value, torch.Tensor):
        return flat(value.detach().cpu().double().numpy())
    if isinstance(value, torch.nn.Module):
        return flat([parameter for parameter in value.parameters()])
    if isinstance(value, dict):
        return flat(list(value.values()))
    if is_dataclass(value):
        return flat([getattr(value, field.name) for field in fields(value)])
    if isinstance(value, (list, tuple)):
        return [number for part in value for number in flat(part)]
    if value is None or isinstance(value, str):
        return [value]
    array = np.asarray(value)
    return [str(x) for x in array.flat] if array.dtype.kind in "UO" else array.astype(float).ravel().tolist()


def same(found, wanted, short: bool) -> bool:
    found, wanted = flat(found), flat(wanted)
    if len(found) != len(wanted):
        return False
    words = [not isinstance(x, float) for x in wanted]
    if any(words):
        return found == wanted
    size = max((abs(x) for x in wanted if np.isfinite(x)), default=0.0)
    return np.allclose(
        found, wanted, rtol=1e-4 if short else 1e-9, atol=(1e-4 if short else 1e-9) * size, equal_nan=True
    )
