"""The operations by which an editor may try to reach a bullet that is the owner's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.delta.operations import (
    Consolidate,
    Distinguish,
    Judge,
    Merge,
    Operation,
    Pin,
    Quarantine,
    Release,
    Remove,
    Rescreen,
    Reset,
    Restore,
    Rollback,
    Source,
    Supersede,
    Tag,
    Touch,
    Unpin,
    Update,
)

__all__ = ["hidden_operations"]


def hidden_operations(how: str, hidden: Bullet, seen: Bullet) -> Sequence[Operation]:
    """Return the operations of this name on a hidden bullet; `seen` is one that an editor sees."""
    return _OPERATIONS[how](hidden, seen)


_Made = Callable[[Bullet, Bullet], Sequence[Operation]]
_OPERATIONS: Mapping[str, _Made] = MappingProxyType(
    {
        "update": lambda hidden, _: [Update(bullet_id=hidden.id, content="Mine now")],
        "remove": lambda hidden, _: [Remove(bullet_id=hidden.id)],
        "tag": lambda hidden, _: [Tag(bullet_id=hidden.id, tag="harmful", by=99)],
        "merge": lambda hidden, seen: [Merge(bullet_ids=(seen.id, hidden.id), force=True)],
        "supersede": lambda hidden, seen: [Supersede(bullet_id=hidden.id, by=seen.id)],
        "supersede by": lambda hidden, seen: [Supersede(bullet_id=seen.id, by=hidden.id)],
        "quarantine": lambda hidden, _: [Quarantine(bullet_id=hidden.id, why="mine")],
        "release": lambda hidden, _: [Release(bullet_id=hidden.id)],
        "pin": lambda hidden, _: [Pin(bullet_id=hidden.id)],
        "unpin": lambda hidden, _: [Unpin(bullet_id=hidden.id)],
        "reset": lambda _hidden, seen: [Reset(bullets=(seen,))],
        "reset with its id": lambda hidden, seen: [
            Reset(bullets=(seen, seen.model_copy(update={"id": hidden.id})))
        ],
        "judge": lambda hidden, _: [
            Judge(turn_id="t", source="ground_truth", verdict="failure", bullet_ids=(hidden.id,))
        ],
        "touch": lambda hidden, _: [Touch(bullet_ids=(hidden.id,))],
        "consolidate": lambda hidden, seen: [
            Consolidate(
                sources=tuple(Source(bullet_id=b.id, content_hash=b.content_hash) for b in (seen, hidden)),
                content="Mine now",
                keep_above=1,
            )
        ],
        "distinguish": lambda hidden, seen: [Distinguish(bullet_ids=(seen.id, hidden.id))],
        "rollback": lambda _hidden, _seen: [Rollback(version=0)],
        "rescreen": lambda _hidden, _seen: [Rescreen()],
        "restore": lambda hidden, _: [Restore(bullet=hidden)],
    }
)
