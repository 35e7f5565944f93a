"""Merging bullets: which one survives, what it takes over, and the operations Merge and Restore.

A new lesson that says what a bullet says arrives in add_merge_or_replace.py, which calls `merge`. A Merge
operation passes the same guards as such a lesson, unless a person forces it: once two different claims have
become one bullet, nobody can see that there were two. Restore undoes a merge as far as it brings back the
bullet that was merged away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from itertools import combinations

from ace_graph.memory.bullet import MAX_DISTINCT, MAX_EXAMPLES, MAX_KEYWORDS, Bullet, MemoryType, Stated
from ace_graph.memory.classify import has_stated_type
from ace_graph.memory.delta.draft import Draft, Refused
from ace_graph.memory.delta.effect import Archived
from ace_graph.memory.delta.operations import Merge, Restore
from ace_graph.memory.delta.screening import checked_text, screened_again
from ace_graph.memory.search.source_words import words_besides
from ace_graph.memory.search.tokenize import content_words, language_of
from ace_graph.memory.similarity.compare import are_distinct, compare, mergeable_scope
from ace_graph.memory.use_stamps import Uses

MAX_SOURCES = 64
MAX_TAGS = 32
_COUNTS = ("helpful", "harmful", "neutral", "seen")
_FILLED = ("topic", "concept", "pinned", "slot", "context", "claim")


def choose_survivor(a: Bullet, b: Bullet) -> tuple[Bullet, Bullet]:
    """Return (survivor, dropped): the higher helpful - harmful survives, then the newer one."""
    if _rank(a) >= _rank(b):
        return a, b
    return b, a


def merge(survivor: Bullet, dropped: Bullet, now: datetime) -> Bullet:
    """Return the survivor with what the dropped bullet adds to it.

    It keeps its id and text. Counters add up; tags, sources, examples and the ids of the merged bullets (its
    own first) are united, and a trajectory behind both is evidence once; empty fields are filled, and a
    memory type that somebody stated takes the place of one that the rules inferred. The words of the dropped
    text become keywords (at most MAX_KEYWORDS), so that searches still find them. Source words are united,
    those of the bullet that changed last first. `updated_at` becomes `now`.
    """
    ttl = (
        None
        if survivor.ttl_days is None or dropped.ttl_days is None
        else max(survivor.ttl_days, dropped.ttl_days)
    )
    why = survivor.quarantine_reason or dropped.quarantine_reason
    return survivor.model_copy(
        update={
            **{name: getattr(survivor, name) + getattr(dropped, name) for name in _COUNTS},
            "memory_type": _memory_type(survivor, dropped),
            **{name: getattr(survivor, name) or getattr(dropped, name) for name in _FILLED},
            "tags": _union(survivor.tags, dropped.tags)[:MAX_TAGS],
            "keywords": _union(survivor.keywords, dropped.keywords, new_words(survivor, dropped))[
                :MAX_KEYWORDS
            ],
            "importance": max(survivor.importance, dropped.importance),
            "quarantine_reason": why if survivor.status == "quarantined" else None,
            "ttl_days": ttl,
            "sources": _union(survivor.sources, dropped.sources)[-MAX_SOURCES:],
            "consolidated_from": _union(
                survivor.consolidated_from or (survivor.id,), dropped.consolidated_from, (dropped.id,)
            ),
            "examples": _union(survivor.examples, dropped.examples)[-MAX_EXAMPLES:],
            "evidence_count": survivor.evidence_count
            + dropped.evidence_count
            - len({*survivor.examples} & {*dropped.examples}),
            "stated": _stated(survivor.stated, dropped.stated),
            "distinct_from": _union(survivor.distinct_from, dropped.distinct_from)[-MAX_DISTINCT:],
            "consolidation_version": max(survivor.consolidation_version, dropped.consolidation_version),
            **_origin(survivor, dropped),
            **_days(survivor, dropped),
            "updated_at": now,
        }
    )


def _memory_type(survivor: Bullet, dropped: Bullet) -> MemoryType:
    if survivor.memory_type == dropped.memory_type or has_stated_type(survivor):
        return survivor.memory_type
    return dropped.memory_type if has_stated_type(dropped) else survivor.memory_type


def _days(survivor: Bullet, dropped: Bullet) -> dict[str, date | None]:
    """The days on which it is true: what the bullet that changed last says of them, else the other."""
    newest = max((dropped, survivor), key=lambda bullet: bullet.updated_at)
    known = newest if newest.valid_from or newest.valid_until else survivor
    known = known if known.valid_from or known.valid_until else dropped
    return {"valid_from": known.valid_from, "valid_until": known.valid_until}


def _origin(survivor: Bullet, dropped: Bullet) -> dict[str, object]:
    """The turn of the survivor, or of the dropped one if it has none, and the source words of both."""
    known = survivor if survivor.turn_id or survivor.conversation_id else dropped
    return {
        "turn_id": known.turn_id,
        "conversation_id": known.conversation_id,
        "source_words": source_words_of((dropped, survivor), survivor.content),
    }


def source_words_of(bullets: Iterable[Bullet], text: str) -> tuple[str, ...]:
    """Return the source words of all bullets that a text lacks, of the bullet that changed last first."""
    newest_first = sorted(bullets, key=lambda bullet: bullet.updated_at, reverse=True)
    words = _union(*(bullet.source_words for bullet in newest_first))
    return words_besides(words, text) if words else ()


def with_keywords_of(bullet: Bullet, other: Bullet) -> Bullet:
    """Return the bullet with the words of the other that it lacks as keywords (at most MAX_KEYWORDS)."""
    learned = _union(bullet.keywords, other.keywords, new_words(bullet, other))
    return bullet.model_copy(update={"keywords": learned[:MAX_KEYWORDS]})


def merge_named(draft: Draft, operation: Merge) -> None:
    """Merge the bullets that the operation names into the one with the best votes."""
    names = dict.fromkeys(draft.locate(name, follow_aliases=False).id for name in operation.bullet_ids)
    if len(names) < 2:
        raise Refused("a merge needs two different bullets")
    found = [draft.entries[name] for name in names]
    text = None if operation.content is None else checked_text(operation.content)
    if not operation.force:
        for bullet in found:
            if bullet.importance >= draft.policy.keep_above:
                raise Refused(f"the importance of {bullet.id} is {bullet.importance:g}: it stays as it is")
        _check_claims(found, text, draft.policy.similarity)
    survivor, *others = found
    for other in others:
        survivor = _merge_pair(draft, survivor, other)
    draft.consolidated = True
    if text is not None:
        draft.put(screened_again(draft, survivor, survivor.model_copy(update={"content": text})))


def _check_claims(found: Sequence[Bullet], text: str | None, similarity: float) -> None:
    """Raise Refused where two of the bullets, or the new text and one of them, don't say the same."""
    for a, b in combinations(found, 2):
        check_joinable(a, b)
        _check_same(a, b, f"{a.id} and {b.id}", similarity)
    if text is None:
        return
    for bullet in found:
        if bullet.core and bullet.content != text:
            raise Refused(f"{bullet.id} is in every prompt: its text stays")
        _check_same(
            bullet, bullet.model_copy(update={"content": text}), f"{bullet.id} and the new text", similarity
        )


