"""The payload of LMB-ACE (document 003): `{"bullets": [...], "access_clock": n}`.

    {id, content, helpful_count, harmful_count, tags, semantic_strength, ..., topic, concept, memory_type}

Of several strengths the memory type that the bullet names decides, else procedural before episodic before
semantic. A strength is no vote: nobody voted for it. A tag that only repeats the memory type is dropped.
Times without a zone are UTC. Access counts are not read, so decay starts again; neither is the learner's id,
because the command names the learner.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import cast

from ace_graph.base.errors import FormatError
from ace_graph.memory.bullet import Bullet, MemoryType
from ace_graph.memory.decay import base_strength
from ace_graph.memory.formats.lines import active
from ace_graph.memory.formats.reading import (
    EXTENSION,
    Collector,
    Document,
    Fields,
    Reading,
    as_fields,
    extension_of,
    named,
    split_advice,
)
from ace_graph.memory.playbook import Playbook

_TYPES: tuple[MemoryType, ...] = ("procedural", "episodic", "semantic")
_STRENGTHS: dict[MemoryType, str] = {each: f"{each}_strength" for each in _TYPES}
_TELLING = frozenset(("helpful_count", "harmful_count", *_STRENGTHS.values()))
_DERIVED = frozenset(("content_hash", *_STRENGTHS.values()))
_SAME = ("topic", "concept", "ttl_days")
_MAPPED = ("id", "content", "helpful_count", "harmful_count", "created_at", "tags", "memory_type")
_KNOWN = frozenset((*_DERIVED, *_SAME, *_MAPPED, EXTENSION))
_BOOKKEEPING = frozenset(("bullets", "version", "last_updated", "access_clock"))


class LmbFormat:
    """Active bullets for LMB-ACE; reading them back restores every field."""

    name = "lmb"
    summary = "the payload of LMB-ACE"

    def recognises(self, document: Document) -> bool:
        """Whether there is a list of bullets, and one of them counts votes or strengths as LMB-ACE does."""
        payload = as_fields(document.value) if document.is_json else None
        items = payload.get("bullets") if payload else None
        if payload is None or not isinstance(items, list):
            return False
        named = (as_fields(item) or {} for item in cast("list[object]", items))
        return "access_clock" in payload or any(_TELLING & fields.keys() for fields in named)

    def read(self, document: Document) -> Reading:
        """Return the bullets. Raises FormatError."""
        payload = as_fields(document.value)
        items = payload.get("bullets") if payload else None
        if payload is None or not isinstance(items, list):
            raise FormatError('it is not an LMB-ACE payload: "bullets" with a list of bullets is missing')
        collector = Collector()
        collector.leave_out_all_but(_BOOKKEEPING, payload)
        for name, item in collector.objects(named(cast("list[object]", items))):
            collector.leave_out_all_but(_KNOWN, item)
            collector.take(collector.extended(_fields(item), item), name)
        return collector.reading()

    def write(self, playbook: Playbook) -> str:
        """Return the payload, with an access clock at 0."""
        payload = {"bullets": list(map(_item, active(playbook))), "version": "1.0", "access_clock": 0}
        return json.dumps(payload, ensure_ascii=False, indent=2) + "\n"


def _fields(item: Fields) -> Fields:
    return {
        "id": item.get("id") or None,
        **split_advice(item.get("content")),
        "helpful": item.get("helpful_count"),
        "harmful": item.get("harmful_count"),
        "tags": item.get("tags"),
        "memory_type": _memory_type(item),
        "created_at": _moment(item.get("created_at")),
        **{name: item.get(name) for name in _SAME},
    }


def _memory_type(item: Fields) -> MemoryType | None:
    named = item.get("memory_type")
    said = named.strip().lower() if isinstance(named, str) else ""
    for each in _TYPES:
        if each == said:
            return each
    for each in _TYPES:
        strength = item.get(_STRENGTHS[each])
        if isinstance(strength, int | float) and strength > 0:
            return each
    return None


def _moment(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return value
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()


def _item(bullet: Bullet) -> Fields:
    item: Fields = {
        "id": bullet.id,
        "content": bullet.advice,
        "helpful_count": bullet.helpful,
        "harmful_count": bullet.harmful,
        "created_at": bullet.created_at.replace(tzinfo=None).isoformat(),
        "last_used": None,
        "tags": list(dict.fromkeys(bullet.labels)),
    }
    for each in reversed(_TYPES):
        item[_STRENGTHS[each]] = base_strength(bullet) if each == bullet.memory_type else 0.0
    for each in reversed(_TYPES):
        item |= {f"{each}_last_access": None, f"{each}_access_index": None}
    item |= {
        "learner_id": None,
        "topic": bullet.topic,
        "concept": bullet.concept,
        "memory_type": bullet.memory_type,
        "ttl_days": bullet.ttl_days,
        "content_hash": None,
    }
    return {**item, EXTENSION: extension_of(bullet, _fields(item))}
