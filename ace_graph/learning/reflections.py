"""Stored reflections by their ids: where they are, and the lessons that a playbook can take from them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ace_graph.errors import ReflectionNotFound
from ace_graph.learning.platitude import is_platitude
from ace_graph.learning.reflection import Lesson, says_nothing
from ace_graph.memory.stores.base import PendingStore
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord, TurnReflection

__all__ = ["StoredReflection", "find_reflections"]

_PAGE = 200


@dataclass(frozen=True)
class StoredReflection:
    """A reflection, and the record that it is stored with."""

    reflection: TurnReflection
    turn: TurnRecord

    @property
    def lessons(self) -> tuple[Lesson, ...]:
        """What it teaches, in the order of the reflection. Reflections of 0.1 name no lessons."""
        noted = [
            Lesson(
                content=each.content,
                section=each.section,
                topic=each.topic,
                memory_type=each.memory_type,
                polarity=each.polarity,
            )
            for each in self.reflection.lessons
        ]
        return tuple(
            each for each in noted if not says_nothing(each.content) and not is_platitude(each.content)
        )


async def find_reflections(
    store: PendingStore, learner_id: str, reflection_ids: Collection[str]
) -> tuple[StoredReflection, ...]:
    """Return the learner's reflections with these ids, in the order of the ids.

    The records are read from the newest on until all are found. Raises ReflectionNotFound for an id that no
    record holds.
    """
    wanted, found = dict.fromkeys(reflection_ids), dict[str, StoredReflection]()
    skip = 0
    while len(found) < len(wanted):
        page = await store.find_turns(learner_id, TrajectoryFilter(), limit=_PAGE, skip=skip)
        for turn in page:
            for each in turn.reflections:
                if each.reflection_id in wanted:
                    found.setdefault(each.reflection_id, StoredReflection(each, turn))
        if len(page) < _PAGE:
            break
        skip += len(page)
    _check_all_found([name for name in wanted if name not in found])
    return tuple(found[name] for name in wanted)


def _check_all_found(missing: Sequence[str]) -> None:
    if missing:
        shown = ", ".join(name[:60] for name in missing[:3])
        raise ReflectionNotFound(
            f"there is no reflection {shown}: trajectory show and reflect --batch give the ids; "
            "nothing was changed"
        )
