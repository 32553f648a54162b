"""Which arrays count as real numbers, and in which dtype is computed with them: one rule, wherever arrays enter.

| given                                          | computed in                                                  |
| ---------------------------------------------- | ------------------------------------------------------------ |
| float32, float64, of any byte order            | the same                                                     |
| integers of every width                        | float64                                                      |
| booleans, float16, bfloat16                    | refused where accuracy is promised, see below                |
| longdouble and other floats, complex, text, bytes, dates, records, objects | refused: TypeError               |
| masked arrays that hide numbers; sparse, quantised and nested ones         | refused: TypeError               |

Compiled results and the functions of the derivations promise their accuracy in float32 and float64, and refuse what is
shorter. Measures of networks (`short=True`) take them as they were trained: float16 and bfloat16 are widened to
float32, booleans to float64, which changes no number. Nothing else is rounded, cut off or filled in without a word.
torch is never imported here: an argument can only be a tensor if torch is loaded already.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

_ACCEPTED = "float32, float64 or integers"
_FLOATS = (np.float32, np.float64)
_PLAIN = frozenset({float, int, bool, np.float64, np.float32})
_WORDS = (str, bytes, bytearray, memoryview)


def refuse(name: str, value: object) -> None:
    """Raise TypeError, naming the argument, for text and for arrays that are more than their numbers.

    These are masked arrays that hide some of them, sparse arrays, and tensors that are sparse, nested, masked or
    quantised, also in lists. It says nothing about dtypes.
    """
    if type(value) in _PLAIN or type(value) is np.ndarray:
        return
    if isinstance(value, (list, tuple)):
        if not set(map(type, value)) <= _PLAIN:
            for part in value:
                refuse(name, part)
    elif (torch := sys.modules.get("torch")) is not None and isinstance(value, torch.Tensor):
        _refuse_tensor(torch, name, value)
    elif isinstance(value, np.ma.MaskedArray):
        hidden = int(np.ma.count_masked(value))
        if hidden:
            raise TypeError(
                f"{name} is a masked array that hides {hidden} of its {value.size} numbers, and what is hidden has no "
                "value here: leave those out with .compressed(), or give them values with .filled(value)"
            )
    elif isinstance(value, _WORDS):
        raise TypeError(
            f"{name} must hold real numbers ({_ACCEPTED}), not text or bytes: it is {value!r:.60}"
        )
    elif hasattr(value, "todense"):
        raise TypeError(
            f"{name} is a sparse {type(value).__name__}: make it an array with .todense() or .toarray()"
        )


def _refuse_tensor(torch: Any, name: str, tensor: Any) -> None:
    if tensor.is_nested:
        raise TypeError(
            f"{name} is a nested tensor, of rows of several lengths: give one tensor for each length"
        )
    if tensor.layout is not torch.strided:
        raise TypeError(f"{name} has the layout {tensor.layout}: make it an ordinary tensor with .to_dense()")
    if type(tensor) is not torch.Tensor and type(tensor).__name__ == "MaskedTensor":
        raise TypeError(f"{name} is a masked tensor: give it values where it has none with .to_tensor(value)")
    if tensor.is_quantized:
        raise TypeError(
            f"{name} is quantised, {tensor.dtype}: give the numbers that it stands for, .dequantize()"
        )


def as_numpy(name: str, value: object, *, short: bool = False) -> np.ndarray[Any, Any]:
    """A value that is no tensor as an array of float32 or float64, by the rule of this module.

    Raises TypeError, naming the argument, for data that are not real numbers, and ValueError for a ragged list and for
    integers beyond the range of float64.
    """
    refuse(name, value)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be a rectangular array of real numbers: {error}") from None
    except (TypeError, RuntimeError, NotImplementedError, OverflowError) as error:
        raise TypeError(f"{name} cannot be read as an array of real numbers: {error}") from None
    kind, scalar = array.dtype.kind, array.dtype.type
    if kind == "f" and scalar in _FLOATS:
        return array if array.dtype.isnative else array.astype(scalar)
    if kind in "iu":
        return array.astype(np.float64)
    if short and (scalar is np.float16 or kind == "b"):
        return array.astype(np.float32 if kind == "f" else np.float64)
    if kind == "O" and not isinstance(value, np.ndarray) and _all_integers(array):
        try:
            return array.astype(np.float64)
        except OverflowError:
            raise ValueError(f"{name} holds integers beyond the range of float64") from None
    raise TypeError(_wrong_dtype(name, array.dtype, kind == "c", "an array", "astype(np.float64)"))


def exactly(name: str, value: object) -> np.ndarray[Any, Any]:
    """A value as an array of its own numbers, for functions that compute without rounding.

    They are integers, float32 or float64, by the rule of this module, or objects, of which the function says more.
    Raises TypeError, naming the argument, for data of another dtype, and ValueError for a ragged list.
    """
    refuse(name, value)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        dtype_of(torch, name, value)
        value = value.detach().cpu().numpy()
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be a rectangular array of real numbers: {error}") from None
    if array.dtype.kind not in "iuO" and array.dtype.type not in _FLOATS:
        raise TypeError(
            _wrong_dtype(name, array.dtype, array.dtype.kind == "c", "an array", "astype(np.float64)")
        )
    return array


def _all_integers(array: np.ndarray[Any, Any]) -> bool:
    return array.size > 0 and all(type(number) is int for number in array.flat)


def dtype_of(torch: Any, name: str, tensor: Any, *, short: bool = False) -> Any:
    """The dtype in which is computed with a tensor, float32 or float64, by the rule of this module.

    Raises TypeError, naming the argument, for a tensor that does not hold real numbers or not as an ordinary array.
    """
    _refuse_tensor(torch, name, tensor)
    dtype = tensor.dtype
    if dtype in (torch.float32, torch.float64):
        return dtype
    if dtype in _integers(torch) or (short and dtype is torch.bool):
        return torch.float64
    if short and dtype in (torch.float16, torch.bfloat16):
        return torch.float32
    raise TypeError(_wrong_dtype(name, dtype, dtype.is_complex, "a tensor", "to(torch.float64)"))


def _integers(torch: Any) -> tuple[Any, ...]:
    signed = (torch.int8, torch.int16, torch.int32, torch.int64)
    return (*signed, torch.uint8, torch.uint16, torch.uint32, torch.uint64)


def _wrong_dtype(name: str, dtype: Any, is_complex: bool, what: str, remedy: str) -> str:
    if is_complex:
        return f"{name} must be real; its dtype is {dtype}: give {what} of its real part, .real, if that is meant"
    return (
        f"{name} must hold real numbers ({_ACCEPTED}); its dtype is {dtype}: give {what} of these, as by .{remedy}, if "
        "that is what its entries stand for"
    )


def beyond_range(name: str, dtype: Any) -> ValueError:
    """The error for numbers that overflow in the dtype that the other arguments ask for."""
    return ValueError(
        f"{name} holds numbers beyond the range of {str(dtype).removeprefix('torch.')}, the dtype of the other "
        "arguments: give those in float64"
    )
