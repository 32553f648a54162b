"""Whole steps of gradient descent in C, for two-layer networks on a CPU, one network after another.

The two products of a step and what lies between them take a block of the data at a time, whose hidden inputs stay in
the first cache, where a step of ``numerics.training.steppers`` writes them to memory and reads them again between.
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

from numerics.training.observers import Networks
from symdyn.arrays.backends import is_tensor
from symdyn.arrays.kinds import dtype_of

SOURCE = Path(__file__).with_suffix(".c")
FLAGS = ("-std=gnu11", "-O3", "-march=native", "-fopenmp-simd", "-fno-fast-math", "-shared", "-fPIC")
BLOCK_BYTES, VECTOR_BYTES = 256, 64
NUMBERS = {torch.float32: ("float", ctypes.c_float), torch.float64: ("double", ctypes.c_double)}
COMPILER_SECONDS = 60
LONGEST, OPERATIONS = 50, 2**34


def available(dtype: torch.dtype = torch.float32) -> bool:
    """Whether steps in C can be taken here in numbers of this dtype: a C compiler is there, and what it makes loads."""
    return dtype in NUMBERS and not isinstance(_built(dtype, SOURCE, _named()), str)


def compiler_version(dtype: torch.dtype = torch.float32) -> str:
    """The C compiler's version, and its flags if CC names any. Raises RuntimeError where there is none that works."""
    return _made(dtype, SOURCE).compiler


@dataclass(frozen=True)
class Blocks:
    """The data as C reads them, filled up with zeros: Xᵀ and X by blocks, and y, for X in d coordinates.

    Shapes (blocks, d, length), (blocks, length, width) and (blocks, length).
    """

    columns: torch.Tensor
    rows: torch.Tensor
    targets: torch.Tensor

    @classmethod
    def of(cls, X: torch.Tensor, y: torch.Tensor) -> Blocks:
        """From X (n, d) and y (n,), of one dtype; blocks and rows end on whole vectors of the processor."""
        for name, tensor in (("X", X), ("y", y)):
            if not is_tensor(tensor):
                raise TypeError(f"steps in C are of tensors: {name} is a {type(tensor).__name__}")
            dtype_of(torch, name, tensor)
            if tensor.dtype not in NUMBERS:
                raise ValueError(f"steps in C are of float32 or float64: {name} is {tensor.dtype}")
        if X.dtype != y.dtype:
            raise ValueError(f"X and y must share a dtype: they are {X.dtype} and {y.dtype}")
        (n, d), size = X.shape, X.element_size()
        length, width = BLOCK_BYTES // size, _up(d, VECTOR_BYTES // size)
        count = _up(n, length) // length
        rows, targets = X.new_zeros(count * length, width), X.new_zeros(count * length)
        rows[:n, :d], targets[:n] = X, y
        rows, targets = rows.view(count, length, width), targets.view(count, length)
        return cls(rows[..., :d].mT.contiguous(), rows, targets)


