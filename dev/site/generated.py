"""The pages of docs/reference/: commands, settings, fields and routes, as the program itself knows them.

`python -m dev.site.generated` writes them; a test compares. Their sources are the help of the commands and
`commands_over_http.txt`, the comments of `.env.example`, the descriptions of the fields of `ACEContext` and
`Policy`, and the server's OpenAPI document.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from itertools import groupby
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from typer.main import get_command

from ace_graph import ACEContext, Policy, Settings
from ace_graph.cli import CommandGroup, app
from ace_graph.server import create_app
from dev.site.pages import DOCS, ROOT

OVER_HTTP = Path(__file__).with_name("commands_over_http.txt")
Schema = Mapping[str, Any]  # Any: a JSON schema is free JSON

_COMMANDS = """# Commands

*For users of the command line. Reference, generated: every command, its options and its route over HTTP.*

```bash
export ACE_MODEL=offline
echo "Call me Ada. What is 1/2 + 1/3?" | ace-graph chat --learner ada
ace-graph playbook show --learner ada --json
```

Results go to stdout, logs and errors to stderr. Exit codes: 0 success, 1 error, 2 wrong arguments. Settings
come from the environment and from `.env` ([list](settings.md)). These options mean the same everywhere:
"""
_SETTINGS = """# Settings

*For people who change how it runs. Reference, generated: every environment variable, from `.env.example`.*

```bash
export ACE_MODEL=offline ACE_STORE=sqlite:///lessons.db ACE_MAX_BULLETS=200
ace-graph doctor
```

The command line and LangGraph servers also read `.env` in the current folder. The environment takes
precedence, and an empty value counts as unset. `ace-graph doctor` prints the active settings and warns of
unknown names.
"""
_FIELDS = """# Fields of a run and of a store

*For programmers. Reference, generated: `ACEContext`, for one run, and `Policy`, for one store.*

```python
from ace_graph import ACEContext, Policy, build_ace_graph, open_store

graph = build_ace_graph(store=open_store("memory://", Policy(max_bullets=200, similarity=0.92)))
context = ACEContext(learner_id="ada", persona="a pirate", reflect_when="never")
out = await graph.ainvoke({"messages": [("user", "What is 1/2 + 1/3?")]}, context=context)
print(out["result"]["injected"], out["messages"][-1].content)
```

Unknown names and values out of range are errors. In Studio the fields of a run are a form.
"""
_ROUTES = """# Routes

*For programmers of a client. Reference, generated: every route, what it takes and the fields of its reply.*

```python
from fastapi.testclient import TestClient

from ace_graph import Settings
from ace_graph.server import create_app

app = create_app(Settings(model="offline", store="sqlite:///ace.db"))
with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 50000)) as client:
    reply = client.post("/api/ai/chat", json={"message": "Call me Ada. What is 1/2 + 1/3?"}).json()
    print(reply["answer"], reply["turnId"])
    for bullet in client.get("/api/playbooks/default/bullets").json()["bullets"]:
        print(bullet["id"], bullet["content"])
```

