"""From which turns the bullets of an index came, and in which order the turns of a conversation were.

A turn is as old as its oldest bullet; of two that are equally old the one with the lower number in that
bullet's id is first. So the order depends on the bullets alone, not on when they were indexed.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from ace_graph.memory.bullet import Bullet

__all__ = ["Origin", "Place", "Turns", "TurnsBuilder", "origin_of"]

_FEW = 8
"""So many turns are put in their places one by one; more are sorted with the others."""


class Origin(NamedTuple):
    """Where a bullet came from, and since when it is there."""

    conversation: str | None
    turn: str | None
    created_at: datetime


class Place(NamedTuple):
    """A turn; its id may be unique in its conversation only."""

    conversation: str | None
    turn: str


class _Member(NamedTuple):
    """A bullet of a turn, in the order of time."""

    created_at: datetime
    number: int
    key: str


@dataclass(frozen=True)
class Turns:
    """The bullets of each turn, and the turns of each conversation in order of time. Never mutated."""

    members: Mapping[Place, tuple[_Member, ...]] = field(default_factory=lambda: MappingProxyType({}))
    conversations: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))

    def bullets(self, conversation: str | None, turn: str) -> tuple[str, ...]:
        """Return the ids of the bullets of a turn, the oldest first."""
        return tuple(member.key for member in self.members.get(Place(conversation, turn), ()))


class TurnsBuilder:
    """The next turns while they are made."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._changed: dict[Place, tuple[_Member, ...]] = {}

    def add(self, key: str, origin: Origin) -> None:
        """Add a bullet; without a turn it is in none."""
        if origin.turn is not None:
            place = Place(origin.conversation, origin.turn)
            new = _Member(origin.created_at, _number(key), key)
            self._changed[place] = tuple(sorted((*self._members(place), new)))

    def remove(self, key: str, origin: Origin) -> None:
        """Remove a bullet that was added with this origin."""
        if origin.turn is not None:
            place = Place(origin.conversation, origin.turn)
            self._changed[place] = tuple(each for each in self._members(place) if each.key != key)

    def result(self) -> Turns:
        """Return the turns with all changes; turns and conversations without a bullet are gone."""
        if not self._changed:
            return self._turns
        members = {**self._turns.members, **self._changed}
        changed: dict[str, list[str]] = {}
        for place, left in self._changed.items():
            if not left:
                del members[place]
            if place.conversation is not None:
                changed.setdefault(place.conversation, []).append(place.turn)
        conversations = dict(self._turns.conversations)
        for conversation, turns in changed.items():
            order = _ordered(conversation, conversations.get(conversation, ()), turns, members)
            if order:
                conversations[conversation] = order
            else:
                conversations.pop(conversation, None)
        return Turns(members, conversations)

    def _members(self, place: Place) -> tuple[_Member, ...]:
        changed = self._changed.get(place)
        return self._turns.members.get(place, ()) if changed is None else changed


def origin_of(bullet: Bullet) -> Origin | None:
    """Return where a bullet came from, None where nothing is known of it."""
    if bullet.turn_id is None and bullet.conversation_id is None:
        return None
    return Origin(bullet.conversation_id, bullet.turn_id, bullet.created_at)


def _ordered(
    conversation: str,
    known: Iterable[str],
    changed: Iterable[str],
    members: Mapping[Place, tuple[_Member, ...]],
) -> tuple[str, ...]:
    """Return the turns of a conversation in order of time, of which those in `changed` may have moved."""

    def moment(turn: str) -> _Member:
        return members[Place(conversation, turn)][0]

    moved = set(changed)
    order = [turn for turn in known if turn not in moved]
    present = [turn for turn in moved if Place(conversation, turn) in members]
    if len(present) > _FEW:
        return tuple(sorted((*order, *present), key=moment))
    for turn in present:
        insort(order, turn, key=moment)
    return tuple(order)


def _number(key: str) -> int:
    """Return the counter at the end of an id, 0 where there is none."""
    digits = key.rpartition("-")[2]
    return int(digits) if len(digits) <= 9 and digits.isascii() and digits.isdigit() else 0
