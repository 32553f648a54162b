"""From a graph of operations to Python source and a callable, for NumPy, PyTorch and mpmath."""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import sympy

from symdyn.arrays import backends as arrays
from symdyn.compile import aids
from symdyn.compile.heads import OPERATIONS, UnsupportedHead, head_of
from symdyn.compile.lower import Graph

_DIGITS_OF_A_LITERAL = 30
_GIVEN = "given_"
"""What the names of arguments begin with in generated code, and no other name there does.

An argument may then be called as a temporary or a module is, or as a word of Python.
"""


def source(graph: Graph, outputs: Sequence[int], inputs: Sequence[str], backend: str, name: str) -> str:
    """The text of `def kernel(xp, like, inputs…)` that returns the tuple of outputs.

    Every node is computed once, in a variable of its own; inputs are called `given_` and their name. `xp` is numpy
    or torch (mpmath's kernel is given its context instead), `like` an array that tells dtype and device.
    Raises UnsupportedHead if the backend lacks an operation.
    """
    writer = Writer(graph, backend, name)
    results = [writer.resolve(position) for position in outputs]
    needed = writer.needed(results)
    lines = [writer.line(position) for position in needed]
    if backend == "numpy":
        lines = writer.released(results, needed, lines)
    returned = "".join(f"{writer.operand(position)}, " for position in results)
    body = [*(line for line in lines if line), f"return ({returned})"]
    parameters = ", ".join(["xp", "like", *map(given, inputs)])
    return f"def kernel({parameters}):\n" + "".join(f"    {line}\n" for line in body)


def given(name: str) -> str:
    """What an argument is called in generated code."""
    return _GIVEN + name


class Writer:
    """Writes the nodes of a graph for one backend. NumPy, which has no gradients, passes guards over."""

    def __init__(self, graph: Graph, backend: str, name: str) -> None:
        self.graph, self.backend, self.name = graph, backend, name

    def resolve(self, position: int) -> int:
        operation, *operands = self.graph.nodes[position]
        guarded = self.backend == "numpy" and operation == "guard"
        return self.resolve(operands[1]) if guarded else position

    def is_leaf(self, position: int) -> bool:
        return self.graph.nodes[position][0] in ("input", "truth", "constant")

    def operands(self, position: int) -> list[int]:
        return [] if self.is_leaf(position) else [self.resolve(o) for o in self.graph.nodes[position][1:]]

    def needed(self, results: Sequence[int]) -> list[int]:
        """The nodes that the results rest on, in order of computation."""
        found: set[int] = set()
        pending = list(results)
        while pending:
            position = pending.pop()
            if position not in found:
                found.add(position)
                pending.extend(self.operands(position))
        return sorted(found)

    def operand(self, position: int) -> str:
        node = self.graph.nodes[position]
        if node[0] == "constant":
            return f"constants[{position}]" if self.backend == "mpmath" else literal(node[1])
        if node[0] == "input":
            return given(node[1])
        return str(node[1]) if self.is_leaf(position) else f"t{position}"

    def line(self, position: int) -> str:
        """The assignment of a node, empty for leaves."""
        if self.is_leaf(position):
            return ""
        operation, operands = self.graph.nodes[position][0], self.operands(position)
        template = OPERATIONS[operation].template(self.backend)
        if template is None:
            raise UnsupportedHead(self.name, head_of(operation), self.backend)
        lifted = [self._needs_lift(operation, operands, operand) for operand in operands]
        texts = [
            self._lifted(o) if lift else self.operand(o) for o, lift in zip(operands, lifted, strict=True)
        ]
        return f"t{position} = {template.format(*texts)}"

    def _needs_lift(self, operation: str, operands: Sequence[int], operand: int) -> bool:
        """Whether a constant must become an array: where it would decide the dtype, or torch insists."""
        if self.backend == "mpmath" or not self.graph.is_constant(operand):
            return False
        if operation == "where":
            return all(self.graph.is_constant(o) for o in operands[1:])
        return self.backend == "torch" and OPERATIONS[operation].lift

    def _lifted(self, operand: int) -> str:
        if self.backend == "torch":
            return f"xp.full((), {self.operand(operand)}, dtype=like.dtype, device=like.device)"
        return f"like.dtype.type({self.operand(operand)})"

    def released(self, results: Sequence[int], needed: Sequence[int], lines: Sequence[str]) -> list[str]:
        """The lines, each followed by the deletion of what it used last: large arrays then reuse memory."""
        last_use = {operand: at for at in needed for operand in self.operands(at)}
        ends: dict[int, list[str]] = {}
        for position, at in last_use.items():
            if position not in results and not self.is_leaf(position):
                ends.setdefault(at, []).append(f"t{position}")
        deletions = [f"; del {', '.join(ends[at])}" if at in ends else "" for at in needed]
        return [line + deletion for line, deletion in zip(lines, deletions, strict=True)]


def literal(number: Any) -> str:
    """The nearest Python float to an exact number, as source text."""
    value = repr(float(number.evalf(_DIGITS_OF_A_LITERAL)))
    return f"({value})" if value.startswith("-") else value


@functools.lru_cache(maxsize=1024)
def array_kernel(text: str, backend: str, name: str, rules: Any = None) -> Callable[..., tuple[Any, ...]]:
    """The function of a source text for NumPy or torch. It is given the module as its first argument.

    `rules` is what the text calls by that name: the module of the rules of rounding, where it has bounds.
    """
    namespace = {"aid": aids, "arrays": arrays, "rules": rules, "inf": float("inf"), "nan": float("nan")}
    return _execute(text, namespace, f"<symdyn {name} on {backend}>")


def exact_kernel(
    text: str, graph: Graph, digits: int, name: str
) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
    """An mpmath context of the given digits and the function of a source text in it.

    The context is a private one: no global precision is read or changed.
    """
    context = mpmath.mp.clone()
    context.dps = digits
    constants = {
        position: number(context, node[1])
        for position, node in enumerate(graph.nodes)
        if node[0] == "constant"
    }
    namespace = {"mp": context, "aid": aids.Exact(context), "constants": constants}
    return context, _execute(text, namespace, f"<symdyn {name} on mpmath>")


def number(context: Any, value: Any) -> Any:
    """A number in an mpmath context: exactly, or for an irrational SymPy number to the context's precision.

    Accepts integers, fractions, decimals, floats, mpmath numbers and real SymPy numbers.
    """
    if isinstance(value, Decimal):
        value = Fraction(value) if value.is_finite() else float(value)
    if isinstance(value, sympy.Rational):
        return context.mpf(int(value.p)) / int(value.q)
    if value is sympy.nan or value in (sympy.oo, -sympy.oo):
        return context.mpf(float(value))
    if isinstance(value, sympy.Expr):
        return context.mpf(value.evalf(context.dps + 5)._to_mpmath(context.prec + 15))
    if isinstance(value, np.floating):
        value = Fraction(*value.as_integer_ratio()) if np.isfinite(value) else float(value)
    if isinstance(value, mpmath.mp.constant):
        return context.make_mpf(value.func(context.prec, "n"))
    if hasattr(value, "numerator") and hasattr(value, "denominator"):
        return context.mpf(int(value.numerator)) / int(value.denominator)
    return context.mpf(value)


def _execute(text: str, namespace: dict[str, Any], filename: str) -> Callable[..., tuple[Any, ...]]:
    lines = text.splitlines(keepends=True)
    linecache.cache[filename] = (len(text), None, lines, filename)  # so that tracebacks show the source
    exec(compile(text, filename, "exec"), namespace)
    kernel: Callable[..., tuple[Any, ...]] = namespace["kernel"]
    return kernel