`GET /openapi.json` describes each field, limit and error. Names are in camel case, but for
`metadata.scratch`, exports and the names of rights and kinds. An error is `{"error": "one sentence",
"code": "one word", "requestId": "..."}`. `?` marks what may be left out. `{playbook_id}` is `default` for
the own memory, which also has short forms under `/api/playbook`. Requests that change something take
`Idempotency-Key`, those that change a playbook also `If-Match` ([how](../deploy/behaviour.md)).
"""


def generated_pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    return {
        "commands.md": _commands(),
        "settings.md": _settings(),
        "fields.md": "\n".join(
            [_FIELDS, "## ACEContext", "", *_fields(ACEContext), "", "## Policy", "", *_fields(Policy), ""]
        ),
        "routes.md": _routes(),
    }


def routes_of_commands() -> dict[str, str]:
    """Return for each command, or command with an option, its routes or why there is none."""
    lines = (line for line in OVER_HTTP.read_text("utf-8").splitlines() if line and not line.startswith("#"))
    rows = (line.split(": ", 1) for line in lines)
    return {command: routes for commands, routes in rows for command in commands.split(", ")}


def _commands() -> str:
    root = get_command(app)
    if not isinstance(root, CommandGroup):
        raise TypeError("ace-graph is no group of commands")
    leaves = {
        path.strip(): each for path, each in root.tree("").items() if not isinstance(each, CommandGroup)
    }
    counted = Counter(row for each in leaves.values() for row in _options(each))
    shared = {row for row, count in counted.items() if count * 5 > len(leaves)}
    parts = [_COMMANDS, *_table("option | meaning", sorted(shared)), ""]
    paths_in_order = sorted(leaves, key=lambda path: " " in path)
    for noun, paths in groupby(paths_in_order, _noun):
        parts += [f"## {noun or 'Single commands'}", ""]
        for path in paths:
            parts += _command(path, leaves[path], shared)
    return "\n".join(parts)


def _noun(path: str) -> str:
    return path.partition(" ")[0] if " " in path else ""


def _command(path: str, command: Any, shared: set[str]) -> Iterator[str]:  # Any: typer's own class
    arguments = [
        each.metavar or each.name.upper() for each in command.params if not each.opts[0].startswith("-")
    ]
    yield from (f"### {path}", "", f"`{' '.join(['ace-graph', path, *arguments])}`", "")
    yield from (_prose(inspect.cleandoc(command.help or "")), "")
    rows = [row for row in _options(command) if row not in shared]
    if rows:
        yield from (*_table("option | meaning", rows), "")
    for name, routes in routes_of_commands().items():
        option = name.removeprefix(path)
        if name.startswith(path) and (not option or option.startswith(" --")):
            told, _, without = routes.partition("; ")
            told = (
                f"Over HTTP: {_as_code(told)}{without and f', {without}'}."
                if "/api" in routes
                else f"No route: {routes}."
            )
            yield from (f"{f'`{option.strip()}`: ' if option else ''}{told}", "")


def _options(command: Any) -> list[str]:  # Any: typer's own class
    return [
        _row(
            f"`{', '.join((*each.opts, *each.secondary_opts))}{_value(each)}`", f"{each.help}{_default(each)}"
        )
        for each in command.params
        if each.opts[0].startswith("-") and each.name != "help"
    ]


def _value(option: Any) -> str:  # Any: typer's own class
    """What is written after an option: its choices, or what the command calls it."""
    if option.is_flag:
        return ""
    if option.metavar:
        return f" {option.metavar}"
    kinds = _leaves_of(option.type_descriptor.annotation)
    choices = [choice for kind in kinds for choice in _choices(kind)]
    return f" {'|'.join(choices) or option.name.upper()}"


def _leaves_of(annotation: Any) -> list[Any]:  # Any: an annotation
    if get_origin(annotation) in (UnionType, list, tuple):
        return [leaf for each in get_args(annotation) for leaf in _leaves_of(each)]
    return [annotation]


def _choices(kind: Any) -> list[str]:  # Any: an annotation
    if get_origin(kind) is Literal:
        return [str(each) for each in get_args(kind)]
    return [str(each.value) for each in kind] if isinstance(kind, type) and issubclass(kind, Enum) else []


def _default(option: Any) -> str:  # Any: typer's own class
    return "" if option.is_flag or option.default in (None, (), "") else f" Default: {option.default}."


def _prose(text: str) -> str:
    """Help as Markdown: what typer keeps as it stands (after a \\b) is an example."""
    parts = (part.strip("\n").replace("\\[", "[") for part in text.split("\n\n"))
    return "\n\n".join(
        f"```text\n{part.lstrip(chr(8)).strip(chr(10))}\n```" if part.startswith("\b") else part
        for part in parts
    )


def _settings() -> str:
    """Each variable of .env.example with the comment above it, which may be that of several."""
    parts: list[str] = [_SETTINGS]
    comment: list[str] = []
    after_variable = False
    for line in (ROOT / ".env.example").read_text("utf-8").splitlines()[3:]:
        if heading := re.fullmatch(r"# --- ([^-]+) -+", line):
            parts += ["", f"## {heading[1]}", "", *_table("variable | default | effect", [])]
        elif line.startswith("# "):
            comment = [*([] if after_variable else comment), line[2:]]
            after_variable = False
        elif variable := re.fullmatch(r"(\w+)=(.*)", line):
            default = f"`{variable[2]}`" if variable[2] else ""
            parts.append(_row(f"`{variable[1]}`", default, _LINK.sub(_as_link, " ".join(comment))))
            after_variable = True
    return "\n".join([*parts, ""])


_LINK = re.compile(r"docs/([\w/-]+)\.md(#[\w-]+)?")


def _as_link(match: re.Match[str]) -> str:
    """A page that a comment names, as a link from docs/reference/."""
    page, anchor = match[1], match[2] or ""
    title = (DOCS / f"{page}.md").read_text("utf-8").partition("\n")[0].removeprefix("# ")
    return f"[{title}](../{page}.md{anchor})"


def _fields(model: type[BaseModel]) -> list[str]:
    schema = model.model_json_schema()
    rows = [
        _row(
            f"`{name}`",
            _kind(field, schema),
            _shown(model.model_fields[name].default),
            field.get("description", ""),
        )
        for name, field in schema["properties"].items()
    ]
    return _table("field | type | default | effect", rows)


def _shown(default: object) -> str:
    """A default in a table; nothing where it is unset."""
    if default in (None, ()):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _kind(schema: Schema, whole: Schema) -> str:
    """A JSON schema in words: what it is, its choices or its bounds."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if variants := [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]:
        return " or ".join(_kind(each, whole) for each in variants)
    if choices := schema.get("enum", [schema["const"]] if "const" in schema else []):
        return " or ".join(f"`{choice}`" for choice in choices)
    kind = str(schema.get("type", "any"))
    if kind == "array" and "items" in schema:
        return f"list of {_kind(schema['items'], whole)}"
    least, most = schema.get("minimum"), schema.get("maximum")
    bounds = (
        f", {least} to {most}"
        if None not in (least, most)
        else f", at least {least}"
        if least is not None
        else ""
    )
    return kind + bounds


