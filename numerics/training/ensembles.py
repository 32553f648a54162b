"""Many independent two-layer networks trained as one tensor program.

Networks on the same data share the product with it: their first layers stack to one (B h × d)·(d × n) matrix
product, and so does the way back. Gradients are in closed form. Since σ(z) = σ′(z) z, one vector per neuron
gives both of them: with r = f(X) − y and ξ_k = Σᵢ σ′(w_kᵀxᵢ) rᵢ xᵢ,

    ∂L/∂w_k = a_k ξ_k,    ∂L/∂a_k = w_kᵀ ξ_k,        L = ½ Σᵢ rᵢ².

On a CPU the stack is cut into chunks, which fit the cache unless C takes the steps, each advanced from checkpoint to
checkpoint by one thread; on CUDA the whole stack advances in one kernel, or by a graph of steps that was captured once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerics.lab.checkpoint import Progress, fingerprint, load_state, save_state
from numerics.measures.arrays import tensors
from numerics.training.observers import Networks, Observer
from numerics.training.steppers import Graphed, Stepper

if TYPE_CHECKING:
    from numerics.training.fused_steps import Fused
    from numerics.training.native_steps import Native

CHUNK_BYTES = 2**20
SMALL_SHARES = 8
OBSERVED_AT_ONCE = 16


@dataclass(frozen=True)
class Training:
    """What an ensemble did: the checkpoints (T,), one array (B, ..., T) for each observer, and the final networks, on
    the CPU.
    """

    steps: np.ndarray
    measured: dict[str, np.ndarray]
    networks: Networks


def networks(a: Any, W: Any, *, eta_a: Any = 1.0, eta_w: Any = 1.0, gamma: float = 0.0) -> Networks:
    """A stack of networks from a (B, h) and W (B, h, d); rates are scalars or (B,). Lists are read in float64.

    Raises ValueError for shapes that do not fit and for γ > 1, where σ(z) = max(z, γz) is no leaky ReLU.
    """
    a, W = (value.detach() for value in tensors(a=a, W=W))
    if not gamma <= 1:
        raise ValueError(f"gamma must be a number up to 1, got {gamma}")
    if a.ndim != 2 or W.ndim != 3 or W.shape[:2] != a.shape:
        raise ValueError(f"a must be (B, h) and W (B, h, d): a is {tuple(a.shape)}, W is {tuple(W.shape)}")
    rates = [_per_network(name, rate, a) for name, rate in (("eta_a", eta_a), ("eta_w", eta_w))]
    return Networks(a, W, *rates, gamma)  # type: ignore[call-arg, arg-type]  # two rates


def log_checkpoints(last: int, per_decade: int = 1) -> list[int]:
    """0, 10, 100, … up to ``last``, which is always included; ``per_decade`` of them in each decade."""
    if last < 1:
        raise ValueError(f"last must be at least 1, got {last}")
    count = int(np.floor(per_decade * np.log10(last) + 1e-9))
    grid = {round(10 ** (place / per_decade)) for place in range(1, count + 1)}
    return sorted({0, *grid, last})


def train(
    start: Networks,
    X: Any,
    y: Any,
    *,
    step: Any,
    checkpoints: Sequence[int],
    observers: Mapping[str, Observer],
    dtype: torch.dtype = torch.float64,
    device: str = "cpu",
    threads: int | None = None,
    chunk: int | None = None,
    compiled: bool = False,
    resume: Path | str | None = None,
) -> Training:
    """Full-batch gradient descent on L = ½ Σᵢ (f(xᵢ) − yᵢ)² for every network of the stack at once.

    A step moves a by −step η_a ∂L/∂a and W by −step η_w ∂L/∂W; for the mean square loss (1/n) Σᵢ (f(xᵢ) − yᵢ)²
    with learning rate lr, give step = 2 lr / n. X is (n, d), y (n,), ``step`` a scalar or (B,). ``checkpoints``
    lists increasing step numbers at which every observer sees the networks, in float64 whatever ``dtype`` they
    are trained in. With ``resume``, a folder, the state is saved at every checkpoint and a run that was killed
    goes on from the last one.

    ``threads`` (CPU, default: torch's own number) train chunks of ``chunk`` networks. ``compiled`` needs a C compiler
    on a CPU, where ``numerics.training.native_steps`` takes the steps, and Triton on CUDA, where networks that
    ``numerics.training.fused_steps`` takes (float32, h ≤ 64, d ≤ 128) learn in one kernel and torch.compile fuses the
    activation of others with what surrounds it. Neither changes the numbers of networks that stay finite beyond
    rounding. Raises ValueError for what does not fit and for a folder with the state of another run, one with other
    observers among them (they are told apart by name and by what they say of fixed networks), and RuntimeError where a
    compiler is missing.
    """
    X, y = (tensors(**{name: value})[0].detach().double() for name, value in (("X", X), ("y", y)))
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"networks are trained in torch.float32 or torch.float64, not in {dtype}")
    checkpoints = _check(start, X, y, checkpoints, threads, chunk)
    speed = _per_network("step", step, start.a)
    threads = threads or torch.get_num_threads()
    run = _Run(start, X, y, speed, observers, dtype, device, threads, chunk, compiled)
    measured: dict[str, list[np.ndarray]] = {name: [] for name in observers}
    done, state, identity = 0, None, ""
    if resume is not None:
        resume = Path(resume)
        parts = (start.a, start.W, start.eta_a, start.eta_w, speed, X, y)
        way = str(dtype), torch.device(device).type, bool(compiled)
        observed = [part for name in observers for part in (name, run.answer(name))]
        settings = (start.gamma, np.array(checkpoints), *way, *observed)
        identity = fingerprint(*(tensor.cpu() for tensor in parts), *settings)
        state = load_state(resume, identity)
    if state is not None:
        done = int(state["done"])
        measured = {name: list(state[f"measured {name}"]) for name in observers}
        run.restore(state["a"], state["W"])
    progress = Progress(resume)
    with _Workers(run, threads) as workers:
        for place in range(done, len(checkpoints)):
            before = checkpoints[place - 1] if place else 0
            found = workers.advance(before, checkpoints[place], checkpoints[-1], progress)
            for name in observers:
                measured[name].append(found[name])
            if resume is not None:
                a, W = run.state()
                columns = {f"measured {name}": np.stack(rows) for name, rows in measured.items()}
                save_state(
                    resume,
                    {"identity": np.array(identity), "done": place + 1, "a": a, "W": W, **columns},  # type: ignore[dict-item]  # NumPy takes an integer too
                )
    a, W = run.state()
    final = replace(start.to(device="cpu"), a=torch.as_tensor(a), W=torch.as_tensor(W))
    return Training(
        np.asarray(checkpoints), {name: np.stack(rows, -1) for name, rows in measured.items()}, final
    )


def _check(
    start: Networks,
    X: torch.Tensor,
    y: torch.Tensor,
    checkpoints: Sequence[int],
    threads: int | None,
    chunk: int | None,
) -> list[int]:
    """The checkpoints as integers."""
    if X.ndim != 2 or X.shape[1] != start.W.shape[-1] or y.shape != X.shape[:1]:
        raise ValueError(
            f"X must be (n, {start.W.shape[-1]}) and y (n,): X is {tuple(X.shape)}, y is {tuple(y.shape)}"
        )
    if 0 in (*start.W.shape, len(X)):
        raise ValueError(
            f"at least one network, neuron, input and datum is needed: W is {tuple(start.W.shape)} and X "
            f"{tuple(X.shape)}"
        )
    for name, value in (("threads", threads), ("chunk", chunk)):
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    steps = list(checkpoints)
    if not steps or not all(map(_is_whole, steps)) or steps[0] < 0 or steps != sorted(set(steps)):
        raise ValueError(f"checkpoints must be increasing step numbers from 0 on, got {steps}")
    return [int(step) for step in steps]


def _is_whole(step: Any) -> bool:
    try:
        return bool(step == int(step))
    except (TypeError, ValueError, OverflowError):  # no number, NaN, infinity
        return False


def _per_network(name: str, value: Any, a: torch.Tensor) -> torch.Tensor:
    tensor = tensors(**{name: value})[0].detach().to(dtype=torch.float64, device=a.device)
    if tensor.ndim > 1 or (tensor.ndim == 1 and len(tensor) != len(a)):
        raise ValueError(
            f"{name} must be a scalar or ({len(a)},), one for each network, got {tuple(tensor.shape)}"
        )
    return tensor.expand(len(a)).clone()


class _Run:
    """The networks in training: the stack, its chunks with their buffers, and their start in float64."""

    def __init__(
        self,
        start: Networks,
        X: torch.Tensor,
        y: torch.Tensor,
        speed: torch.Tensor,
        observers: Mapping[str, Observer],
        dtype: torch.dtype,
        device: str,
        threads: int,
        chunk: int | None,
        compiled: bool,
    ) -> None:
        self.now = start.to(dtype=dtype, device=device)
        self.start = self.now.to(dtype=torch.float64)
        self.observers = observers
        kind = torch.device(device).type
        self.cuda, in_c = kind == "cuda", compiled and kind == "cpu"
        self.bounds = self._chunks(threads, chunk, len(X), in_c)
        X, y, speed = (value.to(dtype=dtype, device=device).contiguous() for value in (X, y, speed))
        make = _native(X, y) if in_c else partial(_stepper, data=(X, X.T.contiguous(), y), compiled=compiled)
        self.steppers = [make(self.now.part(low, high), speed[low:high]) for low, high in self.bounds]

    def _chunks(self, threads: int, chunk: int | None, data: int, in_c: bool) -> list[tuple[int, int]]:
        """Bounds of the chunks: all on CUDA, what fits the cache, or in C, which needs no cache, small shares."""
        count = len(self.now)
        share = -(-count // (1 if self.cuda else threads))
        cell = self.now.W.shape[1] * data * self.now.a.element_size()
        fitting = share // SMALL_SHARES if in_c else CHUNK_BYTES // cell
        size = chunk or (share if self.cuda else max(1, min(share, fitting)))
        return [(low, min(low + size, count)) for low in range(0, count, size)]

    def restore(self, a: np.ndarray, W: np.ndarray) -> None:
        self.now.a.copy_(torch.as_tensor(a))
        self.now.W.copy_(torch.as_tensor(W))

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return self.now.a.cpu().numpy().copy(), self.now.W.cpu().numpy().copy()

    def answer(self, name: str) -> str:
        """What an observer says of the first network, learned into one of random weights: how it is known again."""
        start = self.start.part(0, 1)
        generator = torch.Generator().manual_seed(0)
        a, W = (torch.randn(value.shape, generator=generator).to(value) for value in (start.a, start.W))
        found = torch.as_tensor(self.observers[name](start, replace(start, a=a, W=W)))
        return " ".join(f"{value:.6g}" for value in found.flatten().tolist())

    def observe(self, low: int, high: int) -> dict[str, np.ndarray]:
        """Every observer on the networks from ``low`` to ``high``, a few at a time to bound the memory."""
        found: dict[str, list[np.ndarray]] = {name: [] for name in self.observers}
        for first in range(low, high, OBSERVED_AT_ONCE):
            last = min(first + OBSERVED_AT_ONCE, high)
            start, now = self.start.part(first, last), self.now.part(first, last).to(dtype=torch.float64)
            for name, observer in self.observers.items():
                seen = torch.as_tensor(observer(start, now))
                if tuple(seen.shape[:1]) != (last - first,):
                    raise ValueError(
                        f"the observer {name!r} returned the shape {tuple(seen.shape)} for {last - first} networks: "
                        "the first axis is that of the networks"
                    )
                found[name].append(seen.cpu().numpy())
        return {name: np.concatenate(parts) for name, parts in found.items()}


def _native(X: torch.Tensor, y: torch.Tensor) -> Callable[[Networks, torch.Tensor], Native]:
    """What makes steps in C on the same copy of the data."""
    from numerics.training.native_steps import Blocks, Native

    return partial(Native, data=Blocks.of(X, y))


def _stepper(
    part: Networks,
    speed: torch.Tensor,
    data: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    compiled: bool,
) -> Stepper | Graphed | Fused:
    """What takes the steps of some networks by torch: on CUDA one kernel where it can, else a graph."""
    X, XT, y = data
    if compiled:
        from numerics.training import fused_steps

        if fused_steps.fits(part):
            return fused_steps.Fused(part, speed, X, y)
    stepper = Stepper(part, speed, X, XT, y, compiled)
    return Graphed(stepper) if X.is_cuda else stepper


class _Workers:
    """Threads that advance the chunks from checkpoint to checkpoint and observe them there.

    Each runs torch on one core: the chunks are the parallel part, and threads within a product of this size wait
    for each other more than they help. On CUDA there are none.
    """

    def __init__(self, run: _Run, threads: int) -> None:
        self.run, self.stop = run, threading.Event()
        self.taken = [0] * len(run.bounds)
        self.inner = torch.get_num_threads()
        self.pool = ThreadPoolExecutor(threads, initializer=self._begin)

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.pool.shutdown(cancel_futures=True)
        # A thread's setting is also the default of threads that start later.
        torch.set_num_threads(self.inner)

    def advance(self, before: int, after: int, last: int, progress: Progress) -> dict[str, np.ndarray]:
        """Take every chunk from step ``before`` to step ``after`` and observe it; arrays over all networks."""
        self.taken = [before] * len(self.run.bounds)
        places = range(len(self.taken))
        if self.run.cuda:
            parts = [self._advance(place, after, last, progress) for place in places]
        else:
            jobs = [self.pool.submit(self._advance, place, after, last, progress) for place in places]
            parts = [job.result() for job in jobs]
        return {name: np.concatenate([part[name] for part in parts]) for name in self.run.observers}

    def _advance(self, place: int, after: int, last: int, progress: Progress) -> dict[str, np.ndarray]:
        stepper = self.run.steppers[place]
        while self.taken[place] < after:
            if self.stop.is_set():
                raise RuntimeError("the training was stopped")
            count = min(stepper.longest, after - self.taken[place])
            stepper.steps(count)
            self.taken[place] += count
            progress.report(sum(self.taken) / (len(self.taken) * max(last, 1)))
        return self.run.observe(*self.run.bounds[place])

    def _begin(self) -> None:
        torch.set_num_threads(1)
