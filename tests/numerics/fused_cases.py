"""What the fused kernel gives in Triton's interpreter, as JSON: a program for test_fused_steps.py.

TRITON_INTERPRET=1 python fused_cases.py [SOURCE]    another source of the kernel than that of numerics
"""

from __future__ import annotations

import importlib.util
import json
import sys

import numpy as np
import torch

from numerics.tasks.teacher_student import draw_task, students
from numerics.training import ensembles, fused_steps
from numerics.training.ensembles import networks, train

STEPS, TURN = 12, 5
TAU, DELTA = np.array([0.3, 1.0, 0.6]), np.array([1.0, 0.0, -0.7])
RATES = {"eta_a": np.array([1.0, 2.0, 0.5]), "eta_w": np.array([1.0, 0.5, 2.0])}
# Sizes d, h, n that fill the block, leave room in it, or need several of them; and the leak γ.
SIZES = {"several": (100, 50, 70, 0.0), "small": (5, 6, 12, 0.1), "full": (128, 64, 64, 1.0)}


def setting(d, h, n, gamma):
    task = draw_task(3, d=d, h=h, k=3, n=n)
    return task, networks(*students(task, TAU, DELTA), **RATES, gamma=gamma), np.array([1.0, 0.5, 1.5]) / n


def fused(task, start, step, counts=(STEPS,)):
    now = start.to(dtype=torch.float32)
    stepper = fused_steps.Fused(now, torch.as_tensor(step).float(), task.X.float(), task.y.float())
    for count in counts:
        stepper.steps(count)
    return now


def distance(first, second):
    return (((first.a - second.a) ** 2).sum(-1) + ((first.W - second.W) ** 2).sum((-2, -1))).sqrt()


def deviations(sizes):
    """Distance to float64 relative to how far the networks moved, the worst network: the kernel's, plain float32's."""
    task, start, step = setting(*sizes)
    options = {"step": step, "checkpoints": [STEPS], "observers": {}}
    exact = train(start, task.X, task.y, **options).networks
    plain = train(start, task.X, task.y, dtype=torch.float32, **options).networks
    moved = distance(exact, start)
    return [(distance(found, exact) / moved).max().item() for found in (fused(task, start, step), plain)]


def same(first, second):
    return torch.equal(first.a, second.a) and torch.equal(first.W, second.W)


def in_parts():
    """Whether it matters in how many calls the steps are taken."""
    setup = setting(*SIZES["small"])
    return same(fused(*setup), fused(*setup, (5, 7))) and same(
        fused(*setup, (0,)), setup[1].to(dtype=torch.float32)
    )


def beside_one_that_diverges():
    """Which networks stay finite when the step of one is far too long, and whether the others notice."""
    task, start, step = setting(*SIZES["small"])
    calm, wild = fused(task, start, step), fused(task, start, step * np.array([1.0, 1e9, 1.0]))
    noticed = [not same(calm.part(place, place + 1), wild.part(place, place + 1)) for place in (0, 2)]
    return wild.W.isfinite().all(-1).all(-1).tolist(), noticed


def on_the_edge():
    """The first layer of a network with W = 0, after one step: σ′(0) = 1."""
    now = networks(torch.ones(1, 1), torch.zeros(1, 1, 2)).to(dtype=torch.float32)
    fused_steps.Fused(now, torch.full((1,), 0.1), torch.eye(2), torch.ones(2)).steps(1)
    return now.W.flatten().tolist()


def accepted():
    """Which sizes (h, d) and types the kernel takes."""
    asked = [(64, 128, "float32"), (65, 8, "float32"), (8, 129, "float32"), (8, 8, "float64")]
    stacks = [
        networks(torch.zeros(2, h), torch.zeros(2, h, d)).to(dtype=getattr(torch, t)) for h, d, t in asked
    ]
    return [fused_steps.fits(stack) for stack in stacks]


def chosen():
    """What an ensemble on a card is trained by."""

    class Card:
        device = torch.device("cuda")

    class Fused:
        def __init__(self, *_):
            pass

    original, fused_steps.Fused = fused_steps.Fused, Fused
    try:
        _, start, _ = setting(*SIZES["small"])
        found = ensembles._stepper(start.to(dtype=torch.float32), None, (Card(), None, None), compiled=True)
    finally:
        fused_steps.Fused = original
    return isinstance(found, Fused)


def main(sources: list[str]) -> None:
    found = [everything()] if not sources else [agreement(source) for source in sources]
    print(json.dumps(found))


def everything():
    fused_steps.TURN = TURN
    return {
        "deviations": {name: deviations(sizes) for name, sizes in SIZES.items()},
        "edge": on_the_edge(),
        "in parts": in_parts(),
        "diverged": beside_one_that_diverges(),
        "accepted": accepted(),
        "chosen": chosen(),
    }


def agreement(source):
    """What tells whether a kernel is right."""
    global fused_steps
    spec = importlib.util.spec_from_file_location("other_fused_steps", source)
    fused_steps = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fused_steps)
    fused_steps.TURN = TURN
    return {"deviations": {name: deviations(sizes) for name, sizes in SIZES.items()}, "edge": on_the_edge()}


if __name__ == "__main__":
    main(sys.argv[1:])
