"""Compiled functions: a value of the theory as a function of NumPy arrays, torch tensors or exact numbers."""

from __future__ import annotations

import dataclasses
import inspect
import keyword
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from symdyn.arrays import backends as arrays
from symdyn.arrays import linalg
from symdyn.calculus.vectors import Entries, Vector
from symdyn.compile import bounds, printers
from symdyn.compile.assured import Assurance
from symdyn.compile.exact import evaluate_exactly
from symdyn.compile.heads import BACKENDS
from symdyn.compile.lower import Graph, Lowering
from symdyn.compile.outputs import SCALAR, Output, output
from symdyn.compile.signs import known_signs

__all__ = ["Argument", "Compiled", "Condition", "build"]

_OPTIONS = ("check", "digits")


@dataclass(frozen=True)
class Argument:
    """An argument of a compiled function: its ASCII name, the symbol or vector it stands for, its meaning.

    `default` is a number, or None if the argument must be given.
    """

    name: str
    symbol: Any
    meaning: str = ""
    default: Any = None


@dataclass(frozen=True)
class Condition:
    """A condition on the arguments: in words ("positive"), as a SymPy Boolean, and the argument to blame."""

    description: str
    condition: Any
    blamed: str


@dataclass(frozen=True)
class _Program:
    """What the backends share: the graph, the nodes of outputs and conditions, and the input names."""

    name: str
    graph: Graph
    outputs: tuple[Output, ...]
    conditions: tuple[Condition, ...]
    tests: tuple[int, ...]
    arguments: tuple[Any, ...]
    is_tuple: bool

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(argument.name for argument in self.arguments)

    @property
    def vectors(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.arguments if isinstance(a.symbol, Vector))

    @property
    def matrices(self) -> tuple[str, ...]:
        """Those of the vectors that are the entries of a square matrix."""
        return tuple(a.name for a in self.arguments if isinstance(a.symbol, Entries))

    @property
    def squared(self) -> tuple[str, ...]:
        """The vectors v of which vᵀv is computed."""
        squares = [node[1] for node in self.graph.nodes if node[0] == "dot" and node[1] == node[2]]
        return tuple(self.graph.nodes[position][1] for position in squares)

    def source(self, backend: str) -> str:
        nodes = [out.node for out in self.outputs]
        return printers.source(self.graph, nodes, self.names, backend, self.name)

    def bound_source(self, backend: str) -> str:
        nodes = [out.node for out in self.outputs]
        return bounds.source(self.graph, nodes, self.names, backend, self.name)

    def test_source(self, backend: str) -> str:
        return printers.source(self.graph, self.tests, self.names, backend, self.name)


def build(
    value: Any,
    arguments: Sequence[Any],
    backend: str = "auto",
    *,
    name: str,
    domain: Sequence[Any] = (),
    check: bool = True,
    summary: str = "",
) -> Compiled:
    """Compile a value to a function of its arguments.

    value: a SymPy expression, a combination of vectors (result (..., d)), a Gram or isotropic operator (...,
    d, d), or a
        tuple of these.
    arguments: `Argument`s, or objects with the same four attributes, in positional order.
    backend: "auto" (the input decides between NumPy and torch), "numpy", "torch" or "mpmath".
    domain: `Condition`s or triples (description, SymPy Boolean, argument to blame), checked on eager calls;
        where values are not checked, the result is NaN outside.
    check: whether values are checked unless a call says otherwise.

    Raises UnsupportedHead (naming result and head) if something in the value cannot be computed on the
    backend, on any of the three for "auto"; ValueError for symbols that are not arguments, two arguments of one
    name or for one symbol, and names that are no ASCII identifier or an option of every call (check, digits).
    Any other name will do, words of Python and names within the generated code among them.
    """
    if backend not in ("auto", *BACKENDS):
        raise ValueError(f"{name}: no backend {backend!r}; choose from auto, {', '.join(BACKENDS)}")
    arguments = tuple(arguments)
    check_names(name, arguments)
    conditions = tuple(c if isinstance(c, Condition) else Condition(*c) for c in domain)
    signs = known_signs(c.condition for c in conditions)
    lowering = Lowering(name, {argument.symbol: argument.name for argument in arguments}, signs)
    like = next((a.symbol for a in arguments if isinstance(a.symbol, Vector)), None)
    values = value if isinstance(value, tuple) else (value,)
    outputs = tuple(output(lowering, part, like) for part in values)
    if any(isinstance(a.symbol, Entries) for a in arguments) and any(out.rank != SCALAR for out in outputs):
        raise ValueError(f"{name}: of matrices as vectors of their entries, only numbers compile")
    for condition in conditions:
        if condition.blamed not in [argument.name for argument in arguments]:
            raise ValueError(f"{name}: the condition {condition.description!r} blames no argument of it")
    tests = tuple(lowering.boolean(c.condition) for c in conditions)
    program = _Program(name, lowering.graph, outputs, conditions, tests, arguments, isinstance(value, tuple))
    for each in BACKENDS if backend == "auto" else (backend,):
        program.source(each)
    return Compiled(program, backend, check, summary)


