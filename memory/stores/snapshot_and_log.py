"""A state as it is stored: a base and the effects after it. All decisions about it, without I/O.

    content at version n  =  the base at version b, with the effects of versions b + 1 to n folded into it
    stamps at a commit    =  the stamps at an earlier one, with the touches of the commits since then

A commit writes its effect and its touches. When a tail has grown large, or the marks of the history move, it
writes a new base instead: it folds. So the bytes of a commit do not depend on the size of the memory, and a
reader that knows an older version reads only what came after it.

The parts are immutable and form a chain: the base has an etag, an effect the etag before it (`parent`) and
its own, and the last is that of the state; versions rise by one. So what was read of one version is told from
what was read while another process wrote, or of a history that a restored backup has replaced. Touches form
such a chain by the marks of the access part.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple

from pydantic import Field

from ace_graph.base.errors import IncompleteState
from ace_graph.base.frozen import Frozen
from ace_graph.memory.bullet import LEFT_OUT, Count
from ace_graph.memory.commit import CommitPlan
from ace_graph.memory.delta.effect import apply
from ace_graph.memory.serialization import (
    dump_access,
    dump_playbook,
    load_access,
    load_effect,
    load_playbook,
    read_stored,
)
from ace_graph.memory.snapshot import Access, Snapshot, Version
from ace_graph.memory.use_stamps import QuestionTerms, Stamps, Touches, after_touches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ace_graph.memory.commit import CommitPlan
    from ace_graph.memory.playbook import Playbook

# When a store drops old effects of a history, as arithmetic on version numbers.
#
# A store keeps the content of two versions beside the history: the base, from which effects are kept, and a
# later version that becomes the base once enough effects follow it. So compaction never has to fold
# effects, and between `kept` and twice as many effects can be read.


@dataclass(frozen=True)
class CompactionMarks:
    """`base` is the version before the oldest effect kept, `next` the one that becomes the base, if any."""

    base: int = 0
    next: int | None = None

    def after(self, n: int, kept: int) -> CompactionMarks:
        """Return the marks once version `n` is written under a policy that keeps `kept` effects.

        Where `next` is `n`, the store keeps the content of this version; where `base` has moved, it drops the
        effects up to it and the content of the old base.
        """
        if n - (self.base if self.next is None else self.next) < kept:
            return self
        return CompactionMarks(self.base if self.next is None else self.next, n)


# The stored form of a state: a base and effects, the small access part, stamps and touches.
#
# Effects are in `memory.serialization`, as the rest is for files. What is stored has formats of its own: a
# program from before there were bases reads these texts as newer ones, and refuses, instead of taking a
# base for the present content.


_CONTENT, _BASE = '{"format":2,', '{"format":3,'
_ACCESS, _SMALL_ACCESS = '{"format":3,', '{"format":4,'


def dump_base(playbook: Playbook) -> str:
    """Return the canonical JSON of a base."""
    return _marked(dump_playbook(playbook), _CONTENT, _BASE)


def load_base(text: str, known: Playbook | None = None) -> Playbook:
    """Return the playbook of a base; see `load_playbook`. Raises NewerFormat, CorruptPayload."""
    return load_playbook(_marked(text, _BASE, _CONTENT), known)


def dump_small_access(access: Access) -> str:
    """Return the canonical JSON of the access part without what grows with the memory."""
    none: dict[str, int] = {}
    small = replace(access, stamps=none, earlier=none, days=(), asked=QuestionTerms())
    return _marked(dump_access(small), _ACCESS, _SMALL_ACCESS)


def load_small_access(text: str, grown: Stamps, mark: str) -> Access:
    """Return the access part with what grew, under its mark. Raises NewerFormat, CorruptPayload."""
    small = load_access(_marked(text, _SMALL_ACCESS, _ACCESS))
    return replace(
        small, stamps=grown.stamps, earlier=grown.earlier, days=grown.days, asked=grown.asked, mark=mark
    )


def _marked(text: str, old: str, new: str) -> str:
    return f"{new}{text[len(old) :]}" if text.startswith(old) else text


class _StoredStamps(Frozen):
    format: Literal[1] = 1
    stamps: dict[str, Count]
    earlier: dict[str, Count]
    days: list[tuple[Count, date]]
    questions: Annotated[Count, LEFT_OUT] = 0
    asked: Annotated[dict[str, Count], LEFT_OUT] = Field(default_factory=dict)


_NEWEST: Final = 1


def dump_stamps(grown: Stamps) -> str:
    """Return the canonical JSON of what grows in the access part."""
    return _StoredStamps(
        stamps=dict(grown.stamps),
        earlier=dict(grown.earlier),
        days=list(grown.days),
        questions=grown.asked.questions,
        asked=dict(grown.asked.counts),
    ).model_dump_json()


def load_stamps(text: str) -> Stamps:
    """Return what grows in the access part. Raises NewerFormat, CorruptPayload."""
    stored = read_stored(_StoredStamps, text, "stamps", _NEWEST)
    stamps, earlier = MappingProxyType(stored.stamps), MappingProxyType(stored.earlier)
    asked = QuestionTerms(stored.questions, MappingProxyType(stored.asked))
    return Stamps(stamps, earlier, tuple(stored.days), asked)


LEAST_TAIL = 64 * 1024
"""Bytes of effects that never make a base due; the tail may have a quarter of the base's bytes, too."""
LEAST_TOUCHES = 16 * 1024
"""The same for touches. They are small, so a reader of all would parse hundreds of rows."""
_REMEDY = "it was left as it is: restore the database from a backup, or forget it and import an export"


