"""Whatever kind of array is given, wherever arrays enter: the values are right, or the argument is refused by name.

Right is what the same numbers give in float64, to the rounding of the dtype in which the rule of
`symdyn.arrays.kinds` computes. Entries are found by introspection: one that is in no table of `array_entries` fails
the test. The kinds are those of `array_kinds`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import warnings
from collections import Counter
from functools import partial

import mpmath
import numpy as np
import pytest
import sympy as sp
import torch

import derivations
import numerics
from numerics.lab.study import Study
from numerics.measures import conserved, kernels
from symdyn.calculus.matrix import Letter
from symdyn.calculus.vectors import Vector
from symdyn.catalogue.registry import load, results
from symdyn.compile.heads import UnsupportedHead
from tests.numerics import array_entries as entries
from tests.numerics.array_kinds import NONE, REFUSED, SHORT, WIDENED, same, sizes

TOPICS = (
    "single_neuron",
    "wide_linear",
    "deep_linear",
    "piecewise_linear",
    "prior_knowledge",
    "random_matrices",
    "signal_propagation",
)


def quietly(function, /, *given, **arguments):
    """The value, or the error that is raised in its place."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*given, **arguments)
        except Exception as error:
            return error


def refusal(error: Exception, name: str) -> str:
    """Whether an error names the argument."""
    if not isinstance(error, (TypeError, ValueError)):
        return f"{type(error).__name__}: {error}"
    # A batch of arguments is numbered, "matrices[0]", and so are layers.
    if "has no gradient; detach its arguments" in str(error):
        return "refused"
    words = [re.escape(name), name.rstrip("s") + r"\d*", *entries.CALLED_BESIDES.get(name, ())]
    named = re.search(rf"\b({'|'.join(words)})", str(error))
    return "refused" if named else f"an error without a name: {type(error).__name__}: {error}"