def check_names(name: str, arguments: Sequence[Any]) -> None:
    """Raise ValueError unless every argument of the function `name` has a name and a symbol of its own."""
    names, symbols = [a.name for a in arguments], [a.symbol for a in arguments]
    for argument, symbol in zip(names, symbols, strict=True):
        if argument in _OPTIONS:
            raise ValueError(
                f"{name}: {argument!r} cannot name an argument: it is an option of every call; choose another name"
            )
        if not argument.isidentifier() or not argument.isascii():
            raise ValueError(
                f"{name}: {argument!r} cannot name an argument: use ASCII letters, digits and underscores, "
                "no digit first"
            )
        if names.count(argument) > 1:
            raise ValueError(f"{name}: the argument {argument} is listed twice")
        if symbols.count(symbol) > 1:
            same = ", ".join(n for n, s in zip(names, symbols, strict=True) if s == symbol)
            raise ValueError(f"{name}: the arguments {same} stand for one symbol, {symbol}")


class Compiled:
    """A function of arrays, called by position or keyword; see `build`.

    Leading axes broadcast; vectors are the last axis, matrices the last two. A tensor among the arguments
    makes it a torch computation, otherwise NumPy; what is given in float32 is computed in float64 and returned in
    float32, so that neither squares nor differences leave its range or its digits. Where rounding may cost more than
    the accuracy contract allows, the result is computed in as many digits as it needs. `check=False` skips the checks
    of values: outside the domain, and where more digits would be needed, the result is then NaN; so it is inside
    transforms (vmap, compile, jvp). On mpmath (`.mpmath`) arguments are numbers and sequences of numbers, and
    `digits=` sets the precision.
    """

    def __init__(self, program: _Program, backend: str, check: bool, summary: str) -> None:
        self._program, self._backend, self._check, self._summary = program, backend, check, summary
        backends = [each for each in ("numpy", "torch") if backend in ("auto", each)]
        # made here and not on first use, which may be inside torch.compile
        self._kernels = {each: _kernels(program, each) for each in backends}
        self._assurance = Assurance(program, backends)
        self.__name__ = self.__qualname__ = program.name.rpartition(".")[2]
        self.__doc__ = _docstring(program, backend, summary)
        self.__signature__ = _signature(program, backend)

    def __reduce__(self) -> tuple[Any, ...]:
        return Compiled, (self._program, self._backend, self._check, self._summary)

    def __repr__(self) -> str:
        return f"<compiled {self._program.name}{self.__signature__} on {self._backend}>"

    @property
    def numpy(self) -> Compiled:
        """The same function for NumPy only: tensors are refused."""
        return self._on("numpy")

    @property
    def torch(self) -> Compiled:
        """The same function for torch only: arguments become tensors, float64 unless they say otherwise."""
        return self._on("torch")

    @property
    def mpmath(self) -> Compiled:
        """The same function on exact numbers, to any number of digits."""
        return self._on("mpmath")

    def _on(self, backend: str) -> Compiled:
        self._program.source(backend)
        return Compiled(self._program, backend, self._check, self._summary)

    def source(self, backend: str) -> str:
        """The generated Python source for a backend."""
        return self._program.source(backend)

    def __call__(self, /, *args: Any, check: bool | None = None, digits: int = 50, **kwargs: Any) -> Any:
        values = _bind(self._program, args, kwargs)
        check = self._check if check is None else check
        if self._backend == "mpmath":
            return evaluate_exactly(self._program, values, digits, check)
        if self._backend == "torch":
            values = _as_tensors(values)
        if self._backend == "numpy" and any(arrays.is_tensor(value) for value in values.values()):
            raise TypeError(
                f"{self.__name__} was built for NumPy; convert the tensor with .numpy(force=True)"
            )
        return self._run(_flat(self._program, arrays.collect(**values)), check)

    def _run(self, read: arrays.Collected, check: bool) -> Any:
        collected = arrays.widened(read)
        backend = "numpy" if collected.xp.__name__ == "numpy" else "torch"
        batch, dimension = _shapes(self._program, collected)
        with arrays.quiet(collected.xp):
            if check and not collected.traced:
                self._check_values(collected, backend, batch)

            def compute(given: arrays.Collected) -> tuple[Any, ...]:
                inputs = [given[name] for name in self._program.names]
                results = self._kernels[backend][0](given.xp, _like(given), *inputs)
                return tuple(
                    _finish(given, read.dtype, result, batch + (dimension,) * out.rank)
                    for result, out in zip(results, self._program.outputs, strict=True)
                )

            if check and not collected.traced and self._program.arguments:
                finished = self._assurance.settle(collected, batch, read.dtype, compute)
            else:
                finished = compute(collected)
            if not check or collected.traced:
                inside = self._inside(collected, backend, batch)
                if self._program.arguments:
                    trusted = self._assurance.trusted(collected, read.dtype, self._kernels[backend][0])
                    inside = collected.xp.broadcast_to(inside & trusted, batch)
                finished = tuple(_nan_outside(collected.xp, inside, part, batch) for part in finished)
        return finished if self._program.is_tuple else finished[0]

    def _conditions(self, collected: arrays.Collected, backend: str) -> tuple[Any, ...]:
        """Whether each condition of the domain holds: booleans, or arrays of them that broadcast."""
        if not self._program.tests:
            return ()
        inputs = [arrays.detach(collected[name]) for name in self._program.names]
        return tuple(self._kernels[backend][1](collected.xp, _like(collected), *inputs))

    def _inside(self, collected: arrays.Collected, backend: str, batch: tuple[int, ...]) -> Any:
        """Where all arguments are finite and in the domain, of the batch shape or True."""
        inside: Any = True
        for name in self._program.names:
            finite = collected.xp.isfinite(arrays.detach(collected[name]))
            inside = inside & (finite.all(-1) if name in self._program.vectors else finite)
        for good in self._conditions(collected, backend):
            inside = inside & good
        return inside if isinstance(inside, bool) else collected.xp.broadcast_to(inside, batch)

    def _check_values(self, collected: arrays.Collected, backend: str, batch: tuple[int, ...]) -> None:
        scalars = [name for name in self._program.names if name not in self._program.vectors]
        arrays.require_finite(collected, *scalars, vectors=self._program.vectors)
        for name in self._program.squared:
            square = (arrays.detach(collected[name]) ** 2).sum(-1)
            good = collected.xp.isfinite(square)
            arrays.require(name, good, f"of a length whose square does not overflow in {collected.dtype}")
        holds = self._conditions(collected, backend)
        for condition, good in zip(self._program.conditions, holds, strict=True):
            shown = good if isinstance(good, bool) else collected.xp.broadcast_to(good, batch)
            arrays.require(condition.blamed, shown, condition.description)