def check_joinable(a: Bullet, b: Bullet) -> None:
    """Raise Refused for bullets that never become one, whatever their texts say."""
    if not mergeable_scope(a, b):
        raise Refused(f"{a.id} and {b.id} differ in type, polarity, status, section or topic")
    if are_distinct(a, b):
        raise Refused(f"{a.id} and {b.id} are distinct")


def _check_same(a: Bullet, b: Bullet, named: str, similarity: float) -> None:
    compared = compare(a, b, similarity)
    if compared.outcome != "same":
        raise Refused(f"{named} don't say the same ({compared.guard or 'too little alike'})")


def _merge_pair(draft: Draft, a: Bullet, b: Bullet) -> Bullet:
    """Merge two bullets of the playbook and return the survivor; the other one is archived."""
    survivor, dropped = choose_survivor(a, b) if a.core == b.core else (a, b) if a.core else (b, a)
    merged = merge(survivor, dropped, draft.now)
    draft.archive(Archived(bullet=dropped, why="merged", into=survivor.id))
    draft.put(merged)
    draft.pair("merged", survivor.id, dropped.id)
    return merged


def restore(draft: Draft, operation: Restore) -> None:
    """Restore a bullet. One that took its slot is superseded, one that absorbed it loses its counts."""
    bullet = operation.bullet
    if bullet.id in draft.entries:
        raise Refused("it is in the playbook")
    occupant, survivor = draft.slot_occupant(bullet), draft.survivor_of(bullet.id)
    draft.revive(bullet, operation.place)
    draft.note("restored", bullet.id)
    draft.restamp(Uses(stamps={bullet.id: operation.stamp}))
    if survivor is not None:
        draft.put(_without(survivor, bullet))
        draft.note("updated", survivor.id)
    if occupant is not None:
        draft.supersede(occupant, bullet.id)


def _without(survivor: Bullet, absorbed: Bullet) -> Bullet:
    """The survivor without the counts of the absorbed bullet, so that none counts twice."""
    counts = {
        name: max(least, getattr(survivor, name) - getattr(absorbed, name))
        for name, least in zip(_COUNTS, (0, 0, 0, 1), strict=True)
    }
    left = tuple(name for name in survivor.consolidated_from if name != absorbed.id)
    examples = tuple(name for name in survivor.examples if name not in absorbed.examples)
    evidence = max(len(examples), survivor.evidence_count - absorbed.evidence_count)
    return survivor.model_copy(
        update={
            **counts,
            "consolidated_from": () if left == (survivor.id,) else left,
            "examples": examples,
            "evidence_count": evidence,
        }
    )


def _stated(a: Stated | None, b: Stated | None) -> Stated | None:
    """One statement from two: the mean by their counts; evidence since the earlier one is counted."""
    if a is None or b is None:
        return a or b
    count = a.count + b.count
    weights = (a.count, b.count) if count else (1, 1)
    mean = (a.confidence * weights[0] + b.confidence * weights[1]) / sum(weights)
    return Stated(confidence=min(1.0, mean), count=count, at=min(a.at, b.at))


def _rank(bullet: Bullet) -> tuple[int, datetime, datetime, str]:
    return (bullet.helpful - bullet.harmful, bullet.created_at, bullet.updated_at, bullet.id)


def _union(*groups: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for group in groups for item in group))


def new_words(survivor: Bullet, dropped: Bullet) -> tuple[str, ...]:
    """The words of the dropped text by which searches do not find the survivor yet."""
    language = language_of(survivor.content)
    known = content_words(" ".join((survivor.content, *survivor.keywords)), language)
    offered = content_words(dropped.content, language)
    return tuple(dict.fromkeys(word[:256] for term, word in offered.items() if term not in known))
