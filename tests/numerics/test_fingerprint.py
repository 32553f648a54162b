"""The hash of the code behind a study's numbers: unchanged by moves, words and what only judges, changed by an edit of
whatever the numbers stand on, and of nothing else.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import numerics
from numerics.lab.evidence import FOLDER
from numerics.lab.fingerprint import PACKAGES, source_of
from numerics.lab.names import BOOKKEEPING, file_of
from numerics.lab.study import StudyError, index

ROOT = Path(numerics.__file__).parents[1]
STUDY = '''"""A toy."""
from numerics.lab.claims import at_most
from numerics.lab.study import Plan, study

SMOKE = {"seed": 4}
SIZES = {"few": 2}


def cells(cfg):
    return [{"place": place} for place in range(SIZES["few"])]


def run(batch, cfg, device, resume):
    return measured(batch)


def measured(batch):
    return batch


def figure(results):
    return None


def claims(measured):
    return [at_most("small", "at most three", 3, 3)]


@study("toy.study", title="A toy")
def toy():
    return Plan(scales={"smoke": SMOKE, "laptop": SMOKE, "paper": SMOKE}, cells=cells, run=run, figure=figure,
                claims=claims, dims={})
'''
Files = Mapping[str, str]


@pytest.fixture
def hashed(tmp_path, monkeypatch) -> Callable[[Files], str]:
    """The hash of ``toyroom.study.toy`` in a package of the given files; missing ones are as in the toy."""
    monkeypatch.syspath_prepend(tmp_path)

    def of(files: Files) -> str:
        shutil.rmtree(tmp_path / "toyroom", ignore_errors=True)
        for name, text in {"__init__.py": "", "study.py": STUDY, **files}.items():
            path = tmp_path / "toyroom" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return source_of("toyroom.study", "toy").hash

    return of


def with_body(body: str, top: str = "") -> str:
    """The toy with a measurement of its own, and with more before its definitions."""
    inside = "\n".join(f"    {line}" for line in body.splitlines())
    text = STUDY.replace("def measured(batch):\n    return batch\n", f"def measured(batch):\n{inside}\n")
    return text.replace("SMOKE =", f"{top}\nSMOKE =", 1)


HELPER = "SIZE = 3\nOTHER = 4\n\n\ndef double(x):\n    return 2 * x\n\n\ndef unused(x):\n    return x\n"
CLASS = """class Base:
    def shared(self):
        return 1


class Ruler(Base):
    \"\"\"Words.\"\"\"

    unit = 1

    def __init__(self):
        self.size = 2

    def measure(self):
        return self._inner()

    def _inner(self):
        return 5

    def unasked(self):
        return 6
"""

FOR_TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from os import SIZE\nelse:\n"
RULE = """import functools


@functools.singledispatch
def rule(x):
    return 1


@rule.register
def _(x: KIND):
    return 2
