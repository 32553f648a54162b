"""Numbers, cosines, vectors and matrices on logarithmic grids, where digits are lost and powers leave the range."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

DECADES = 12
SIZES = (1, 2, 3)
LENGTHS = (1, 2, 3, 5)
COSINES = ("phi", "phi0")


@dataclass
class Draw:
    """Numbers on logarithmic grids, in float64; `big` names the one argument that is enormous or minute, if any."""

    rng: random.Random
    decades: float = DECADES
    big: str | None = None
    seen: list[float] = field(default_factory=list)

    def magnitude(self, name: str) -> float:
        if name == self.big:
            low, high = self.rng.choice(((150.0, 308.0), (-300.0, -150.0)))
            return float(10.0 ** self.rng.uniform(low, high))
        return float(10.0 ** self.rng.uniform(-self.decades, self.decades))

    def scalar(self, name: str, sign: int = 0) -> float:
        """A number of the sign, 0 for any; now and then 0, one drawn before, or one beside it."""
        kind = self.rng.random()
        if name != self.big and kind < 0.04 and sign == 0:
            return 0.0
        value = self.magnitude(name)
        if name != self.big and kind < 0.20 and self.seen:
            value = abs(self.rng.choice(self.seen))
            if kind < 0.12:
                value *= 1 + 10.0 ** self.rng.uniform(-16, -1) * self.rng.choice((-1, 1))
            if kind < 0.06:
                value *= self.rng.choice((2.0, 0.5, 4.0, 0.25))
        self.seen.append(value)
        return value * (sign or self.rng.choice((1, -1)))

    def cosine(self, name: str) -> float:
        """A cosine: minute, moderate, or beside ±1."""
        kind = self.rng.random()
        sign = self.rng.choice((1, -1))
        if name == self.big or kind < 0.3:
            return sign * float(10.0 ** self.rng.uniform(-300 if name == self.big else -self.decades, -0.01))
        if kind < 0.6:
            return sign * (1 - float(10.0 ** self.rng.uniform(-15, 0)))
        return sign * self.rng.random() if kind < 0.95 else self.rng.choice((0.0, 1.0, -1.0))

    def vector(self, name: str, length: int, others: Sequence[list[float]] = ()) -> list[float]:
        """A vector of a size on the grid: of entries alike or far apart, zero, or almost along another one."""
        kind, size = self.rng.random(), self.magnitude(name)
        if name != self.big and kind < 0.03:
            return [0.0] * length
        if others and 0.03 < kind < 0.25:
            other = self.rng.choice(others)
            longest = max(map(abs, other)) or 1.0
            tilt = self.rng.choice((0.0, float(10.0 ** self.rng.uniform(-16, 0))))
            sign = self.rng.choice((1, -1))
            return [sign * size * (x / longest + tilt * self.rng.gauss(0, 1)) for x in other]
        if kind < 0.35:  # one entry large, the others moderate, small or 0
            spread = [float(10.0 ** self.rng.uniform(-self.decades, self.decades)) for _ in range(length)]
            spread[self.rng.randrange(length)] = size
            return [x * self.rng.choice((1, -1, 1, -1, 0) if x != size else (1, -1)) for x in spread]
        return [size * self.rng.gauss(0, 1) for _ in range(length)]

    def matrix(self, name: str, rows: int, cols: int, symmetric: bool) -> list[list[float]]:
        size = self.magnitude(name)
        if self.rng.random() < 0.3:
            entries = [[self.scalar("") for _ in range(cols)] for _ in range(rows)]
        else:
            entries = [[size * self.rng.gauss(0, 1) for _ in range(cols)] for _ in range(rows)]
        if symmetric:
            entries = [[entries[max(i, j)][min(i, j)] for j in range(cols)] for i in range(rows)]
        return entries
