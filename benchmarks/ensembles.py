"""Two-layer networks in bulk: the step of an ensemble, and the kernel, against the obvious alternatives, in one run.

    python -m benchmarks.ensembles [--threads 2] [--json FILE]

The compiled step of 64 networks (d = 100, h = 50, n = 1000, float32) is compared with the machine's own throughput in
matrix products, and with a loop over single networks in NumPy, in float32 and in NumPy's own float64. What fraction of
that throughput the loop itself reaches is printed beside it, for no ensemble on as many threads can beat the loop by
more than the inverse of it. The closed form of the kernel of one network on 4,000 inputs is compared with the full
Jacobian by ``torch.func``, multiplied with itself as one matrix; the way of PyTorch's tutorial, a Jacobian for either
argument and a product for every parameter, is shown beside it. Every number is the best of several stretches of similar
length, in rounds in which the contestants take turns. Exits with status 1 if a wanted ratio is missed.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np

from benchmarks.stopwatch import best_of, status, surroundings, with_json

NETWORKS, DIMENSION, WIDTH, DATA = 64, 100, 50, 1000
KERNEL_DATA, SQUARE = 4000, 1024
STEPS, STRETCH, STRETCHES, ROUNDS = 12, 3, 8, 4
OWN_FRACTION = "NumPy's own fraction of matmul"
WANTED = {"fraction of matmul": 0.6, "step against NumPy": 6.0, "kernel against torch.func": 20.0}


def products(networks: int) -> float:
    """Floating-point operations of one step of the ensemble: its two matrix products, nothing else."""
    return 4.0 * DATA * DIMENSION * WIDTH * networks


def matmul_rate() -> float:
    """Operations per second of one large square product in float32."""
    import torch

    left, right = torch.randn(SQUARE, SQUARE), torch.randn(SQUARE, SQUARE)
    out = torch.empty(SQUARE, SQUARE)
    return 2.0 * SQUARE**3 / best_of(lambda: torch.mm(left, right, out=out), STRETCHES)


def ensemble_step(threads: int) -> float:
    """Seconds a step of the ensemble: the best of several stretches between two checkpoints."""
    import torch

    from numerics.tasks.teacher_student import draw_task, students
    from numerics.training.ensembles import networks, train

    task = draw_task(0, d=DIMENSION, h=WIDTH, k=3, n=DATA)
    start = networks(*students(task, np.full(NETWORKS, 0.5), np.linspace(-1, 1, NETWORKS)))
    moments: list[float] = []

    def watch(first, now):
        moments.append(time.perf_counter())
        return now.a[:, 0]

    checkpoints = [STEPS * place for place in range(STRETCHES + 1)]
    options = {"step": 1e-4, "checkpoints": checkpoints, "observers": {"watch": watch}, "threads": threads}
    train(start, task.X, task.y, dtype=torch.float32, compiled=True, **options)
    ends = np.array(moments).reshape(STRETCHES + 1, -1).max(1)
    return float(np.diff(ends).min()) / STEPS


def numpy_step(dtype) -> float:
    """Seconds a step of one network in NumPy, as one would write it: forward, residual, two gradients."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((DATA, DIMENSION), dtype=dtype) / np.sqrt(DIMENSION).astype(dtype)
    y = generator.standard_normal(DATA, dtype=dtype)
    W = generator.standard_normal((WIDTH, DIMENSION), dtype=dtype)
    a = generator.standard_normal(WIDTH, dtype=dtype)
    rate = dtype(1e-7)

    def step():
        nonlocal a, W
        Z = X @ W.T
        hidden = np.maximum(Z, 0)
        residual = hidden @ a - y
        slope_a = hidden.T @ residual
        slope_W = ((Z >= 0) * np.outer(residual, a)).T @ X
        a, W = a - rate * slope_a, W - rate * slope_W

    def loop():
        for _ in range(STRETCH * NETWORKS):
            step()

    return best_of(loop, STRETCHES) / (STRETCH * NETWORKS)