"""

SAME = {
    "a docstring": (STUDY, STUDY.replace("A toy.", "Another toy.")),
    "a comment": (STUDY, STUDY.replace("def cells", "# why\ndef cells")),
    "a comment that ends a line": (STUDY, STUDY.replace("return batch", "return batch  # all of it")),
    "the layout": (STUDY, STUDY.replace("return batch", "return (\n        batch\n    )")),
    "annotations": (STUDY, STUDY.replace("def measured(batch)", "def measured(batch: list) -> list")),
    "the figure": (STUDY, STUDY.replace("return None", "return 3")),
    "a claim": (STUDY, STUDY.replace("3, 3)", "3, 4)")),
    "the smoke scale": (STUDY, STUDY.replace('"seed": 4', '"seed": 5')),
    "title and key": (STUDY, STUDY.replace('"toy.study", title="A toy"', '"toy.other", title="Another"')),
    "dims, absent and tools": (
        STUDY,
        STUDY.replace("dims={}", 'dims={"x": ()}, absent=("x",), tools=claims'),
    ),
    "a definition that nobody uses": (STUDY, STUDY.replace("SMOKE =", "SPARE = 7\nSMOKE =", 1)),
    "the order of definitions": (STUDY, STUDY.replace('SIZES = {"few": 2}\n', "") + '\nSIZES = {"few": 2}\n'),
    "the name of a function": (STUDY, STUDY.replace("measured(batch)", "taken(batch)")),
    "the name of a constant": (STUDY, STUDY.replace("SIZES", "AMOUNTS")),
    "words within an expression": (
        with_body('return "a" "b"'),
        with_body('return "ab"'),
    ),
    "words within a formatted text": (
        with_body('return f"a{batch}" "b" f"c"'),
        with_body('return f"a{batch}bc"'),
    ),
    "a statement that says nothing": (STUDY, STUDY.replace("return batch", '"""Words."""\n    return batch')),
    "a name for another distribution": (
        with_body("return np.array(batch)", "import numpy as np"),
        with_body("return array(batch)", "from numpy import array"),
    ),
    "where it is imported": (
        with_body("return np.array(batch)", "import numpy as np"),
        with_body("import numpy\nreturn numpy.array(batch)"),
    ),
    "what is imported for types alone": (
        STUDY,
        with_body(
            "return batch", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from os import path"
        ),
    ),
}

CHANGED = {
    "a number": (STUDY, STUDY.replace("return batch", "return batch[:1]")),
    "a constant of another statement": (STUDY, STUDY.replace('"few": 2', '"few": 3')),
    "an item that is set later": (STUDY, STUDY.replace("def cells", 'SIZES["few"] = 3\n\n\ndef cells')),
    "a table that is filled by a call": (
        STUDY,
        STUDY.replace("def cells", "SIZES.update(few=3)\n\n\ndef cells"),
    ),
    "a value that is added to": (STUDY, STUDY.replace("def cells", 'SIZES |= {"few": 3}\n\n\ndef cells')),
    "a value that depends on the machine": (
        STUDY,
        STUDY.replace("def cells", "for name in SIZES:\n    SIZES[name] = 9\n\n\ndef cells"),
    ),
    "a default": (STUDY, STUDY.replace("def measured(batch)", "def measured(batch, size=3)")),
    "how many at once": (STUDY, STUDY.replace("dims={}", "dims={}, batch=None")),
    "cells": (STUDY, STUDY.replace("range(SIZES", "range(1, SIZES")),
    "a decorator": (
        with_body("return batch"),
        STUDY.replace("def measured", "@functools.cache\ndef measured").replace(
            "SMOKE =", "import functools\nSMOKE =", 1
        ),
    ),
    "a sign": (with_body("return +batch"), with_body("return -batch")),
    "an operator": (with_body("return batch * 2"), with_body("return batch ** 2")),
    "a whole number and a float": (with_body("return 1"), with_body("return 1.0")),
    "True and 1": (with_body("return 1"), with_body("return True")),
    "a digit of a float": (with_body("return 0.1"), with_body("return 0.10000000000000002")),
    "the text of a formatted text": (with_body('return f"a{batch}"'), with_body('return f"b{batch}"')),
    "the format": (with_body('return f"{batch:.3f}"'), with_body('return f"{batch:.4f}"')),
    "a dictionary that is unpacked": (with_body("return {**batch}"), with_body("return {batch: batch}")),
    "an argument's kind": (
        with_body("return (lambda x, y=1: x)(batch)"),
        with_body("return (lambda x, *, y=1: x)(batch)"),
    ),
    "what is shared by a comprehension": (
        with_body("return [SIZE for item in batch]", "SIZE = 3"),
        with_body("return [SIZE for item in batch]", "SIZE = 4"),
    ),
    "a name that a comprehension hides elsewhere": (
        with_body("kept = [SIZE for SIZE in batch]\nreturn SIZE", "SIZE = 3"),
        with_body("kept = [SIZE for SIZE in batch]\nreturn SIZE", "SIZE = 4"),
    ),
    "the sequence of a comprehension over its own name": (
        with_body("return [SIZE for SIZE in SIZE]", "SIZE = (3,)"),
        with_body("return [SIZE for SIZE in SIZE]", "SIZE = (4,)"),
    ),
    "a constant in a nested function": (
        with_body("def inner():\n    return SIZE\nreturn inner()", "SIZE = 3"),
        with_body("def inner():\n    return SIZE\nreturn inner()", "SIZE = 4"),
    ),
    "a constant in a nested class": (
        with_body("class Inner:\n    size = SIZE\nreturn Inner.size", "SIZE = 3"),
        with_body("class Inner:\n    size = SIZE\nreturn Inner.size", "SIZE = 4"),
    ),
    "a default of a lambda": (
        with_body("return (lambda x=SIZE: x)()", "SIZE = 3"),
        with_body("return (lambda x=SIZE: x)()", "SIZE = 4"),
    ),
    "a global that a function sets": (
        with_body("global SIZE\nSIZE = SIZE + 1\nreturn SIZE", "SIZE = 3"),
        with_body("global SIZE\nSIZE = SIZE + 1\nreturn SIZE", "SIZE = 4"),
    ),
    "a case": (
        with_body("match batch:\n    case [x]:\n        return x"),
        with_body("match batch:\n    case [x, *rest]:\n        return x"),
    ),
    "a method that is asked for": (
        with_body("return Ruler().measure()", CLASS),
        with_body("return Ruler().measure()", CLASS.replace("self._inner()", "-self._inner()")),
    ),
    "a method that a method asks for": (
        with_body("return Ruler().measure()", CLASS),
        with_body("return Ruler().measure()", CLASS.replace("return 5", "return 7")),
    ),
    "what a class begins with": (
        with_body("return Ruler().measure()", CLASS),
        with_body("return Ruler().measure()", CLASS.replace("self.size = 2", "self.size = 3")),
    ),
    "what a class has": (
        with_body("return Ruler().measure()", CLASS),
        with_body("return Ruler().measure()", CLASS.replace("unit = 1", "unit = 2")),
    ),
    "an inherited method": (
        with_body("return Ruler().shared()", CLASS),
        with_body("return Ruler().shared()", CLASS.replace("return 1", "return 2")),
    ),
    "a method that is asked for by its name": (
        with_body('return getattr(Ruler(), "unasked")()', CLASS),
        with_body('return getattr(Ruler(), "unasked")()', CLASS.replace("return 6", "return 7")),
    ),
    "a method whose name is computed": (
        with_body("return getattr(Ruler(), batch)()", CLASS),
        with_body("return getattr(Ruler(), batch)()", CLASS.replace("return 6", "return 7")),
    ),
    "a method that another distribution may call": (
        with_body(
            "return Ruler()", "import ast\n\n\n" + CLASS.replace("Ruler(Base)", "Ruler(ast.NodeVisitor)")
        ),
        with_body(
            "return Ruler()",
            "import ast\n\n\n"
            + CLASS.replace("Ruler(Base)", "Ruler(ast.NodeVisitor)").replace("return 6", "return 7"),
        ),
    ),
    "what a module does when it is imported": (STUDY, with_body("return batch", "import os\nos.umask(18)")),
    "an assertion at the top": (STUDY, with_body("return batch", "assert 1")),
    "the other branch of an import": (
        with_body("return half(batch)", "try:\n    from os import half\nexcept ImportError:\n    half = 1"),
        with_body("return half(batch)", "try:\n    from os import half\nexcept ImportError:\n    half = 2"),
    ),
    "another distribution's function": (
        with_body("return np.sum(batch)", "import numpy as np"),
        with_body("return np.prod(batch)", "import numpy as np"),
    ),
    "which of two alike is called": (
        with_body("return one(two(batch)) + 1", "def one(x):\n    return x\n\n\ndef two(x):\n    return -x"),
        with_body("return two(one(batch)) + 1", "def one(x):\n    return x\n\n\ndef two(x):\n    return -x"),
    ),
    "a method that only another distribution asks for": (
        with_body("return Ruler().measure()", CLASS),
        with_body("return Ruler().measure()", CLASS.replace("return 6", "return 7")),
    ),
    "what stands for a name that is imported for types": (
        with_body(
            "return SIZE",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from os import SIZE\nelse:\n    SIZE = 3",
        ),
        with_body(
            "return SIZE",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from os import SIZE\nelse:\n    SIZE = 4",
        ),
    ),
    "the kind of number that a rule is entered for": (
        with_body("return rule(batch)", RULE.replace("KIND", "int")),
        with_body("return rule(batch)", RULE.replace("KIND", "float")),
    ),
    "what is no field of a class": (
        with_body("return Ruler()", CLASS.replace("unit = 1", "unit: int = 1")),
        with_body("return Ruler()", CLASS.replace("unit = 1", "unit: ClassVar[int] = 1")),
    ),
    "the type of what a class has": (
        with_body("return Ruler()", CLASS.replace("unit = 1", "unit: int = 1")),
        with_body("return Ruler()", CLASS.replace("unit = 1", "unit: str = 1")),
    ),
    "a name that is deleted": (
        with_body("return SIZE", "SIZE = 3"),
        with_body("return SIZE", "SIZE = 3\ndel SIZE"),
    ),
}


@pytest.mark.parametrize(("before", "after"), SAME.values(), ids=SAME)
def test_what_does_not_touch_the_numbers_does_not_count(hashed, before, after):
    assert before != after
    assert hashed({"study.py": before}) == hashed({"study.py": after})


@pytest.mark.parametrize(("before", "after"), CHANGED.values(), ids=CHANGED)
def test_what_the_numbers_stand_on_counts(hashed, before, after):
    for text in (before, after):
        compile(text, "toy", "exec")
    assert hashed({"study.py": before}) != hashed({"study.py": after})


USES = {
    "by name": "from toyroom.helper import double, SIZE",
    "relatively": "from .helper import double, SIZE",
    "as": "from toyroom.helper import double as twice, SIZE as LENGTH",
    "by module": "from toyroom import helper",
    "relatively by module": "from . import helper",
    "in full": "import toyroom.helper",
    "in full, as": "import toyroom.helper as tools",
    "everything": "from toyroom.helper import *",
}
CALLS = {
    "as": "twice(LENGTH)",
    "by module": "helper.double(helper.SIZE)",
    "relatively by module": "helper.double(helper.SIZE)",
    "in full": "toyroom.helper.double(toyroom.helper.SIZE)",
    "in full, as": "tools.double(tools.SIZE)",
}


@pytest.mark.parametrize(
    ("how", "inside"),
    [(how, inside) for how in USES for inside in (False, True) if not (inside and "*" in USES[how])],
)
def test_a_helper_counts_by_its_definitions_however_it_is_imported(hashed, how, inside):
    call = f"return {CALLS.get(how, 'double(SIZE)')}"
    body = f"{USES[how]}\n{call}" if inside else call
    study = with_body(body, "" if inside else USES[how])
    plain = with_body("return double(SIZE)", HELPER)
    assert hashed({"study.py": study, "helper.py": HELPER}) == hashed({"study.py": plain})
    for old, new, counts in [
        ("2 * x", "3 * x", True),
        ("SIZE = 3", "SIZE = 5", True),
        ("OTHER = 4", "OTHER = 5", False),
    ]:
        changed = hashed({"study.py": study, "helper.py": HELPER.replace(old, new)})
        assert (changed != hashed({"study.py": plain})) is counts
    loose = HELPER.replace("return x", "return -x")
    assert hashed({"study.py": study, "helper.py": loose}) == hashed({"study.py": plain})


def test_what_is_used_of_a_module_as_a_whole_is_all_of_it(hashed):
    study = with_body("return vars(helper)", "from toyroom import helper")
    other = HELPER.replace("return x", "return -x")
    assert hashed({"study.py": study, "helper.py": HELPER}) != hashed({"study.py": study, "helper.py": other})


@pytest.mark.parametrize("init", ["from .helper import double, SIZE", "def __getattr__(name):\n    ..."])
def test_names_that_a_package_has_from_its_modules_are_followed_to_them(hashed, init):
    study = with_body("return double(SIZE)", "from toyroom import double, SIZE")
    files = {"__init__.py": init, "study.py": study}
    first = hashed({**files, "helper.py": HELPER})
    assert first == hashed(
        {**files, "deep/__init__.py": "", "deep/tools.py": HELPER, "helper.py": ""}
        if "..." in init
        else {**files, "helper.py": HELPER}
    )
    assert first != hashed({**files, "helper.py": HELPER.replace("2 * x", "3 * x")})
    assert first == hashed({**files, "helper.py": HELPER.replace("OTHER = 4", "OTHER = 5")})


@pytest.mark.parametrize(
    "registers",
    [
        "TABLE = {}\n\n\ndef enters(f):\n    TABLE[f.__name__] = f\n    return f\n",
        "import functools\n\n\n@functools.singledispatch\ndef enters(x):\n    return x\n\n\nTABLE = enters\n",
    ],
)
def test_what_enters_itself_into_a_table_of_another_module_counts(hashed, registers):
    use = "@table.enters" if "TABLE = {}" in registers else "@table.enters.register(int)"
    rules = f"from toyroom import table\n\n\n{use}\ndef rule(x):\n    return 3\n"
    study = with_body("return TABLE", "import toyroom.rules\nfrom toyroom.table import TABLE")
    files = {"study.py": study, "table.py": registers}
    first = hashed({**files, "rules.py": rules})
    assert first != hashed({**files, "rules.py": rules.replace("return 3", "return 4")})


def test_a_class_that_its_base_takes_notice_of_counts(hashed):
    base = "KINDS = []\n\n\nclass Kind:\n    def __init_subclass__(cls):\n        KINDS.append(cls)\n"
    kinds = "from toyroom.base import Kind\n\n\nclass First(Kind):\n    size = 3\n"
    study = with_body("return KINDS", "import toyroom.kinds\nfrom toyroom.base import KINDS")
    files = {"study.py": study, "base.py": base}
    first = hashed({**files, "kinds.py": kinds})
    assert first != hashed({**files, "kinds.py": kinds.replace("size = 3", "size = 4")})


@pytest.mark.parametrize("name", ["table.py", "table/__init__.py"])
def test_a_value_that_is_made_when_it_is_asked_for_counts(hashed, name):
    lazy = "def __getattr__(name):\n    return 3\n"
    study = with_body("return SIZE", "from toyroom.table import SIZE")
    assert hashed({"study.py": study, name: lazy}) != hashed(
        {"study.py": study, name: lazy.replace("3", "4")}
    )


def test_methods_of_ours_count_where_they_are_asked_for(hashed, monkeypatch):
    monkeypatch.setattr("numerics.lab.fingerprint.PACKAGES", (*PACKAGES, "toyroom"))
    study = with_body("return Ruler().measure()", CLASS)
    first = hashed({"study.py": study})
    assert first == hashed({"study.py": study.replace("return 6", "return 7")})
    for asked in ("return 5", "self.size = 2", "self._inner()"):
        assert first != hashed({"study.py": study.replace(asked, f"{asked} + 1")})


def test_what_is_left_out_is_there():
    assert [name for name in BOOKKEEPING if file_of(name) is None] == []


def test_the_inits_above_a_module_count_by_what_they_do(hashed):
    study = with_body("return SIZE", "from toyroom.deep.helper import SIZE")
    files = {"study.py": study, "deep/helper.py": "SIZE = 3"}
    first = hashed({**files, "deep/__init__.py": ""})
    assert first == hashed({**files, "deep/__init__.py": "SPARE = 4"})
    assert first != hashed({**files, "deep/__init__.py": "import os\n\nos.umask(18)"})


@pytest.mark.parametrize("call", ["import_module(batch)", "__import__(batch)", "exec(batch)", "eval(batch)"])
def test_where_a_module_is_imported_by_a_computed_name_all_of_the_package_counts(hashed, call):
    study = with_body(f"return {call}", "from importlib import import_module")
    first = hashed({"study.py": study, "helper.py": HELPER})
    assert first != hashed({"study.py": study, "helper.py": HELPER.replace("OTHER = 4", "OTHER = 5")})
    study = with_body('return import_module("toyroom.helper")', "from importlib import import_module")
    first = hashed({"study.py": study, "helper.py": HELPER, "more.py": "SIZE = 3"})
    assert first == hashed({"study.py": study, "helper.py": HELPER, "more.py": "SIZE = 4"})
    assert first != hashed(
        {"study.py": study, "helper.py": HELPER.replace("OTHER = 4", "OTHER = 5"), "more.py": ""}
    )


def test_a_c_source_counts_with_the_module_beside_it(hashed):
    files = {
        "study.py": with_body("return double(1)", "from toyroom.helper import double"),
        "helper.py": HELPER,
    }
    first = hashed({**files, "helper.c": "int one(void) { return 1; }"})
    assert first != hashed({**files, "helper.c": "int one(void) { return 2; }"})
    assert hashed(files) == hashed({**files, "unused.c": "int one(void) { return 1; }"})


@pytest.mark.parametrize(
    "plan", ["Plan(SIZES, cells, run, figure, claims, {})", "Plan(*[SIZES, cells, run, figure, claims, {}])"]
)
def test_a_plan_may_be_written_by_position(hashed, plan):
    text = STUDY[: STUDY.index("    return Plan(")] + f"    return {plan}\n"
    assert hashed({"study.py": text}) != hashed(
        {"study.py": text.replace("return batch", "return batch[1:]")}
    )
    judged = hashed({"study.py": text.replace("return None", "return 3")}) == hashed({"study.py": text})
    assert judged is ("*" not in plan)


def test_a_study_that_a_function_declares_counts_with_all_of_its_module(hashed, tmp_path):
    hashed({"study.py": STUDY})
    whole = source_of("toyroom.study", "declared within a function").definitions
    assert {"toyroom.study.figure", "toyroom.study.measured"} <= set(whole)


@pytest.mark.parametrize("load", ["symdyn.load({})", "registry.load({})", "load({})", "symdyn.results({})"])
def test_a_result_that_is_loaded_counts_with_its_derivation(hashed, load):
    top = "import symdyn\nfrom symdyn import load\nfrom symdyn.catalogue import registry"
    key = '"single_neuron.conserved_delta"' if "results" not in load else '"single_neuron"'
    hashed({"study.py": with_body(f"return {load.format(key)}", top)})
    reached = set(source_of("toyroom.study", "toy").definitions)
    assert "derivations.single_neuron.network.conservation.conserved_delta" in reached
    assert "symdyn.compile.function.build" in reached
    other = [name for name in reached if name.startswith("derivations.wide_linear.")]
    assert not other
    hashed({"study.py": with_body(f"return {load.format('batch')}", top)})
    assert [
        n for n in source_of("toyroom.study", "toy").definitions if n.startswith("derivations.wide_linear.")
    ]


def test_a_module_that_python_runs_is_known_by_its_own_name(hashed, tmp_path):
    code = "from numerics.lab.fingerprint import source_of\nprint(source_of(__name__, 'toy').hash)\n"
    expected = hashed({"study.py": STUDY + code})
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, "-m", "toyroom.study"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout.split() == [expected], done.stderr


def test_a_study_in_no_package_counts_with_the_modules_and_packages_beside_it(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    text = with_body(
        "return SIZE + lone_helper.SIZE", "import json\nimport lone_helper\nfrom lone_tools import SIZE"
    )
    (tmp_path / "lone_study.py").write_text(text)
    (tmp_path / "lone_helper.py").write_text("SIZE = 3\n")
    (tmp_path / "lone_tools").mkdir()
    (tmp_path / "lone_tools" / "__init__.py").write_text("SIZE = 5\n")
    assert {"lone_helper.SIZE", "lone_tools.SIZE"} <= set(source_of("lone_study", "toy").definitions)


def test_a_module_among_installed_ones_is_not_followed_to_them(tmp_path, monkeypatch):
    (tmp_path / "site-packages").mkdir()
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    text = with_body("return SIZE", "from lone_other import SIZE")
    (tmp_path / "site-packages" / "lone_installed.py").write_text(text)
    (tmp_path / "site-packages" / "lone_other.py").write_text("SIZE = 3\n")
    assert "lone_other.SIZE" not in source_of("lone_installed", "toy").definitions


def test_a_study_without_a_source_is_refused(monkeypatch):
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    with pytest.raises(StudyError, match="the source of __main__ cannot be found"):
        source_of("__main__", "toy")


@pytest.mark.parametrize("broken", [b"def broken(:", "SIZE = 'ä'".encode("latin-1"), b"\0"])
def test_a_module_that_cannot_be_read_is_named(hashed, tmp_path, broken):
    hashed({"study.py": with_body("return SIZE", "from toyroom.helper import SIZE")})
    (tmp_path / "toyroom" / "helper.py").write_bytes(broken)
    with pytest.raises(StudyError, match=r"helper\.py cannot be read"):
        source_of("toyroom.study", "toy")


def test_the_hash_is_the_same_on_every_version_of_python(hashed):
    """The number was found with Python 3.11, 3.12 and 3.13."""
    body = (
        'size: float = 0.1\nwith open("x") as file, open("y"):\n    pass\n'
        'words = f"a{size!r:>{batch}}" f"{size=}" "b"\n'
        "try:\n    return [-x @ size for x in batch if (y := x)], {**size}, lambda *a, b=..., **c: a[1:2, ...]\n"
        "except* ValueError as error:\n    raise error from None"
    )
    assert hashed({"study.py": with_body(body)}) == "638ba6eee254b3f1"


def _packages(folder: Path) -> Path:
    """A copy of our packages."""
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def _hashes(folder: Path) -> dict[str, str]:
    """The hashes of all studies as the packages in a folder have them."""
    code = (
        "import json\nfrom numerics.lab.study import index\nfrom numerics.lab.fingerprint import source_of\n"
        "found = {key: source_of(e.module, e.attribute).hash for key, e in index().items()}\nprint(json.dumps(found))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


MOVES = {
    "numerics.training.flows": "numerics.training.flow",
    "numerics.measures.kernels": "numerics.networks.tangent_kernels",
    "numerics.training.ensembles": "numerics.batches",
    "derivations.prior_knowledge.evaluators.representations": "derivations.prior_knowledge.evaluators.flow",
    "symdyn.arrays.linalg": "symdyn.arrays.algebra",
}


def _move(folder: Path, before: str, after: str) -> None:
    """Move a module, and tell all that import it."""
    source, target = (folder / (name.replace(".", "/") + ".py") for name in (before, after))
    target.parent.mkdir(exist_ok=True)
    (target.parent / "__init__.py").touch()
    source.rename(target)
    (room, name), (new_room, new_name) = before.rsplit(".", 1), after.rsplit(".", 1)
    for file in folder.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        told = re.sub(rf"\b{re.escape(before)}\b", after, text)
        told = re.sub(
            rf"(\s*)from {re.escape(room)} import ([\w, ]*)\b{name}\b([\w, ]*)",
            _apart(room, name, new_room, new_name),
            told,
        )
        if told != text:
            file.write_text(told, encoding="utf-8")


def _apart(room: str, name: str, new_room: str, new_name: str):
    def of(found: re.Match) -> str:
        rest = [n.strip() for n in (found[2] + found[3]).split(",") if n.strip()]
        moved = f"{found[1]}from {new_room} import {new_name} as {name}"
        return moved + (f"{found[1]}from {room} import {', '.join(rest)}" if rest else "")

    return of


def test_moving_five_modules_leaves_all_evidence_current_and_an_edit_makes_stale_just_what_stands_on_it(
    tmp_path,
):
    folder = _packages(tmp_path)
    for before, after in MOVES.items():
        _move(folder, before, after)
    moved = _hashes(folder)
    assert moved == {key: source_of(e.module, e.attribute).hash for key, e in index().items()}
    assert len(moved) == len(list(FOLDER.glob("*.json")))
    balances = folder / "numerics" / "measures" / "conserved.py"
    text = balances.read_text(encoding="utf-8")
    edited = text.replace(
        "return eta_w * a * a - eta_a * (w * w).sum(-1)", "return eta_w * a**2 - eta_a * (w * w).sum(-1)"
    )
    assert edited != text
    balances.write_text(edited, encoding="utf-8")
    changed = _hashes(folder)
    assert {key for key in moved if moved[key] != changed[key]} == {"kunin2024.infinite-width-phase-diagram"}
    legend = folder / "numerics" / "studies" / "prior_knowledge" / "continual" / "forgetting.py"
    legend.write_text(
        legend.read_text(encoding="utf-8").replace("fontsize=8", "fontsize=9"), encoding="utf-8"
    )
    order = folder / "numerics" / "lab" / "order.py"
    order.write_text(order.read_text(encoding="utf-8") + "\n\ndef spare():\n    return 3\n", encoding="utf-8")
    assert _hashes(folder) == changed