def _kernels(program: _Program, backend: str) -> tuple[Any, Any]:
    """The kernels of the values and of the domain on a backend of arrays."""
    sources = (program.source(backend), program.test_source(backend))
    values, test = (printers.array_kernel(text, backend, program.name) for text in sources)
    return values, test


def _flat(program: _Program, collected: arrays.Collected) -> arrays.Collected:
    """The arguments with matrices (..., n, n) as vectors (..., n²) of their entries."""
    if not program.matrices:
        return collected
    shapes = {name: tuple(collected[name].shape) for name in program.matrices}
    for name in shapes:
        linalg.check_square(name, collected[name])
    if len({shape[-1] for shape in shapes.values()}) > 1:
        listed = ", ".join(f"{name} is {shape[-2:]}" for name, shape in shapes.items())
        raise ValueError(f"all matrices of {program.name} must have one size; {listed}")
    flat = {name: collected[name].reshape((*s[:-2], s[-1] ** 2)) for name, s in shapes.items()}
    return dataclasses.replace(collected, arrays={**collected.arrays, **flat})


def _like(collected: arrays.Collected) -> Any:
    return next(iter(collected), None)


def _bind(program: _Program, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    unknown = [name for name in kwargs if name not in program.names]
    if unknown or len(args) > len(program.names):
        wrong = (
            f"has no argument {', '.join(unknown)}" if unknown else f"takes {len(program.names)} arguments"
        )
        raise TypeError(f"{program.name} {wrong}. Its arguments:\n{_listing(program)}")
    values = dict(zip(program.names, args, strict=False))
    twice = [name for name in kwargs if name in values]
    if twice:
        raise TypeError(f"{program.name} got {', '.join(twice)} twice, by position and by keyword")
    values.update(kwargs)
    missing = [a.name for a in program.arguments if a.name not in values and a.default is None]
    if missing:
        raise TypeError(f"{program.name} needs {', '.join(missing)}. Its arguments:\n{_listing(program)}")
    return {a.name: values.get(a.name, a.default) for a in program.arguments}


def _as_tensors(values: Mapping[str, Any]) -> dict[str, Any]:
    import torch

    if any(arrays.is_tensor(value) for value in values.values()):
        return dict(values)
    collected = arrays.collect(**values)
    return {name: torch.as_tensor(collected[name]) for name in values}


def _shapes(program: _Program, collected: arrays.Collected) -> tuple[tuple[int, ...], int]:
    """The batch shape and the dimension of the vectors; ValueError where shapes do not fit."""
    for name in program.vectors:
        arrays.check_vector(name, collected[name])
    lengths = {name: collected[name].shape[-1] for name in program.vectors if name not in program.matrices}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"all vectors of {program.name} must have one length along the last axis; {listed}")
    shapes = {
        name: tuple(collected[name].shape[:-1] if name in program.vectors else collected[name].shape)
        for name in program.names
    }
    return arrays.broadcast_shape(**shapes), next(iter(lengths.values()), 0)


