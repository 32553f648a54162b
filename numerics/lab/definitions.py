"""The definitions of a module, one by one: what each says, in a form of its own, and which others it names.

A definition is what the top level of a module binds to one name: a function, a class, a table with the statements that
fill it. The methods of a class are definitions of their own. What a definition says is written down without comments,
docstrings and annotations' types, and with a place left open for every other definition that it names, so that it reads
the same wherever either of them is kept, and the same on every version of Python.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
COMPOUND = (ast.If, ast.Try, ast.For, ast.While, ast.With, ast.Match, getattr(ast, "TryStar", ast.Try))
Key = tuple[str, str]  # a module, and a name in it: Class.method for a method
TELLING = ("constexpr", "ClassVar", "InitVar", "KW_ONLY")
UNSAID = {"ctx", "type_comment", "kind", "lineno", "type_params"}


@dataclass(frozen=True)
class Import:
    """What a name stands for after an import: a module, or a name in one."""

    module: str
    name: str | None = None


@dataclass(frozen=True)
class Module:
    """The top level of a module: the statements that bind or change each name, the imports, and the statements that
    have an effect beside.
    """

    name: str
    package: bool
    statements: dict[str, list[ast.stmt]]
    imports: dict[str, Import]
    stars: list[str]
    dotted: list[str]
    effects: list[ast.stmt]

    @property
    def lazy(self) -> bool:
        """Whether names are found when they are asked for."""
        return "__getattr__" in self.statements

    @property
    def loads(self) -> tuple[str, ...]:
        """The modules that are imported with this one, and what may be modules among the imported names."""
        named = [*self.imports.values()]
        inside = (f"{i.module}.{i.name}" for i in named if i.name)
        return (*self.stars, *self.dotted, *(i.module for i in named), *inside)

    def class_of(self, name: str) -> ast.ClassDef | None:
        """The class that a name is bound to, and nothing else."""
        found = self.statements.get(name, [])
        return found[0] if len(found) == 1 and isinstance(found[0], ast.ClassDef) else None


@functools.lru_cache(maxsize=2048)
def read(name: str, package: bool, source: str) -> Module:
    """The definitions of a source. Raises SyntaxError where it is none."""
    module = Module(name, package, {}, {}, [], [], [])
    for statement in ast.parse(source).body:
        _sort_in(statement, module)
    return module


def _sort_in(node: ast.stmt, module: Module) -> None:
    if isinstance(node, ast.Import | ast.ImportFrom):
        _imported(node, module)
    elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        tables = {table for part in node.decorator_list if (table := _registers_with(part)) is not None}
        _belongs(node, {node.name, *(tables - set(module.imports))}, module)
    elif isinstance(node, ast.Expr):
        if not isinstance(node.value, ast.Constant):
            base = _base(node.value.func) if isinstance(node.value, ast.Call) else None
            _belongs(node, {base} if base in module.statements else set(), module)
    elif isinstance(node, COMPOUND):
        if _is_for_types(node):
            for other in node.orelse:  # what stands there when the code runs
                _sort_in(other, module)
            return
        for part in ast.walk(node):
            if isinstance(part, ast.Import | ast.ImportFrom):
                _imported(part, module)
        names = (bound(node) | _changed(node)) - set(module.imports)
        _belongs(node, names, module)
        if names and any(isinstance(part, ast.Expr | ast.Raise | ast.Assert) for part in ast.walk(node)):
            module.effects.append(node)
    elif not isinstance(node, ast.Pass):
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        bases = {_base(part) for target in targets if target is not None for part in _flat(target)}
        _belongs(node, {base for base in bases if base and base not in module.imports}, module)


def _belongs(node: ast.stmt, names: set[str], module: Module) -> None:
    if not names:
        module.effects.append(node)
    for name in sorted(names):
        module.statements.setdefault(name, []).append(node)


def _changed(node: ast.stmt) -> set[str]:
    """The names whose items or attributes a statement sets, or whose methods it calls."""
    stores = (part for part in ast.walk(node) if isinstance(part, ast.Attribute | ast.Subscript))
    calls = (
        part.value.func for part in ast.walk(node) if isinstance(part, ast.Expr) and _is_call(part.value)
    )
    parts = [*(part for part in stores if not isinstance(part.ctx, ast.Load)), *calls]
    return {
        base for part in parts if isinstance(part, ast.Attribute | ast.Subscript) and (base := _base(part))
    }


def _is_call(node: ast.expr) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call)


def _is_for_types(node: ast.stmt) -> TypeGuard[ast.If]:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def _flat(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _flat(part)
    else:
        yield target.value if isinstance(target, ast.Starred) else target


def _base(node: ast.expr) -> str | None:
    """The name that a chain of attributes and items begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _registers_with(decorator: ast.expr) -> str | None:
    """The name in whose table a decorator such as ``rule.register(kind)`` enters what it decorates."""
    called = _called(decorator)
    return _base(called) if isinstance(called, ast.Attribute) else None


