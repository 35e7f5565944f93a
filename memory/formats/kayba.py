"""The skillbook of kayba's agentic-context-engine, version 2: skills with an issue and an insight.

A skill with both is one bullet, `insight (Issue: issue)`, and is taken apart again when it is written; where
the two are one text, as in skills that kayba took over from version 1, it stands once. A skillbook knows two
sections only, `context` and `harness`; other names, and all that a skill has no field for, travel in the
skill's `ace_graph` object, which kayba drops when it saves.

Does not: read skills that were removed (`active: false`), or write what is in quarantine.
"""

from __future__ import annotations

import json
import re

from ace_graph.errors import FormatError, NewerFormat
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.formats.base import Document, Reading
from ace_graph.memory.formats.fields import EXTENSION, Collector, avoid_taken, extension_of
from ace_graph.memory.formats.sections import active
from ace_graph.memory.formats.skills import framed, skillbook_of, skills_in, source_written, sources_read
from ace_graph.memory.formats.strict_json import Fields
from ace_graph.memory.playbook import Playbook

__all__ = ["KaybaFormat"]

_VERSION = 2
_SPACES = re.compile(r"\s+")
_SECTIONS = ("context", "harness")
_ISSUE = " (Issue: "
_VOTES = {"helpful": "helpful_count", "harmful": "harmful_count", "neutral": "neutral_count"}
_SAME = ("section", "keywords", "created_at", "updated_at")
_KNOWN = frozenset((*_SAME, *_VOTES.values(), "id", "issue", "insight", "occurrences", "active", EXTENSION))


class KaybaFormat:
    """Active bullets as skills, whole when they are read back."""

    name = "kayba"

    def recognises(self, document: Document) -> bool:
        """Whether it is a skillbook that names its version."""
        book = skillbook_of(document)
        return book is not None and "schema_version" in book

    def read(self, document: Document) -> Reading:
        """Return the active skills. Raises FormatError, NewerFormat."""
        book = skillbook_of(document)
        if book is None:
            raise FormatError('it is no kayba skillbook: "skills" with an object by id is missing')
        _check_version(book.get("schema_version"))
        collector = Collector()
        for skill_id, skill in skills_in(book, collector):
            if skill.get("active", True) is not True:
                collector.refuse(skill_id, "it was removed in kayba (active is not true)")
                continue
            collector.leave_out_all_but(_KNOWN, {**skill, "used_count": skill.get("used_count") or None})
            collector.take(collector.extended(_fields(skill_id, skill, collector), skill), skill_id)
        return collector.reading()

    def write(self, playbook: Playbook) -> str:
        """Return the skillbook."""
        bullets = active(playbook)
        sections = {name: [b.id for b in bullets if _section(b) == name] for name in _SECTIONS}
        skills = {bullet.id: _skill(bullet) for bullet in bullets}
        book = {
            "schema_version": str(_VERSION),
            **framed(skills, {n: ids for n, ids in sections.items() if ids}),
        }
        return json.dumps(book, ensure_ascii=False, indent=2) + "\n"


def _check_version(found: object) -> None:
    text = str(found) if isinstance(found, str | int) else ""
    if text.isdecimal() and len(text) < 9 and int(text) > _VERSION:
        raise NewerFormat(f"it is a kayba skillbook of version {text}, this ace-graph reads 1 and 2: upgrade")
    if text != str(_VERSION):
        raise FormatError(f"it is no kayba skillbook of version {_VERSION}: try --format kayba-v1")


def _fields(skill_id: str, skill: Fields, collector: Collector) -> Fields:
    return {
        "id": skill_id,
        **avoid_taken(_text(skill.get("issue"), skill.get("insight"))),
        **{name: skill.get(name) for name in _SAME},
        **{ours: skill.get(theirs) for ours, theirs in _VOTES.items()},
        "sources": sources_read(skill.get("occurrences"), collector),
    }


def _text(issue: object, insight: object) -> object:
    if isinstance(issue, str) and isinstance(insight, str) and issue != insight and issue and insight:
        return f"{insight}{_ISSUE}{issue})"
    return insight or issue


def _taken_apart(shown: str) -> tuple[str, str]:
    """Return the issue and the insight of a text that `_text` put together; any other text is both."""
    at = shown.rfind(_ISSUE, 1, -2) if shown.endswith(")") else -1
    return (shown, shown) if at < 0 else (shown[at + len(_ISSUE) : -1], shown[:at])


def _skill(bullet: Bullet) -> Fields:
    shown = bullet.advice
    issue, insight = _taken_apart(shown)
    dates = bullet.model_dump(mode="json", include={"created_at", "updated_at"})
    skill: Fields = {
        "id": bullet.id,
        "section": _section(bullet),
        "keywords": _keywords(bullet),
        "issue": issue,
        "insight": insight,
        "occurrences": list(map(source_written, bullet.sources)),
        "active": True,
        "used_count": 0,
        **dict(zip(_VOTES.values(), (bullet.helpful, bullet.harmful, bullet.neutral), strict=True)),
        **dates,
    }
    return {**skill, EXTENSION: extension_of(bullet, _fields(bullet.id, skill, Collector()))}


def _section(bullet: Bullet) -> str:
    return bullet.section if bullet.section in _SECTIONS else "context"


def _keywords(bullet: Bullet) -> list[str]:
    """Return the keywords as kayba keeps them, the section's name where there are none."""
    given = bullet.keywords or (bullet.section,)
    return list(dict.fromkeys(_SPACES.sub("_", each.lower()) for each in given if each))
