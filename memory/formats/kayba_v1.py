"""The skillbook of kayba's agentic-context-engine before version 2: skills with one text.

Their evidence is kept among the sources where it has at most 256 characters; their justification has no
place.

Does not: read skills that were removed (`status: invalid`), or write what is in quarantine.
"""

from __future__ import annotations

import json

from ace_graph.errors import FormatError
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.formats.base import Document, Reading
from ace_graph.memory.formats.fields import EXTENSION, Collector, avoid_taken, extension_of
from ace_graph.memory.formats.sections import active, active_by_section
from ace_graph.memory.formats.skills import (
    framed,
    skillbook_of,
    skills_in,
    source_name,
    source_written,
    sources_read,
)
from ace_graph.memory.formats.strict_json import Fields
from ace_graph.memory.playbook import Playbook

__all__ = ["KaybaV1Format"]

_SAME = ("section", "helpful", "harmful", "neutral", "created_at", "updated_at")
_KNOWN = frozenset((*_SAME, "id", "content", "evidence", "status", "sources", EXTENSION))


class KaybaV1Format:
    """Active bullets as skills, whole when they are read back."""

    name = "kayba-v1"

    def recognises(self, document: Document) -> bool:
        """Whether it is a skillbook that names no version."""
        book = skillbook_of(document)
        return book is not None and "schema_version" not in book

    def read(self, document: Document) -> Reading:
        """Return the active skills. Raises FormatError."""
        book = skillbook_of(document)
        if book is None:
            raise FormatError('it is no kayba skillbook: "skills" with an object by id is missing')
        collector = Collector()
        for skill_id, skill in skills_in(book, collector):
            if skill.get("status", "active") != "active":
                collector.refuse(skill_id, "it was removed in kayba (status is not active)")
                continue
            collector.leave_out_all_but(_KNOWN, skill)
            collector.take(collector.extended(_fields(skill_id, skill, collector), skill), skill_id)
        return collector.reading()

    def write(self, playbook: Playbook) -> str:
        """Return the skillbook."""
        skills = {bullet.id: _skill(bullet) for bullet in active(playbook)}
        sections = {name: [b.id for b in bullets] for name, bullets in active_by_section(playbook).items()}
        return json.dumps(framed(skills, sections), ensure_ascii=False, indent=2) + "\n"


def _fields(skill_id: str, skill: Fields, collector: Collector) -> Fields:
    sources = sources_read(skill.get("sources"), collector)
    evidence = skill.get("evidence")
    if evidence and (name := source_name(evidence)) is not None:
        sources.append(name)
    elif evidence:
        collector.leave_out(["evidence"])
    same = {name: skill.get(name) for name in _SAME}
    return {"id": skill_id, **same, **avoid_taken(skill.get("content")), "sources": sources}


def _skill(bullet: Bullet) -> Fields:
    skill: Fields = {
        "id": bullet.id,
        "content": bullet.advice,
        "justification": None,
        "evidence": None,
        **bullet.model_dump(mode="json", include=set(_SAME)),
        "embedding": None,
        "status": "active",
        "sources": list(map(source_written, bullet.sources)),
    }
    return {**skill, EXTENSION: extension_of(bullet, _fields(bullet.id, skill, Collector()))}
