"""One batch of a cleaning: what is asked for, the rows that were read, and what becomes of them.

`memory.retention` decides what is deleted; the statements are each store's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from ace_graph.base.retention import Cutoffs
from ace_graph.memory.record_retention import Cleaned, CleaningPlace, Fate, References, fate
from ace_graph.memory.serialization import load_record
from ace_graph.memory.stores.records import Row, moment
from ace_graph.memory.turn import TurnRecord


class OldTurn(NamedTuple):
    """A row of the batch: its key, its number, the record, its fate, and the time it is ordered by."""

    key: Any  # as the store has it
    seq: int
    turn: TurnRecord
    fate: Fate
    at: datetime


@dataclass(frozen=True)
class Batch:
    """One call of clean."""

    learner: str
    cutoffs: Cutoffs
    place: CleaningPlace
    most: int

    @property
    def before(self) -> datetime | None:
        """Only older rows are read."""
        return self.cutoffs.steps if self.place.part == "steps" else self.cutoffs.records

    @property
    def following(self) -> CleaningPlace | None:
        """Where the next part begins."""
        parts = {"steps": CleaningPlace("turns"), "turns": CleaningPlace("deltas"), "deltas": None}
        return parts[self.place.part]

    def with_fates(self, rows: Iterable[Row], named: frozenset[str]) -> list[OldTurn]:
        """Return the turns of rows: key, number, record, whether work waits for it, has it parts, time.

        `named` are the turns that the learner's memory names.
        """
        old = list[OldTurn]()
        for key, seq, text, waits, has_parts, at in rows:
            turn = load_record(text)
            ids = frozenset((turn.turn_id,))
            references = References(ids if waits else frozenset(), ids if has_parts else named)
            old.append(OldTurn(key, seq, turn, fate(turn, references, self.cutoffs), moment(at)))
        return old

    def cleaned(self, old: list[OldTurn]) -> Cleaned:
        """Return what a batch of turns deletes. Turns that go as a whole are counted by the part for them."""
        ends, following = [row.fate for row in old], self.following
        if len(old) == self.most:
            following = CleaningPlace(self.place.part, old[-1].at, old[-1].seq)
        if self.place.part == "turns":
            return Cleaned(turns=ends.count("goes"), next=following)
        return Cleaned(steps=ends.count("loses steps"), unreflected=ends.count("unreflected"), next=following)
