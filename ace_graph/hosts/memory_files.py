"""A playbook as files for the file tools of agents: read, edited, renamed and removed, with merging.

    files = MemoryFiles(store, "ada")
    file = await files.read("general.md")        # its text, a line a bullet
    saved = await files.edit("general.md", lambda text: text + "- Prefers pictures\\n")
    saved.remarks        # what was not written as asked, and why

Every change is a delta through the screen and the merging of the playbook. What somebody else commits
meanwhile stays, and is never overwritten: a conflict is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ace_graph.base.clock import utc_now
from ace_graph.base.errors import PlaybookChanged, PlaybookForbidden
from ace_graph.base.off_loop import off_loop
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.operations import Add, Update
from ace_graph.memory.formats.files import (
    FileEdit,
    MemoryFile,
    edit_of,
    files_of,
    known_lines,
    removal_of,
    renaming_of,
)
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.rights import Right
from ace_graph.memory.stores.store import Store
from ace_graph.playbooks.content import Change
from ace_graph.playbooks.handle import User, open_playbook

AUTHOR = "files"
_TRIES = 5
_REMARKS = 20


@dataclass(frozen=True)
class Saved:
    """What became of a change: whether anything was written, and what was not written as it was asked for."""

    written: bool
    remarks: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """The remarks as text for a model, empty where there are none."""
        more = len(self.remarks) - _REMARKS
        lines = [*self.remarks[:_REMARKS], *([f"and {more} more"] if more > 0 else [])]
        return "\n".join(f"Note: {line}" for line in lines)


class MemoryFiles:
    """The files of one playbook, for one agent.

    `name` and `user` say which playbook, and who asks, as in `ace_graph.playbooks.open_playbook`: of somebody
    else's, files are read only unless the user may write it. A file that is written as a whole replaces the
    lines that the agent has seen in it by `read`, and no others. One agent has one of these.
    """

    def __init__(
        self,
        store: Store,
        learner_id: str,
        name: str = "default",
        *,
        user: User = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._store, self._learner, self._name, self._user = store, learner_id, name, user
        self._clock = clock
        self._seen = dict[str, MemoryFile]()

    async def files(self) -> Mapping[str, MemoryFile]:
        """Return all files by their names. Raises PlaybookNotFound, and what the store raises."""
        handle = await open_playbook(self._store, self._name, self._learner, self._user)
        return await off_loop(self._files_of, (await handle.load()).playbook)

    def _files_of(self, playbook: Playbook) -> dict[str, MemoryFile]:
        return files_of(playbook, self._clock())

    async def read(self, name: str) -> MemoryFile | None:
        """Return a file for the agent to see, None where there is none. Raises as `files` does."""
        file = (await self.files()).get(name)
        if file is not None:
            self._seen[name] = file
        return file

    async def write(self, name: str, text: str) -> Saved:
        """Make a file say `text` in the place of what the agent has seen in it.

        Raises PlaybookForbidden where files are read only, FormatError for a name, and what the store raises.
        """
        seen = self._seen.get(name)
        base = seen or MemoryFile(name)

        def edit(playbook: Playbook) -> FileEdit:
            nonlocal base
            base = seen or known_lines(self._files_of(playbook).get(name, MemoryFile(name)), text)
            return edit_of(base, text, playbook)

        saved, done = await self._change(edit, f"wrote {name}")
        self._note(base, done)
        return saved

    async def edit(self, name: str, change: Callable[[str], str]) -> Saved:
        """Make a file say what `change` returns for its present text; it may be called more than once.

        Raises what `change` raises, and what `write` does.
        """

        def edit(playbook: Playbook) -> FileEdit:
            present = self._files_of(playbook).get(name, MemoryFile(name))
            return edit_of(present, change(present.text), playbook)

        saved, done = await self._change(edit, f"edited {name}")
        if name in self._seen:
            self._note(self._seen[name], done)
        return saved

    async def remove(self, names: Iterable[str]) -> Saved:
        """Remove files; lines that came in or changed since the agent has seen a file stay.

        Raises as `write` does.
        """
        gone = list(names)

        def removal(playbook: Playbook) -> FileEdit:
            present = self._files_of(playbook)
            there = (self._seen.get(name) or present[name] for name in gone if name in present)
            return removal_of(there, playbook)

        saved, _ = await self._change(removal, f"removed {', '.join(gone)}")
        for name in gone:
            self._seen.pop(name, None)
        present = await self.files()
        left = [name for name in gone if name in present]
        stays = (f"{name} still has lines that you have not seen: view it" for name in left)
        return Saved(saved.written, (*saved.remarks, *stays))

    async def rename(self, names: Mapping[str, str]) -> Saved:
        """Give files other names, by their old ones. Raises as `write` does."""
        renamed = ", ".join(f"{old} to {new}" for old, new in names.items())
        saved, done = await self._change(lambda playbook: renaming_of(names, playbook), f"renamed {renamed}")
        for old, new in names.items():
            if (seen := self._seen.pop(old, None)) is not None:
                self._note(MemoryFile(new, seen.lines), done)
        return saved

    def _note(self, base: MemoryFile, done: Commit | None) -> None:
        """Note what the agent knows of a file after a change: the lines that it knew, and those it wrote."""
        if done is None:
            return
        ids = {line.bullet_id for line in base.lines} | set(done.report.refs.values())
        after = self._files_of(done.snapshot.playbook).get(base.name, MemoryFile(base.name))
        known = tuple(line for line in after.lines if line.bullet_id in ids)
        self._seen[base.name] = MemoryFile(base.name, known)

    async def _change(
        self, change: Callable[[Playbook], FileEdit], reason: str
    ) -> tuple[Saved, Commit | None]:
        handle = await open_playbook(self._store, self._name, self._learner, self._user)
        if not await handle.may(Right.WRITE):
            raise PlaybookForbidden("you may only read this memory: ask its owner for the right to write")
        for _ in range(_TRIES):
            base = await handle.load()
            edit = await off_loop(change, base.playbook)
            remarks = (*edit.conflicts, *(f'"{line[:80]}" can\'t be kept' for line in edit.left_out))
            if not edit.operations:
                return Saved(written=False, remarks=remarks), None
            etag = base.version.etag or None
            asked = Change(author=AUTHOR, reason=reason, now=self._clock(), expected_etag=etag)
            try:
                done = await handle.commit(asked.delta(*edit.operations), base)
            except PlaybookChanged:
                continue
            return Saved(written=True, remarks=(*remarks, *_outcome(edit, done))), done
        raise PlaybookChanged("other writers keep changing the memory: try again")


def _outcome(edit: FileEdit, done: Commit) -> Iterable[str]:
    """Yield what was not written as it was asked for."""
    report, playbook = done.report, done.snapshot.playbook
    for rejection in report.rejected:
        yield f"{rejection.id}: not written, {rejection.why}"
    for operation in edit.operations:
        if isinstance(operation, Add):
            name, text = report.refs.get(operation.ref or ""), operation.content
        elif isinstance(operation, Update):
            name, text = operation.bullet_id, operation.content or ""
        else:
            continue
        if name is None:
            continue
        bullet = playbook.entries.get(name)
        if name in report.quarantined:
            why = "" if bullet is None else f" ({bullet.quarantine_reason})"
            yield f'"{text[:80]}" is held back until a person has looked at it{why}'
        elif isinstance(operation, Add) and name not in report.added and bullet is not None:
            yield f'"{text[:80]}" is known already: "{bullet.advice[:80]}"'
        elif bullet is None:
            yield f'"{text[:80]}" is archived: the memory is full'
