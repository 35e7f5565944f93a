"""The operation Add: reinforce a bullet that says the same, else append the new one.

A new bullet supersedes the one in its profile slot, unless it spares it, and bullets that it contests. It is
compared only with the few bullets that share its rare words.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta

from ace_graph.memory.bullet import (
    DATED_SLOTS,
    MAX_BEFORE,
    MAX_CONTEXT_CHARS,
    MAX_EXAMPLES,
    MAX_TAGS,
    Bullet,
    Danger,
    PastValue,
    content_hash,
)
from ace_graph.memory.classify import infer_memory_type
from ace_graph.memory.delta.draft import Draft, Refused
from ace_graph.memory.delta.merge import MAX_SOURCES, merge, with_keywords_of
from ace_graph.memory.delta.operations import Add
from ace_graph.memory.delta.screening import (
    bounded_reason,
    checked_text,
    screen_bullet,
    screened_source_words,
)
from ace_graph.memory.search.tokenize import is_within, terms
from ace_graph.memory.similarity.compare import compare, mergeable_scope

# Contest: a lesson supersedes advice that has just failed, where both are about the same subject.
#
# The writer names the contested bullets, because it knows whose advice the failed answer followed. This
# module decides which of them the lesson corrects: a rival by the guards, or a text that shares enough
# words of the subject. Bullets that repeat the failed advice in other words are superseded too. Superseded
# bullets can be restored, and the lesson takes over their words as keywords. The core is never contested.


_SHARED = 0.4
"""The share of the shorter text's content terms that two texts about one subject have in common."""
_SHARED_TERMS = 2
"""The least number of such terms: one common word is not a subject."""
_REPEATED = 0.5
"""The share of its terms, and of those that the lesson lacks, that a repeat has of the failed advice."""
_SAME_SUBJECT = 0.75
"""The share of the common terms of failed advice and lesson (the subject) that a repeat must have.

Without this condition the same claim about other subjects was superseded too: 22 bullets in a simulation of
600 turns.
"""


def contests(lesson: Bullet, failed: Bullet, similarity: float) -> bool:
    """Whether `lesson` supersedes `failed`, whose advice has just failed on evidence.

    A lesson in quarantine contests nothing, and no lesson contests the core. `similarity` is the
    policy's; a lesson that says the same as the failed advice does not correct it.
    """
    if not _contestable(lesson, failed):
        return False
    outcome = compare(lesson, failed, similarity).outcome
    return outcome == "rival" or (outcome == "different" and shared_subject(lesson, failed) >= _SHARED)


def repeats(failed: Bullet, lesson: Bullet, others: Iterable[Bullet], similarity: float) -> list[Bullet]:
    """Return those of `others` that repeat the failed advice in other words.

    The terms of `failed` that `lesson` lacks are the failed claim, the common terms are the subject. A bullet
    repeats the advice if it has half of the claim and three quarters of the subject, and shares half of its
    terms with `failed`. A bullet that says the same as the lesson is no repeat.
    """
    mine, corrected = _terms(failed), _terms(lesson)
    denied, subject = mine - corrected, mine & corrected
    found: list[Bullet] = []
    for other in others:
        theirs = _terms(other)
        shared = len(mine & theirs)
        near = shared >= _SHARED_TERMS and shared >= _REPEATED * min(len(mine), len(theirs))
        known = theirs | frozenset(terms(" ".join(other.keywords)))
        near = near and len(subject & known) >= _SAME_SUBJECT * len(subject)
        if near and denied and len(denied & theirs) >= _REPEATED * len(denied):
            confirmed = compare(lesson, other, similarity).outcome == "same"
            if _contestable(lesson, other) and other.id != failed.id and not confirmed:
                found.append(other)
    return found


def shared_subject(a: Bullet, b: Bullet) -> float:
    """Return the share (0-1) of the shorter text's content terms that the other has too.

    0 where fewer than two terms are shared.
    """
    first, second = _terms(a), _terms(b)
    shared = len(first & second)
    return shared / min(len(first), len(second)) if shared >= _SHARED_TERMS else 0.0


def _contestable(lesson: Bullet, failed: Bullet) -> bool:
    quarantined = "quarantined" in (lesson.status, failed.status)
    return lesson.id != failed.id and not failed.core and not quarantined


