"""What the distribution promises: light imports, layers, names that stay importable, one version."""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, entry_points
from importlib.resources import files
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("symdyn", "derivations", "numerics")


def loaded_by(statement: str, folder: Path = ROOT) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after a statement, run from a folder."""
    code = f"import sys\nbefore = set(sys.modules)\n{statement}\nprint(*(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in run.stdout.split()}


def test_importing_symdyn_loads_no_third_party_package() -> None:
    third_party = loaded_by("import symdyn") - set(sys.stdlib_module_names) - {"symdyn"}
    assert third_party == set()


def test_the_lazy_names_of_symdyn_exist() -> None:
    import symdyn

    assert all(getattr(symdyn, name) is not None for name in symdyn.__all__)
    with pytest.raises(AttributeError, match="nothing_like_this"):
        _ = symdyn.nothing_like_this


def test_the_index_of_results_loads_neither_torch_nor_the_mathematics() -> None:
    loaded = loaded_by("from symdyn.catalogue.registry import index; assert index()")
    assert loaded.isdisjoint({"torch", "sympy", "numpy", "scipy", "matplotlib"})


def test_derivations_load_neither_torch_nor_matplotlib() -> None:
    loaded = loaded_by("import symdyn; symdyn.results()")
    assert "sympy" in loaded
    assert loaded.isdisjoint({"torch", "matplotlib"})


@pytest.mark.parametrize("how", ["-c", "script", "-m"])
def test_plain_folders_of_the_same_names_do_not_hide_the_packages(tmp_path: Path, how: str) -> None:
    for package in PACKAGES:
        (tmp_path / package).mkdir()
    code = "import symdyn, derivations, numerics; print(symdyn.__file__, derivations.__file__, numerics.__file__)"
    (tmp_path / "script.py").write_text(code)
    arguments = {"-c": ["-c", code], "script": ["script.py"], "-m": ["-m", "script"]}[how]
    run = subprocess.run(
        [sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True, env=_outside()
    )
    assert [Path(place).parent.name for place in run.stdout.split()] == list(PACKAGES)


def test_the_command_line_runs_from_a_folder_with_plain_folders_of_the_same_names(tmp_path: Path) -> None:
    for package in PACKAGES:
        (tmp_path / package).mkdir()
    command = [sys.executable, "-m", "symdyn", "list"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, env=_outside())
    assert "single_neuron.conserved_delta" in run.stdout


def _outside() -> dict[str, str]:
    """The environment without a PYTHONPATH that would point back here."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def test_the_version_is_the_same_everywhere() -> None:
    import symdyn

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = {
        project["version"],
        symdyn.__version__,
        distribution("symdyn-learning").version,
        re.search(r"^version: (\S+)$", citation, re.MULTILINE).group(1),
        re.search(r"^## (\S+)", changes, re.MULTILINE).group(1),
    }
    assert len(versions) == 1


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(d for extra in project["optional-dependencies"].values() for d in extra),
    ]
    names = {re.match(r"[\w.-]+", requirement).group().lower() for requirement in wanted}
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
    assert names <= {pin.partition("==")[0].lower() for pin in pins}
    assert "torch==2.13.0" in pins


def test_entry_points_lead_somewhere() -> None:
    groups = ("symdyn.derivations", "symdyn.studies", "symdyn.runner")
    assert all(point.load() for group in groups for point in entry_points(group=group))


def test_data_files_travel_with_the_packages() -> None:
    assert files("symdyn").joinpath("py.typed").is_file()
    assert files("derivations").joinpath("ledger", "kunin2024.yaml").is_file()


def test_a_wheel_holds_the_three_packages_with_their_data(tmp_path: Path) -> None:
    from zipfile import ZipFile

    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        tmp_path,
        ROOT,
    ]
    subprocess.run(command, check=True, capture_output=True)
    names = ZipFile(next(tmp_path.glob("symdyn_learning-*.whl"))).namelist()
    assert {"symdyn/py.typed", "derivations/ledger/kunin2024.yaml", "numerics/lab/study.py"} <= set(names)
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == set(PACKAGES)


def test_what_a_package_of_a_users_own_imports_comes_from_symdyn_itself() -> None:
    import symdyn

    assert len(symdyn.__all__) > 40
    for name in symdyn.__all__:
        found = getattr(symdyn, name)
        assert found.__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        symdyn.nothing  # noqa: B018


def test_the_names_of_symdyn_are_no_modules_of_it() -> None:
    code = (
        "import symdyn, pkgutil, importlib\n"
        "for info in pkgutil.walk_packages(symdyn.__path__, 'symdyn.'):\n"
        "    if not info.name.endswith('__main__'): importlib.import_module(info.name)\n"
        "import types\n"
        "assert [n for n in symdyn.__all__ if isinstance(getattr(symdyn, n), types.ModuleType)] == []\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("room", ["measures", "starts", "training"])
def test_the_rooms_of_the_laboratory_offer_what_is_public_in_them(room: str) -> None:
    package = importlib.import_module(f"numerics.{room}")
    assert len(dir(package)) > 2
    for info in pkgutil.walk_packages(package.__path__, f"numerics.{room}."):
        importlib.import_module(info.name)
    for name in dir(package):
        offered = getattr(package, name)
        assert callable(offered) and offered.__doc__, name
        assert offered.__module__.startswith(f"numerics.{room}."), name
    with pytest.raises(AttributeError, match="has no attribute 'nothing'; it offers"):
        package.nothing  # noqa: B018
    assert not {"torch", "scipy"} & loaded_by(f"import numerics.{room}")


def test_the_signature_of_a_result_is_that_of_its_function() -> None:
    from derivations.single_neuron import conserved_delta, global_minima
    from symdyn import Result

    assert list(inspect.signature(conserved_delta).parameters)[:4] == ["a", "w", "eta_a", "eta_w"]
    assert next(iter(inspect.signature(Result).parameters)) == "function"
    assert global_minima.value is None
    assert list(inspect.signature(global_minima).parameters) == ["args", "kwargs"]


def test_a_result_that_does_not_compile_may_be_looked_at() -> None:
    from derivations.single_neuron import radial_hessian

    assert not hasattr(radial_hessian, "__signature__")
    assert list(inspect.signature(radial_hessian).parameters) == ["args", "kwargs"]
    with pytest.raises(NotImplementedError, match="cannot be compiled"):
        radial_hessian(beta=[1.0])
