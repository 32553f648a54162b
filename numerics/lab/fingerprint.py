"""Which code a study's numbers stand on: a hash over the definitions that its cells and its measurement reach.

Starting at ``cells`` and ``run`` of the study's plan, every name is followed to its definition in our packages or in
the study's own (``numerics.lab.names``). In the hash of a definition every definition that it names is replaced by the
hash of that one, as in a Merkle tree, so that a module or a definition can be moved or renamed and nothing changes,
while an edit changes just the studies that stand on it. The figure, the claims and the other scales of a study do not
count, nor does what only lists, stores, prints or judges. Other distributions are not followed; their versions are
recorded with the results.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from numerics.lab.definitions import FUNCTIONS, Function, Key, Module, Named, Said, Writer
from numerics.lab.names import Packages, file_of, packages_now, state_of
from numerics.lab.study import StudyError

PACKAGES = ("numerics", "derivations", "symdyn")
# Of a plan, what makes numbers. Of a result, what does not: where it comes from, and where it was proved.
MEASURING = {"cells", "run", "batch", "shared"}
PLAN = ("scales", "cells", "run", "figure", "claims", "dims", "batch", "shared", "absent", "tools")
JUDGING = {"ledger", "domain", "uses", "few_mutants"}
LOADERS = {"load", "results"}  # of symdyn: results by their keys
REGISTRARS = {"glossary"}  # functions of symdyn that keep what they are given
PLAIN_BASES = {"object", "typing.NamedTuple", "typing.Protocol", "typing.Generic", "abc.ABC", "enum.Enum"}

Statement = TypeVar("Statement", bound=ast.stmt)

# Definitions without a name: what importing a module does, and the C source beside it.
EFFECTS, NATIVE = "<import>", "<c>"


@dataclass(frozen=True)
class Source:
    """The hash of the code that made some numbers, and of each definition by itself, to tell what has changed."""

    hash: str
    definitions: Mapping[str, str]

    def as_dict(self) -> dict[str, object]:
        return {"hash": self.hash, "definitions": dict(self.definitions)}


def source_of(module: str, attribute: str) -> Source:
    """The code that the study reaches which ``attribute`` of a module declares.

    The packages that are followed are ours and the study's own: its package, or, for a module in no package, the
    modules and packages in its folder. A module that ``python -m`` runs is known by its own name. Methods of a
    user's classes count with their class; those of ours where an attribute of their name is asked for by any of
    this code, or where their class is derived from one of another distribution, which may call them. Statements
    that have an effect beside binding a name count where their module is imported; a C source beside a module
    counts as it is. Results that are loaded by key count, all of them where the key is computed. Where a module is
    imported by a computed name all of its importer's package counts, and for a study that is declared within a
    function all of its module. Files that are read as data do not count: name them, or what is in them, in the
    configuration. Raises StudyError for a module whose source cannot be found, such as a notebook or a script, or
    cannot be read.
    """
    if module == "__main__":
        module = getattr(sys.modules[module].__spec__, "name", module)
    if file_of(module) is None:
        raise StudyError(
            f"the source of {module} cannot be found, so nobody could say which code made the results: define the "
            "study in a module of its own, a file that is imported"
        )
    followed = frozenset({*PACKAGES, *_companions(module)})
    reach = Reach(packages_now(followed, state_of(followed)))
    home = reach.packages.module(module)
    whole = home is None or attribute not in home.statements
    reach.follow(reach.packages.all_of(module) if whole else [(module, attribute)])
    return Source(_combined(reach.said), {label: _short(said.text) for label, said in reach.labelled()})


@dataclass
class Reach:
    """All definitions that some definitions reach."""

    packages: Packages
    said: dict[Key, Said] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    classes: dict[Key, ast.ClassDef] = field(default_factory=dict)
    imported: set[str] = field(default_factory=set)
    waiting: list[Key] = field(default_factory=list)

    def follow(self, keys: Iterable[Key]) -> None:
        self.waiting.extend(keys)
        while self.waiting:
            key = self.waiting.pop()
            if key not in self.said:
                if key not in self.packages.said:
                    self.packages.said[key] = self._say(key)
                self.said[key] = self.packages.said[key]
                self._go_on(key)

    def labelled(self) -> list[tuple[str, Said]]:
        return sorted((".".join(key), said) for key, said in self.said.items())

    def _go_on(self, key: Key) -> None:
        module, said = key[0], self.said[key]
        if key[1] != NATIVE:
            self._import(module)
        for group in said.named:
            self.waiting.extend(group)
        if said.computed and module.split(".")[0] not in PACKAGES:
            inside = self.packages.modules(module.split(".")[0])
            self.waiting.extend(definition for name in inside for definition in self.packages.all_of(name))
        found = self.packages.module(module)
        node = found.class_of(key[1]) if found else None
        if node is not None:
            self.classes[key] = node
        if said.attributes - self.asked or node is not None:
            self.asked |= said.attributes
            for (home, name), each in self.classes.items():
                self.waiting.extend(
                    (home, f"{name}.{method}") for method in self._methods((home, name), each)
                )

    def _methods(self, key: Key, node: ast.ClassDef) -> set[str]:
        """The methods of a class that may be called."""
        names = {part.name for part in node.body if isinstance(part, FUNCTIONS)}
        ours = key[0].split(".")[0] in PACKAGES
        if not ours or {"*", f"{'.'.join(key)}.*"} & self.asked or self._is_foreign(key, node):
            return names
        return {
            name for name in names if name in self.asked or (name.startswith("__") and name.endswith("__"))
        }

    def _is_foreign(self, key: Key, node: ast.ClassDef) -> bool:
        """Whether a class is derived from one of another distribution, which may call any of its methods."""
        for base in node.bases:
            named = self._named(key[0], base.value if isinstance(base, ast.Subscript) else base)
            known = named.word in PLAIN_BASES or named.word.endswith(("Error", "Exception"))
            if not named.keys and not known and not named.word.startswith("kept "):
                return True
        return False

    def _import(self, name: str) -> None:
        """What importing a module does: its effects, and those of the packages above it and of its imports."""
        waiting = [name]
        while waiting:
            name = waiting.pop()
            if name in self.imported:
                continue
            self.imported.add(name)
            found = self.packages.module(name)
            if found is None or self.packages.is_kept(name):
                continue
            waiting.extend([*_above(name), *found.loads])
            if self._effects(found):
                self.waiting.append((name, EFFECTS))
            if self.packages.native(name) is not None:
                self.waiting.append((name, NATIVE))

    def _effects(self, module: Module) -> list[ast.stmt]:
        """The statements that do something beside binding a name: calls, definitions that a decorator of ours or a base
        class may register, and assignments of what a registrar of symdyn keeps.
        """
        found = list(module.effects)
        for statements in module.statements.values():
            for node in statements:
                if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                    registered = any(self._may_register(module, part) for part in node.decorator_list)
                    bases = node.bases if isinstance(node, ast.ClassDef) else []
                    if registered or any(self._notices_subclasses(module, base) for base in bases):
                        found.append(node)
                elif isinstance(value := getattr(node, "value", None), ast.Call):
                    named = self._named(module.name, value.func)
                    if any(_is_ours(key, "symdyn", REGISTRARS) for key in named.keys):
                        found.append(node)
        return list(dict.fromkeys(found))

    def _may_register(self, module: Module, decorator: ast.expr) -> bool:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        named = self._named(module.name, called)
        known = {"result", "printed"}
        return bool(named.keys) and not any(_is_ours(key, "symdyn", known) for key in named.keys)

    def _notices_subclasses(self, module: Module, base: ast.expr) -> bool:
        for home, name in self._named(module.name, base).keys:
            found = self.packages.module(home)
            node = found.class_of(name) if found else None
            names = {part.name for part in node.body if isinstance(part, FUNCTIONS)} if node else set()
            if "__init_subclass__" in names:
                return True
        return False

    def _say(self, key: Key) -> Said:
        name, attribute = key
        if attribute == NATIVE:
            return Said(
                self.packages.native(name).read_bytes().decode(errors="replace"),  # type: ignore[union-attr]  # it is there
                (),
                frozenset(),
                False,
            )
        module = self.packages.module(name)
        if module is None:
            raise StudyError(f"{name} is no module of the packages that are followed")
        writer = Writer(
            module,
            self.packages.find,
            partial(self._pruned, module),
            own=f"{name}.{attribute.split('.')[0]}",
            typed=name.split(".")[0] not in PACKAGES,
        )
        if attribute == EFFECTS:
            for statement in self._effects(module):
                self._write(writer, statement)
            return writer.said()
        top, _, method = attribute.partition(".")
        for statement in module.statements[top]:
            if method:
                parts = [
                    part
                    for part in getattr(statement, "body", ())
                    if isinstance(part, FUNCTIONS) and part.name == method
                ]
                for part in parts:
                    writer.method(part)
            else:
                self._write(writer, statement)
        return writer.said()

    def _write(self, writer: Writer, statement: ast.stmt) -> None:
        if isinstance(statement, ast.ClassDef) and writer.module.class_of(statement.name) is statement:
            writer.skeleton(self._untied(writer.module, statement), lambda method: False)
        elif isinstance(statement, FUNCTIONS) and self._declares_study(writer.module, statement):
            plain = ast.FunctionDef(**{**vars(statement), "decorator_list": []})
            writer.write(plain)
        else:
            writer.write(self._untied(writer.module, statement))

    def _untied(self, module: Module, node: Statement) -> Statement:
        """A definition without what ties it to results, which makes no numbers."""
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            return node
        kept = [part for part in node.decorator_list if not self._is_tie(module, part)]
        return (
            type(node)(**{**vars(node), "decorator_list": kept})
            if len(kept) < len(node.decorator_list)
            else node
        )

    def _is_tie(self, module: Module, decorator: ast.expr) -> bool:
        return (
            isinstance(decorator, ast.Call)
            and self._named(module.name, decorator.func).word == "kept implements"
        )

    def _declares_study(self, module: Module, node: Function) -> bool:
        """Whether a function is decorated as a study; its key and its title make no numbers."""
        called = [part.func for part in node.decorator_list if isinstance(part, ast.Call)]
        return any(self._named(module.name, part).word == "kept study" for part in called)

    def _pruned(self, module: Module, named: Named, call: ast.Call) -> tuple[ast.Call, tuple[Key, ...]]:
        """A plan without what draws and judges, a result without what it is judged by, and the results that are loaded
        by key.
        """
        if named.word == "kept Plan":
            unpacked = any(isinstance(arg, ast.Starred) for arg in call.args)
            args = [arg for arg, name in zip(call.args, PLAN, strict=False) if unpacked or name in MEASURING]
            words = [word for word in call.keywords if word.arg is None or word.arg in MEASURING]
            return ast.Call(func=call.func, args=args, keywords=words), ()
        if any(_is_ours(key, "symdyn", {"result"}) for key in named.keys):
            words = [word for word in call.keywords if word.arg not in JUDGING]
            return ast.Call(func=call.func, args=call.args, keywords=words), ()
        of_symdyn = module.name.split(".")[0] == "symdyn"  # it loads what a result is proved with
        if named.word in {f"kept {name}" for name in LOADERS} and not of_symdyn:
            return call, results_named(call)
        return call, ()

    def _named(self, module: str, node: ast.expr) -> Named:
        """What a name, or a chain of attributes, at the top level of a module stands for."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            node = node.value
        found = self.packages.module(module)
        if not isinstance(node, ast.Name) or found is None:
            return Named()
        return self.packages.find(found, None, [node.id, *parts])[0]


