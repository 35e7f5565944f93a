"""The operation Add: reinforce a bullet that says the same, else append the new one.

A new bullet supersedes the one in its profile slot, unless it spares it, and bullets that it contests. It is
compared only with the few bullets that share its rare words.
"""

from __future__ import annotations

from datetime import datetime

from ace_graph.memory.bullet import MAX_CONTEXT_CHARS, MAX_EXAMPLES, MAX_TAGS, Bullet, content_hash
from ace_graph.memory.classify import infer_memory_type
from ace_graph.memory.delta.contest import contests, repeats
from ace_graph.memory.delta.draft import Draft, Refused
from ace_graph.memory.delta.merge import MAX_SOURCES, merge, with_keywords_of
from ace_graph.memory.delta.operations import Add
from ace_graph.memory.delta.screening import (
    bounded_reason,
    checked_text,
    screen_bullet,
    screened_source_words,
)
from ace_graph.memory.search.normal_form import is_within
from ace_graph.memory.similarity.compare import compare, mergeable_scope

__all__ = ["add"]

_OWN_FIELDS = {
    *("op", "ref", "id", "memory_type", "created_at", "updated_at", "contests", "vouched", "foreign"),
    *("source_text", "source_words", "spares"),
}
"""Fields of an Add that are not copied to the bullet."""


def add(draft: Draft, operation: Add) -> None:
    """Resolve one Add, and bind its ref to the bullet that has the text now."""
    arriving = _screened(draft, _arriving(draft, operation), operation)
    occupant = draft.slot_occupant(arriving)
    twin = occupant if occupant and _same_text(occupant, arriving) else _same_claim(draft, arriving)
    if twin is not None:
        bullet_id = _reinforce(draft, twin, arriving)
    else:
        bullet_id = _append(draft, operation, arriving)
        if occupant is not None and occupant.id == operation.spares:
            draft.put(occupant.model_copy(update={"slot": None, "updated_at": draft.now}))
            draft.note("updated", occupant.id)
        elif occupant is not None:
            draft.supersede(occupant, bullet_id)
    draft.bind(operation.ref, bullet_id)
    draft.touch(bullet_id)
    _contest(draft, operation, bullet_id)


def _arriving(draft: Draft, operation: Add) -> Bullet:
    given = operation.model_dump(exclude=_OWN_FIELDS)
    given["content"] = checked_text(operation.content)
    if not is_within(MAX_CONTEXT_CHARS, operation.context or "") or len(operation.tags) > MAX_TAGS:
        raise Refused(f"more than {MAX_CONTEXT_CHARS} characters of context, or {MAX_TAGS} tags")
    given["source_words"] = screened_source_words(draft, operation)
    kept_back = operation.status == "quarantined"
    given["quarantine_reason"] = bounded_reason(operation.quarantine_reason) if kept_back else None
    given |= _evidence(draft, operation)
    created: datetime = operation.created_at or draft.now
    return draft.validated(
        given
        | {
            "id": "new",
            "memory_type": operation.memory_type or infer_memory_type(given["content"]),
            "created_at": created,
            "updated_at": operation.updated_at or max(created, draft.now),
        }
    )


def _evidence(draft: Draft, operation: Add) -> dict[str, object]:
    """The trajectories behind the bullet. Raises Refused for unknown ones, except those from a file."""
    if not operation.foreign:
        draft.check_known(operation.examples)
    known = tuple(dict.fromkeys(name for name in operation.examples if name not in draft.unknown))
    elsewhere = tuple(name for name in operation.examples if name in draft.unknown)
    return {
        "context": operation.context or None,
        "turn_id": operation.turn_id or None,
        "conversation_id": operation.conversation_id or None,
        "examples": known[-MAX_EXAMPLES:],
        "evidence_count": max(operation.evidence_count, len(known)),
        "sources": tuple(dict.fromkeys((*elsewhere, *operation.sources)))[-MAX_SOURCES:],
    }


def _screened(draft: Draft, arriving: Bullet, operation: Add) -> Bullet:
    """The bullet, quarantined where the screen refuses a text that no active bullet has already."""
    if arriving.status == "quarantined" or screen_bullet(arriving) is None:
        return arriving
    if (why := screen_bullet(arriving, operation.vouched)) is None:
        return arriving.model_copy(update={"vouched": operation.vouched})
    if any(_same_text(known, arriving) and known.status == "active" for known in draft.candidates(arriving)):
        return arriving
    return arriving.model_copy(update={"status": "quarantined", "quarantine_reason": why})


def _contest(draft: Draft, operation: Add, bullet_id: str) -> None:
    """Supersede the failed advice that the lesson corrects, and bullets that repeat that advice.

    Advice that a lesson of the same delta repeats is upheld; bullets that are gone are ignored.
    """
    similarity = draft.policy.similarity
    for name in operation.contests:
        failed = draft.present(name)
        if failed is None or failed.id in draft.upheld:
            continue
        lesson = draft.entries[bullet_id]
        if lesson.id == failed.id:
            draft.upheld.add(failed.id)
        elif contests(lesson, failed, similarity):
            known = [b for b in draft.candidates(failed) if b.id in draft.playbook.entries]
            for lost in (failed, *repeats(failed, lesson, known, similarity)):
                draft.supersede(lost, bullet_id)
                lesson = with_keywords_of(lesson, lost)
            draft.put(lesson)


def _same_text(a: Bullet, b: Bullet) -> bool:
    return content_hash(a.content) == content_hash(b.content)


def _same_claim(draft: Draft, arriving: Bullet) -> Bullet | None:
    """The bullet that says the same: the best match among those that pass every guard."""
    best: tuple[float, Bullet] | None = None
    for candidate in draft.candidates(arriving):
        if candidate.slot != arriving.slot or not mergeable_scope(candidate, arriving):
            continue
        if _same_text(candidate, arriving):
            return candidate
        comparison = compare(candidate, arriving, draft.policy.similarity)
        if comparison.outcome == "same" and (best is None or comparison.score > best[0]):
            best = (comparison.score, candidate)
    return best[1] if best else None


def _reinforce(draft: Draft, twin: Bullet, arriving: Bullet) -> str:
    """Merge the lesson into the bullet that says the same, which keeps its id."""
    merged = merge(twin, arriving, draft.now)
    lineage = {name: getattr(twin, name) for name in ("consolidated_from", "consolidation_version")}
    draft.put(merged.model_copy(update=lineage))
    draft.note("reinforced", twin.id)
    return twin.id


def _append(draft: Draft, operation: Add, arriving: Bullet) -> str:
    bullet_id = draft.new_id(arriving.section, operation.id)
    draft.put(arriving.model_copy(update={"id": bullet_id}))
    draft.note("added", bullet_id)
    if arriving.status == "quarantined":
        draft.note("quarantined", bullet_id)
    return bullet_id
