"""The parts of the access part that grow with a memory, and what one commit moves of them.

A commit stores only what it moved (`Touches`). `after_touches` is the one rule by which these rows are
folded, for the writer as for a reader; DAYS_KEPT acts in it, so it belongs to the format of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from hashlib import blake2b
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict

from ace_graph.memory.asked import Asked, after_questions
from ace_graph.memory.delta.copies import CopyOnWrite
from ace_graph.memory.delta.uses import Uses, restore_stamps

__all__ = ["DAYS_KEPT", "Stamps", "Touches", "after_touches", "mark_after", "moved_stamps"]

DAYS_KEPT = 1_000
"""Part of the format of `Touches`: another number needs a new format."""


@dataclass(frozen=True)
class Stamps:
    """The stamps, their earlier values, the days and the asked terms of an access part; see `Access`."""

    stamps: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    earlier: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    days: tuple[tuple[int, date], ...] = ()
    asked: Asked = Asked()  # noqa: RUF009  a frozen value


class Touches(BaseModel):
    """What one commit moved: stamps by id (0: the bullet has none any more), and the day that it began.

    `clock` is the access clock after the commit, `asked` are the terms of its turn's question. Where the
    content changed, the earlier values start anew.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    clock: int
    moved: dict[str, int]
    content_changed: bool
    day: date | None = None
    asked: tuple[str, ...] = ()


def moved_stamps(
    clock: int, stamps: Mapping[str, int], ids: Iterable[str], gone: Iterable[str], restamped: Uses | None
) -> tuple[int, dict[str, int]]:
    """Return the clock after a commit, and the stamps that it moves; 0 for those that go.

    `ids` are stamped with the new clock, which never goes back here; `restamped` are stamps of restored
    bullets, `gone` lose theirs.
    """
    now = max(clock, restamped.clock if restamped else 0) + 1
    after = dict.fromkeys(ids, now)
    if restamped:
        after.update(restamped.stamps)
    after.update(dict.fromkeys(gone, 0))
    return now, {key: stamp for key, stamp in after.items() if stamps.get(key, 0) != stamp}


def after_touches(held: Stamps, touches: Iterable[Touches]) -> Stamps:
    """Return the stamps after these commits, with one copy of what they move."""
    stamps, earlier, days = CopyOnWrite(held.stamps), CopyOnWrite(held.earlier), held.days
    touches = tuple(touches)
    for each in touches:
        if each.content_changed:
            earlier.replace({})
        elif each.moved:
            before = {key: stamps.now.get(key, 0) for key in each.moved}
            earlier.replace({**before, **earlier.writable()})
        if each.moved:
            restore_stamps(stamps.writable(), each.moved)
        if each.day is not None:
            days = (*days, (each.clock, each.day))[-DAYS_KEPT:]
    asked = after_questions(held.asked, (each.asked for each in touches))
    return Stamps(stamps.frozen(), earlier.frozen(), days, asked)


def mark_after(mark: str, op_id: str) -> str:
    """Return the mark of an access part: it names the commits that led to it, in their order."""
    return blake2b(f"{mark} {op_id}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
