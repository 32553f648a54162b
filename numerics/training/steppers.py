"""One step of gradient descent of a stack of two-layer networks: in place, and on CUDA as a captured graph.

Both are steppers for the loop of ``numerics.training.loop``, as are those in C (``native_steps``) and Triton
(``fused_steps``).
"""

from __future__ import annotations

import threading
from typing import Any

import torch

from numerics.training.observers import Networks

UNROLLED = 50


class Stepper:
    """One step of descent of a chunk, in place and without allocation."""

    longest = UNROLLED

    def __init__(self, part: Networks, speed: Any, X: Any, XT: Any, y: Any, compiled: bool) -> None:
        (B, h, d), n = part.W.shape, len(X)
        self.a, self.W, self.gamma = part.a, part.W, float(part.gamma)
        self.X, self.XT, self.y = X, XT, y
        self.speed_a, self.speed_w = (speed * part.eta_a)[:, None], (speed * part.eta_w)[:, None]
        self.hidden, self.active = self.W.new_empty(B, h, n), self.W.new_empty(B, h, n)
        self.residual, self.xi = self.W.new_empty(B, 1, n), self.W.new_empty(B, h, d)
        self.product, self.slope = self.W.new_empty(B, h, d), self.W.new_empty(B, h)
        self.scale = self.W.new_empty(B, h)
        self.gates = self._fused if compiled else self._gates
        # σ′(0) = 1: whatever is above this number counts as active.
        self.edge = -torch.finfo(self.W.dtype).smallest_normal

    def steps(self, count: int) -> None:
        """Advance by ``count`` steps."""
        for _ in range(count):
            self.step()

    def rehearse(self, count: int) -> None:
        """Take steps that leave no trace, so that whatever compiles or allocates on first use has done so."""
        before = self.a.clone(), self.W.clone()
        self.steps(count)
        self.a.copy_(before[0])
        self.W.copy_(before[1])

    def step(self) -> None:
        """Advance by one step."""
        B, h, n = self.hidden.shape
        torch.mm(self.W.view(B * h, -1), self.XT, out=self.hidden.view(B * h, n))
        self.gates()
        torch.mm(self.hidden.view(B * h, n), self.X, out=self.xi.view(B * h, -1))
        torch.mul(self.xi, self.W, out=self.product)
        torch.sum(self.product, -1, out=self.slope)
        torch.mul(self.a, self.speed_w, out=self.scale)
        self.a.addcmul_(self.slope, self.speed_a, value=-1)
        self.W.addcmul_(self.xi, self.scale[..., None], value=-1)

    def _gates(self) -> None:
        """From the hidden inputs z to σ′(z) r, in the same buffer."""
        z, active, residual, gamma = self.hidden, self.active, self.residual, self.gamma
        if gamma == 0.0:
            torch.clamp_min(z, 0, out=active)
        else:
            torch.ops.aten.leaky_relu.out(z, gamma, out=active)
        torch.bmm(self.a[:, None, :], active, out=residual)
        residual.sub_(self.y)
        spread = residual.expand_as(z)
        # torch.where would do, but on a CPU it takes as long as the matrix products.
        torch.ops.aten.threshold_backward.grad_input(spread, z, self.edge, grad_input=z)
        if gamma != 0.0:
            z.mul_(1 - gamma).add_(spread, alpha=gamma)

    def _fused(self) -> None:
        _compiled_gates()(self.hidden, self.a, self.y, self.gamma)


def _plain_gates(z: torch.Tensor, a: torch.Tensor, y: torch.Tensor, gamma: float) -> None:
    residual = (torch.where(z >= 0, z, gamma * z) * a[..., None]).sum(-2, keepdim=True) - y
    z.copy_(torch.where(z >= 0, residual, gamma * residual))


_CACHE: list[Any] = []


def _compiled_gates() -> Any:
    if not _CACHE:
        _CACHE.append(torch.compile(_plain_gates, dynamic=False))
    return _CACHE[0]


_CAPTURE = threading.Lock()


class Graphed:
    """A stepper on CUDA whose steps were captured in a graph: many steps for one launch."""

    longest = UNROLLED

    def __init__(self, stepper: Stepper) -> None:
        self.stepper, self.graph = stepper, torch.cuda.CUDAGraph()
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            stepper.rehearse(3)
        torch.cuda.current_stream().wait_stream(aside)
        # Other threads may train on this card meanwhile: what they do is no part of the graph and no reason to give up.
        with _CAPTURE, torch.cuda.graph(self.graph, stream=aside, capture_error_mode="thread_local"):
            stepper.steps(UNROLLED)

    def steps(self, count: int) -> None:
        """Advance by ``count`` steps."""
        for _ in range(count // UNROLLED):
            self.graph.replay()
        self.stepper.steps(count % UNROLLED)
        torch.cuda.current_stream().synchronize()
