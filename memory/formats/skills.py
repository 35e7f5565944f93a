"""What the two versions of a kayba skillbook share: the frame around the skills, and where a skill came from.

    {"skills": {id: {...}}, "sections": {name: [ids]}, "next_id": 7}

`next_id` is the number that was given out last. The key is the skill's id.

Does not: know the fields of a skill.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from ace_graph.memory.bullet import clean_line
from ace_graph.memory.formats.base import Document
from ace_graph.memory.formats.fields import Collector
from ace_graph.memory.formats.strict_json import Fields, as_fields, pairs_of
from ace_graph.memory.playbook import id_number

__all__ = ["framed", "skillbook_of", "skills_in", "source_name", "source_written", "sources_read"]

_BOOKKEEPING = frozenset({"schema_version", "skills", "bullets", "sections", "next_id"})
_NAMES = ("trace_uid", "trace_id", "sample_id", "item_id", "task_id", "id")
_OURS = "ace_graph"
_LONGEST_SOURCE = 256


def skillbook_of(document: Document) -> Fields | None:
    """Return the JSON object where it is a skillbook; the oldest ones call their skills bullets."""
    book = as_fields(document.value) if document.is_json else None
    return book if book is not None and _skills(book) is not None else None


def skills_in(book: Fields, collector: Collector) -> Iterator[tuple[str, Fields]]:
    """Return the skills that are JSON objects, by id; refuse the others, count what has no place."""
    skills = _skills(book) or {}
    collector.leave_out_all_but(_BOOKKEEPING, book)
    collector.leave_out("sections" for name in _listed(book.get("sections")) if name not in skills)
    return collector.objects(pairs_of(skills))


def framed(skills: dict[str, Fields], sections: dict[str, list[str]]) -> Fields:
    """Return a skillbook of these skills."""
    return {
        "skills": skills,
        "sections": sections,
        "next_id": max(map(id_number, skills), default=0),
        "similarity_decisions": {},
    }


def sources_read(value: object, collector: Collector) -> list[str]:
    """Return the names of the traces behind a skill; records without a name have no place."""
    records = cast("list[object]", value) if isinstance(value, list) else []
    found = [name for record in records if (name := source_name(record)) is not None]
    if len(found) < len(records) or (value and not records):
        collector.leave_out(["sources"])
    return list(dict.fromkeys(found))


def source_name(record: object) -> str | None:
    """Return the name of a trace record, None for one that has none of at most 256 characters."""
    fields = as_fields(record) or {"id": record}
    names = (fields.get(each) for each in _NAMES)
    name = next((clean_line(each) for each in names if isinstance(each, str) and each.strip()), "")
    name = name.removeprefix(f"{_OURS}:")
    return name if 0 < len(name) <= _LONGEST_SOURCE else None


def source_written(name: str) -> Fields:
    """Return the trace record of a source."""
    system, _, trace = name.partition(":") if ":" in name else (_OURS, ":", name)
    return {"trace_uid": f"{system}:{trace}", "source_system": system, "trace_id": trace}


def _skills(book: Fields) -> Fields | None:
    return as_fields(book.get("skills", book.get("bullets")))


def _listed(sections: object) -> Iterable[str]:
    for ids in (as_fields(sections) or {}).values():
        if isinstance(ids, list):
            yield from (each for each in cast("list[object]", ids) if isinstance(each, str))
