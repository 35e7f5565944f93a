"""The files of a playbook as a backend of deepagents, for its file tools and for its memory middleware.

    backend = PlaybookBackend(MemoryFiles(store, "ada"))
    agent = create_deep_agent(model, backend=backend, memory=["/AGENTS.md"])

`/memories/*.md` are the sections, `/AGENTS.md` holds all of them. Beside other files it is a route:
`CompositeBackend(default, {"/memories/": PlaybookBackend(files, root="")})`, with `/memories/AGENTS.md`.
What the playbook did not take over as it was written is the error of the call.
"""

from __future__ import annotations

import posixpath
from collections.abc import Coroutine
from typing import Any, TypeVar

from ace_graph.base.errors import ChangeRefused, ConfigurationError, FormatError, how_to_install
from ace_graph.base.portal import portal
from ace_graph.hosts.memory_files import MemoryFiles, Saved
from ace_graph.memory.formats.files import WHOLE, MemoryFile

try:
    from deepagents.backends.protocol import (
        BackendProtocol,
        DeleteResult,
        EditResult,
        FileDownloadResponse,
        FileInfo,
        FileUploadResponse,
        GlobResult,
        GrepResult,
        LsResult,
        ReadResult,
        WriteResult,
    )
    from deepagents.backends.utils import (
        InvalidGlobPatternError,
        compile_grep_include_glob,
        create_file_data,
        grep_matches_from_files,
        perform_string_replacement,
        slice_read_response,
    )
except ImportError as error:
    raise ConfigurationError(f"deepagents is not installed: {how_to_install('deepagents')}") from error

T = TypeVar("T")


class _NotReplaced(Exception):
    """The string of an edit is not there, or more than once."""


