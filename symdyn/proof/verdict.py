"""What a verification ends in.

PROVED and AGREES hold, REFUTED does not, UNKNOWN decides nothing and counts as a failure. ARGUED is between them:
every fact is checked, but that the conclusion follows from them is said in words, which no machine has checked.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

GRADES = (
    "proved",
    "proved at d",
    "certified",
    "tested",
    "simulated",
    "monte carlo",
    "argued",
    "definition",
)
"""Grades, strongest first. A definition has nothing to verify, so it never weakens what stands on it."""

OUTCOMES = ("PROVED", "AGREES", "ARGUED", "REFUTED", "UNKNOWN", "INVALID")
"""INVALID: what is declared could not be verified at all, as its module or its derivation raises an error."""


@dataclass(frozen=True)
class Witness:
    """A point at which a claim fails: exact coordinates and the non-zero residual there."""

    point: dict[str, str]
    residual: str
    cell: str = ""

    def __str__(self) -> str:
        where = ", ".join(f"{name} = {value}" for name, value in self.point.items())
        return f"{where}: {self.residual}"


@dataclass(frozen=True)
class Certificates:
    """How many scalar claims a statement has, each on each cell, and of how many the kernel has checked a certificate.

    `others` are claims of other kinds (limits, orders, words of matrices, what follows by a rule), `left` the scalar
    ones without a certificate, and why.
    """

    claims: int = 0
    checked: int = 0
    others: int = 0
    left: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether the kernel has checked a certificate of everything that is claimed."""
        return self.claims > 0 and self.checked == self.claims and not self.others


@dataclass(frozen=True)
class Verdict:
    """The outcome of one verification, with its grade, its evidence and the time it took."""

    outcome: str
    grade: str
    evidence: str
    seconds: float = 0.0
    witness: Witness | None = None
    mutants: tuple[str, ...] = ()
    survivors: tuple[str, ...] = ()
    parts: tuple[Verdict, ...] = field(default=(), repr=False)
    certificates: Certificates = field(default=Certificates(), repr=False)

    @property
    def holds(self) -> bool | None:
        """True, False, or None where no machine has decided it. A surviving mutant leaves it undecided."""
        if self.outcome == "REFUTED":
            return False
        return True if self.stands and self.outcome != "ARGUED" else None

    @property
    def stands(self) -> bool:
        """Whether nothing is missing but, of a conclusion in words, that it follows from its facts."""
        return self.outcome in ("PROVED", "AGREES", "ARGUED") and not self.survivors

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"holds": self.holds, "facts": self.facts}

    @property
    def facts(self) -> str:
        """The grade of the facts from which a conclusion in words is to follow; "" for any other statement."""
        return weakest([part.grade for part in self.parts]) if self.outcome == "ARGUED" else ""

    @staticmethod
    def from_json(data: dict[str, Any]) -> Verdict:
        known = {k: v for k, v in data.items() if k not in ("holds", "facts")}
        known["witness"] = Witness(**known["witness"]) if known.get("witness") else None
        known["parts"] = tuple(Verdict.from_json(p) for p in known.get("parts", ()))
        known["mutants"] = tuple(known.get("mutants", ()))
        known["survivors"] = tuple(known.get("survivors", ()))
        certificates = dict(known.get("certificates") or {})
        known["certificates"] = Certificates(**certificates | {"left": tuple(certificates.get("left", ()))})
        return Verdict(**known)


def weakest(grades: list[str]) -> str:
    """The weakest of several grades; definitions do not weaken others."""
    proper = [g for g in grades if g != "definition"]
    return max(proper, key=GRADES.index) if proper else "definition"
