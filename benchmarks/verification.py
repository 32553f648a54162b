"""Derive and verify a whole topic, cold, on two processes.

    python -m benchmarks.verification [--topic TOPIC]

Nothing is read from a cache. Exits with status 1 if it takes 30 seconds of wall time or more.
"""

from __future__ import annotations

import argparse
import sys
import time

WANTED_SECONDS = 30.0


def measure(topic: str) -> tuple[int, int, float, float]:
    """The numbers of results and printed forms, wall seconds, and the CPU seconds the checks used."""
    from symdyn.catalogue.auditing import verify_all
    from symdyn.catalogue.registry import index

    jobs = [job for kind in ("result", "printed") for job in index(kind) if job.topic == topic]
    start = time.perf_counter()
    verdicts = verify_all(jobs, processes=2, use_cache=False)
    wall = time.perf_counter() - start
    cpu = sum(v.seconds if hasattr(v, "seconds") else v.stated.seconds for v in verdicts.values())
    forms = sum(job.kind == "printed" for job in jobs)
    return len(jobs) - forms, forms, wall, cpu


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topic", default="single_neuron")
    topic = parser.parse_args(argv).topic
    results, forms, wall, cpu = measure(topic)
    print(
        f"{topic}: {results} results and {forms} printed forms in {wall:.1f} s on two processes ({cpu:.1f} s of CPU)"
    )
    return int(wall >= WANTED_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
