"""The operations Consolidate and Distinguish: several bullets become a new one, or never do.

Unlike a Merge, a Consolidate has a text of its own, so it is not enough that the bullets say the same: the
text must hold all that would be missed (memory/similarity/losses.py). All sources are archived and lead to
the new bullet; `Undo` brings them back.

Refused where a source is unknown, in every prompt, quarantined, important, distinct from another one, or has
changed since it was planned; where two of them contradict each other; where the text lacks a number, a name,
code, a link, a quotation or a negation of any source, or has one that no source has; and where a source was
consolidated three times.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from ace_graph.memory.bullet import MAX_DISTINCT, Bullet
from ace_graph.memory.delta.draft import Draft, Refused
from ace_graph.memory.delta.effect import Archived
from ace_graph.memory.delta.merge import check_joinable, merge, source_words_of, with_keywords_of
from ace_graph.memory.delta.operations import Consolidate, Distinguish, Source
from ace_graph.memory.delta.screening import checked_text, screen_bullet
from ace_graph.memory.similarity.compare import compare
from ace_graph.memory.similarity.losses import losses
from ace_graph.memory.use_stamps import Uses

MAX_CONSOLIDATIONS = 3
"""How often what was consolidated can be consolidated again."""

_LOSSES_SHOWN = 5


def protection_of(bullet: Bullet, keep_above: float | None) -> str | None:
    """Return why a bullet is never consolidated, None where it may be."""
    if bullet.status == "quarantined":
        return "quarantined"
    if bullet.core:
        return "in every prompt"
    if keep_above is not None and bullet.importance >= keep_above:
        return f"its importance is {bullet.importance:g}"
    if bullet.consolidation_version >= MAX_CONSOLIDATIONS:
        return f"consolidated {MAX_CONSOLIDATIONS} times already"
    return None


def merged_away(bullet: Bullet) -> frozenset[str]:
    """Return the ids of the bullets that earlier merges archived in favour of this one."""
    return frozenset(bullet.consolidated_from) - {bullet.id}


def consolidate(draft: Draft, operation: Consolidate) -> None:
    """Archive the sources in favour of a new bullet that has their counts."""
    found = [_source(draft, source, operation.keep_above) for source in operation.sources]
    if len({bullet.id for bullet in found}) < len(found):
        raise Refused("a consolidation needs different bullets")
    text = checked_text(operation.content)
    for a, b in combinations(found, 2):
        check_joinable(a, b)
        compared = compare(a, b, draft.policy.similarity)
        if compared.outcome == "rival":
            raise Refused(f"{a.id} and {b.id} contradict each other ({compared.guard})")
    # Raise Refused where the text lacks something of a source, or of what was merged into one
    present = {bullet.id for bullet in (*found, *operation.originals)}
    missing = sorted(name for bullet in found for name in merged_away(bullet) if name not in present)
    if missing:
        raise Refused(f"{missing[0]} was merged into a source, and is not kept any more")
    sources = [bullet.content for bullet in (*found, *operation.originals)]
    lost = losses(sources, text)
    if lost:
        raise Refused(f"the text loses {', '.join(map(str, lost[:_LOSSES_SHOWN]))}")
    invented = [each for each in losses([text], " ".join(sources)) if each.kind != "name"]
    if invented:
        raise Refused(f"no source has {', '.join(map(str, invented[:_LOSSES_SHOWN]))}")
    made = _made(draft, found, text)
    if (why := screen_bullet(made)) is not None:
        raise Refused(f"the new text must stay out of prompts: {why}")
    made = made.model_copy(update={"id": draft.new_id(made.section, None)})
    stamps = [draft.access.stamps.get(bullet.id, 0) for bullet in found]
    for bullet in found:
        draft.archive(Archived(bullet=bullet, why="consolidated", into=made.id))
        draft.pair("merged", made.id, bullet.id)
    draft.put(made)
    draft.note("added", made.id)
    draft.restamp(Uses(stamps={made.id: max(stamps)}))
    draft.consolidated = True


def distinguish(draft: Draft, operation: Distinguish) -> None:
    """Record in each bullet that the others say something else."""
    found = {bullet.id: bullet for bullet in map(draft.locate, operation.bullet_ids)}
    if len(found) < 2:
        raise Refused("two different bullets are distinct, one is not")
    for bullet in found.values():
        others = (name for name in found if name != bullet.id and name not in bullet.distinct_from)
        named = (*bullet.distinct_from, *others)[-MAX_DISTINCT:]
        if named != bullet.distinct_from:
            draft.put(bullet.model_copy(update={"distinct_from": named}))
            draft.note("updated", bullet.id)


def _source(draft: Draft, source: Source, keep_above: float | None) -> Bullet:
    bullet = draft.locate(source.bullet_id, follow_aliases=False)
    if bullet.content_hash != source.content_hash:
        raise Refused(f"{bullet.id} has changed since this was planned: plan it again")
    if (why := protection_of(bullet, keep_above)) is not None:
        raise Refused(f"{bullet.id} is protected: {why}")
    return bullet


def _made(draft: Draft, found: Sequence[Bullet], text: str) -> Bullet:
    """The new bullet, with the id of the first source for now."""
    first, *others = found
    merged = first
    for other in others:
        merged = merge(merged, other, draft.now)
    made = merged.model_copy(
        update={
            "content": text,
            "keywords": (),
            "source_words": source_words_of(found, text),
            "setbacks": min(bullet.setbacks for bullet in found),
            "created_at": min(bullet.created_at for bullet in found),
            "vouched": (),
            "claim": None,
            "consolidated_from": tuple(
                dict.fromkeys(name for b in found for name in (*b.consolidated_from, b.id))
            ),
            "consolidation_version": 1 + max(bullet.consolidation_version for bullet in found),
        }
    )
    for bullet in found:
        made = with_keywords_of(made, bullet)
    return made
