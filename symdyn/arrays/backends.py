"""Functions that take NumPy arrays or torch tensors and give back what they were given.

The input decides: with a tensor among the arguments the function computes in torch, on the tensors' device,
in the widest of their floating dtypes; otherwise it computes in NumPy. Python numbers and lists follow the
arrays (NumPy arrays follow tensors), integer arrays become float64, float32 stays float32; `symdyn.arrays.kinds` says
what else is taken and what is refused. torch is never imported here: an argument can only be a tensor if torch is
loaded already.

A public function reads its arguments with `collect`, checks shapes always and values only where values exist
(not inside `torch.func` transforms or `torch.compile`), and then runs a bare kernel written against `xp`,
which is the module numpy or torch.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from symdyn.arrays.kinds import as_numpy, beyond_range, dtype_of

Array = Any
Namespace = Any

_SHOWN = 5
_NUMPY = {"torch.float32": np.dtype(np.float32), "torch.float64": np.dtype(np.float64)}
_MOST = 3e38  # within the range of float32
_PHI1_SERIES = tuple(1.0 / math.factorial(n + 1) for n in range(10))


@dataclass(frozen=True)
class Collected:
    """Arguments converted to one backend, dtype and device.

    `xp` is the module numpy or torch; `traced` says that values are not available, because a transform or a
    compiler is looking.
    """

    xp: Namespace
    dtype: Any
    traced: bool
    arrays: Mapping[str, Array]

    def __getitem__(self, name: str) -> Array:
        return self.arrays[name]

    def __iter__(self) -> Any:
        return iter(self.arrays.values())


_torch: Namespace | None = None


def _torch_is_loaded() -> bool:
    """Whether somebody has imported torch; from then on it is in `_torch`."""
    global _torch
    if _torch is None:
        _torch = sys.modules.get("torch")
    return _torch is not None


# torch.compile calls it instead of tracing it: it would follow all of sys.modules, which imports elsewhere change.
_torch_is_loaded._dynamo_marked_constant = True  # type: ignore[attr-defined]


def loaded_torch() -> Namespace | None:
    """The torch module if somebody has imported it, else None."""
    return _torch if _torch_is_loaded() else None


def is_tensor(value: object) -> bool:
    """Whether value is a torch tensor, without importing torch."""
    torch = loaded_torch()
    return torch is not None and isinstance(value, torch.Tensor)


def namespace(*values: object) -> Namespace:
    """torch if any of the values is a tensor, else numpy."""
    return loaded_torch() if any(is_tensor(value) for value in values) else np


def collect(**arguments: object) -> Collected:
    """Convert the named arguments to arrays of one backend, dtype and device.

    Raises TypeError, naming the argument, for what `symdyn.arrays.kinds` refuses (complex, half precision, object or
    non-numeric data, masked, sparse and quantised arrays), and ValueError for tensors on different devices, a ragged
    list, and numbers that overflow in the dtype of the other arguments.
    """
    if any(is_tensor(value) for value in arguments.values()):
        return _collect_torch(arguments)
    return _collect_numpy(arguments)


def _collect_numpy(arguments: Mapping[str, object]) -> Collected:
    arrays = {name: as_numpy(name, value) for name, value in arguments.items()}
    decisive = [arrays[name].dtype for name, value in arguments.items() if not _follows(value)]
    dtype = np.result_type(*decisive) if decisive else np.dtype(np.float64)
    return Collected(np, dtype, False, {name: _in_dtype(name, x, dtype) for name, x in arrays.items()})


def _follows(value: object) -> bool:
    """Whether others decide the dtype of a value: of a Python number or list, but not of an array of any kind."""
    return isinstance(value, (int, float, list, tuple)) and not isinstance(value, np.generic)


def widened(read: Collected) -> Collected:
    """The arguments in float64, where their device has it."""
    if read.xp is np:
        dtype: Any = np.dtype(np.float64)
        return read if read.dtype == dtype else Collected(np, dtype, False, _cast(read, "astype", dtype))
    dtype = read.xp.float64
    if read.dtype == dtype or any(array.device.type == "mps" for array in read):
        return read
    return Collected(read.xp, dtype, read.traced, _cast(read, "to", dtype))


def _cast(read: Collected, method: str, dtype: Any) -> dict[str, Array]:
    return {name: getattr(array, method)(dtype) for name, array in read.arrays.items()}


def _in_dtype(name: str, array: Array, dtype: Any) -> Array:
    """A copy of the array in a dtype, in whose range its finite numbers have to be."""
    if array.dtype.itemsize <= dtype.itemsize:
        return array.astype(dtype)
    with np.errstate(over="ignore"):
        found = array.astype(dtype)
    if (np.isinf(found) & np.isfinite(array)).any():
        raise beyond_range(name, dtype)
    return found


def _collect_torch(arguments: Mapping[str, object]) -> Collected:
    torch: Any = loaded_torch()
    tensors: dict[str, Any] = {name: value for name, value in arguments.items() if is_tensor(value)}
    dtype = torch.float32
    for name, tensor in tensors.items():
        dtype = torch.promote_types(dtype, dtype_of(torch, name, tensor))
    device = _common_device(tensors)
    arrays = {
        name: tensors[name].to(dtype) if name in tensors else _as_torch(torch, name, value, dtype, device)
        for name, value in arguments.items()
    }
    return Collected(torch, dtype, _traced(torch, arrays), arrays)


def _as_torch(torch: Any, name: str, value: Any, dtype: Any, device: Any) -> Array:
    number, compiling = isinstance(value, float) or type(value) is int, torch.compiler.is_compiling()
    if number and (compiling or -_MOST < value < _MOST):
        return torch.full((), value if compiling else float(value), dtype=dtype, device=device)
    if compiling:
        return torch.as_tensor(value, dtype=dtype, device=device)
    # In a copy, for torch takes neither reversed nor read-only arrays.
    return torch.as_tensor(_in_dtype(name, as_numpy(name, value), _NUMPY[str(dtype)]), device=device)


def _common_device(tensors: Mapping[str, Any]) -> Any:
    devices = {name: value.device for name, value in tensors.items()}
    if len(set(devices.values())) > 1:
        listed = ", ".join(f"{name} on {device}" for name, device in devices.items())
        raise ValueError(f"all tensors must be on one device; got {listed}")
    return next(iter(devices.values()))


def _traced(torch: Namespace, arrays: Mapping[str, Any]) -> bool:
    if torch.compiler.is_compiling():
        return True
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor
    fake = torch._subclasses.fake_tensor.FakeTensor
    return any(wrapped(value) or value.is_meta or isinstance(value, fake) for value in arrays.values())


def check_vector(name: str, array: Array) -> None:
    """Raise ValueError unless the array has a last axis of length at least one."""
    if len(array.shape) == 0 or array.shape[-1] == 0:
        shape = tuple(array.shape)
        raise ValueError(f"{name} must be a vector, components along the last axis; its shape is {shape}")


def broadcast_shape(**shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape of the named (batch) shapes; ValueError naming the first that does not fit."""
    common: tuple[int, ...] = ()
    seen: list[str] = []
    for name, shape in shapes.items():
        try:
            common = _broadcast(common, tuple(shape))
        except ValueError:
            before = ", ".join(seen)
            raise ValueError(
                f"{name} has batch shape {tuple(shape)}, which does not broadcast with {common} of {before}"
            ) from None
        seen.append(name)
    return common