def _called(decorator: ast.expr) -> ast.expr:
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def _imported(node: ast.Import | ast.ImportFrom, module: Module) -> None:
    if isinstance(node, ast.Import):
        module.dotted.extend(alias.name for alias in node.names)
    found = imported(node, module)
    module.stars.extend(found.pop("*").module for _ in range("*" in found))
    module.imports.update(found)


def imported(node: ast.Import | ast.ImportFrom, module: Module) -> dict[str, Import]:
    """What the names of an import statement stand for."""
    if isinstance(node, ast.Import):
        return {
            alias.asname or alias.name.split(".")[0]: Import(
                alias.name if alias.asname else alias.name.split(".")[0]
            )
            for alias in node.names
        }
    base = node.module or ""
    if node.level:
        within = module.name.split(".")
        within = within[: len(within) - node.level + module.package]
        base = ".".join([*within, *([node.module] if node.module else [])])
    return {alias.asname or alias.name: Import(base, alias.name) for alias in node.names}


def bound(*nodes: ast.AST) -> set[str]:
    """The names that nodes bind in the scope that they stand in, beside those of imports."""
    return scope_of(nodes)[0]


def scope_of(nodes: Sequence[ast.AST]) -> tuple[set[str], list[ast.Import | ast.ImportFrom], set[str]]:
    """The names that nodes bind in the scope that they stand in, the imports there, and the names that are those of
    the module.
    """
    names: set[str] = set()
    imports: list[ast.Import | ast.ImportFrom] = []
    outside: set[str] = set()
    waiting = list(nodes)
    while waiting:
        part = waiting.pop()
        if isinstance(part, (*FUNCTIONS, ast.ClassDef)):
            names.add(part.name)
        elif isinstance(part, COMPREHENSIONS):
            walrus = (inner for inner in ast.walk(part) if isinstance(inner, ast.NamedExpr))
            names.update(inner.target.id for inner in walrus)
        elif isinstance(part, ast.Name):
            if not isinstance(part.ctx, ast.Load):
                names.add(part.id)
        elif isinstance(part, ast.Import | ast.ImportFrom):
            imports.append(part)
        elif isinstance(part, ast.Global):
            outside.update(part.names)
        elif not isinstance(part, ast.Lambda):
            if isinstance(part, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and part.name:
                names.add(part.name)
            elif isinstance(part, ast.MatchMapping) and part.rest:
                names.add(part.rest)
            waiting.extend(ast.iter_child_nodes(part))
    return names - outside, imports, outside


@dataclass(frozen=True)
class Named:
    """What a name in a module stands for: definitions, or a word that stays as it is."""

    keys: tuple[Key, ...] = ()
    word: str = ""


@dataclass(frozen=True)
class Said:
    """What a definition says, and what it names: groups of definitions in order, the attributes that it asks for, and
    whether it imports a module whose name is computed.
    """

    text: str
    named: tuple[tuple[Key, ...], ...]
    attributes: frozenset[str]
    computed: bool


@dataclass
class Scope:
    names: set[str]
    imports: dict[str, Import] = field(default_factory=dict)


@dataclass
class Writer:
    """Writes definitions down; ``find`` tells what a chain of names that starts at an import or at the top level of the
    module stands for, and how many of its parts that takes; ``pruned`` may leave parts of a call out.
    """

    module: Module
    find: Callable[[Module, Import | None, Sequence[str]], tuple[Named, int]]
    pruned: Callable[[Named, ast.Call], tuple[ast.Call, tuple[Key, ...]]]
    scopes: list[Scope] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    named: list[tuple[Key, ...]] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)
    computed: bool = False
    own: str = ""
    typed: bool = False  # whether the types of what a class has count: other distributions may read them

    def said(self) -> Said:
        return Said("\n".join(self.text), tuple(self.named), frozenset(self.attributes), self.computed)

    def write(self, node: object) -> None:
        """Write a node, a list of nodes or what is in one."""
        if isinstance(node, list):
            self.text.append("[")
            for part in node:
                if not _is_idle(part):
                    self.write(part)
            self.text.append("]")
        elif isinstance(node, ast.AST):
            getattr(self, f"visit_{type(node).__name__}", self._other)(node)
        else:
            self.text.append(f"{type(node).__name__} {node!r}")

    def _other(self, node: ast.AST, leave: Sequence[str] = ()) -> None:
        self.text.append(f"({type(node).__name__}")
        for name in sorted(node._fields):
            value = getattr(node, name, None)
            if name not in UNSAID and name not in leave and value is not None and value != []:
                self.text.append(f".{name}")
                self.write(value)
        self.text.append(")")

    def visit_Constant(self, node: ast.Constant) -> None:
        self.text.append(f"{type(node.value).__name__} {node.value!r}")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Neighbouring words of a text are one, wherever a version of Python cuts them."""
        self.text.append("(JoinedStr")
        words = ""
        for part in node.values:
            if isinstance(part, ast.Constant):
                words += str(part.value)
                continue
            self.text.extend([f"str {words!r}"] * bool(words))
            words = ""
            self.write(part)
        self.text.extend([f"str {words!r}"] * bool(words) + [")"])

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Nothing: what is taken from it is written where it is used."""

    visit_ImportFrom = visit_Import

    def visit_Name(self, node: ast.Name) -> None:
        self._chain(node, [node.id])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parts, inner = [node.attr], node.value
        while isinstance(inner, ast.Attribute):
            parts.insert(0, inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            self._chain(node, [inner.id, *parts])
        else:
            self._asked(node)

    def _asked(self, node: ast.Attribute) -> None:
        self.attributes.add(node.attr)
        self.text.append(f"(Attribute {node.attr}")
        self.write(node.value)
        self.text.append(")")

    def _resolved(self, parts: Sequence[str]) -> tuple[Named, int]:
        for scope in reversed(self.scopes):
            if parts[0] in scope.imports:
                return self.find(self.module, scope.imports[parts[0]], parts)
            if parts[0] in scope.names:
                return Named(word=parts[0]), 1
        return self.find(self.module, None, parts)

    def _chain(self, node: ast.expr, parts: list[str]) -> None:
        """A name, and as many of the attributes behind it as still belong to a name in a module."""
        found, used = self._resolved(parts)
        for attribute in parts[used:]:
            self.attributes.add(attribute)
        self.text.append(f"(Name {' '.join(parts[used:])}")
        self._stands_for(found)
        self.text.append(")")

    def _stands_for(self, found: Named) -> None:
        self.text.append(f"word {found.word}" if found.word else "definition")
        if found.keys:
            self.named.append(found.keys)

    def visit_Call(self, node: ast.Call) -> None:
        parts = _parts(node.func)
        found = self._resolved(parts)[0] if parts else Named()
        node, more = self.pruned(found, node)
        if more:
            self.text.append("loaded")
            self.named.append(more)
        self._dynamic(node, found)
        self._other(node)

    def _dynamic(self, node: ast.Call, found: Named) -> None:
        """Attributes and modules that are asked for by a text."""
        texts = [str(part.value) for part in node.args if _is_text(part)]
        if found.word in ("getattr", "hasattr", "operator.attrgetter", "operator.methodcaller"):
            self.attributes.update(text for text in texts)
            if found.word == "getattr" and len(node.args) > 1 and not _is_text(node.args[1]):
                self._any_attribute(node.args[0])
        elif found.word in ("importlib.import_module", "__import__"):
            if texts:
                self._stands_for(self.find(self.module, Import(texts[0]), texts[:1])[0])
            else:
                self.computed = True
        elif found.word in ("exec", "eval", "runpy.run_module", "runpy.run_path"):
            self.computed = True

    def _any_attribute(self, of: ast.expr) -> None:
        """An attribute whose name is computed: any of the class itself, or of whatever class there is."""
        parts = _parts(of)
        found, used = self._resolved(parts) if parts else (Named(), 0)
        if "." in found.word and used == len(parts):  # of another distribution
            return
        self.attributes.add(f"{self.own}.*" if parts in (["self"], ["cls"]) and self.own else "*")

    def _function(self, node: Function) -> None:
        """A function in another; one at the top level has no name of its own."""
        self.text.append(f"({type(node).__name__} {node.name if self.scopes else ''}")
        self.write(node.decorator_list)
        if any(getattr(_called(part), "attr", "") == "register" for part in node.decorator_list):
            self.text.append(ast.unparse(node.args))  # the type of an argument tells for what it is entered
        self._defaults(node.args)
        self._annotation(node.returns)
        self._inside(node, node.body)

    visit_FunctionDef = visit_AsyncFunctionDef = _function

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.text.append("(Lambda")
        self._defaults(node.args)
        self._inside(node, [ast.Return(node.body)])

    def _defaults(self, args: ast.arguments) -> None:
        self.write(args.defaults)
        self.text.append("[")
        for default in args.kw_defaults:
            self.text.append("-" if default is None else "+")
            if default is not None:
                self.write(default)
        self.text.append("]")

    def _inside(self, node: Function | ast.Lambda, body: list[ast.stmt]) -> None:
        args = node.args
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs]
        marks = [len(args.posonlyargs), len(args.args), len(args.kwonlyargs)]
        rest = [arg for arg in (args.vararg, args.kwarg) if arg is not None]
        self.text.append(f"{marks} {args.vararg is not None} {args.kwarg is not None}")
        for arg in (*every, *rest):
            self.text.append(f"arg {arg.arg}")
            self._annotation(arg.annotation)
        names, imports, outside = scope_of(body)
        scope = Scope(({arg.arg for arg in (*every, *rest)} | names) - outside)
        for part in imports:
            scope.imports.update(imported(part, self.module))
        self.scopes.append(scope)
        self.write(body)
        self.scopes.pop()
        self.text.append(")")

    def _annotation(self, node: ast.expr | None) -> None:
        """A type says nothing of numbers, but tells a compiler what is constant, and a dataclass what is no field."""
        words = ast.unparse(node) if node is not None else ""
        self.text.extend(word for word in TELLING if word in words)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._annotation(node.annotation)
        self._other(node, leave=("annotation",))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """A class in a function, as a whole."""
        self.skeleton(node, lambda method: True, node.name)

    def skeleton(self, node: ast.ClassDef, has: Callable[[str], bool], name: str = "") -> None:
        """A class with those of its methods that ``has`` tells."""
        self.text.append(f"(ClassDef {name}")
        for parts in (node.decorator_list, node.bases, node.keywords):
            self.write(parts)
        kept = [part for part in node.body if not isinstance(part, FUNCTIONS) or has(part.name)]
        names, imports, _ = scope_of(kept)
        self.scopes.append(Scope(names))
        for statement in imports:
            self.scopes[-1].imports.update(imported(statement, self.module))
        for part in kept:
            if isinstance(part, FUNCTIONS):
                self.method(part)
            elif not _is_idle(part):
                if self.typed and isinstance(part, ast.AnnAssign):
                    self.text.append(ast.unparse(part.annotation))
                self.write(part)
        self.scopes.pop()
        self.text.append(")")

    def method(self, node: Function) -> None:
        """A method, which does not see the names of its class."""
        self.text.append(f"method {node.name}")
        inside = self.scopes.pop() if self.scopes else None
        self.scopes.append(Scope(set()))
        self.write(node)
        self.scopes.pop()
        if inside is not None:
            self.scopes.append(inside)

    def _with_own_names(self, node: Comprehension) -> None:
        """Its names are its own; the first sequence belongs to where it stands."""
        self.write(node.generators[0].iter)
        self.scopes.append(Scope({name for part in node.generators for name in bound(part.target)}))
        self._other(node)
        self.scopes.pop()

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _with_own_names


def _is_text(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_idle(node: object) -> bool:
    """A docstring, another text that stands alone, or nothing."""
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and _is_text(node.value))


def _parts(node: ast.expr) -> list[str]:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    return [node.id, *parts] if isinstance(node, ast.Name) else []
