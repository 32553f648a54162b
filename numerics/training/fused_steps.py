"""Steps of descent in one CUDA kernel: each block keeps a network on its processor and walks over the data.

Products run on the tensor cores at nearly the accuracy of float32. A power of two brings the largest entry of each
factor to a fixed size, and every factor splits into two halves of float16, A = A₁ + A₂, which together hold 22 bits;
of the product only A₂B₂, below the last of them, is left out:

    A B ≈ A₁B₁ + A₁B₂ + A₂B₁,    summed in float32.

A block computes the hidden inputs of N data, the residuals and the gated residuals without leaving the processor,
where a step of ``numerics.training.steppers`` writes them to memory and reads them again.

Blocks take turns of some steps of one network from a common list, in which each network appears again and again; a
turn waits until the turn before it of the same network has ended. So all blocks have work until the end, whatever
the number of networks. Every turn waits for turns that have begun, hence no two wait for each other.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from numerics.training.observers import Networks

# A block holds this many neurons and twice this many inputs, the rest filled with zeros.
NEURONS, HALF = 64, 64
DATA, WARPS, STAGES = 64, 4, 2
BLOCKS_PER_PROCESSOR = 2
TURN = 25  # steps
LONGEST = 2000
AT_ONCE = 256  # networks whose residuals are computed at once before the first step
# Exponents of the largest entries after scaling. Residuals may grow by 2^11 in one step before float16 overflows.
ROOM, ROOM_OF_RESIDUALS = tl.constexpr(12), tl.constexpr(4)


def fits(part: Networks) -> bool:
    """Whether the kernel takes networks of this size and type: float32, at most 64 neurons and 128 inputs."""
    _, h, d = part.W.shape
    return part.W.dtype == torch.float32 and h <= NEURONS and d <= 2 * HALF


@triton.jit
def _halves(A):  # type: ignore[no-untyped-def]  # Triton reads the annotations of kernels
    high = A.to(tl.float16)
    return high, (A - high.to(tl.float32)).to(tl.float16)


@triton.jit
def _scale(largest, exponent):  # type: ignore[no-untyped-def]  # Triton reads the annotations of kernels
    """The power of two that brings a number to [2^exponent, 2^(exponent + 1))."""
    held = tl.minimum(tl.maximum(largest, 1e-30), 1e30).to(tl.int32, bitcast=True) >> 23
    return ((254 - held + exponent) << 23).to(tl.float32, bitcast=True)


@triton.jit
def _add_product(A1, A2, B1, B2, into):  # type: ignore[no-untyped-def]  # Triton reads the annotations of kernels
    into = tl.dot(A1, B2, into)
    into = tl.dot(A2, B1, into)
    return tl.dot(A1, B1, into)


@triton.jit  # type: ignore[untyped-decorator]  # Triton has no types
def _descend(  # type: ignore[no-untyped-def]  # Triton reads the annotations of kernels
    a_ptr,  # (B, H)
    W_ptr,  # (B, 2, H, D): the inputs in two parts
    X_ptr,  # (2, 2, n, D) in float16: part of the inputs, half of the digits
    y_ptr,  # (n,)
    speed_a_ptr,  # (B,)
    speed_w_ptr,  # (B,)
    largest_ptr,  # (B,): the largest residual of the step before
    turn_ptr,  # (): the next turn
    ended_ptr,  # (B,): turns of each network that have ended
    x_scale,
    gamma,
    networks,
    steps,
    n,
    H: tl.constexpr,
    D: tl.constexpr,
    N: tl.constexpr,
    T: tl.constexpr,
    STAGES: tl.constexpr,
    LEAKY: tl.constexpr,
):
    k, j, i = tl.arange(0, H), tl.arange(0, D), tl.arange(0, N)
    X_tile = X_ptr + i[:, None] * D + j[None, :]
    turns = networks * tl.cdiv(steps, T)
    turn = tl.atomic_add(turn_ptr, 1)
    while turn < turns:
        net, before = turn % networks, turn // networks
        while tl.atomic_add(ended_ptr + net, 0) < before:
            pass
        left = W_ptr + net * 2 * H * D + k[:, None] * D + j[None, :]
        right = left + H * D
        speed_a, speed_w = tl.load(speed_a_ptr + net), tl.load(speed_w_ptr + net)
        a, largest = tl.load(a_ptr + net * H + k), tl.load(largest_ptr + net)
        for _ in range(tl.minimum(T, steps - before * T)):
            U, V = tl.load(left), tl.load(right)
            w_scale = _scale(tl.maximum(tl.max(tl.abs(U)), tl.max(tl.abs(V))), ROOM)
            r_scale = _scale(largest, ROOM_OF_RESIDUALS)
            U1, U2 = _halves(U * w_scale)
            V1, V2 = _halves(V * w_scale)
            z_unit = 1.0 / (w_scale * x_scale)
            b, slope = a * z_unit, tl.zeros((H,), tl.float32)
            xi_U, xi_V = tl.zeros((H, D), tl.float32), tl.zeros((H, D), tl.float32)
            magnitude = tl.zeros((N,), tl.float32)
            for first in tl.range(0, n, N, num_stages=STAGES):
                tile = X_tile + first * D
                X1, X2 = tl.load(tile), tl.load(tile + n * D)
                Y1, Y2 = tl.load(tile + 2 * n * D), tl.load(tile + 3 * n * D)
                Z = _add_product(U1, U2, tl.trans(X1), tl.trans(X2), tl.zeros((H, N), tl.float32))
                Z = _add_product(V1, V2, tl.trans(Y1), tl.trans(Y2), Z)
                active = Z >= 0
                features = (
                    tl.where(active, Z, gamma * Z) if LEAKY else tl.maximum(Z, 0.0, tl.PropagateNan.ALL)
                )
                r = tl.sum(features * b[:, None], 0) - tl.load(y_ptr + first + i)
                slope += tl.sum(features * r[None, :], 1)
                magnitude = tl.maximum(magnitude, tl.abs(r))
                r1, r2 = _halves(r * r_scale)
                if LEAKY:
                    s1, s2 = _halves(gamma * r * r_scale)
                    G1 = tl.where(active, r1[None, :], s1[None, :])
                    G2 = tl.where(active, r2[None, :], s2[None, :])
                else:
                    G1 = tl.where(active, r1[None, :], 0.0)
                    G2 = tl.where(active, r2[None, :], 0.0)
                xi_U = _add_product(G1, G2, X1, X2, xi_U)
                xi_V = _add_product(G1, G2, Y1, Y2, xi_V)
            back = 1.0 / (r_scale * x_scale)
            xi_U, xi_V = xi_U * back, xi_V * back
            # Volatile, since the compiler would rather keep the registers of the first load through the loop.
            U, V = tl.load(left, volatile=True), tl.load(right, volatile=True)
            move = (speed_w * a)[:, None]
            tl.debug_barrier()
            tl.store(left, U - move * xi_U)
            tl.store(right, V - move * xi_V)
            a -= speed_a * z_unit * slope
            largest = tl.max(magnitude)
            tl.debug_barrier()
        tl.store(a_ptr + net * H + k, a)
        tl.store(largest_ptr + net, largest)
        tl.debug_barrier()
        tl.atomic_add(ended_ptr + net, 1)
        turn = tl.atomic_add(turn_ptr, 1)


class Fused:
    """Steps of a stack of networks that ``fits`` accepts, in place.

    part: the networks; speed (B,): the step; X (n, d) and y (n,) on the same device.
    """

    longest = LONGEST

    def __init__(self, part: Networks, speed: torch.Tensor, X: torch.Tensor, y: torch.Tensor) -> None:
        self.part, self.X, self.y = part, X, y
        self.speeds = (speed * part.eta_a).contiguous(), (speed * part.eta_w).contiguous()
        rows = -(-len(X) // DATA) * DATA
        self.x_scale = _power(X.abs().amax(), ROOM.value)
        wide = _padded(X * self.x_scale, rows, 2 * HALF).unflatten(-1, (2, HALF))
        first = wide.half()
        halves = torch.stack([first, (wide - first.float()).half()])
        self.halves = halves.permute(2, 0, 1, 3).contiguous()
        self.labels = _padded(y[:, None], rows, 1)[:, 0].contiguous()

    def steps(self, count: int) -> None:
        """Advance by ``count`` steps."""
        part, X = self.part, self.X
        B, h, d = part.W.shape
        a = _padded(part.a, B, NEURONS)
        W = _padded(part.W, NEURONS, 2 * HALF).unflatten(-1, (2, HALF)).transpose(1, 2).contiguous()
        largest = torch.cat([(few.outputs(X) - self.y).abs().amax(-1) for few in _by(part, AT_ONCE)])
        turn, ended = (torch.zeros(size, dtype=torch.int32, device=X.device) for size in (1, B))
        blocks = min(B, BLOCKS_PER_PROCESSOR * _processors(X.device))
        _descend[(blocks,)](
            *(a, W, self.halves, self.labels, *self.speeds, largest, turn, ended),
            *(self.x_scale, part.gamma, B, count, len(self.labels)),
            **{"H": NEURONS, "D": HALF, "N": DATA, "T": TURN, "STAGES": STAGES},
            LEAKY=part.gamma != 0.0,
            num_warps=WARPS,
        )
        part.a.copy_(a[:, :h])
        part.W.copy_(W.transpose(1, 2).flatten(-2)[:, :h, :d])
        if X.is_cuda:
            torch.cuda.current_stream().synchronize()


def _by(part: Networks, count: int) -> list[Networks]:
    return [part.part(first, min(first + count, len(part))) for first in range(0, len(part), count)]


def _padded(values: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    lacking = rows - values.shape[-2], columns - values.shape[-1]
    return torch.nn.functional.pad(values, (0, lacking[1], 0, lacking[0])).contiguous()


def _power(largest: torch.Tensor, exponent: int) -> float:
    """The power of two that brings a positive number to [2^exponent, 2^(exponent + 1)); 1 for zero."""
    _, own = torch.frexp(largest)
    return 2.0 ** (exponent + 1 - own.item()) if largest > 0 else 1.0


def _processors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1