class StoredBase(NamedTuple):
    """The content of version `n`, whole. `checksum` covers all three."""

    n: int
    etag: str
    checksum: int
    text: str

    def checked(self) -> StoredBase:
        """Return it as it is. Raises IncompleteState where its parts are not those that were written."""
        if self.checksum != base_checksum(self.n, self.etag, self.text):
            raise IncompleteState(f"the stored content of version {self.n} is damaged, and {_REMEDY}")
        return self


class StoredEffect(NamedTuple):
    """The effect that made version `n` of the one with the etag `parent`. Compaction drops the text."""

    n: int
    parent: str
    etag: str
    text: str | None


class StoredStamps(NamedTuple):
    """What grows in the access part, at the commit with this mark."""

    mark: str
    checksum: int
    text: str


class StoredTouches(NamedTuple):
    """What the commit at this value of the access clock moved, which made `mark` of its `parent`."""

    clock: int
    parent: str
    mark: str
    text: str


def base_checksum(n: int, etag: str, text: str) -> int:
    """Return the checksum of a base."""
    return _checksum(f"{n} {etag}", text)


def stamps_checksum(mark: str, text: str) -> int:
    """Return the checksum of stored stamps."""
    return _checksum(mark, text)


def _checksum(name: str, text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"), zlib.crc32(name.encode()))


EMPTY_BASE = StoredBase(0, "", base_checksum(0, "", "{}"), "{}")
"""The base of a memory whose first commit changed its content; it is not stored."""
_NOTHING_GROWN = '{"format":1,"stamps":{},"earlier":{},"days":[]}'
NO_STAMPS = StoredStamps("", stamps_checksum("", _NOTHING_GROWN), _NOTHING_GROWN)
"""What the first touches follow; it is not stored."""


class Sizes(NamedTuple):
    """Bytes of a base and of what came after it."""

    base: int = 0
    tail: int = 0

    def grown(self, by: int) -> Sizes:
        """Return the sizes with so many bytes more in the tail."""
        return self._replace(tail=self.tail + by)

    def times_due(self, least: int) -> float:
        """Return how often the tail has the bytes at which a fold is due: from 1 on one is."""
        return self.tail / max(least, self.base // 4)


@dataclass(frozen=True)
class StateHead:
    """The small part of a stored state, which a commit compares with the state it was planned on.

    `base_n` is the version of the base. `content` are the bytes of base and effects, `access` those of stamps
    and touches. Keys from before `keys_from` were removed.
    """

    version: Version = Version()  # noqa: RUF009  a named tuple
    access_clock: int = 0
    access_mark: str = ""
    marks: CompactionMarks = CompactionMarks()
    base_n: int = 0
    content: Sizes = Sizes()  # noqa: RUF009  a named tuple
    access: Sizes = Sizes()  # noqa: RUF009  a named tuple
    keys_from: float | None = None

    def is_of(self, snapshot: Snapshot) -> bool:
        """Whether the snapshot is this state, access part included."""
        access = snapshot.access
        return (self.version.epoch, self.version.etag, self.access_clock, self.access_mark) == (
            snapshot.version.epoch,
            snapshot.version.etag,
            access.access_clock,
            access.mark,
        )


def broken_version(
    start: tuple[int, str], effects: Iterable[StoredEffect], end: tuple[int, str]
) -> int | None:
    """Return the first version that does not follow; None for an unbroken chain from `start` to `end`.

    Both are a version and its etag.
    """
    n, etag = start
    for effect in effects:
        if (effect.n, effect.parent) != (n + 1, etag) or effect.text is None:
            return n + 1
        n, etag = effect.n, effect.etag
    return None if (n, etag) == end else min(n + 1, end[0])


def check_chain(start: tuple[int, str], effects: Iterable[StoredEffect], version: Version) -> None:
    """Raise IncompleteState where the effects do not lead from `start` to the version."""
    broken = broken_version(start, effects, (version.n, version.etag))
    if broken is not None:
        raise IncompleteState(
            f"the stored memory is incomplete, version {broken} is missing or of another history, and "
            f"{_REMEDY}"
        )


def check_touches(mark: str, touches: Iterable[StoredTouches], end: str) -> None:
    """Raise IncompleteState where the touches do not lead from one mark to the other."""
    for touched in touches:
        if touched.parent != mark:
            break
        mark = touched.mark
    if mark != end:
        raise IncompleteState(f"the stored use of the memory is incomplete, and {_REMEDY}")


@dataclass(frozen=True)
class StoredState:
    """What was read of a state. Without a base, or without stamps, the rest follows what the reader knows."""

    version: Version
    access_json: str
    access_mark: str
    base: StoredBase | None
    effects: tuple[StoredEffect, ...]
    stamps: StoredStamps | None
    touches: tuple[StoredTouches, ...]

    def snapshot(self, known: Snapshot) -> Snapshot:
        """Return the state, with equal bullets and the index taken from `known`, or `known` where it is that.

        Raises IncompleteState where the parts are not of one history, CorruptPayload, NewerFormat.
        """
        whole = self.base is not None or self.stamps is not None
        if not whole and (self.version, self.access_mark) == (known.version, known.access.mark):
            return known
        content, grown = self._content(known), self._grown(known)
        return Snapshot(content, load_small_access(self.access_json, grown, self.access_mark), self.version)

    def _content(self, known: Snapshot) -> Playbook:
        if self.base is not None:
            return content_of(self.base, self.effects, self.version, known.playbook)
        check_chain(known.version[1:3], self.effects, self.version)
        return _folded(known.playbook, self.effects)

    def _grown(self, known: Snapshot) -> Stamps:
        stamps = self.stamps
        if stamps is not None and stamps.checksum != stamps_checksum(stamps.mark, stamps.text):
            raise IncompleteState(f"the stored use of the memory is damaged, and {_REMEDY}")
        check_touches(known.access.mark if stamps is None else stamps.mark, self.touches, self.access_mark)
        grown = known.access.grown if stamps is None else load_stamps(stamps.text)
        return after_touches(
            grown, [read_stored(Touches, touched.text, "touches", _NEWEST) for touched in self.touches]
        )


def content_of(
    base: StoredBase, effects: Sequence[StoredEffect], version: Version, known: Playbook | None = None
) -> Playbook:
    """Return the content of a version, with equal bullets and the index taken from `known`.

    Raises IncompleteState where the parts are not of one history, CorruptPayload, NewerFormat.
    """
    check_chain((base.n, base.etag), effects, version)
    return _folded(load_base(base.checked().text, known), effects)


def _folded(content: Playbook, effects: Sequence[StoredEffect]) -> Playbook:
    return apply(content, *(load_effect(effect.text) for effect in effects if effect.text is not None))


@dataclass(frozen=True)
class Folding:
    """What a commit writes whole: the content as a new base, the stamps. `marks` are those after it."""

    marks: CompactionMarks
    content: bool = False
    access: bool = False


def folding(
    head: StateHead, plan: CommitPlan, sizes: tuple[int, int], kept: int, ready: tuple[bool, bool]
) -> Folding:
    """Return what the commit of `plan` onto the state with this head writes whole.

    `sizes` are the bytes of its effect and of its touches, `kept` is how many effects the history keeps.
    `ready` says which of content and stamps can be written without taking time under the lock. What is not
    ready is left to a later commit, until it is due twice over; but the marks move with a base at once.
    """
    n, changed = plan.snapshot.version.n, plan.content_changed
    content, access = head.content.grown(sizes[0]), head.access.grown(sizes[1])
    marks = head.marks.after(n, kept) if changed else head.marks
    first = plan.parent.epoch is None and not changed
    due = changed and content.times_due(LEAST_TAIL) >= (1 if ready[0] else 2)
    starts_anew = plan.touches is None
    return Folding(
        marks,
        content=first or marks != head.marks or due,
        access=starts_anew or access.times_due(LEAST_TOUCHES) >= (1 if ready[1] else 2),
    )