def results_named(call: ast.Call) -> tuple[Key, ...]:
    """The derivations of the results that a call names, by key or ledger id; all of them where that is computed."""
    from symdyn.catalogue.registry import index as all_results

    words = [arg.value for arg in call.args if isinstance(arg, ast.Constant)]
    entries = all_results()
    if len(words) == len(call.args) == 1:
        by_key = [e for e in entries if e.key == words[0]]
        entries = tuple(
            by_key or [e for e in entries if words[0] in e.ledger or words[0] == e.topic] or entries
        )
    return tuple((e.module, e.key.split(".", 1)[1]) for e in entries)


def _is_ours(key: Key, package: str, names: set[str]) -> bool:
    return key[1] in names and key[0].split(".")[0] == package


def _combined(said: Mapping[Key, Said]) -> str:
    """One hash of definitions that name one another.

    Every definition starts with the hash of what it says. Then, again and again, the hashes of those that it names
    enter its own, until that tells no two more of them apart. The result does not depend on what any of them is called.
    """
    first = {key: _short(one.text) for key, one in said.items()}
    hashes, told_apart = first, 0
    while len(set(hashes.values())) > told_apart:
        told_apart = len(set(hashes.values()))
        hashes = {
            key: _short(
                "\n".join([first[key], *(" ".join(sorted(hashes[k] for k in group)) for group in one.named)])
            )
            for key, one in said.items()
        }
    return _short("\n".join(sorted(hashes.values())))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _above(module: str) -> list[str]:
    """The packages that a module is in: their ``__init__`` files run before it."""
    parts = module.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def _companions(module: str) -> set[str]:
    """The top-level names that belong to a module: its package, or itself and what lies in its folder, unless
    distributions are installed there.
    """
    top = module.split(".")[0]
    path = file_of(top)
    if path is None or path.name == "__init__.py" or path.parent.name in ("site-packages", "dist-packages"):
        return {top}
    packages = {folder.parent.name for folder in path.parent.glob("*/__init__.py")}
    return {top, *packages, *(file.stem for file in path.parent.glob("*.py"))}
