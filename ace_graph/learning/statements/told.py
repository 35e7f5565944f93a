"""A fact in parts, as a reflector tells it: what of it the message bears out, and when it is true.

The model only proposes. A subject and a value count where the message has these words, a relation where it
has them too or a table knows it, and a day where the message names it. The rest stays unknown.
"""

from __future__ import annotations

from datetime import date

from ace_graph.learning.reflection import Told
from ace_graph.learning.statements.validity import days_named
from ace_graph.memory.bullet import StatedClaim
from ace_graph.memory.delta.operations import Add
from ace_graph.memory.languages.relations import claimed, is_self, relation_of

_MOST_CHARS = 100


def with_told(add: Add, told: Told, message: str, today: date | None) -> Add:
    """Return what keeps a fact, with what the rules can't read of it and the message bears out."""
    changed: dict[str, object] = {}
    if relation_of(add.content) is None and (claim := _claim(told, message)) is not None:
        changed["claim"] = claim
    if today is not None and add.valid_from is None and add.valid_until is None:
        first = _day(told.since, message, today, ahead=False)
        last = _day(told.until, message, today, ahead=True)
        if first is None or last is None or first <= last:
            changed |= {"valid_from": first, "valid_until": last}
    return add.model_copy(update=changed) if changed else add


def _claim(told: Told, message: str) -> StatedClaim | None:
    subject, relation, value = (_plain(text) for text in (told.subject, told.relation, told.value))
    said = _plain(message)
    about = is_self(subject) or _stands_in(subject, said)
    if not (about and _stands_in(value, said) and 0 < len(relation) <= _MOST_CHARS):
        return None
    known = claimed(relation, subject, value)
    if known is None or not (known.holds_one or _stands_in(relation, said)):
        return None
    return StatedClaim(subject=subject, relation=relation, value=" ".join(told.value.split()))


def _day(text: str, message: str, today: date, *, ahead: bool) -> date | None:
    """Return the day that a text names: one of the message's days, or a date in words of the message."""
    if not text or len(text) > _MOST_CHARS:
        return None
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        named = days_named(text, today, ahead=ahead) if _stands_in(_plain(text), _plain(message)) else []
        return named[0][ahead] if len(named) == 1 else None
    return day if any(day in days for days in days_named(message, today, ahead=ahead)) else None


def _stands_in(text: str, said: str) -> bool:
    return 0 < len(text) <= _MOST_CHARS and text in said


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
