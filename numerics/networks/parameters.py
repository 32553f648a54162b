"""What the networks share: turning a start into parameters."""

from __future__ import annotations

from typing import Any

import torch

from numerics.measures.arrays import tensors


def floating(**starts: Any) -> list[torch.Tensor]:
    """The named starts as tensors of their own device, of float32 or float64; Python and NumPy numbers become float64.

    Short floats become float32 and integers float64, as ``numerics.measures.arrays`` has it. Raises ValueError if the
    dtypes differ, and TypeError for what holds no real numbers.
    """
    found = {name: _start(name, value) for name, value in starts.items()}
    if len({tensor.dtype for tensor in found.values()}) > 1:
        listed = ", ".join(f"{name} is {tensor.dtype}" for name, tensor in found.items())
        raise ValueError(f"{' and '.join(found)} must share a dtype: {listed}")
    return list(found.values())


def _start(name: str, value: Any) -> torch.Tensor:
    tensor = tensors(**{name: value})[0].detach()
    return tensor if isinstance(value, torch.Tensor) else tensor.double()