class Native:
    """Steps of some networks in place; a and W are contiguous, of float32 or float64, on the CPU.

    With ξ_k = Σᵢ σ′(w_kᵀxᵢ) rᵢ xᵢ, a moves by −speed η_a w_kᵀξ_k and w_k by −speed η_w a_k ξ_k. ``speed`` is (B,) for
    B networks, and ``data`` are ``Blocks.of`` X and y in the networks' dtype. Raises ValueError for what does not fit,
    and RuntimeError where there is no C compiler, or none that works.
    """

    def __init__(self, part: Networks, speed: torch.Tensor, data: Blocks, source: Path = SOURCE) -> None:
        _check(part, speed, data)
        a, W = part.a, part.W
        (B, h, d), (blocks, length, width) = W.shape, data.rows.shape
        speeds = [(speed * rate).to(W).contiguous() for rate in (part.eta_a, part.eta_w)]
        buffers = W.new_empty(h, length), W.new_empty(h, width)
        # The tensors whose addresses C is given; they live as long as these steps.
        self.tensors = [data.columns, data.rows, data.targets, *speeds, a, W, *buffers]
        self.sizes = B, h, d, width, blocks
        self.gamma = float(part.gamma)
        self.function = _made(W.dtype, source).library.steps
        # Between two calls a run hears that it is to stop, and tells how far it is.
        self.longest = max(1, min(LONGEST, OPERATIONS // max(1, 4 * B * h * width * blocks * length)))

    def steps(self, count: int) -> None:
        """Advance by ``count`` steps. Raises ValueError for fewer than none."""
        if count < 0:
            raise ValueError(f"the number of steps must not be negative, it is {count}")
        columns, rows, targets, *others = [tensor.data_ptr() for tensor in self.tensors]
        self.function(count, *self.sizes, columns, rows, targets, self.gamma, *others)


def _check(part: Networks, speed: torch.Tensor, data: Blocks) -> None:
    a, W = part.a, part.W
    stored = {"W": W, "a": a, "columns": data.columns, "rows": data.rows, "targets": data.targets}
    for name, tensor in stored.items():
        if tensor.dtype not in NUMBERS or tensor.device.type != "cpu" or not tensor.is_contiguous():
            raise ValueError(
                f"steps in C are of contiguous float32 or float64 on a CPU: {name} is {tensor.dtype} on "
                f"{tensor.device}, with strides {tensor.stride()}"
            )
        if tensor.dtype != W.dtype:
            raise ValueError(f"steps in C are in one dtype: W is {W.dtype}, {name} is {tensor.dtype}")
    (B, h, d), blocks, size = W.shape, len(data.columns), W.element_size()
    length, width = BLOCK_BYTES // size, _up(d, VECTOR_BYTES // size)
    shapes = {
        "a": (a, (B, h)),
        "speed": (speed, (B,)),
        "eta_a": (part.eta_a, (B,)),
        "eta_w": (part.eta_w, (B,)),
        "columns": (data.columns, (blocks, d, length)),
        "rows": (data.rows, (blocks, length, width)),
        "targets": (data.targets, (blocks, length)),
    }
    for name, (tensor, shape) in shapes.items():
        if tensor.shape != shape:
            raise ValueError(f"{name} must be {shape} for W {tuple(W.shape)}, it is {tuple(tensor.shape)}")


def _up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


def _named() -> str:
    return os.environ.get("CC", "")


def _compiler(named: str) -> list[str]:
    """The command that compiles C. Raises ValueError where none is found."""
    for command in [shlex.split(named)] if named.strip() else [["cc"], ["gcc"], ["clang"]]:
        if shutil.which(command[0]):
            return command
    raise ValueError(f"there is no {named}" if named.strip() else "there is no cc, gcc or clang")


@dataclass(frozen=True)
class _Made:
    """A library that is loaded, and what made it."""

    library: ctypes.CDLL
    compiler: str


def _made(dtype: torch.dtype, source: Path) -> _Made:
    found = _built(dtype, source, _named())
    if isinstance(found, str):
        raise RuntimeError(found)
    return found


@functools.cache
def _built(dtype: torch.dtype, source: Path, named: str) -> _Made | str:
    """The library, or why there is none; a compiler that failed is not asked again."""
    real, number = NUMBERS[dtype]
    try:
        compiler = _compiler(named)
        # A library stays loaded when its file is gone, and on Windows its file stays for as long as it is loaded. It is
        # not kept, for it may not run on another processor.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            target = Path(folder) / "steps.so"
            given = f"-DREAL={real}", f"-DBLOCK_BYTES={BLOCK_BYTES}"
            command = [*compiler, *FLAGS, *given, "-o", str(target), str(source)]
            done = _run(command)
            if done.returncode != 0:
                return _advice(f"could not compile {source.name}:\n{shlex.join(command)}\n{done.stderr}")
            library = ctypes.CDLL(str(target))
        sizes, pointers = [ctypes.c_size_t], [ctypes.c_void_p]
        library.steps.argtypes = 6 * sizes + 3 * pointers + [number] + 6 * pointers  # type: ignore[operator]  # types of C beside each other
        library.steps.restype = None
        return _Made(library, _version(compiler))
    except (OSError, ValueError, AttributeError, subprocess.SubprocessError) as error:
        return _advice(str(error))


def _version(compiler: list[str]) -> str:
    """What a compiler says that it is, without the name by which it was called, and its flags."""
    said = _run([*compiler, "--version"]).stdout.partition("\n")[0]
    return " ".join([said.partition(" ")[2] or said or "of unknown version", *compiler[1:]])


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=COMPILER_SECONDS,
    )


def _advice(reason: str) -> str:
    return (
        "steps in C need a working C compiler and a folder for temporary files in which programs may run; install gcc "
        f"or clang, name yours in the environment variable CC, or leave out compiled=True: {reason}"
    )