def _finish(collected: arrays.Collected, dtype: Any, result: Any, shape: tuple[int, ...]) -> Any:
    """The result in the dtype asked for and with the full broadcast shape, writable."""
    xp = collected.xp
    if xp.__name__ == "numpy":
        array = xp.asarray(result, dtype=dtype)
        return (array if array.shape == shape else xp.broadcast_to(array, shape).copy())[()]
    if not hasattr(result, "shape"):
        return xp.full(shape, result, dtype=dtype, device=_like(collected).device)
    own = tuple(result.shape) == shape and all(result is not array for array in collected)
    return (result if own else result.expand(shape).clone()).to(dtype)


def _nan_outside(xp: Any, inside: Any, array: Any, batch: tuple[int, ...]) -> Any:
    """The array, NaN where `inside` is False; its axes after those of the batch are of vectors or matrices."""
    if isinstance(inside, bool):
        return array
    mask = inside.reshape(tuple(inside.shape) + (1,) * (len(array.shape) - len(batch)))
    kept = arrays.where(xp, mask, array, float("nan"))
    return kept[()] if xp.__name__ == "numpy" else kept


def _listing(program: _Program) -> str:
    return "\n".join(f"    {line}" for line in _argument_lines(program))


def _argument_lines(program: _Program) -> list[str]:
    lines = []
    for argument in program.arguments:
        shape = "(..., d)" if isinstance(argument.symbol, Vector) else "(...)"
        shape = "(..., n, n)" if isinstance(argument.symbol, Entries) else shape
        default = "" if argument.default is None else f", default {argument.default}"
        meaning = f": {argument.meaning}" if argument.meaning else ""
        lines.append(f"{argument.name} {shape}{default}{meaning}")
    return lines


def _docstring(program: _Program, backend: str, summary: str) -> str:
    shapes = [("(...)", "(..., d)", "(..., d, d)")[out.rank] for out in program.outputs]
    parts = [summary or program.name, "", "Arguments:"]
    parts += [f"    {line}" for line in _argument_lines(program)]
    if backend == "mpmath":
        parts.append("    digits: decimal digits of the result, default 50")
    parts += ["", f"Returns: {', '.join(shapes)}"]
    if program.conditions:
        parts += ["", "Raises ValueError unless:"]
        parts += [f"    {condition.blamed} is {condition.description}" for condition in program.conditions]
    return "\n".join(parts)


def _signature(program: _Program, backend: str) -> inspect.Signature:
    options: dict[str, Any] = {"check": None, "digits": 50} if backend == "mpmath" else {"check": None}
    last = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
        for name, value in options.items()
    ]
    if any(keyword.iskeyword(name) for name in program.names):  # no signature may have a word of Python
        rest = inspect.Parameter("arguments", inspect.Parameter.VAR_POSITIONAL)
        named = inspect.Parameter("named", inspect.Parameter.VAR_KEYWORD)
        return inspect.Signature([rest, *last, named])
    parameters: list[inspect.Parameter] = []
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for argument in program.arguments:
        default = inspect.Parameter.empty if argument.default is None else argument.default
        if argument.default is None and any(p.default is not inspect.Parameter.empty for p in parameters):
            kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(argument.name, kind, default=default))
    return inspect.Signature([*parameters, *last])
