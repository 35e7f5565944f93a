"""An import as deltas: which bullets are added together, and what became of each of them.

Does not: commit anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ace_graph.memory.delta import Add
from ace_graph.memory.effect import Report
from ace_graph.memory.formats.base import Reading, Refusal
from ace_graph.memory.playbook import Playbook, id_number

__all__ = ["BATCH", "Outcome", "batches", "outcome_of"]

BATCH = 500
"""Bullets in one delta: a file up to this size is imported whole or not at all, a larger one in steps that
take a second or two each."""


@dataclass(frozen=True)
class Outcome:
    """What an import came to: read = kept + merged + len(refused).

    `displaced` are ids of bullets that the learner had before and that made room or were replaced.
    """

    read: int
    kept: int
    merged: int
    refused: tuple[Refusal, ...]
    displaced: tuple[str, ...]


def batches(bullets: Sequence[Add]) -> Iterator[list[Add]]:
    """Yield all of `bullets`: in one delta where they fit, else in several of about 500.

    Those then come in the order of the number in the id they ask for, because an id is granted only while
    no delta before gave out a higher number; one number is never torn apart.
    """
    if len(bullets) <= BATCH:
        if bullets:
            yield list(bullets)
        return
    asking = sorted((b for b in bullets if b.id is not None), key=_number)
    batch: list[Add] = []
    for bullet in [*asking, *(b for b in bullets if b.id is None)]:
        if len(batch) >= BATCH and not (bullet.id is not None and _number(bullet) == _number(batch[-1])):
            yield batch
            batch = []
        batch.append(bullet)
    if batch:
        yield batch


def outcome_of(reading: Reading, reports: Iterable[Report], after: Playbook) -> Outcome:
    """Return what became of the bullets of `reading`, whose refs are unique, by their deltas' reports."""
    reports = tuple(reports)
    given = {ref: name for report in reports for ref, name in report.refs.items()}
    added = {name for report in reports for name in report.added}
    gone = _gone(reports)
    refused = [*reading.refused, *_rejected(reports)]
    kept, merged = set[str](), 0
    for bullet in reading.bullets:
        name = given.get(bullet.ref or "")
        if name is None:
            continue
        if name in kept or name not in added:
            merged += 1
        elif after.get_bullet(name) is None:
            refused.append(Refusal(bullet.id or bullet.content[:60], gone.get(name, "it was archived again")))
            added.discard(name)
        else:
            kept.add(name)
    displaced = tuple(name for name in gone if name not in set(given.values()))
    return Outcome(len(reading), len(kept), merged, tuple(refused), displaced)


def _number(bullet: Add) -> int:
    return id_number(bullet.id or "")


def _gone(reports: Iterable[Report]) -> dict[str, str]:
    found: dict[str, str] = {}
    for report in reports:
        found.update({pruned.id: "the playbook is full: raise ACE_MAX_BULLETS" for pruned in report.pruned})
        found.update({pair.gone: f"{pair.kept} holds a later value" for pair in report.superseded})
    return found


def _rejected(reports: Iterable[Report]) -> list[Refusal]:
    return [Refusal(each.id, each.why) for report in reports for each in report.rejected if each.op == "add"]