class PlaybookBackend(BackendProtocol):
    """File operations on the files of a playbook; the synchronous ones block until they are done."""

    def __init__(self, files: MemoryFiles, root: str = "/memories") -> None:
        self._files, self._root = files, root.rstrip("/")

    def _path(self, name: str) -> str:
        return f"/{WHOLE}" if name == WHOLE else f"{self._root}/{name}"

    def _name(self, path: str) -> str:
        """Return the name of a file. Raises FormatError for one that is outside."""
        clean = posixpath.normpath(f"/{path.strip('/')}")
        if clean != f"/{WHOLE}" and not clean.startswith(f"{self._root}/"):
            raise FormatError(f"{path} is outside the memory: it holds {self._root}/*.md and /{WHOLE}")
        return clean.removeprefix(self._root).removeprefix("/")

    async def _all(self) -> dict[str, MemoryFile]:
        return {self._path(name): file for name, file in (await self._files.files()).items()}

    async def als(self, path: str) -> LsResult:
        """List the files and folders of a folder."""
        folder = f"/{path.strip('/')}/".replace("//", "/")
        entries = dict[str, FileInfo]()
        for name, file in sorted((await self._all()).items()):
            if name.startswith(folder):
                head, slash, _ = name.removeprefix(folder).partition("/")
                entry = folder + head + slash
                entries[entry] = _folder(entry) if slash else _info(name, file)
        return LsResult(entries=[*entries.values()])

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Read lines of a file."""
        file = await self._read(file_path)
        if file is None:
            return ReadResult(error=f"File '{file_path}' not found")
        return slice_read_response(create_file_data(file.text), offset, limit)

    async def _read(self, path: str) -> MemoryFile | None:
        try:
            return await self._files.read(self._name(path))
        except FormatError:
            return None

    async def agrep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        """Find the lines that hold a text."""
        files = {name: create_file_data(file.text) for name, file in (await self._all()).items()}
        return grep_matches_from_files(files, pattern, path, glob, max_count=max_count)

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files by a pattern of their names."""
        root = f"/{(path or '/').strip('/')}/".replace("//", "/")
        try:
            matches = compile_grep_include_glob(pattern)
        except InvalidGlobPatternError as error:
            return GlobResult(error=str(error))
        found = (await self._all()).items()
        return GlobResult(
            matches=[
                _info(name, file)
                for name, file in found
                if name.startswith(root) and matches(name.removeprefix(root))
            ]
        )

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """Write a file in the place of what the agent has seen in it."""
        try:
            saved = await self._files.write(self._name(file_path), content)
        except (ChangeRefused, FormatError) as error:
            return WriteResult(error=f"Error: {error}")
        return WriteResult(error=_told(saved), path=file_path)

    async def aedit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
    ) -> EditResult:
        """Replace a text in a file."""
        occurrences = 0

        def replaced(text: str) -> str:
            nonlocal occurrences
            result = perform_string_replacement(text, old_string, new_string, replace_all)
            if isinstance(result, str):
                raise _NotReplaced(result)
            after, occurrences = result
            return after

        if await self._read(file_path) is None:
            return EditResult(error=f"Error: File '{file_path}' not found")
        try:
            saved = await self._files.edit(self._name(file_path), replaced)
        except (ChangeRefused, FormatError) as error:
            return EditResult(error=f"Error: {error}")
        except _NotReplaced as error:
            return EditResult(error=str(error))
        return EditResult(error=_told(saved), path=file_path, occurrences=occurrences)

    async def adelete(self, file_path: str) -> DeleteResult:
        """Delete a file, or all files of a folder."""
        path = posixpath.normpath(f"/{file_path.strip('/')}")
        gone = [name for name in await self._all() if name == path or name.startswith(f"{path}/")]
        if not gone:
            return DeleteResult(error=f"Error: File '{file_path}' not found")
        try:
            saved = await self._files.remove(self._name(name) for name in gone)
        except ChangeRefused as error:
            return DeleteResult(error=f"Error: {error}")
        return DeleteResult(error=_told(saved), path=file_path)

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write files."""
        responses = list[FileUploadResponse]()
        for path, content in files:
            try:
                written = await self.awrite(path, content.decode())
                responses.append(FileUploadResponse(path=path, error=written.error))
            except UnicodeDecodeError:
                responses.append(FileUploadResponse(path=path, error="the memory holds text only: UTF-8"))
        return responses

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Read whole files."""
        files = [(path, await self._read(path)) for path in paths]
        return [
            FileDownloadResponse(path=path, error="file_not_found")
            if file is None
            else FileDownloadResponse(path=path, content=file.text.encode())
            for path, file in files
        ]

    def ls(self, path: str) -> LsResult:
        """Do what `als` does."""
        return _wait(self.als(path))

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Do what `aread` does."""
        return _wait(self.aread(file_path, offset, limit))

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        """Do what `agrep` does."""
        return _wait(self.agrep(pattern, path, glob, max_count=max_count))

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Do what `aglob` does."""
        return _wait(self.aglob(pattern, path))

    def write(self, file_path: str, content: str) -> WriteResult:
        """Do what `awrite` does."""
        return _wait(self.awrite(file_path, content))

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """Do what `aedit` does."""
        return _wait(self.aedit(file_path, old_string, new_string, replace_all))

    def delete(self, file_path: str) -> DeleteResult:
        """Do what `adelete` does."""
        return _wait(self.adelete(file_path))

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Do what `aupload_files` does."""
        return _wait(self.aupload_files(files))

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Do what `adownload_files` does."""
        return _wait(self.adownload_files(paths))


def _wait(work: Coroutine[Any, Any, T]) -> T:  # Any: what it yields and is sent is asyncio's
    return portal().run_sync(work)


def _folder(path: str) -> FileInfo:
    return FileInfo(path=path, is_dir=True, size=0)


def _info(path: str, file: MemoryFile) -> FileInfo:
    return FileInfo(path=path, is_dir=False, size=len(file.text.encode()))


def _told(saved: Saved) -> str | None:
    if not saved.remarks:
        return None
    return f"{'Written, but not all of it' if saved.written else 'Not written'}:\n{saved.told}"
