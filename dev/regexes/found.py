"""Every regular expression of a package, with how it is used.

Compiled patterns are found in the modules as they are once imported, in tables and dataclasses too; patterns
given to functions of `re` are found in the source and evaluated in their module. A module that makes patterns
from data files has public functions `patterns`, `link_patterns` and the like that return all of them. Any
other pattern that is put together in a function has no text here: it is not known before it is used.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import cast

from dev.regexes.backtracking import Use

__all__ = ["Found", "modules_of", "patterns_of"]

_USES: dict[str, Use] = {
    "match": "match",
    "fullmatch": "fullmatch",
    "search": "search",
    "sub": "search",
    "subn": "search",
    "split": "search",
    "findall": "search",
    "finditer": "search",
}


@dataclass(frozen=True)
class Found:
    """A pattern: where, under which name, its text (None: made in a function), its flags, how it is used."""

    module: str
    name: str
    text: str | None
    flags: int
    uses: frozenset[Use]

    @property
    def place(self) -> str:
        return f"{self.module}:{self.name}"


def modules_of(package: str) -> Iterator[ModuleType]:
    """Import and yield every module of `package`."""
    top = import_module(package)
    folder = Path(cast(str, top.__file__)).parent
    for path in sorted(_files(folder)):
        parts = path.relative_to(folder).with_suffix("").parts
        if parts[-1] != "__main__":
            yield import_module(".".join((package, *(part for part in parts if part != "__init__"))))


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir() and (path / "__init__.py").exists():
            yield from _files(path)
        elif path.suffix == ".py":
            yield path


def patterns_of(module: ModuleType) -> list[Found]:
    """Return the patterns of one module; those it only imports are left out."""
    tree = ast.parse(Path(cast(str, module.__file__)).read_text("utf-8"))
    own = {name for statement in tree.body for name in _assigned(statement)}
    named = {name: value for name, value in vars(module).items() if name in own}
    methods = _methods(tree, {name for name, value in named.items() if isinstance(value, re.Pattern)})
    found = [
        Found(module.__name__, name, pattern.pattern, pattern.flags, methods.get(name) or methods[""])
        for name, value in named.items()
        for pattern in _compiled(value)
    ]
    return [*found, *_from_data(module), *_given_to_re(tree, module)]


def _from_data(module: ModuleType) -> Iterator[Found]:
    for name, function in vars(module).items():
        if name != "patterns" and not name.endswith("_patterns"):
            continue
        if not inspect.isfunction(function) or function.__module__ != module.__name__:
            continue
        if inspect.signature(function).parameters or name.startswith("_"):
            continue
        for pattern in cast("Callable[[], Iterable[re.Pattern[str]]]", function)():
            yield Found(module.__name__, "patterns()", pattern.pattern, pattern.flags, frozenset({"search"}))


def _assigned(statement: ast.stmt) -> Iterator[str]:
    targets = list[ast.expr]()
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    for target in targets:
        for each in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(each, ast.Name):
                yield each.id


def _methods(tree: ast.Module, names: set[str]) -> dict[str, frozenset[Use]]:
    """How each named pattern is used; under '' how the others are, by whatever name they go."""
    uses = dict[str, set[Use]]()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or node.attr not in _USES:
            continue
        of = node.value.id if isinstance(node.value, ast.Name) else ""
        if of != "re" and (of in names or node.attr != "split"):
            uses.setdefault(of if of in names else "", set()).add(_USES[node.attr])
    return {"": frozenset[Use]({"search"})} | {name: frozenset[Use](found) for name, found in uses.items()}


def _compiled(value: object, depth: int = 0) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield cast("re.Pattern[str]", value)
    elif depth < 4:
        for each in _parts(value):
            yield from _compiled(each, depth + 1)


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return cast("Mapping[object, object]", value).values()
    if isinstance(value, (tuple, list, set, frozenset)):
        return cast("Iterable[object]", value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return (getattr(value, field.name) for field in dataclasses.fields(value))
    return ()


def _given_to_re(tree: ast.Module, module: ModuleType) -> Iterator[Found]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        function = node.func
        if not (isinstance(function.value, ast.Name) and function.value.id == "re"):
            continue
        if function.attr not in {*_USES, "compile"}:
            continue
        uses = frozenset[Use]({_USES.get(function.attr, "search")})
        flags = next((word.value for word in node.keywords if word.arg == "flags"), None)
        if flags is None and function.attr in ("search", "match", "fullmatch", "findall", "finditer"):
            flags = node.args[2] if len(node.args) > 2 else None
        name, text = ast.unparse(node.args[0]), _value(node.args[0], module)
        if isinstance(text, str):
            if function.attr != "compile" or not _at_top(tree, node):
                yield Found(module.__name__, name, text, _flags(flags, module), uses)
        elif function.attr != "compile" or not _at_top(tree, node):
            yield Found(module.__name__, name, None, 0, uses)


def _flags(given: ast.expr | None, module: ModuleType) -> int:
    flags = 0 if given is None else _value(given, module)
    return int(flags) if isinstance(flags, int) else 0


def _value(expression: ast.expr, module: ModuleType) -> object:
    """What an expression is worth in its module; None where it holds a name of a function's own."""
    code = compile(ast.Expression(expression), module.__name__, "eval")
    try:
        return eval(code, dict(vars(module)))  # noqa: S307  our own source
    except NameError:
        return None


def _at_top(tree: ast.Module, call: ast.Call) -> bool:
    """Whether a call is made when the module is imported: then what it compiles is found in the module."""
    functions = (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    inside = (node for function in functions for node in ast.walk(function))
    return not any(node is call for node in inside)
