"""Anthropic's memory tool (`memory_20250818`) over the files of a playbook.

    memory = MemoryTool(MemoryFiles(store, "ada"))
    reply = await memory.call({"command": "view", "path": "/memories"})
    runner = client.beta.messages.tool_runner(tools=[as_anthropic_tool(memory)], ...)

Replies and errors have the texts of the tool for a folder that Anthropic's SDK 2.14 brings. What the playbook
did not take over as it was written stands below them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ace_graph.base.errors import AceError, ChangeRefused, ConfigurationError, FormatError, how_to_install
from ace_graph.hosts.memory_files import MemoryFiles, Saved
from ace_graph.memory.formats.files import WHOLE, MemoryFile

if TYPE_CHECKING:
    from anthropic.lib.tools import BetaAsyncAbstractMemoryTool

ROOT = "/memories"
MAX_CHARS = 1_000_000
"""Of one text in a command."""
_NUMBER_WIDTH = 6
_DEPTH = 2


class MemoryToolError(AceError):
    """A command could not be carried out; the text is the tool's result, with `is_error`."""


class _Command(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    path: str = ROOT
    file_text: str = Field("", max_length=MAX_CHARS)
    old_str: str = Field("", max_length=MAX_CHARS)
    new_str: str = Field("", max_length=MAX_CHARS)
    insert_line: int = 0
    insert_text: str = Field("", max_length=MAX_CHARS)
    old_path: str = ROOT
    new_path: str = ROOT
    view_range: list[int] | None = None


class MemoryTool:
    """Carries out the tool's commands: `view create str_replace insert delete rename` below `/memories`."""

    def __init__(self, files: MemoryFiles) -> None:
        self._files = files
        self._commands: Mapping[str, Callable[[_Command], Awaitable[str]]] = {
            "view": self._view,
            "create": self._create,
            "str_replace": self._str_replace,
            "insert": self._insert,
            "delete": self._delete,
            "rename": self._rename,
        }

    async def call(self, command: Mapping[str, object]) -> str:
        """Return the reply to the input of a tool call. Raises MemoryToolError, and what the store raises."""
        carry_out = self._commands.get(str(command.get("command")))
        if carry_out is None:
            known = ", ".join(self._commands)
            raise MemoryToolError(f"Unknown command: {str(command.get('command'))[:40]}. Use one of {known}")
        try:
            return await carry_out(_Command.model_validate(dict(command)))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise MemoryToolError(f"Invalid `{where}` parameter: {first['msg']}") from error
        except (ChangeRefused, FormatError) as error:
            raise MemoryToolError(str(error)) from error

    async def _all(self) -> dict[str, MemoryFile]:
        """Return the files of the sections by their names; the one of all of them would say all twice."""
        return {name: file for name, file in (await self._files.files()).items() if name != WHOLE}

    async def _view(self, command: _Command) -> str:
        path, name = command.path, _name(command.path)
        files = await self._all()
        if name in files:
            file = await self._files.read(name)
            return _numbered_file(path, "" if file is None else file.text, command.view_range)
        below = {other: file for other, file in files.items() if not name or other.startswith(f"{name}/")}
        if name and not below:
            raise MemoryToolError(f"The path {path} does not exist. Please provide a valid path.")
        sizes = dict[str, int]()
        for other, file in below.items():
            parts = other.removeprefix(f"{name}/" if name else "").split("/")
            size = len(file.text.encode())
            for depth in range(1, min(len(parts), _DEPTH + 1)):
                folder = "/".join(parts[:depth]) + "/"
                sizes[folder] = sizes.get(folder, 0) + size
            if len(parts) <= _DEPTH:
                sizes["/".join(parts)] = size
        whole = sum(len(file.text.encode()) for file in below.values())
        lines = [f"{_size(whole)}\t{path}"]
        lines += [f"{_size(size)}\t{path.rstrip('/')}/{entry}" for entry, size in sorted(sizes.items())]
        title = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
        return "\n".join([title, *lines])

    async def _create(self, command: _Command) -> str:
        name = _name(command.path)
        if name in await self._all():
            raise MemoryToolError(f"File {command.path} already exists")
        saved = await self._files.write(name, command.file_text)
        return _with(saved, f"File created successfully at: {command.path}")

    async def _str_replace(self, command: _Command) -> str:
        name, old = await self._existing(command.path), command.old_str
        after: str = ""
        place = 0

        def replaced(text: str) -> str:
            nonlocal after, place
            places = _places(text, old)
            if not places:
                raise MemoryToolError(
                    f"No replacement was performed, old_str `{old}` did not appear verbatim in "
                    f"{command.path}."
                )
            if len(places) > 1:
                lines = ", ".join(str(text.count("\n", 0, found) + 1) for found in places)
                raise MemoryToolError(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                    f"{lines}. Please ensure it is unique"
                )
            after, place = text.replace(old, command.new_str), text.count("\n", 0, places[0])
            return after

        saved = await self._files.edit(name, replaced)
        lines, first = after.split("\n"), max(0, place - 2)
        shown = _numbered(lines[first : place + 3], first + 1)
        told = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return _with(saved, f"{told}\n{shown}")

    async def _insert(self, command: _Command) -> str:
        name = await self._existing(command.path)

        def inserted(text: str) -> str:
            lines = text.split("\n")
            if lines[-1] == "":
                lines.pop()
            if not 0 <= command.insert_line <= len(lines):
                raise MemoryToolError(
                    f"Invalid `insert_line` parameter: {command.insert_line}. "
                    f"It should be within the range [0, {len(lines)}]."
                )
            lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
            return "\n".join([*lines, ""])

        return _with(await self._files.edit(name, inserted), f"The file {command.path} has been edited.")

    async def _delete(self, command: _Command) -> str:
        name = _name(command.path)
        if not name:
            raise MemoryToolError("Cannot delete the /memories directory itself")
        gone = await self._below(name)
        if not gone:
            raise MemoryToolError(f"The path {command.path} does not exist")
        return _with(await self._files.remove(gone), f"Successfully deleted {command.path}")

    async def _rename(self, command: _Command) -> str:
        old, new = _name(command.old_path), _name(command.new_path)
        if not old:
            raise MemoryToolError("Cannot rename the /memories directory itself")
        if not new or await self._below(new):
            raise MemoryToolError(f"The destination {command.new_path} already exists")
        moved = await self._below(old)
        if not moved:
            raise MemoryToolError(f"The path {command.old_path} does not exist")
        saved = await self._files.rename({name: new + name.removeprefix(old) for name in moved})
        return _with(saved, f"Successfully renamed {command.old_path} to {command.new_path}")

    async def _existing(self, path: str) -> str:
        name = _name(path)
        if name in await self._all():
            return name
        if not name or await self._below(name):
            raise MemoryToolError(f"The path {path} is not a file.")
        raise MemoryToolError(f"The path {path} does not exist. Please provide a valid path.")

    async def _below(self, name: str) -> list[str]:
        """Return the file of this name, or those in the folder."""
        return [other for other in await self._all() if other == name or other.startswith(f"{name}/")]


def _name(path: str) -> str:
    """Return the name of a file or folder, empty for the root. Raises MemoryToolError."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise MemoryToolError(f"Path must start with /memories, got: {path}")
    parts = [part for part in path.removeprefix(ROOT).split("/") if part not in ("", ".")]
    if ".." in parts:
        raise MemoryToolError(f"Path {path} would escape /memories directory")
    if parts == [WHOLE]:
        raise MemoryToolError(f"{path} is the whole memory: choose another file")
    return "/".join(parts)


def _places(text: str, part: str) -> list[int]:
    places, start = list[int](), text.find(part) if part else -1
    while start >= 0:
        places.append(start)
        start = text.find(part, start + 1)
    return places


def _numbered_file(path: str, text: str, view_range: list[int] | None) -> str:
    lines, first = text.split("\n"), 1
    if view_range is not None and len(view_range) == 2:
        first = max(1, view_range[0])
        lines = lines[first - 1 : None if view_range[1] == -1 else view_range[1]]
    return f"Here's the content of {path} with line numbers:\n{_numbered(lines, first)}"


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:>{_NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def _size(size: int) -> str:
    unit = min((max(size, 1).bit_length() - 1) // 10, 3)
    shown = size / 1024**unit
    return f"{shown:.0f}{'BKMG'[unit]}" if shown == int(shown) else f"{shown:.1f}{'BKMG'[unit]}"


def _with(saved: Saved, reply: str) -> str:
    return f"{reply}\n{saved.told}" if saved.remarks else reply


def as_anthropic_tool(memory: MemoryTool) -> BetaAsyncAbstractMemoryTool:
    """Return the tool for the runner of Anthropic's SDK (the extra `anthropic`)."""
    try:
        from anthropic.lib.tools import BetaAsyncAbstractMemoryTool, ToolError
        from anthropic.types.beta import BetaMemoryTool20250818Command
    except ImportError as error:
        raise ConfigurationError(
            f"Anthropic's SDK is not installed: {how_to_install('anthropic')}"
        ) from error

    class PlaybookMemoryTool(BetaAsyncAbstractMemoryTool):
        async def execute(self, command: BetaMemoryTool20250818Command) -> str:
            try:
                return await memory.call(command.to_dict())
            except MemoryToolError as error:
                raise ToolError(str(error)) from error

        view = create = str_replace = insert = delete = rename = execute

    return PlaybookMemoryTool()
