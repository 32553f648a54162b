"""`symdyn show` against `import sympy`, which it cannot do without: processor time of the whole command.

    python -m benchmarks.command_line [--repeats N]

Exits with status 1 if a command takes four times as long as the import, or more.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys

WANTED_RATIO = 4.0
COMMANDS = {
    "import sympy": ("-c", "import sympy"),
    "import symdyn": ("-c", "import symdyn"),
    "symdyn show": ("-m", "symdyn", "show", "single_neuron.conserved_delta", "--steps"),
    "symdyn search": ("-m", "symdyn", "search", "conserved"),
    "symdyn study list": ("-m", "symdyn", "study", "list"),
}


def processor_seconds(arguments: tuple[str, ...]) -> float:
    """User and system time of a Python process, in seconds; other work on the machine lengthens it little."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args(argv).repeats
    least = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(repeats):  # interleaved, so that a busy minute lengthens all
        for name, arguments in COMMANDS.items():
            least[name] = min(least[name], processor_seconds(arguments))
    for name, seconds in least.items():
        print(f"{name:18} {seconds:6.2f} s   {seconds / least['import sympy']:5.2f} of import sympy")
    return int(least["symdyn show"] >= WANTED_RATIO * least["import sympy"])


if __name__ == "__main__":
    sys.exit(main())
