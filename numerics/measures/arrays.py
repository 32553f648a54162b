"""How the measures read arrays: those of any library and dtype that hold real numbers, by one rule.

The rule is that of ``symdyn.arrays.kinds``, with its widening of short numbers: float32 and float64 stay what they
are, float16 and bfloat16 become float32, integers and booleans float64. What is masked, sparse, quantised, complex or
no number is refused by a TypeError that names the argument. Python numbers stay: they do not widen a dtype.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from symdyn.arrays.backends import Array, Namespace, is_tensor, loaded_torch
from symdyn.arrays.kinds import as_numpy, beyond_range, dtype_of

FLOATS = (np.float32, np.float64)
NUMBERS = (float, int)  # which stay as they are


def alike(**arguments: Any) -> tuple[Any, ...]:
    """The named arguments in the library that they come from, and in float32 or float64.

    With a tensor among them, arrays and lists become tensors on its device, of its dtype (of the widest one, if there
    are several). Tensors of float32 and float64 together stay as they are, unless others had to be widened. Lists
    become arrays. Raises TypeError and ValueError, naming the argument, for what is no array of real numbers.
    """
    if any(map(is_tensor, arguments.values())):
        return _tensors(loaded_torch(), arguments)
    return tuple(value if type(value) in NUMBERS else read(name, value) for name, value in arguments.items())


def read(name: str, value: Any) -> np.ndarray:
    """A value that is no tensor as an array of float32 or float64: itself, if it is one."""
    if type(value) is np.ndarray and value.dtype.type in FLOATS and value.dtype.isnative:
        return value
    return as_numpy(name, value, short=True)


def _tensors(torch: Namespace, arguments: Mapping[str, Any]) -> tuple[Any, ...]:
    own = {name: value for name, value in arguments.items() if is_tensor(value)}
    dtypes = {name: dtype_of(torch, name, value, short=True) for name, value in own.items()}
    common = torch.float32
    for dtype in dtypes.values():
        common = torch.promote_types(common, dtype)
    widened = any(value.dtype is not dtypes[name] for name, value in own.items())
    device = next(iter(own.values())).device
    found = []
    for name, value in arguments.items():
        if name in own:
            found.append(value.to(common) if widened else value)
        elif type(value) in NUMBERS:
            found.append(value)
        else:
            found.append(_tensor(torch, name, value, common, device))
    return tuple(found)


def _tensor(torch: Namespace, name: str, value: Any, dtype: Any, device: Any) -> Array:
    array = read(name, value)
    found = _shared(array).to(dtype)
    if (found.isinf() & torch.as_tensor(np.isfinite(array))).any():
        raise beyond_range(name, dtype)
    return found.to(device)


def tensors(**arguments: Any) -> tuple[Any, ...]:
    """The named arguments as ``alike`` reads them, all as torch tensors."""
    found = zip(arguments, alike(**arguments), strict=True)
    return tuple(value if is_tensor(value) else _shared(read(name, value)) for name, value in found)


def require_some(**arguments: Any) -> None:
    """Raise ValueError, naming it, for an array that has no entries."""
    for name, value in arguments.items():
        if 0 in np.shape(value):
            raise ValueError(f"{name} must not be empty: its shape is {tuple(np.shape(value))}")


def wide_tensors(**arguments: Any) -> tuple[Any, ...]:
    """The named arguments as ``tensors`` reads them, all in the widest of their dtypes."""
    found = tensors(**arguments)
    widest = max((value.dtype for value in found), key=lambda dtype: dtype.itemsize)
    return tuple(value.to(widest) for value in found)


def _shared(array: np.ndarray) -> Array:
    """An array as a tensor on the same memory, unless it is read-only or reversed, which torch does not take."""
    import torch

    usable = array.flags.writeable and all(stride >= 0 for stride in array.strides)
    return torch.as_tensor(array if usable else array.copy())


def plain(**arguments: Any) -> tuple[np.ndarray, ...]:
    """The named arguments as NumPy arrays, each of float32 or float64; Python numbers and lists in float64."""
    return tuple(_plain(name, value) for name, value in arguments.items())


def loose(**arguments: Any) -> tuple[Any, ...]:
    """The named arguments as ``plain`` reads them, but Python numbers as they are."""
    return tuple(
        value if type(value) in NUMBERS else _plain(name, value) for name, value in arguments.items()
    )


def doubles(**arguments: Any) -> tuple[np.ndarray, ...]:
    """The named arguments as NumPy arrays of float64."""
    return tuple(np.asarray(_plain(name, value), float) for name, value in arguments.items())


def _plain(name: str, value: Any) -> np.ndarray:
    if not is_tensor(value):
        return read(name, value)
    dtype = dtype_of(loaded_torch(), name, value, short=True)
    try:
        return value.detach().to(device="cpu", dtype=dtype).resolve_neg().numpy()
    except (RuntimeError, NotImplementedError) as error:
        raise TypeError(f"{name} is a tensor whose numbers are not known here: {error}") from None