def _terms(bullet: Bullet) -> frozenset[str]:
    return frozenset(terms(bullet.content))


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
        # Merge the lesson into the bullet that says the same, which keeps its id
        merged = merge(twin, arriving, draft.now)
        lineage = {name: getattr(twin, name) for name in ("consolidated_from", "consolidation_version")}
        draft.put(merged.model_copy(update=lineage))
        draft.note("reinforced", twin.id)
        bullet_id = twin.id
    else:
        bullet_id = draft.new_id(arriving.section, operation.id)
        if occupant is not None and occupant.id not in (operation.spares, *operation.contests):
            arriving = _after(occupant, arriving, draft.now.date())
        draft.put(arriving.model_copy(update={"id": bullet_id}))
        draft.note("added", bullet_id)
        if arriving.status == "quarantined":
            draft.note("quarantined", bullet_id)
        if occupant is not None and occupant.id == operation.spares:
            draft.put(occupant.model_copy(update={"slot": None, "updated_at": draft.now}))
            draft.note("updated", occupant.id)
        elif occupant is not None:
            draft.supersede(occupant, bullet_id)
    draft.bind(operation.ref, bullet_id)
    draft.touch(bullet_id)
    # Supersede the failed advice that the lesson corrects, and bullets that repeat that advice. Advice that a
    # lesson of the same delta repeats is upheld; bullets that are gone are ignored
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


def _after(old: Bullet, new: Bullet, today: date) -> Bullet:
    """The new value of a slot, which names the one that it replaces, as of the day before it begins."""
    last = (new.valid_from or today) - timedelta(days=1)
    if new.slot not in DATED_SLOTS or new.status != "active" or (old.valid_from or last) > last:
        return new
    until = min(last, old.valid_until or last)
    gone = PastValue(content=old.content, valid_from=old.valid_from, valid_until=until)
    return new.model_copy(update={"before": (gone, *old.before)[:MAX_BEFORE]})


def _arriving(draft: Draft, operation: Add) -> Bullet:
    given = operation.model_dump(exclude=_OWN_FIELDS)
    given["content"] = checked_text(operation.content)
    if not is_within(MAX_CONTEXT_CHARS, operation.context or "") or len(operation.tags) > MAX_TAGS:
        raise Refused(f"more than {MAX_CONTEXT_CHARS} characters of context, or {MAX_TAGS} tags")
    given["source_words"] = screened_source_words(draft, operation)
    kept_back = operation.status == "quarantined"
    given["quarantine_reason"] = bounded_reason(operation.quarantine_reason) if kept_back else None
    # The trajectories behind the bullet. Raises Refused for unknown ones, except those from a file
    if not operation.foreign:
        draft.check_known(operation.examples)
    known = tuple(dict.fromkeys(name for name in operation.examples if name not in draft.unknown))
    elsewhere = tuple(name for name in operation.examples if name in draft.unknown)
    given |= {
        "context": operation.context or None,
        "turn_id": operation.turn_id or None,
        "conversation_id": operation.conversation_id or None,
        "examples": known[-MAX_EXAMPLES:],
        "evidence_count": max(operation.evidence_count, len(known)),
        "sources": tuple(dict.fromkeys((*elsewhere, *operation.sources)))[-MAX_SOURCES:],
    }
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
    """The bullet, quarantined where the screen refuses a text that no active bullet has already."""
    if arriving.status == "quarantined" or screen_bullet(arriving) is None:
        return arriving
    if (why := screen_bullet(arriving, operation.vouched)) is None:
        return arriving.model_copy(update={"vouched": _needed(arriving, operation.vouched)})
    if any(_same_text(known, arriving) and known.status == "active" for known in draft.candidates(arriving)):
        return arriving
    return arriving.model_copy(update={"status": "quarantined", "quarantine_reason": why})


def _needed(bullet: Bullet, vouched: tuple[Danger, ...]) -> tuple[Danger, ...]:
    """The dangers without which the screen refuses the bullet."""
    return tuple(
        each for each in vouched if screen_bullet(bullet, [other for other in vouched if other != each])
    )


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