def _routes() -> str:
    document: Schema = create_app(Settings(model="offline", store="memory://")).openapi()
    found = [
        (operation["tags"][0], f"{method.upper()} {path}", operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    parts = [_ROUTES]
    for tag in dict.fromkeys(tag for tag, _, _ in found):
        rows = [
            _row(
                f"`{route}`",
                " ".join(operation["description"].split()),
                _as_code(", ".join(_taken(operation, document))),
                _as_code(", ".join(_replied(operation, document))),
            )
            for of, route, operation in found
            if of == tag
        ]
        parts += [f"## {tag.capitalize()}", "", *_table("route | what it does | takes | gives", rows), ""]
    return "\n".join(parts)


def _taken(operation: Schema, document: Schema) -> Iterator[str]:
    """The query parameters of an operation, then the fields of its body."""
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "query":
            yield parameter["name"] + ("" if parameter["required"] else "?")
    yield from _names(operation.get("requestBody", {}), document)


def _replied(operation: Schema, document: Schema) -> Iterator[str]:
    done = next(reply for status, reply in operation["responses"].items() if status.startswith("2"))
    return _names(done, document)


def _names(body: Schema, document: Schema) -> Iterator[str]:
    """The names of the fields in a body of JSON."""
    schema = body.get("content", {}).get("application/json", {}).get("schema", {})
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    required = schema.get("required", ())
    for name in schema.get("properties", {}):
        yield name if name in required else f"{name}?"


def _as_code(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", ") if name)


def _table(head: str, rows: Iterable[str]) -> list[str]:
    return [f"| {head} |", "|" + "---|" * (head.count("|") + 1), *rows]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |".replace("|  |", "| |")


def main() -> None:
    """Write the pages."""
    for name, text in generated_pages().items():
        (DOCS / "reference" / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
