"""The API reference: the public names of the package, read from the source without importing it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import griffe

from dev.site.navigation import Page
from dev.site.pages import DOCS, ROOT

_IMPORT = re.compile(r"^(?:from|import) (ace_graph(?:\.\w+)*)", re.MULTILINE)


def write_reference(out: Path) -> tuple[Page, ...]:
    """Write a page for `ace_graph`, and for each module that an example of docs/ imports."""
    out.mkdir(parents=True, exist_ok=True)
    package = griffe.load("ace_graph", search_paths=[str(ROOT)], resolve_aliases=True)
    pages: list[Page] = []
    for name in documented_modules():
        module = package if name == "ace_graph" else package[name.removeprefix("ace_graph.")]
        if module.is_module:
            place = Path("reference", f"{name}.md")
            (out / place.name).write_text(reference_page(name, module), encoding="utf-8")
            pages.append(Page(name, place))
    return tuple(pages)


def documented_modules() -> list[str]:
    """The modules that the examples of docs/ import from, by name."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md")))
    return sorted({"ace_graph", *(name for text in texts for name in _IMPORT.findall(text))})


def reference_page(name: str, module: griffe.Object | griffe.Alias) -> str:
    """The page of one module: what it is for, then every public name with its signature and docstring."""
    parts = [
        f"# `{name}`",
        f"*For programmers who call `{name}`: its public names, from the docstrings.*",
        _doc(module),
    ]
    for public in _public_names(module):
        parts.extend(_public_name(public, module[public]))
    return "\n\n".join(filter(None, parts)) + "\n"


def _public_names(module: griffe.Object | griffe.Alias) -> list[str]:
    """The list of a package, or what its face imports from within; of another module the names it defines."""
    if module.exports:
        return sorted(set(map(str, module.exports)) & module.members.keys())
    if module.is_init_module and "lazy_loader" in module.members:
        names = ((name, each) for name, each in module.members.items() if isinstance(each, griffe.Alias))
        return sorted(name for name, each in names if each.target_path.startswith("ace_graph."))
    own = (name for name, each in module.members.items() if not (each.is_alias or each.is_module))
    return sorted(name for name in own if not name.startswith("_"))


def _public_name(name: str, found: griffe.Object | griffe.Alias) -> Iterator[str]:
    """One public name: a heading, its signature, its docstring, and what a class has."""
    target = found.final_target if isinstance(found, griffe.Alias) else found
    yield f"## `{name}`"
    if isinstance(target, griffe.Function):
        yield _code(_signature(target, name))
    elif isinstance(target, griffe.Class):
        bases = ", ".join(map(str, target.bases))
        yield _code(f"class {name}({bases})" if bases else f"class {name}")
    elif isinstance(target, griffe.Attribute) and target.value is not None:
        yield _code(f"{name} = {target.value}")
    yield f"Defined in `{target.module.path}`."
    yield _doc(target)
    if isinstance(target, griffe.Class):
        yield from _members(target)


def _members(target: griffe.Class) -> Iterator[str]:
    """The public fields and methods of a class."""
    public = [each for key, each in target.members.items() if not key.startswith("_") and not each.is_alias]
    fields = [each for each in public if isinstance(each, griffe.Attribute) and each.annotation is not None]
    rows = [
        f"| `{each.name}` | {_code_cell(each.annotation)} | {' | '.join(_default_and_about(each))} |"
        for each in fields
    ]
    if rows:
        yield "\n".join(["| field | type | default | about |", "|---|---|---|---|", *rows])
    for each in public:
        if isinstance(each, griffe.Function):
            yield f"### `{target.name}.{each.name}`"
            yield _code(_signature(each, each.name))
            yield _doc(each)


def _signature(function: griffe.Function, name: str) -> str:
    """A call as in the source; a long one has a line for each parameter."""
    prefix = "async def " if "async" in function.labels else "def "
    line = f"{prefix}{function.signature(name=name)}"
    if len(line) <= 100:
        return line
    inside = [parameter.as_text() for parameter in _parameters(function)]
    returns = f" -> {function.returns}" if function.returns is not None else ""
    return "\n".join([f"{prefix}{name}(", *(f"    {each}," for each in inside), f"){returns}"])


class _Parameter:
    """A parameter as it stands in a signature."""

    def __init__(self, parameter: griffe.Parameter) -> None:
        self._parameter = parameter

    def as_text(self) -> str:
        """The name with stars, type and default."""
        each = self._parameter
        stars = {
            griffe.ParameterKind.var_positional: "*",
            griffe.ParameterKind.var_keyword: "**",
        }.get(each.kind or griffe.ParameterKind.positional_or_keyword, "")
        annotation = f": {each.annotation}" if each.annotation is not None else ""
        default = f" = {each.default}" if each.default is not None and not stars else ""
        return f"{stars}{each.name}{annotation}{default}"


class _Star:
    """The star after which parameters are given by name."""

    def as_text(self) -> str:
        return "*"


def _parameters(function: griffe.Function) -> Iterator[_Parameter | _Star]:
    starred = False
    for parameter in function.parameters:
        if parameter.kind is griffe.ParameterKind.var_positional:
            starred = True
        if parameter.kind is griffe.ParameterKind.keyword_only and not starred:
            starred = True
            yield _Star()
        yield _Parameter(parameter)


def _default_and_about(field: griffe.Attribute) -> tuple[str, str]:
    """A field's default and what it is for; of a pydantic `Field(...)` its arguments for these."""
    value, about = field.value, _cell(_doc(field))
    if not isinstance(value, griffe.ExprCall) or str(value.function) != "Field":
        return _code_cell(value), about
    given = {each.name: each.value for each in value.arguments if isinstance(each, griffe.ExprKeyword)}
    described = given.get("description")
    text = "".join(ast.literal_eval(str(described)).split("\n")) if described is not None else ""
    first = next((each for each in value.arguments if not isinstance(each, griffe.ExprKeyword)), None)
    return _code_cell(given.get("default", given.get("default_factory", first))), _cell(about or text)


def _code_cell(value: object) -> str:
    """Code in a cell of a table; nothing for None."""
    return f"`{' '.join(str(value).split())}`" if value is not None else ""


def _code(text: str) -> str:
    return f"```python\n{text}\n```"


def _doc(found: griffe.Object | griffe.Alias) -> str:
    """A docstring as Markdown: its headings (`Raises:`) in bold, its angle brackets as text."""
    text = found.docstring.value.strip() if found.docstring else ""
    lines = [_doc_line(line) for line in text.splitlines()]
    return "\n".join(lines)


def _doc_line(line: str) -> str:
    section = re.fullmatch(r"(Args|Raises|Returns|Yields|Attributes|Example|Examples):", line)
    return f"\n**{section[1]}**\n" if section else line


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ").strip()