def _broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    rank = max(len(left), len(right))
    padded = zip((1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right, strict=True)
    sizes = []
    for one, other in padded:
        if one != other and 1 not in (one, other):
            raise ValueError("shapes do not broadcast")
        sizes.append(other if one == 1 else one)
    return tuple(sizes)


def require(name: str, good: Array, domain: str) -> None:
    """Raise ValueError naming the argument, its domain and the batch indices where `good` is False."""
    mask = good.detach().cpu().numpy() if is_tensor(good) else np.asarray(good)
    if mask.all():
        return
    if mask.ndim == 0:
        raise ValueError(f"{name} must be {domain}")
    bad = [tuple(int(i) for i in index) for index in np.argwhere(~mask)]
    listed = ", ".join(str(index[0]) if len(index) == 1 else str(index) for index in bad[:_SHOWN])
    more = f" and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
    raise ValueError(f"{name} must be {domain}; it is not at index {listed}{more}")


def require_finite(arguments: Collected, *names: str, vectors: tuple[str, ...] = ()) -> None:
    """Raise ValueError where a named argument has a NaN or an infinity; vectors report their batch index."""
    for name in (*names, *vectors):
        good = arguments.xp.isfinite(arguments[name])
        require(name, good.all(-1) if name in vectors else good, "finite")


def require_positive(arguments: Collected, *names: str) -> None:
    """Raise ValueError where a named argument is not a positive finite number."""
    for name in names:
        value = arguments[name]
        require(name, (value > 0) & arguments.xp.isfinite(value), "positive and finite")


def require_nonzero(arguments: Collected, *names: str) -> None:
    """Raise ValueError where a named vector (last axis) is zero."""
    for name in names:
        require(name, (arguments[name] != 0).any(-1), "a non-zero vector")


def quiet(xp: Namespace) -> Any:
    """A context in which NumPy keeps silent about overflow and division that a kernel handles by `where`."""
    return np.errstate(all="ignore") if xp is np else contextlib.nullcontext()


def detach(x: Array) -> Array:
    """x without its gradient: for gauge choices on which the result does not depend."""
    return x.detach() if is_tensor(x) else x


def where(xp: Namespace, condition: Array, x: Any, y: Any) -> Array:
    """x where the condition holds, else y; one may be a Python number, of the other's dtype."""
    like = x if hasattr(x, "dtype") else y
    return xp.where(condition, _like(xp, x, like), _like(xp, y, like))


def _like(xp: Namespace, value: Any, like: Array) -> Array:
    if hasattr(value, "dtype"):
        return value
    return xp.full_like(like, value)


def divide(xp: Namespace, x: Array, y: Array, fill: float = 0.0) -> Array:
    """x / y, and `fill` with zero gradient where y = 0."""
    zero = y == 0
    return where(xp, zero, fill, x / where(xp, zero, 1.0, y))


def sqrt(xp: Namespace, x: Array) -> Array:
    """sqrt(x) for x >= 0, with gradient zero (not infinite) at x = 0; NaN for x < 0."""
    zero = x == 0
    return where(xp, zero, 0.0, xp.sqrt(where(xp, zero, 1.0, x)))


def hypot(xp: Namespace, x: Array, y: Array) -> Array:
    """sqrt(x^2 + y^2) without overflow, with gradient zero at the origin."""
    zero = (x == 0) & (y == 0)
    return where(xp, zero, 0.0, xp.hypot(where(xp, zero, 1.0, x), y))


def norm(xp: Namespace, x: Array) -> Array:
    """The Euclidean norm along the last axis, without overflow or underflow, with gradient zero at x = 0."""
    size = xp.abs(detach(x))
    largest = xp.amax(size, -1)
    scale = where(xp, (largest == 0) | ~xp.isfinite(largest), 1.0, largest)
    return scale * sqrt(xp, xp.sum((x / scale[..., None]) ** 2, -1))


def phi1(xp: Namespace, x: Array) -> Array:
    """(e^x - 1) / x, continued by 1 at x = 0, with accurate value and gradient for every x."""
    if xp is np:
        with np.errstate(all="ignore"):
            return where(xp, x == 0, 1.0, xp.expm1(x) / where(xp, x == 0, 1.0, x))
    small = xp.abs(x) < 0.1
    near = where(xp, small, x, 0.0)
    series = xp.full_like(x, _PHI1_SERIES[-1])
    for coefficient in reversed(_PHI1_SERIES[:-1]):
        series = series * near + coefficient
    far = where(xp, small, 1.0, x)
    return xp.where(small, series, xp.expm1(far) / far)