def kernel_seconds() -> tuple[dict[str, float], float]:
    """Seconds for the kernel in closed form and in both ways by ``torch.func``, and how far they are apart."""
    import torch

    from numerics.measures.kernels import two_layer_ntk

    generator = torch.Generator().manual_seed(0)
    X = torch.nn.functional.normalize(torch.randn(KERNEL_DATA, DIMENSION, generator=generator))
    a, W = torch.randn(WIDTH, generator=generator), torch.randn(WIDTH, DIMENSION, generator=generator)

    def output(parameters, x):
        return torch.relu(parameters["W"] @ x) @ parameters["a"]

    def jacobian():
        blocks = torch.func.vmap(torch.func.grad(output), (None, 0))({"a": a, "W": W}, X)
        return [block.flatten(1) for block in blocks.values()]

    def as_one_matrix():
        flat = torch.cat(jacobian(), 1)
        return flat @ flat.T

    def by_parameter():
        return sum(left @ right.T for left, right in zip(jacobian(), jacobian(), strict=True))

    closed = two_layer_ntk(a, W, X)
    gap = max((closed - other()).abs().max() / closed.abs().max() for other in (as_one_matrix, by_parameter))
    seconds = {
        "kernel": best_of(lambda: two_layer_ntk(a, W, X), 3),
        "jacobian": best_of(as_one_matrix, 1),
        "tutorial": best_of(by_parameter, 1),
    }
    return seconds, float(gap)


def measure(threads: int) -> dict[str, object]:
    """All contestants in turn, several rounds; the best of each, and the ratios."""
    import torch

    torch.set_num_threads(threads)
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        kernels, gap = kernel_seconds()
        found = kernels | {
            "matmul": 1.0 / matmul_rate(),
            "ensemble": ensemble_step(threads),
            "numpy": numpy_step(np.float32),
            "numpy64": numpy_step(np.float64),
        }
        best = {name: min(value, best.get(name, value)) for name, value in found.items()}
    rate = 1.0 / best["matmul"]
    ratios = {
        "fraction of matmul": products(NETWORKS) / best["ensemble"] / rate,
        "step against NumPy": best["numpy"] / (best["ensemble"] / NETWORKS),
        "kernel against torch.func": best["jacobian"] / best["kernel"],
    }
    return {
        "benchmark": "two-layer ensembles",
        "setting": {
            "networks": NETWORKS,
            "d": DIMENSION,
            "h": WIDTH,
            "n": DATA,
            "kernel n": KERNEL_DATA,
            "dtype": "float32",
            "threads": threads,
        },
        **surroundings("numpy", "torch"),
        "seconds": {
            "step of the ensemble": best["ensemble"],
            "step of one network of the ensemble": best["ensemble"] / NETWORKS,
            "step of one network in NumPy": best["numpy"],
            "step of one network in NumPy, float64": best["numpy64"],
            "kernel, closed form": best["kernel"],
            "kernel, torch.func": best["jacobian"],
            "kernel, torch.func as in the tutorial": best["tutorial"],
        },
        "matmul GFLOP/s": rate / 1e9,
        OWN_FRACTION: products(1) / best["numpy"] / rate,
        "kernel deviation": gap,
        "ratios": ratios,
        "wanted": WANTED,
        "holds": all(ratios[name] >= wanted for name, wanted in WANTED.items()) and gap < 1e-5,
    }


def main(arguments: list[str] | None = None) -> int:
    parser = with_json("Ensembles and kernels of two-layer networks.")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args(arguments)
    return status(measure(options.threads), _show, options.json)


def _show(result) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"two-layer networks, {result['setting']['threads']} threads")
    for name, side in (("", "left"), ("measured", "right"), ("wanted", "right"), ("", "left")):
        table.add_column(name, justify=side)
    for name, ratio in result["ratios"].items():
        wanted = WANTED[name]
        table.add_row(name, f"{ratio:.2f}", f"{wanted:g}", "reached" if ratio >= wanted else "missed")
    console = Console()
    console.print(table)
    for name, seconds in result["seconds"].items():
        console.print(f"{name}: {seconds * 1e3:.3g} ms")
    console.print(
        f"matrix products: {result['matmul GFLOP/s']:.0f} GFLOP/s, of which the NumPy loop reaches "
        f"{result[OWN_FRACTION]:.0%}; load of the machine {result['machine']['load']:.1f}"
    )


if __name__ == "__main__":
    sys.exit(main())
