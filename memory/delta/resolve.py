"""Resolves a delta, a list of requests, into an effect, a list of facts.

This assigns ids, finds near-duplicates, follows aliases, enforces limits, and reports the operations that it
refuses; the others still apply. It is pure and deterministic; `effect.apply` applies the result.
"""

from __future__ import annotations

from collections.abc import Collection

from ace_graph.base.off_loop import Steps, finish
from ace_graph.base.text import clean_line
from ace_graph.memory.bullet import MAX_EXAMPLES, Danger
from ace_graph.memory.delta.add_merge_or_replace import add
from ace_graph.memory.delta.archive import PLAYBOOK_FULL, adds_beyond_cap, archive_beyond_cap, archive_harmful
from ace_graph.memory.delta.consolidate import consolidate, distinguish
from ace_graph.memory.delta.draft import Draft, Refused
from ace_graph.memory.delta.effect import Archived, Effect, Reflected
from ace_graph.memory.delta.merge import MAX_SOURCES, merge_named, restore
from ace_graph.memory.delta.operations import (
    Add,
    Analyze,
    Consolidate,
    Delta,
    Distinguish,
    Judge,
    Merge,
    Operation,
    Pin,
    Quarantine,
    Reflect,
    Release,
    Remove,
    Rescreen,
    Reset,
    Restore,
    Rollback,
    Supersede,
    Tag,
    Touch,
    Undo,
    Unpin,
    Update,
    check_days,
)
from ace_graph.memory.delta.screening import (
    bounded_reason,
    checked_text,
    forget_source_words,
    rescreen,
    screened_again,
)
from ace_graph.memory.delta.undo import reset, rollback, undo
from ace_graph.memory.delta.votes import TurnLimits, judge, tag
from ace_graph.memory.foreign import is_foreign
from ace_graph.memory.policy import Policy
from ace_graph.memory.screening.screen import is_screen_reason, screen
from ace_graph.memory.snapshot import Access, Snapshot
from ace_graph.memory.use_stamps import Uses, moved_stamps

MAX_INSIGHT_CHARS = 500
_REPLACED = (
    *("section", "memory_type", "polarity", "topic", "concept", "tags", "importance", "ttl_days"),
    *("context", "stated", "valid_from", "valid_until"),
)
"""Fields of a bullet that an Update replaces where it has a value."""


def resolve(snapshot: Snapshot, delta: Delta, policy: Policy, unknown: Collection[str] = ()) -> Effect:
    """Return what `delta` changes in `snapshot` under `policy`.

    An operation that can't be applied raises nothing: `effect.report.rejected` names it with the reason.
    `unknown` are trajectories that the delta names and the store does not hold.
    """
    return finish(resolving(snapshot, delta, policy, unknown))


def resolving(
    snapshot: Snapshot, delta: Delta, policy: Policy, unknown: Collection[str] = ()
) -> Steps[Effect]:
    """Do what `resolve` does, in steps."""
    draft = Draft(snapshot, policy, delta.now, unknown, delta.apart)
    # Deltas of a host have no limits
    limits = TurnLimits(draft, alone=len(delta.operations) == 1) if delta.origin == "turn" else None
    only_undos, unread = True, adds_beyond_cap(delta.operations, policy)
    for place, operation in enumerate(delta.operations):
        is_undo = isinstance(operation, Undo)
        if place in unread or (is_undo and not only_undos):
            why = PLAYBOOK_FULL if place in unread else "an undo comes first in its delta"
            draft.reject(operation.op, _named(operation), why)
            continue
        only_undos = is_undo
        try:
            if limits is not None:
                limits.check(operation)
            yield from _resolve_one(draft, operation, by_person=delta.origin == "host")
        except Refused as refusal:
            draft.reject(operation.op, _named(operation), str(refusal))
        yield
    archive_harmful(draft)
    archive_beyond_cap(draft)
    draft.close()
    effect = Effect(
        format=3,
        op_id=delta.op_id,
        now=delta.now,
        author=delta.author,
        reason=delta.reason,
        source=delta.source,
        changes=tuple(draft.changes),
        touched=tuple(draft.touched),
        access_reset=draft.access_reset,
        restamped=draft.restamped,
        analyzed=tuple(draft.analyzed),
        report=draft.report(),
    )
    return _reversible(effect, snapshot.access) if effect.changes else effect


def _reversible(effect: Effect, access: Access) -> Effect:
    """The effect with the stamps that it moves, as they are before it."""
    if effect.access_reset:
        before = dict(access.stamps)
    else:
        clock, stamps = access.access_clock, access.stamps
        _, changed = moved_stamps(clock, stamps, effect.touched, effect.gone, effect.restamped)
        before = {key: stamps.get(key, 0) for key in changed}
    moved = {"before": Uses(clock=access.access_clock, stamps=before), "earlier": dict(access.earlier)}
    return effect.model_copy(update=moved)


def _resolve_one(draft: Draft, operation: Operation, *, by_person: bool) -> Steps[None]:
    match operation:
        case Add():
            add(draft, operation)
        case Update():
            _update(draft, operation)
        case Tag():
            tag(draft, operation)
        case Judge():
            judge(draft, operation)
        case Merge():
            merge_named(draft, operation)
        case Consolidate():
            consolidate(draft, operation)
        case Distinguish():
            distinguish(draft, operation)
        case Undo():
            undo(draft, operation)
        case Supersede():
            _supersede(draft, operation)
        case Remove():
            _remove(draft, operation, by_person=by_person)
        case Restore():
            restore(draft, operation)
        case Quarantine() | Release():
            _set_status(draft, operation)
        case Rescreen():
            yield from rescreen(draft, operation)
        case Pin() | Unpin():
            _set_pinned(draft, operation)
        case Touch():
            _touch(draft, operation)
        case Reflect():
            insight = checked_text(operation.insight[:MAX_INSIGHT_CHARS])
            why = screen(insight) or (screen(operation.topic) if operation.topic else None)
            if why is not None:
                raise Refused(f"kept out of prompts: {why}")
            draft.record(Reflected(insight=insight, topic=operation.topic))
        case Analyze():
            draft.analyzed.update(dict.fromkeys(operation.turn_ids))
        case Reset():
            reset(draft, operation)
        case Rollback():
            rollback(draft, operation)


