"""What a verdict stands on: it is worth no more than those of the results it uses, and of those that they use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from symdyn.proof.verdict import Verdict, weakest

Own = Callable[[str], Verdict]
"""The verdict on a result's statement and its mutants, whatever it stands on."""

Uses = Callable[[str], Iterable[str]]
"""The keys of the results that one stands on."""


def standing(key: str, own: Own, uses: Uses) -> Verdict:
    """The verdict on a result together with everything below it.

    UNKNOWN where something below it does not stand, or where it stands on itself; ARGUED where something below it is.
    """
    below = list(_below(key, uses))
    circle = next((path for path in below if path[-1] in path[:-1]), None)
    verdict = own(key)
    if circle is not None:
        return replace(verdict, outcome="UNKNOWN", evidence=f"stands on itself: {' uses '.join(circle)}")
    bases = {path[-1]: path for path in below}
    found = {base: own(base) for base in bases}
    broken = [base for base, one in found.items() if not one.stands]
    if broken:
        names = ", ".join(_through(bases[base]) for base in broken)
        return replace(verdict, outcome="UNKNOWN", evidence=f"stands on {names}, which does not hold")
    grade = weakest([verdict.grade, *(one.grade for one in found.values())])
    argued = verdict.stands and grade == "argued" and verdict.outcome != "ARGUED"
    return replace(verdict, grade=grade, outcome="ARGUED" if argued else verdict.outcome)


def _below(key: str, uses: Uses) -> Iterable[tuple[str, ...]]:
    """A path to every result below one, and one path that meets itself if there is any."""
    seen = {key}
    waiting: list[tuple[str, ...]] = [(key,)]
    while waiting:
        path = waiting.pop()
        for base in uses(path[-1]):
            if base in path:
                yield (*path, base)
            elif base not in seen:
                seen.add(base)
                waiting.append((*path, base))
                yield (*path, base)


def _through(path: tuple[str, ...]) -> str:
    """The result that fails, with the one that uses it where that is another."""
    return path[-1] if len(path) == 2 else f"{path[-1]} (by {path[-2]})"
