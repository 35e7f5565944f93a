"""The skillbooks of kayba's agentic-context-engine, version 2 (`kayba`) and the one before it (`kayba-v1`).

    {"schema_version": "2", "skills": {id: {...}}, "sections": {name: [ids]}, "next_id": 7}

Both hold skills by id; `next_id` is the last number that was given out. A skill of version 2 has an issue and
an insight. A skill with both is read as one bullet, `insight (Issue: issue)`, which is split again when it is
written; where the two texts are the same, as in skills that kayba migrated from version 1, the text is read
once. Version 2 knows two sections only, `context` and `harness`. A skill of version 1 has one text; its
evidence becomes a source where it has at most 256 characters, its justification is dropped.

Whatever a skill has no field for travels in its `ace_graph` object, which kayba drops when it saves. Removed
skills are not read, quarantined bullets are not written.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import cast

from ace_graph.base.errors import FormatError, NewerFormat
from ace_graph.base.text import clean_line
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.formats.lines import active
from ace_graph.memory.formats.reading import (
    EXTENSION,
    Collector,
    Document,
    Fields,
    Reading,
    as_fields,
    extension_of,
    pairs_of,
    split_advice,
)
from ace_graph.memory.playbook import Playbook, id_number

_VERSION = 2
_SPACES = re.compile(r"\s+")
_SECTIONS = ("context", "harness")
_ISSUE = " (Issue: "

_BOOK_FIELDS = frozenset({"schema_version", "skills", "bullets", "sections", "next_id"})
_TRACE_NAMES = ("trace_uid", "trace_id", "sample_id", "item_id", "task_id", "id")
_OWN_SYSTEM = "ace_graph"
_MAX_SOURCE_CHARS = 256

_VOTES = {"helpful": "helpful_count", "harmful": "harmful_count", "neutral": "neutral_count"}
_SAME = ("section", "keywords", "created_at", "updated_at")
_SKILL_FIELDS = frozenset(
    (*_SAME, *_VOTES.values(), "id", "issue", "insight", "occurrences", "active", EXTENSION)
)
_V1_SAME = ("section", "helpful", "harmful", "neutral", "created_at", "updated_at")
"""Fields that a skill and a bullet have alike."""
_V1_SKILL_FIELDS = frozenset((*_V1_SAME, "id", "content", "evidence", "status", "sources", EXTENSION))


class KaybaFormat:
    """Active bullets as skills; reading them back restores every field."""

    name = "kayba"
    summary = "a kayba skillbook"
    _names_version = True
    _known = _SKILL_FIELDS

    def recognises(self, document: Document) -> bool:
        """Whether it is a skillbook of this version: the second one names it, the first does not."""
        book = _skillbook(document)
        return book is not None and ("schema_version" in book) == self._names_version

    def read(self, document: Document) -> Reading:
        """Return the active skills. Raises FormatError, NewerFormat."""
        book = _skillbook(document)
        if book is None:
            raise FormatError('it is not a kayba skillbook: "skills" with an object by id is missing')
        if self._names_version:
            _check_version(book.get("schema_version"))
        collector = Collector()
        for skill_id, skill in _valid_skills(book, collector):
            if why := self._removed(skill):
                collector.refuse(skill_id, f"it was removed in kayba ({why})")
                continue
            collector.leave_out_all_but(self._known, {**skill, "used_count": skill.get("used_count") or None})
            collector.take(collector.extended(self._fields(skill_id, skill, collector), skill), skill_id)
        return collector.reading()

    def write(self, playbook: Playbook) -> str:
        """Return the skillbook."""
        bullets = active(playbook)
        skills = dict[str, Fields]()
        for bullet in bullets:
            skill = self._skill(bullet)
            extension = extension_of(bullet, self._fields(bullet.id, skill, Collector()))
            skills[bullet.id] = {**skill, EXTENSION: extension}
        sections = defaultdict[str, list[str]](list)
        for bullet in bullets:
            sections[self._section(bullet)].append(bullet.id)
        book = {
            **({"schema_version": str(_VERSION)} if self._names_version else {}),
            "skills": skills,
            "sections": sections,
            "next_id": max(map(id_number, skills), default=0),
            "similarity_decisions": {},
        }
        return json.dumps(book, ensure_ascii=False, indent=2) + "\n"

    def _removed(self, skill: Fields) -> str:
        return "" if skill.get("active", True) is True else "active is not true"

    def _section(self, bullet: Bullet) -> str:
        return bullet.section if bullet.section in _SECTIONS else "context"

    def _fields(self, skill_id: str, skill: Fields, collector: Collector) -> Fields:
        return {
            "id": skill_id,
            **split_advice(_text(skill.get("issue"), skill.get("insight"))),
            **{name: skill.get(name) for name in _SAME},
            **{ours: skill.get(theirs) for ours, theirs in _VOTES.items()},
            "sources": _sources(skill.get("occurrences"), collector),
        }

    def _skill(self, bullet: Bullet) -> Fields:
        shown = bullet.advice
        # The issue and the insight of a text that `_text` joined; any other text is both
        at = shown.rfind(_ISSUE, 1, -2) if shown.endswith(")") else -1
        issue, insight = (shown, shown) if at < 0 else (shown[at + len(_ISSUE) : -1], shown[:at])
        keywords = (_SPACES.sub("_", each.lower()) for each in bullet.keywords or (bullet.section,) if each)
        return {
            "id": bullet.id,
            "section": self._section(bullet),
            "keywords": list(dict.fromkeys(keywords)),
            "issue": issue,
            "insight": insight,
            "occurrences": list(map(_trace_record, (*bullet.examples, *bullet.sources))),
            "active": True,
            "used_count": 0,
            **{theirs: getattr(bullet, ours) for ours, theirs in _VOTES.items()},
            **bullet.model_dump(mode="json", include={"created_at", "updated_at"}),
        }


class KaybaV1Format(KaybaFormat):
    """Active bullets as skills of version 1; reading them back restores every field."""

    name = "kayba-v1"
    summary = "a kayba skillbook of before version 2"
    _names_version = False
    _known = _V1_SKILL_FIELDS

    def _removed(self, skill: Fields) -> str:
        return "" if skill.get("status", "active") == "active" else "status is not active"

    def _section(self, bullet: Bullet) -> str:
        return bullet.section

    def _fields(self, skill_id: str, skill: Fields, collector: Collector) -> Fields:
        sources = _sources(skill.get("sources"), collector)
        evidence = skill.get("evidence")
        if evidence and (name := _source_name(evidence)) is not None:
            sources.append(name)
        elif evidence:
            collector.leave_out(["evidence"])
        same = {name: skill.get(name) for name in _V1_SAME}
        return {"id": skill_id, **same, **split_advice(skill.get("content")), "sources": sources}

    def _skill(self, bullet: Bullet) -> Fields:
        return {
            "id": bullet.id,
            "content": bullet.advice,
            "justification": None,
            "evidence": None,
            **bullet.model_dump(mode="json", include=set(_V1_SAME)),
            "embedding": None,
            "status": "active",
            "sources": list(map(_trace_record, (*bullet.examples, *bullet.sources))),
        }


def _check_version(found: object) -> None:
    text = str(found) if isinstance(found, str | int) else ""
    if text.isdecimal() and len(text) < 9 and int(text) > _VERSION:
        raise NewerFormat(f"it is a kayba skillbook of version {text}, this ace-graph reads 1 and 2: upgrade")
    if text != str(_VERSION):
        raise FormatError(f"it is not a kayba skillbook of version {_VERSION}: try --format kayba-v1")


def _text(issue: object, insight: object) -> object:
    if isinstance(issue, str) and isinstance(insight, str) and issue != insight and issue and insight:
        return f"{insight}{_ISSUE}{issue})"
    return insight or issue


def _skillbook(document: Document) -> Fields | None:
    """Return the JSON object if it is a skillbook; the oldest ones name their skills `bullets`."""
    book = as_fields(document.value) if document.is_json else None
    return book if book is not None and _skills(book) is not None else None


def _valid_skills(book: Fields, collector: Collector) -> Iterator[tuple[str, Fields]]:
    """Yield id and fields of the skills that are JSON objects; refuse the others, count unknown fields."""
    skills = _skills(book) or {}
    collector.leave_out_all_but(_BOOK_FIELDS, book)
    collector.leave_out("sections" for name in _listed_ids(book.get("sections")) if name not in skills)
    return collector.objects(pairs_of(skills))


def _sources(value: object, collector: Collector) -> list[str]:
    """Return the names of the traces behind a skill; records without a name are left out."""
    records = cast("list[object]", value) if isinstance(value, list) else []
    found = [name for record in records if (name := _source_name(record)) is not None]
    if len(found) < len(records) or (value and not records):
        collector.leave_out(["sources"])
    return list(dict.fromkeys(found))


def _source_name(record: object) -> str | None:
    """Return the name of a trace record, None for one without a name of at most 256 characters."""
    fields = as_fields(record) or {"id": record}
    names = (fields.get(each) for each in _TRACE_NAMES)
    name = next((clean_line(each) for each in names if isinstance(each, str) and each.strip()), "")
    name = name.removeprefix(f"{_OWN_SYSTEM}:")
    return name if 0 < len(name) <= _MAX_SOURCE_CHARS else None


def _trace_record(name: str) -> Fields:
    """Return the trace record of a source."""
    system, _, trace = name.partition(":") if ":" in name else (_OWN_SYSTEM, ":", name)
    return {"trace_uid": f"{system}:{trace}", "source_system": system, "trace_id": trace}


def _skills(book: Fields) -> Fields | None:
    return as_fields(book.get("skills", book.get("bullets")))


def _listed_ids(sections: object) -> Iterable[str]:
    for ids in (as_fields(sections) or {}).values():
        if isinstance(ids, list):
            yield from (each for each in cast("list[object]", ids) if isinstance(each, str))