def outcome(function, name: str, kind: str, given, wanted) -> str:
    """right, refused, or what was wrong; ``wanted`` is the value, the error for these numbers, or NONE."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = function(**{name: given})
    except Exception as error:
        if isinstance(wanted, Exception) and str(error) == str(wanted):
            return "refused"
        return refusal(error, name)
    if wanted is NONE or isinstance(wanted, Exception):
        return f"taken, with {found!r:.60}"
    return (
        "right" if same(found, wanted, kind.endswith(SHORT)) else f"{found!r:.80} instead of {wanted!r:.80}"
    )


def count(counts: Counter, wrong: list, label: str, found: str) -> None:
    right = found in ("right", "refused")
    counts["tried"] += 1
    counts[found if right else "wrong"] += 1
    if not right:
        wrong.append(f"{label}: {found}")


def tried(label: str, function, arguments: dict, counts: Counter, wrong: list, base=lambda x: x) -> None:
    """Give each of the arrays among the arguments in every kind."""
    for name in [name for name, value in arguments.items() if isinstance(value, np.ndarray)]:
        x = arguments[name]
        others = {
            key: base(value) if isinstance(value, np.ndarray) else value for key, value in arguments.items()
        }
        called = partial(function, **others)
        plain, truth = (
            quietly(called, **{name: base(numbers)}) for numbers in (x, x.astype(bool).astype(float))
        )
        if isinstance(plain, Exception):
            count(counts, wrong, f"{label}, {name}", f"the example is no example: {plain!r}")
            continue
        for kind, make in (WIDENED | REFUSED).items():
            given = quietly(make, x.copy())
            if given is NONE:
                continue
            wanted = NONE if kind in REFUSED else truth if kind.endswith("bool") else plain
            count(counts, wrong, f"{label}, {name} as {kind}", outcome(called, name, kind, given, wanted))


def none_is_wrong(what: str, counts: Counter, wrong: list, share: float = 0.25) -> None:
    print(
        f"\n{what}: " + ", ".join(f"{counts[name]} {name}" for name in ("tried", "right", "refused", "wrong"))
    )
    assert not wrong, "\n".join([f"{len(wrong)} wrong", *wrong[:2000]])
    assert min(counts["right"], counts["refused"]) > share * counts["tried"]


# Compiled results.


def compiled_results() -> list:
    """The results that state a function and have arguments; that of others nothing can be asked is shown."""
    found, without = [], set()
    for result in results():
        try:
            names = result.compiled and result.arguments
        except TypeError as error:
            assert "states no function" in str(error)
        except UnsupportedHead as error:
            assert "Derivative" in str(error)
        else:
            found, without = ([*found, result], without) if names else (found, without | {result.key})
    assert without == entries.NO_ARGUMENTS
    return found


def example(term, seed: int) -> np.ndarray:
    """Small positive integers of the shape that a symbol asks for, every size being 2."""
    generator = np.random.default_rng(seed)
    sizes, symbol = (), term.symbol
    if isinstance(symbol, Letter):
        sizes = tuple(int(size) if sp.sympify(size).is_Integer else 2 for size in (symbol.rows, symbol.cols))
        sizes = sizes[:1] if sizes[1] == 1 else sizes
    elif isinstance(symbol, Vector):
        sizes = (2, 2) if term.name in entries.MATRICES else (2,)
    return generator.integers(1, 5, sizes).astype(float)


def test_compiled_results_take_or_refuse_every_kind_of_array():
    counts, wrong, found = Counter(), [], compiled_results()
    for result in found:
        given = {term.name: example(term, seed) for seed, term in enumerate(result.arguments)}
        tried(result.key, _wherever_it_has_a_value(load(result.key), given), given, counts, wrong)
    none_is_wrong(f"{len(found)} compiled results", counts, wrong)


def _wherever_it_has_a_value(result, given):
    """The result as it is called; without checks of values if the example is outside its domain."""
    try:
        result(**given)
    except ValueError:
        return partial(result, check=False)
    return result


# The functions and classes of `numerics`, and those of the derivations that are more than a formula.


def public(module):
    for name, value in vars(module).items():
        own = getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")
        if own and (
            inspect.isfunction(value) or (inspect.isclass(value) and not issubclass(value, Exception))
        ):
            yield name, value


def found_entries() -> dict:
    found, listed = {}, set()
    for info in pkgutil.walk_packages(numerics.__path__, "numerics."):
        place = info.name.removeprefix("numerics.")
        module = importlib.import_module(info.name)
        of_a_study = any(isinstance(value, Study) for value in vars(module).values())
        if place not in entries.MACHINERY and not of_a_study:
            found |= {f"{place}.{name}": value for name, value in public(module)}
    for topic in TOPICS:
        module = importlib.import_module(f"derivations.{topic}")
        made = {f"{topic}.{name}": getattr(module, name) for name in module.EVALUATORS}
        found, listed = found | made, listed | set(made.values())
    for info in pkgutil.walk_packages(derivations.__path__, "derivations."):
        for name, value in public(importlib.import_module(info.name)):
            if value not in listed and "Args:" in (value.__doc__ or ""):
                found[f"{info.name.removeprefix('derivations.')}.{name}"] = value
    return found


FOUND = found_entries()
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
ARRAYS = ("Any", "Array", "object", "np.ndarray", "torch.Tensor", "Sequence[float]", inspect.Parameter.empty)


def test_every_entry_is_in_a_table():
    tables = [list(entries.ENTRIES), entries.NO_ARRAYS, list(entries.OF_A_NETWORK)]
    listed = Counter(name for table in tables for name in table)
    assert set(listed) == set(FOUND) and set(listed.values()) == {1}
    for name, arguments in entries.ENTRIES.items():
        if name not in entries.CALLED:
            parameters = inspect.signature(FOUND[name]).parameters.values()
            asked = {p.name for p in parameters if p.kind not in VARIADIC and p.annotation in ARRAYS}
            assert asked - set(arguments) <= entries.LEFT_OUT.get(name, set()), name


def called(name: str):
    function = entries.CALLED.get(name, FOUND[name])

    def call(**arguments):
        fresh = {key: value() if value is entries.generator else value for key, value in arguments.items()}
        return function(**fresh)

    return call


@pytest.mark.parametrize("room", ["numerics", "derivations"])
def test_entries_take_or_refuse_every_kind_of_array(room):
    counts, wrong = Counter(), []
    names = [name for name in entries.ENTRIES if (name.split(".")[0] in TOPICS) == (room == "derivations")]
    for name in names:
        base = entries.BASES.get(name, lambda x: x)
        tried(name, called(name), entries.ENTRIES[name], counts, wrong, base)
    none_is_wrong(f"{len(names)} entries of {room}", counts, wrong)


# Empty batches, late times and networks of the user.


class Chain(torch.nn.Sequential):
    """Layers that take data of any dtype, as a user's network may."""

    def forward(self, x):
        return super().forward(x.to(torch.float64))


def kernel_of(X):
    torch.manual_seed(0)
    network = Chain(torch.nn.Linear(2, 1, dtype=torch.float64), torch.nn.Flatten(0))
    return kernels.ntk(network, X, {"0.weight": 1.0, "0.bias": 1.0})


