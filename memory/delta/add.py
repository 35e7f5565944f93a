"""Adding a bullet: reinforce what says the same, replace a profile slot or what it contests, else append.

Does not: compare all pairs. Only the text that is being added is compared, with the few bullets that
share its rare words.
"""

from __future__ import annotations

from datetime import datetime

from ace_graph.memory.bullet import Bullet, content_hash
from ace_graph.memory.classify import infer_memory_type
from ace_graph.memory.delta.contest import contests, repeats
from ace_graph.memory.delta.draft import Draft
from ace_graph.memory.delta.merge import merge, with_keywords_of
from ace_graph.memory.delta.operations import Add
from ace_graph.memory.delta.screening import bounded_reason, checked_text, screen_bullet
from ace_graph.memory.similarity.compare import compare, mergeable_scope

__all__ = ["add"]

_OWN_FIELDS = {"op", "ref", "id", "memory_type", "created_at", "updated_at", "contests", "vouched"}
"""What an Add has that no bullet takes from it as it stands."""


def add(draft: Draft, operation: Add) -> None:
    """Resolve one Add: bind its ref to the bullet that now carries the text."""
    arriving = _screened(draft, _arriving(draft, operation), operation)
    occupant = draft.slot_occupant(arriving)
    twin = occupant if occupant and _same_text(occupant, arriving) else _twin(draft, arriving)
    if twin is not None:
        bullet_id = _reinforce(draft, twin, arriving)
    else:
        bullet_id = _append(draft, operation, arriving)
        if occupant is not None:
            draft.supersede(occupant, bullet_id)
    draft.bind(operation.ref, bullet_id)
    draft.touch(bullet_id)
    _contest(draft, operation, bullet_id)


def _arriving(draft: Draft, operation: Add) -> Bullet:
    given = operation.model_dump(exclude=_OWN_FIELDS)
    given["content"] = checked_text(operation.content)
    kept_back = operation.status == "quarantined"
    given["quarantine_reason"] = bounded_reason(operation.quarantine_reason) if kept_back else None
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


def _screened(draft: Draft, arriving: Bullet, operation: Add) -> Bullet:
    """The bullet in quarantine where its texts belong there, unless somebody let the same text through."""
    if arriving.status == "quarantined" or screen_bullet(arriving) is None:
        return arriving
    if (why := screen_bullet(arriving, operation.vouched)) is None:
        return arriving.model_copy(update={"vouched": operation.vouched})
    if any(_same_text(known, arriving) and known.status == "active" for known in draft.alike(arriving)):
        return arriving
    return arriving.model_copy(update={"status": "quarantined", "quarantine_reason": why})


def _contest(draft: Draft, operation: Add, bullet_id: str) -> None:
    """Supersede what the lesson corrects of the advice that failed, and what repeats that advice.

    Advice that a lesson of the same delta gives again is upheld; what is gone already can't fail again.
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
            known = [b for b in draft.alike(failed) if b.id in draft.playbook.entries]
            for lost in (failed, *repeats(failed, lesson, known, similarity)):
                draft.supersede(lost, bullet_id)
                lesson = with_keywords_of(lesson, lost)
            draft.put(lesson)


def _same_text(a: Bullet, b: Bullet) -> bool:
    return content_hash(a.content) == content_hash(b.content)


def _twin(draft: Draft, arriving: Bullet) -> Bullet | None:
    """The bullet that says the same already: the best match among those that pass every guard."""
    best: tuple[float, Bullet] | None = None
    for candidate in draft.alike(arriving):
        if candidate.slot != arriving.slot or not mergeable_scope(candidate, arriving):
            continue
        if _same_text(candidate, arriving):
            return candidate
        comparison = compare(candidate, arriving, draft.policy.similarity)
        if comparison.outcome == "same" and (best is None or comparison.score > best[0]):
            best = (comparison.score, candidate)
    return best[1] if best else None


def _reinforce(draft: Draft, twin: Bullet, arriving: Bullet) -> str:
    """The lesson came again: counters and seen add up, gaps are filled, the id stays."""
    merged = merge(twin, arriving, draft.now)
    draft.put(merged.model_copy(update={"consolidated_from": twin.consolidated_from}))
    draft.note("reinforced", twin.id)
    return twin.id


def _append(draft: Draft, operation: Add, arriving: Bullet) -> str:
    bullet_id = draft.new_id(arriving.section, operation.id)
    draft.put(arriving.model_copy(update={"id": bullet_id}))
    draft.note("added", bullet_id)
    if arriving.status == "quarantined":
        draft.note("quarantined", bullet_id)
    return bullet_id