def _named(operation: Operation) -> str:
    match operation:
        case Add():
            return operation.id or operation.ref or operation.content
        case Judge():
            return operation.turn_id
        case Consolidate():
            return " ".join(source.bullet_id for source in operation.sources)
        case Undo():
            return operation.undone
        case Merge() | Distinguish() | Touch():
            return " ".join(operation.bullet_ids)
        case Restore():
            return operation.bullet.id
        case Reflect():
            return operation.insight
        case Reset() | Rescreen() | Analyze():
            return ""
        case Rollback():
            return str(operation.version)
        case _:
            return operation.bullet_id


def _update(draft: Draft, operation: Update) -> None:
    old = draft.locate(operation.bullet_id, follow_aliases=False)
    new = old.model_dump()
    for name in _REPLACED:
        value = getattr(operation, name)
        if value is not None:
            new[name] = value
    draft.check_known(operation.examples)
    more = [name for name in dict.fromkeys(operation.examples) if name not in old.examples]
    left = tuple(name for name in old.sources if name not in operation.withdrawn)
    new |= {
        "examples": (*old.examples, *more)[-MAX_EXAMPLES:],
        "evidence_count": old.evidence_count + len(more),
        "sources": left,
        "seen": max(1, old.seen - len(old.sources) + len(left)),
    }
    if operation.sources:
        new["sources"] = tuple(dict.fromkeys((*left, *operation.sources)))[-MAX_SOURCES:]
        new["vouched"] = ()
    if operation.ttl_days == "never":
        new["ttl_days"] = None
    new |= {name: None for name in ("valid_from", "valid_until") if getattr(operation, name) == "unknown"}
    try:
        check_days(new.get("valid_from"), new.get("valid_until"))
    except ValueError as error:
        raise Refused(str(error)) from error
    if operation.content is not None:
        new["content"] = checked_text(operation.content)
    for counter in ("helpful", "harmful", "neutral"):
        new[counter] += getattr(operation, counter)
    changed = draft.validated(new)
    if changed == old:
        return
    draft.put(screened_again(draft, old, changed.model_copy(update={"updated_at": draft.now})))
    draft.note("updated", old.id)
    if operation.harmful:
        draft.blamed[old.id] = None


def _supersede(draft: Draft, operation: Supersede) -> None:
    old = draft.locate(operation.bullet_id, follow_aliases=False)
    successor = draft.locate(operation.by)
    if old.id == successor.id:
        raise Refused("a bullet can't supersede itself")
    draft.supersede(old, successor.id)


def _remove(draft: Draft, operation: Remove, *, by_person: bool) -> None:
    bullet = draft.locate(operation.bullet_id, follow_aliases=False)
    if operation.value is not None:
        left = tuple(each for each in bullet.before if each.content != operation.value)
        if left == bullet.before:
            raise Refused("it had no such value before")
        draft.put(bullet.model_copy(update={"before": left, "updated_at": draft.now}))
        draft.note("updated", bullet.id)
        forget_source_words(draft, operation.value)
        return
    draft.archive(Archived(bullet=bullet, why="removed"))
    draft.note("removed", bullet.id)
    if by_person or bullet.profile:
        for text in (bullet.content, *(each.content for each in bullet.before)):
            forget_source_words(draft, text)


def _set_status(draft: Draft, operation: Quarantine | Release) -> None:
    bullet = draft.locate(operation.bullet_id)
    if isinstance(operation, Quarantine):
        # Never a reason that the screen would give, so that a Rescreen does not release it
        said = operation.why
        said = f"by hand: {said}" if is_screen_reason(clean_line(said)) else said
        status, why, note = "quarantined", bounded_reason(said), "quarantined"
        vouched: tuple[Danger, ...] = ()
    else:
        status, why, note = "active", None, "released"
        vouched = "instruction", "secret", "link"
    if bullet.status == status:
        raise Refused(f"it is {status} already")
    changed = {"status": status, "quarantine_reason": why, "vouched": vouched, "updated_at": draft.now}
    moved = bullet.model_copy(update=changed)
    occupant = draft.slot_occupant(moved)
    draft.put(moved)
    draft.note(note, bullet.id)
    if occupant is not None and note == "released":
        draft.supersede(occupant, bullet.id)


def _set_pinned(draft: Draft, operation: Pin | Unpin) -> None:
    bullet = draft.locate(operation.bullet_id)
    pinned = isinstance(operation, Pin)
    if bullet.pinned == pinned:
        raise Refused("it is pinned already" if pinned else "it is not pinned")
    draft.put(bullet.model_copy(update={"pinned": pinned, "updated_at": draft.now}))
    draft.note("updated", bullet.id)


def _touch(draft: Draft, operation: Touch) -> None:
    for name in operation.bullet_ids:
        if name not in draft.entries and is_foreign(name):
            draft.touch(name)
            continue
        try:
            draft.touch(draft.locate(name).id)
        except Refused as refusal:
            draft.reject("touch", name, str(refusal))
