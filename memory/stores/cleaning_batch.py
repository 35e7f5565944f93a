"""One batch of a cleaning in the SQL stores: what is asked for, the rows read, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, cast

from ace_graph.memory.retention import Cleaned, Fate, Place, References, fate
from ace_graph.memory.serialization import load_record
from ace_graph.memory.turn import TurnRecord
from ace_graph.retention import Cutoffs

__all__ = ["Batch", "OldTurn", "cleaned", "next_part", "next_place", "with_fate"]


@dataclass(frozen=True)
class Batch:
    """One call of clean."""

    learner: str
    cutoffs: Cutoffs
    place: Place
    most: int

    @property
    def before(self) -> datetime | None:
        """Only older rows are read."""
        return self.cutoffs.steps if self.place.part == "steps" else self.cutoffs.records

    def values(self, base: int = 0) -> dict[str, object]:
        """Return the values of the statements; `base` is the oldest version of the history."""
        place, before = self.place, self.before
        return {
            "learner": self.learner,
            "before": None if before is None else before.isoformat(),
            "at": "" if place.at is None else place.at.isoformat(),
            "seq": place.seq,
            "failures": self.cutoffs.keep_failures,
            "base": base,
            "most": self.most,
        }


class OldTurn(NamedTuple):
    """A row of the batch: its number, the record, what becomes of it, and the time that it is ordered by."""

    seq: int
    turn: TurnRecord
    fate: Fate
    at: str


def with_fate(
    rows: Iterable[tuple[object, ...]], named: frozenset[str], cutoffs: Cutoffs
) -> Iterator[OldTurn]:
    """Yield the turns of rows: number, record, whether work waits for it, whether it has parts, time."""
    for seq, text, waits, has_parts, at in rows:
        turn = load_record(str(text))
        ids = frozenset((turn.turn_id,))
        references = References(ids if waits else frozenset(), ids if has_parts else named)
        yield OldTurn(cast("int", seq), turn, fate(turn, references, cutoffs), str(at))


def next_part(place: Place) -> Place | None:
    """Return where a cleaning goes on after this part."""
    following: dict[str, Place] = {"steps": Place("turns"), "turns": Place("deltas")}
    return following.get(place.part)


def next_place(batch: Batch, old: list[OldTurn]) -> Place | None:
    """Return where a cleaning goes on after these rows of a batch."""
    if len(old) < batch.most:
        return next_part(batch.place)
    return Place(batch.place.part, datetime.fromisoformat(old[-1].at), old[-1].seq)


def cleaned(batch: Batch, old: list[OldTurn]) -> Cleaned:
    """Return what a batch of turns deletes. Turns that go as a whole are counted by the part for them."""
    ends, following = [each.fate for each in old], next_place(batch, old)
    if batch.place.part == "turns":
        return Cleaned(turns=ends.count("goes"), next=following)
    return Cleaned(steps=ends.count("loses steps"), unreflected=ends.count("unreflected"), next=following)
