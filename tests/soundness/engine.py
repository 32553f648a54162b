"""What the engine makes of a claim: it holds, it is refuted or refused, or nothing is known.

A claim is refused by a ValueError or a TypeError that symdyn raises on purpose, with a message that says why. Any other
exception is a fault of the engine, whatever it was asked.

    python -m tests.soundness.engine [KIND ...]

prints the claims of which the engine is wrong, and the counts by kind.
"""

from __future__ import annotations

import importlib
import linecache
import sys
import time
import traceback
import warnings
from dataclasses import dataclass
from types import ModuleType

from symdyn.proof.check import decide, verify
from symdyn.proof.verdict import Verdict
from tests.soundness.claims import Claim

KINDS = (
    "identities",
    "inequalities",
    "limits",
    "asymptotics",
    "flows",
    "solutions",
    "vectors",
    "matrices",
    "rules",
    "chains",
    "definitions",
    "quantities",
    "mixed",
)
OUTCOMES = ("HOLDS", "REFUTED", "REFUSED", "UNKNOWN", "CRASHED")
SECONDS = 2.0
"""CPU time of each attempt at a claim."""


@dataclass(frozen=True)
class Answer:
    """The outcome of a claim: HOLDS, REFUTED, REFUSED, UNKNOWN or CRASHED, with what was said."""

    claim: Claim
    outcome: str
    said: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.outcome:8} {self.claim.name}: {self.said}"


def kind(name: str) -> ModuleType:
    """The module of claims of a kind."""
    return importlib.import_module(f"tests.soundness.{name}")


def ask(claim: Claim, seconds: float = SECONDS) -> Answer:
    """Decide a claim, without its mutants: they may save a false claim from holding, but no proof from being wrong."""
    start = time.process_time()
    try:
        verdict = decide(claim.says(), claim.on, seconds)
        outcome, said = _outcome(verdict), f"{verdict.outcome} {verdict.grade}: {verdict.evidence}"
    except Exception as error:
        outcome = "REFUSED" if _on_purpose(error) else "CRASHED"
        said = f"{type(error).__name__}: {error}"
    return Answer(claim, outcome, said, time.process_time() - start)


def ask_with_mutants(claim: Claim) -> Answer:
    """The same by `verify`, where surviving mutants leave a claim undecided."""
    verdict = verify(claim.says(), claim.on, few_mutants="a claim of the collection")
    return Answer(
        claim, _outcome(verdict), f"{verdict.outcome} {verdict.grade}: {verdict.evidence}", verdict.seconds
    )


def _outcome(verdict: Verdict) -> str:
    return {True: "HOLDS", False: "REFUTED", None: "UNKNOWN"}[verdict.holds]


def _on_purpose(error: Exception) -> bool:
    """Whether the error is a refusal in words: raised by a `raise` of symdyn, not by what it calls."""
    if not isinstance(error, (ValueError, TypeError)) or len(str(error)) < 12:
        return False
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return "/symdyn/" in frame.filename and "raise" in linecache.getline(frame.filename, frame.lineno or 0)


def wrong(answer: Answer, truth: bool) -> bool:
    """Whether an answer is a fault: a false claim holds, a true one is refuted, or the engine crashes."""
    return answer.outcome in ("CRASHED", "REFUTED" if truth else "HOLDS")


def counts(answers: list[Answer]) -> str:
    """How many claims had each outcome, and the time."""
    found = ((outcome, sum(a.outcome == outcome for a in answers)) for outcome in OUTCOMES)
    listed = ", ".join(f"{n} {outcome}" for outcome, n in found if n)
    return f"{len(answers)} tried: {listed}; {sum(a.seconds for a in answers):.1f} s"


def main(names: list[str]) -> None:
    """Print where the engine is wrong or does not know, kind by kind."""
    warnings.simplefilter("error")
    everything: dict[bool, list[Answer]] = {True: [], False: []}
    for name in names or KINDS:
        for truth, word in ((False, "false"), (True, "true")):
            answers = [ask(claim) for claim in (kind(name).TRUE if truth else kind(name).FALSE)]
            everything[truth] += answers
            print(f"# {name}, {word}: {counts(answers)}")
            for answer in answers:
                if wrong(answer, truth) or (truth and answer.outcome != "HOLDS"):
                    why = f"   [{answer.claim.why}]" if answer.claim.why else ""
                    print(f"{name:12} {word:5} {str(answer)[:170]}{why}", flush=True)
    print(f"# all false: {counts(everything[False])}")
    print(f"# all true: {counts(everything[True])}")


if __name__ == "__main__":
    main(sys.argv[1:])
