"""JSON: the stored form of a playbook, with every field of every bullet.

It reads the export, the output of `ace-graph playbook show --json`, a bare list of bullets, strategies
(document 004, 2.3: `{"strategies": [{"category", "pattern", "context", "confidence", "evidence_count"}]}`),
and what mem0's `get_all` returns (`{"results": [{"id", "memory", "categories", "created_at"}]}`).
Votes, reflections and the access part are not in the file; they belong to one learner.
"""

from __future__ import annotations

import json
from typing import cast

from ace_graph.base.errors import FormatError, NewerFormat
from ace_graph.memory.bullet import EPOCH_START
from ace_graph.memory.formats.reading import (
    READ_FIELDS,
    Collector,
    Document,
    Fields,
    Reading,
    as_fields,
    named,
)
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.serialization import FORMAT, dump_playbook
from ace_graph.memory.views import strategy_fields

_BOOKKEEPING = frozenset({"format", "next_id", "version", "bullets", "strategies", "results"})


class JsonFormat:
    """All fields of every bullet, those in quarantine too."""

    name = "json"
    summary = "everything, those in quarantine too"

    def recognises(self, document: Document) -> bool:
        """Whether the text is any JSON object or list."""
        return document.is_json and document.value is not None

    def read(self, document: Document) -> Reading:
        """Return the bullets. Raises FormatError, NewerFormat."""
        collector = Collector()
        for name, fields in collector.objects(named(_items(document.value, collector))):
            is_strategy = "pattern" in fields and "content" not in fields
            bullet = strategy_fields(fields, EPOCH_START) if is_strategy else _as_bullet(fields)
            collector.leave_out_all_but(READ_FIELDS, bullet)
            collector.take({key: value for key, value in bullet.items() if key in READ_FIELDS}, name)
        return collector.reading()

    def write(self, playbook: Playbook) -> str:
        """Return the bullets with their ids."""
        stored = json.loads(dump_playbook(Playbook.of(playbook.bullets())))
        kept = {"format": stored["format"], "next_id": stored["next_id"], "bullets": stored["bullets"]}
        return json.dumps(kept, ensure_ascii=False, indent=2) + "\n"


def _as_bullet(fields: Fields) -> Fields:
    """The fields of a bullet, of which mem0 calls two otherwise."""
    if "memory" not in fields or "content" in fields:
        return fields
    renamed = {"memory": "content", "categories": "tags"}
    return {renamed.get(name, name): value for name, value in fields.items()}


def _items(document: object, collector: Collector) -> list[object]:
    fields = as_fields(document)
    if fields is not None:
        number = fields.get("format")
        if isinstance(number, int) and number > FORMAT:
            raise NewerFormat(
                f"it has format {number}, this ace-graph reads up to {FORMAT}: upgrade ace-graph"
            )
        collector.leave_out_all_but(_BOOKKEEPING, fields)
        document = fields.get("bullets", fields.get("strategies", fields.get("results")))
    if not isinstance(document, list):
        raise FormatError(
            'it is JSON, but not a playbook: "bullets" with a list of bullets, or "strategies", is missing'
        )
    return cast("list[object]", document)
