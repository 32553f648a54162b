"""Whole steps of gradient descent in C, for two-layer networks on a CPU, one network after another.

The two products of a step and what lies between them take a block of the data at a time, whose hidden inputs stay in
the first cache, where a step of ``numerics.steppers`` writes them to memory and reads them again between products.
The source, ``native_steps.c``, is compiled on first use, for the processor at hand, by the C compiler that the
environment variable CC names, or else by ``cc``, ``gcc`` or ``clang``.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch

from numerics.observers import Networks

SOURCE = Path(__file__).with_suffix(".c")
FLAGS = ("-std=gnu11", "-O3", "-march=native", "-fopenmp-simd", "-shared", "-fPIC")
BLOCK_BYTES, VECTOR_BYTES = 256, 64
NUMBERS = {torch.float32: ("float", ctypes.c_float), torch.float64: ("double", ctypes.c_double)}
LONGEST = 50


def available() -> bool:
    """Whether there is a C compiler; whether it works shows when steps are first asked for."""
    return _compiler() is not None


@dataclass(frozen=True)
class Blocks:
    """The data as C reads them, filled up with zeros: Xᵀ and X by blocks, and y.

    Shapes (blocks, d, length), (blocks, length, width) and (blocks, length).
    """

    columns: torch.Tensor
    rows: torch.Tensor
    targets: torch.Tensor

    @classmethod
    def of(cls, X, y) -> Blocks:
        """From X (n, d) and y (n,); blocks and rows end on whole vectors of the processor."""
        (n, d), size = X.shape, X.element_size()
        length, width = BLOCK_BYTES // size, _up(d, VECTOR_BYTES // size)
        count = _up(n, length) // length
        rows, targets = X.new_zeros(count * length, width), X.new_zeros(count * length)
        rows[:n, :d], targets[:n] = X, y
        rows, targets = rows.view(count, length, width), targets.view(count, length)
        return cls(rows[..., :d].mT.contiguous(), rows, targets)


class Native:
    """Steps of some networks in place; a and W are contiguous, of float32 or float64, on the CPU.

    With ξ_k = Σᵢ σ′(w_kᵀxᵢ) rᵢ xᵢ, a moves by −speed η_a w_kᵀξ_k and w_k by −speed η_w a_k ξ_k. Raises ValueError
    for other W, and RuntimeError where there is no C compiler or it reports an error. That a, speed and the data have
    the dtype of W and fit it is the caller's part, as ``numerics.ensembles.train`` sees to on a CPU.
    """

    longest = LONGEST

    def __init__(self, part: Networks, speed, data: Blocks, source: Path = SOURCE) -> None:
        a, W = part.a, part.W
        if W.dtype not in NUMBERS or W.is_cuda or not (a.is_contiguous() and W.is_contiguous()):
            raise ValueError(
                f"steps in C are of contiguous float32 or float64 on a CPU: W is {W.dtype} on {W.device}"
            )
        (B, h, d), (blocks, length, width) = W.shape, data.rows.shape
        speeds = [(speed * rate).to(W).contiguous() for rate in (part.eta_a, part.eta_w)]
        buffers = W.new_empty(h, length), W.new_empty(h, width)
        # The tensors whose addresses C is given; they live as long as these steps.
        self.tensors = [data.columns, data.rows, data.targets, *speeds, a, W, *buffers]
        self.sizes = [ctypes.c_size_t(value) for value in (B, h, d, width, blocks)]
        self.gamma = NUMBERS[W.dtype][1](part.gamma)
        self.function = _library(W.dtype, source).steps

    def steps(self, count: int) -> None:
        """Advance by ``count`` steps."""
        columns, rows, targets, *others = [ctypes.c_void_p(tensor.data_ptr()) for tensor in self.tensors]
        self.function(ctypes.c_size_t(count), *self.sizes, columns, rows, targets, self.gamma, *others)


def _up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


def _compiler() -> list[str] | None:
    named = shlex.split(os.environ.get("CC", ""))
    for command in [named] if named else [["cc"], ["gcc"], ["clang"]]:
        if shutil.which(command[0]):
            return command
    return None


@functools.cache
def _library(dtype: torch.dtype, source: Path) -> ctypes.CDLL:
    compiler = _compiler()
    if compiler is None:
        raise RuntimeError(
            "compiled steps on a CPU need a C compiler: install gcc or clang, or name yours in the environment "
            "variable CC"
        )
    # A library stays loaded when its file is gone. It is not kept, for it may not run on another processor.
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "steps.so"
        real = f"-DREAL={NUMBERS[dtype][0]}"
        done = subprocess.run(
            [*compiler, *FLAGS, real, "-o", str(target), str(source)], capture_output=True, text=True
        )
        if done.returncode != 0:
            raise RuntimeError(f"{shlex.join(compiler)} could not compile {source.name}:\n{done.stderr}")
        return ctypes.CDLL(str(target))
