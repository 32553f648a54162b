"""Gradients of tensors that were computed outside of torch, from derivatives that are known.

    value = attached(torch, value, {"q": q}, {"q": slope})

makes the tensor `value` a function of `q` with the given derivative, entry by entry. It can be differentiated once: a
second derivative raises RuntimeError, as torch says of such functions, and is never silently zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Tensor = Any


def wanted(xp: Any, arguments: Mapping[str, Tensor]) -> list[str]:
    """The names of the arguments of which torch keeps gradients; none for arrays of NumPy."""
    if not hasattr(xp, "is_grad_enabled") or not xp.is_grad_enabled():
        return []
    return [name for name, x in arguments.items() if getattr(x, "requires_grad", False)]


def attached(
    xp: Any, value: Tensor, arguments: Mapping[str, Tensor], slopes: Mapping[str, Callable[[], Any]]
) -> Tensor:
    """`value` with the derivatives that the slopes give, each an array that broadcasts against it.

    Only the slopes of arguments that need gradients are computed. Raises ValueError for one that has none.
    """
    names = wanted(xp, arguments)
    if not names:
        return value
    unknown = [name for name in names if name not in slopes]
    if unknown:
        raise ValueError(f"the value has no gradient in {', '.join(unknown)}: detach it")
    known = [
        xp.as_tensor(slopes[name](), dtype=value.dtype, device=value.device).expand(value.shape)
        for name in names
    ]

    class Known(xp.autograd.Function):
        @staticmethod
        def forward(context: Any, *tensors: Tensor) -> Tensor:
            context.shapes = [x.shape for x in tensors]
            return value.clone()

        @staticmethod
        @xp.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
        def backward(context: Any, upstream: Tensor) -> tuple[Tensor, ...]:
            return tuple(
                (upstream * slope).sum_to_size(shape)
                for slope, shape in zip(known, context.shapes, strict=True)
            )

    return Known.apply(*(arguments[name] for name in names))


__all__ = ["attached", "wanted"]
