"""Runs Rocq: which lemmas of a file its kernel accepts, and the goals that the others leave.

The lemmas of one result make one file, which `coqc` compiles. Where it stops, `coqtop` goes through them one by one,
and `coqc` compiles those that it accepts once more.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from symdyn.certify.prelude import PRELUDE
from symdyn.lemmas.page import Lemma

SECONDS = 10
"""The CPU time that the proof of one lemma may take."""
_NAME = re.compile(r"^Lemma (L\d+) :", re.MULTILINE)
AXIOMS = frozenset(
    {
        "ClassicalDedekindReals.sig_forall_dec",
        "ClassicalDedekindReals.sig_not_dec",
        "FunctionalExtensionality.functional_extensionality_dep",
        "Classical_Prop.classic",
    }
)
"""What the real numbers of Rocq's own library rest on. A lemma that rests on anything else is not accepted."""


class NoRocq(Exception):
    """The programs coqc and coqtop are not there, or fail before any lemma."""


@dataclass(frozen=True)
class Answer:
    """What Rocq says of one lemma: accepted, or the goal that is left and why."""

    lemma: Lemma
    accepted: bool
    left: str = ""


def version() -> str:
    """The version of coqc; raises NoRocq where it is missing."""
    program = shutil.which("coqc")
    if program is None or shutil.which("coqtop") is None:
        raise NoRocq("coqc is not installed: `make certify` installs it with apt, or `apt install coq`")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return said.split("version")[-1].split()[0]


def check(lemmas: Sequence[Lemma], folder: Path, name: str, seconds: int = SECONDS) -> list[Answer]:
    """Have Rocq check lemmas; the file of those that it accepts stays in the folder, as `name`.v."""
    texts = [lemma.text(f"L{number}") for number, lemma in enumerate(lemmas, start=1)]
    if _compiles(texts, folder, name, seconds + 2 * len(texts)):
        return [Answer(lemma, True) for lemma in lemmas]
    found = _one_by_one(texts, folder, seconds)
    accepted = [n for n, left in enumerate(found) if left is None]
    together = seconds * (1 + len(accepted))
    if accepted and not _compiles([texts[n] for n in accepted], folder, name, together):
        for n in accepted:  # coqtop goes on after a line that fails, coqc does not
            if not _compiles([texts[n]], folder, name, 2 * seconds):
                found[n] = "coqtop accepts the proof, coqc does not"
        accepted = [n for n in accepted if found[n] is None]
        if accepted and not _compiles([texts[n] for n in accepted], folder, name, together):
            raise NoRocq(f"coqc compiles lemmas one by one, but not together: {folder / name}.v")
    return [Answer(lemma, left is None, left or "") for lemma, left in zip(lemmas, found, strict=True)]


def _run(command: Sequence[str], seconds: int, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command, which may use so many seconds of CPU time: the clock of Rocq does not stop all its tactics."""
    try:
        import resource
    except ImportError:  # not a POSIX system: no bound to set
        bound = None
    else:
        bound = partial(resource.setrlimit, resource.RLIMIT_CPU, (seconds, seconds))
    return subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=False, preexec_fn=bound, **options
    )


def _compiles(texts: Sequence[str], folder: Path, name: str, seconds: int) -> bool:
    """Whether coqc compiles the lemmas, and they rest on nothing but the axioms of the reals."""
    file = folder / f"{name}.v"
    names = _NAME.findall("\n".join(texts))
    end = f"Definition together := ({', '.join(['I', *names])}).\nPrint Assumptions together.\n"
    file.write_text("\n".join([PRELUDE, *texts, end]), encoding="utf-8")
    done = _run(["coqc", "-q", file.name], seconds, cwd=folder, stderr=subprocess.DEVNULL)
    if done.returncode:
        return False
    axioms = set(re.findall(r"^([A-Za-z_][\w.]*)\s*(?::|$)", done.stdout, re.MULTILINE)) - {
        "Axioms",
        "Closed",
    }
    if axioms - AXIOMS:
        raise NoRocq(f"the lemmas in {file} rest on {', '.join(sorted(axioms - AXIOMS))}")
    return True


def _one_by_one(texts: Sequence[str], folder: Path, seconds: int) -> list[str | None]:
    """For each lemma None if coqtop accepts it, else the goal that is left.

    A session ends with its budget; the next begins with the lemma at which it ended, which fails if it is the first.
    """
    found: list[str | None] = []
    while len(found) < len(texts):
        answers = _session(texts[len(found) :], folder, seconds)
        found += answers or [f"the proof takes longer than {seconds} s"]
    return found


def _session(texts: Sequence[str], folder: Path, seconds: int) -> list[str | None]:
    script = [PRELUDE, "Set Printing Width 110."]
    for number, text in enumerate(texts):
        name = _NAME.findall(text)[0]
        script += [
            text,
            f"Locate goal_{number}.",
            "Show.",
            "Abort.",
            f"Locate told_{number}.",
            f"Check {name}.",
        ]
        script += [f"Locate end_{number}."]
    said = _run(
        ["coqtop", "-q"], seconds, input="\n".join([*script, ""]), cwd=folder, stderr=subprocess.STDOUT
    ).stdout
    said = re.sub(r"^((?:Coq|L\d+) < )+", "", said, flags=re.MULTILINE)
    found: list[str | None] = []
    for number, text in enumerate(texts):
        shown, _, rest = said.partition(f"basename goal_{number}\n")[2].partition(f"basename told_{number}\n")
        answer, ended, said = rest.partition(f"basename end_{number}\n")
        if not ended:
            break
        name = _NAME.findall(text)[0]
        accepted = re.search(rf"^{name}$|^{name}\s+:", answer, re.MULTILINE)
        found.append(None if accepted else _goal(shown))
    return found


def _goal(shown: str) -> str:
    goal = re.split(r"\n\s*\n|\ngoal 2 ", shown.partition("============================")[2])[0]
    return " ".join(goal.split()) or "no goal is left, but the proof is not complete"