def balances_of(inputs):
    torch.manual_seed(0)
    layers = [torch.nn.Linear(2, 2, dtype=torch.float64) for _ in range(2)]
    return conserved.balances(Chain(*layers), inputs=inputs)


VALUES_OF_NOTHING = tuple(
    f"lab.claims.{name}" for name in ("mean", "mean_and_stderr", "mean_at_least", "mean_at_most")
)


def emptied(label: str, function, arguments: dict, counts: Counter, wrong: list, base=lambda x: x) -> None:
    """Give none of a batch of each array: nothing comes back, or an error that says so."""
    given = {key: base(value) if isinstance(value, np.ndarray) else value for key, value in arguments.items()}
    for name in [name for name, value in arguments.items() if isinstance(value, np.ndarray)]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = function(**{**given, name: base(arguments[name][None][:0])})
        except (TypeError, ValueError, RuntimeError) as error:
            words = [word for other in given for word in [other, *entries.CALLED_BESIDES.get(other, ())]]
            own = label.split(".")[0] in TOPICS
            named = not own or re.search(rf"\b({'|'.join(words)})", str(error))
            count(
                counts,
                wrong,
                f"{label}, no {name}",
                "refused" if named else f"an error without a name: {error}",
            )
        except Exception as error:
            count(counts, wrong, f"{label}, no {name}", f"{type(error).__name__}: {error}")
        else:
            right = 0 in sizes(found) or label in VALUES_OF_NOTHING
            count(counts, wrong, f"{label}, no {name}", "right" if right else f"{found!r:.80}")


def test_empty_batches_give_nothing_or_are_refused():
    counts, wrong = Counter(), []
    for name, arguments in entries.ENTRIES.items():
        emptied(name, called(name), arguments, counts, wrong, entries.BASES.get(name, lambda x: x))
    for result in compiled_results():
        given = {term.name: example(term, seed) for seed, term in enumerate(result.arguments)}
        emptied(result.key, partial(load(result.key), check=False), given, counts, wrong)
    none_is_wrong("empty batches", counts, wrong, share=0.1)


def test_late_times_have_the_value_of_the_limit_or_are_refused():
    """At t = 1e300: as after all rates have done their work, at 1e4, and compiled results as mpmath has them."""
    counts, wrong = Counter(), []
    for name, arguments in entries.ENTRIES.items():
        if "t" in arguments and name.split(".")[0] in TOPICS:
            found, wanted = (quietly(called(name), **{**arguments, "t": t}) for t in (1e300, 1e4))
            right = not isinstance(found, Exception) and same(found, wanted, False)
            count(counts, wrong, name, "right" if right else f"{found!r:.80} instead of {wanted!r:.80}")
    for name in ("training.flows.gradient_flow", "training.flows.wide_gradient_flow"):
        found = outcome(partial(called(name), **entries.ENTRIES[name]), "times", "late", [0.0, 1e300], NONE)
        count(counts, wrong, name, found)
    for result in compiled_results():
        given = {term.name: example(term, seed) for seed, term in enumerate(result.arguments)}
        if "t" in given:
            given["t"] = np.array(1e300)
            exact = {key: mpmath.mpf(float(value)) for key, value in given.items()}
            found, wanted = quietly(load(result.key), **given), quietly(result.mpmath, **exact)
            if isinstance(wanted, ValueError):
                right = isinstance(found, ValueError) and "refused"
            else:
                parts = wanted if isinstance(wanted, tuple) else [wanted]
                right = same(found, [float(part) for part in parts], False) and "right"
            count(counts, wrong, result.key, right or f"{found!r:.80} instead of {wanted!r:.80}")
    none_is_wrong("late times", counts, wrong, share=0.1)


@pytest.mark.parametrize("measure", [kernel_of, balances_of])
def test_a_network_is_given_tensors_alone(measure):
    """The dtype of its data is for the network to take or to refuse; what is no plain tensor is refused before."""
    counts, wrong, (name,) = Counter(), [], inspect.signature(measure).parameters
    for kind, make in (WIDENED | REFUSED).items():
        given = quietly(make, entries.M.copy())
        if given is NONE or kind.startswith(("float8", "complex tensor")):
            continue
        plain = isinstance(given, torch.Tensor) and kind in WIDENED
        wanted = measure(given.detach().to(torch.float64)) if plain else NONE
        count(counts, wrong, kind, outcome(measure, name, kind, given, wanted))
    none_is_wrong(f"kinds given to {measure.__name__}", counts, wrong, share=0.1)
