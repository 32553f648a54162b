"""What the networks share: turning a start into parameters."""

from __future__ import annotations

import numpy as np
import torch


def floating(**starts) -> list[torch.Tensor]:
    """The named starts as tensors of their own dtype and device; Python and NumPy numbers become float64.

    Raises ValueError if the dtypes differ.
    """
    tensors = {
        name: value.detach() if isinstance(value, torch.Tensor) else torch.as_tensor(np.array(value, float))
        for name, value in starts.items()
    }
    if len({tensor.dtype for tensor in tensors.values()}) > 1:
        found = ", ".join(f"{name} is {tensor.dtype}" for name, tensor in tensors.items())
        raise ValueError(f"{' and '.join(tensors)} must share a dtype: {found}")
    return list(tensors.values())
