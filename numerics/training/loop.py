"""The training loop: a stepper moves the parameters of a network on a loss, and observers look on.

All training here is this one loop, and what differs between trainings is given to it:

    learner = Iterated(step, (W1, W2))           # network × loss × method
    for k in reached(learner, record):           # the numbers of steps at which somebody looks
        kept.append(learner.state)               # observers; ``break`` ends the training

====================  ==========================================================================================
what varies           where it is said
====================  ==========================================================================================
network, loss         the stepper: a step in closed form (``Iterated``), or a loss that torch differentiates
                      (``Descent``)
one network or many   the leading axes of the parameters
learning rates        the stepper: one for all, or one for each network, parameter or both
method                the stepper: steps of a fixed rate, or of one that follows the network
language, device      the stepper: any array library (``Iterated``), torch (``Descent``, and for stacks of ReLU
                      networks ``steppers.Stepper`` and ``steppers.Graphed``), C (``native_steps.Native``), Triton
                      (``fused_steps.Fused``)
times                 ``reached``
observers, stopping   the body of the loop: what is kept, what is followed from step to step, when it is over
the next task         another stepper, from where the last one has come
====================  ==========================================================================================

A stepper is whatever has ``steps(count)``, which advances what it holds, and ``longest``, the largest count that it is
given at once. ``numerics.training.ensembles`` gives each thread a chunk of the networks and takes its stepper from
checkpoint to checkpoint in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import ge, index
from typing import Any, Protocol

LONGEST = 1000


class Steps(Protocol):
    """What takes the steps."""

    longest: int

    def steps(self, count: int) -> None:
        """Advance by ``count`` steps, ``longest`` at most."""


def reached(stepper: Steps, times: Iterable[int]) -> Iterator[int]:
    """Advance a stepper, which has taken no step yet, to each of the numbers of steps in ``times``, none smaller than
    the one before it, and yield the number there.

    Raises ValueError for a number that is below the one before it, or below 0, and TypeError for what is no integer.
    """
    taken, longest, steps = 0, stepper.longest, stepper.steps
    for time in map(index, times):
        if time < taken:
            raise ValueError(f"steps cannot be taken back: {taken} are done, and {time} come next")
        while time - taken > longest:
            steps(longest)
            taken += longest
        if time > taken:
            steps(time - taken)
            taken = time
        yield time


def increasing(record: Iterable[int], steps: int) -> list[int]:
    """The numbers of steps in ``record`` as integers. Raises ValueError unless they are whole, increase, lie between 0
    and ``steps`` and are one at least.
    """
    given = list(record)
    try:
        whole = list(map(int, given))
    except (TypeError, ValueError, OverflowError):  # no number, NaN, infinity
        whole = []
    if (
        not whole
        or whole != given
        or any(map(ge, whole, whole[1:]))
        or not 0 <= whole[0] <= whole[-1] <= steps
    ):
        raise ValueError(f"record must increase within 0 .. {steps}, in whole numbers")
    return whole


class Iterated:
    """Steps θ ← step(θ), written out as a function: of the parameters, and of what else the next step needs.

    ``state`` is a tuple of arrays of any library, ``step(*state)`` the next one. What a step does not change in place
    stays as it was.
    """

    longest = LONGEST

    def __init__(self, step: Callable[..., tuple[Any, ...]], state: Iterable[Any]) -> None:
        self.step, self.state = step, tuple(state)

    def steps(self, count: int) -> None:
        """Advance by ``count`` steps."""
        step, state = self.step, self.state
        for _ in range(count):
            state = step(*state)
        self.state = state


class Descent:
    """Steps of torch parameters, in place, against the gradient of a loss that torch differentiates: θ ← θ − speed ∂L.

    ``loss()`` is computed from the parameters; ``speeds`` are one for each of them, numbers or tensors that broadcast.
    Raises ValueError for another number of them.
    """

    longest = LONGEST

    def __init__(self, loss: Callable[[], Any], parameters: Sequence[Any], speeds: Sequence[Any]) -> None:
        self.loss, self.parameters, self.speeds = loss, list(parameters), list(speeds)
        if len(self.speeds) != len(self.parameters):
            raise ValueError(f"{len(self.parameters)} parameters need as many speeds, got {len(self.speeds)}")

    def steps(self, count: int) -> None:
        """Advance by ``count`` steps."""
        import torch

        for _ in range(count):
            gradients = torch.autograd.grad(self.loss(), self.parameters)
            with torch.no_grad():
                for parameter, speed, gradient in zip(self.parameters, self.speeds, gradients, strict=True):
                    parameter -= speed * gradient
