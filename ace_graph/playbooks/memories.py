"""Memories by kind and scope, over a store: one is remembered, those of a scope are listed and searched.

    await remember(store, "ada", "Retry once after a 429", kind="strategy", scope="tenant")
    for each in await search_memories(store, "ada", "429", scope="tenant"):
        print(each.playbook, each.content)

    scope     which memories                                                    remembered in
    None      those of the own memory                                           the own memory
    agent     those of the own memory with the label of one agent               the own memory, labelled
    user      the learner's own: the own memory and named playbooks of theirs   the own memory
    tenant    the own playbooks of this scope, and others' by a team            one of these playbooks
    global    the own playbooks of this scope, and all of others                one of these playbooks

A scope selects among what the learner may read or write anyway: each playbook is opened with the right that
is stored at this moment, and of somebody else's only what leaves its owner is shown. A memory of most kinds
is a bullet; trajectories and reflections are read from the records of the learner's turns. Document 004, 1.1
and 3.1.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import cast, get_args

from pydantic import ValidationError

from ace_graph.base.clock import utc_now
from ace_graph.base.errors import (
    AceError,
    ChangeRefused,
    PlaybookNotFound,
    TrajectoryNotFound,
    UsageError,
    unknown,
)
from ace_graph.memory.bullet import Bullet, BulletSource, Stated
from ace_graph.memory.catalogue import DEFAULT, PlaybookEntry, PlaybookRef, Scope
from ace_graph.memory.delta.effect import Rejection
from ace_graph.memory.delta.operations import Add
from ace_graph.memory.rights import Caller, Right
from ace_graph.memory.sharing import Subject
from ace_graph.memory.stores.memories import MAX_READ
from ace_graph.memory.stores.store import Store
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord
from ace_graph.memory.views import BulletFilter, Kind, checked_kind, fields_of, is_bullet_kind, kind_of
from ace_graph.playbooks.content import Change
from ace_graph.playbooks.directory import caller_of
from ace_graph.playbooks.handle import PlaybookHandle, open_by_id, open_playbook
from ace_graph.playbooks.listing import all_playbooks
from ace_graph.playbooks.sharing import shared_with

MAX_PLAYBOOKS = 200
"""The most playbooks of others that a scope reads."""
OF_OTHERS = ("tenant", "global")
"""The scopes that reach into playbooks of others."""
_OWN: tuple[Scope | None, ...] = (None, "agent", "user")


@dataclass(frozen=True)
class MemoryItem:
    """One memory of any kind. `id` is that of a bullet or of a turn; only bullets have an importance.

    `playbook` is `default` for the own memory, else `owner/name`.
    """

    id: str
    kind: Kind
    content: str
    at: datetime
    importance: float | None = None
    playbook: str = DEFAULT


def agent_label(agent: str) -> str:
    """Return the tag of what an agent has remembered."""
    return f"agent:{agent}"


async def remember(
    store: Store,
    learner: Caller | str,
    content: str,
    *,
    kind: str = "fact",
    scope: str | None = None,
    playbook: PlaybookHandle | str | None = None,
    agent: str | None = None,
    importance: float = 0.5,
    context: str | None = None,
    topic: str | None = None,
    examples: Sequence[str] = (),
    confidence: float | None = None,
    evidence_count: int = 0,
    source: BulletSource = BulletSource.HOST,
    author: str = BulletSource.HOST,
    op_id: str | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> str:
    """Store a memory and return the id of its bullet; one that says the same is strengthened instead.

    `kind` is one of fact, preference, experience, strategy, anti_pattern, observation; the scopes are in the
    module's table. In `tenant` and `global` it goes to the named `playbook`, else to the only one of the
    scope that the learner may write. `agent` labels it. `importance` and `confidence` are in [0, 1]; what a
    person states has an importance of 0.8 (STATED_BY_A_PERSON). The confidence is stated with its
    `evidence_count`. `examples` are ids of trajectories that support it. Raises UnknownKind; UsageError for a
    value out of its range, for a kind that is stored by another call, and for a scope in which nothing or
    several can be written; PlaybookNotFound and PlaybookForbidden for a playbook that the learner may not
    write; TrajectoryNotFound for an example that is not there; ChangeRefused; and what the store raises. Then
    nothing is stored.
    """
    fields, now, count = fields_of(kind), clock(), max(evidence_count, len(set(examples)))
    wanted = checked_scope(scope, agent)
    try:
        operation = Add(
            ref="new",
            content=content,
            section=fields.section or "general",
            memory_type=fields.memory_type,
            polarity=fields.polarity,
            importance=importance,
            context=context,
            topic=topic,
            tags=() if agent is None else (agent_label(agent),),
            examples=tuple(examples),
            evidence_count=count,
            stated=None if confidence is None else Stated(confidence=confidence, count=count, at=now),
            sources=(source,),
        )
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise UsageError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    place = await destination(store, learner, wanted, playbook)
    change = Change(author=author, reason=f"a {kind}", now=now, op_id=op_id)
    commit = await place.change(await place.load(), [operation], change, _refused)
    return commit.report.refs["new"]


async def memories(
    store: Store,
    learner: Caller | str,
    kind: str | None = None,
    limit: int = 100,
    *,
    scope: str | None = None,
    agent: str | None = None,
) -> tuple[MemoryItem, ...]:
    """Return the memories of a scope, at most `limit`: of one of the nine kinds, or the bullets of all kinds.

    Active bullets come in order, playbook by playbook, the own memory first; trajectories and reflections
    with the newest first. `agent` selects what it has remembered, and its trajectories. Raises UnknownKind,
    UsageError for an unknown scope and for trajectories outside the own memory, and what the store raises.
    """
    most, where, shown = max(0, limit), checked_scope(scope, agent), BulletFilter(tags=_tags(agent))
    if kind is not None:
        wanted = checked_kind(kind)
        if not is_bullet_kind(wanted):
            if where not in _OWN:
                raise UsageError(f"a {wanted} is a learner's own: leave the scope out")
            return await _of_turns(store, _name(learner), wanted, most, agent)
        shown = replace(shown, kinds=frozenset({wanted}))
    return await _found(store, learner, where, shown, most)


async def search_memories(
    store: Store,
    learner: Caller | str,
    words: str,
    limit: int = 10,
    *,
    scope: str | None = None,
    agent: str | None = None,
) -> tuple[MemoryItem, ...]:
    """Return the memories of a scope whose text holds all of these words, at most `limit`.

    Order and errors are those of `memories`. What a turn would be shown, `PlaybookRetriever` finds.
    """
    where = checked_scope(scope, agent)
    return await _found(store, learner, where, BulletFilter(words=words, tags=_tags(agent)), max(0, limit))


def checked_scope(scope: str | None, agent: str | None = None) -> Scope | None:
    """Return the scope. Raises UsageError for an unknown one, and for `agent` without the agent's name."""
    if scope is not None and scope not in get_args(Scope):
        raise UsageError(unknown("scope", scope, get_args(Scope)))
    if scope == "agent" and not agent:
        raise UsageError("the scope agent needs an agent: give its name")
    return cast("Scope | None", scope)


async def own_names(store: Store, learner: str, scope: Scope) -> tuple[str, ...]:
    """Return the names of the learner's own playbooks in a scope: those that can be consolidated."""
    first = (DEFAULT,) if scope in _OWN else ()
    if scope == "agent":
        return first
    return (*first, *[each.name async for each in all_playbooks(store, learner) if _is_of(each, scope)])


async def _found(
    store: Store, learner: Caller | str, scope: Scope | None, shown: BulletFilter, most: int
) -> tuple[MemoryItem, ...]:
    found = list[MemoryItem]()
    async for place in _places(store, learner, scope):
        if len(found) >= most:
            break
        try:
            bullets = (await place.load()).playbook.bullets()
        except PlaybookNotFound:  # revoked or deleted meanwhile
            continue
        found += (_item(bullet, place) for bullet in bullets if shown.passes(bullet))
    return tuple(found[:most])


async def _places(store: Store, learner: Caller | str, scope: Scope | None) -> AsyncIterator[PlaybookHandle]:
    """Yield the playbooks of a scope, the own ones first, each opened with the right that the learner has."""
    name = _name(learner)
    if scope in _OWN:
        yield PlaybookHandle(PlaybookRef(name, DEFAULT), store, store, name)
    if scope in (None, "agent"):
        return
    caller = await caller_of(learner, store) if isinstance(learner, str) else learner
    entries = [each async for each in all_playbooks(store, name) if _is_of(each, scope)]
    if scope != "user":
        entries += await _shared(store, caller, by_team=scope == "tenant")
    for entry in entries:
        try:
            yield await open_by_id(store, entry.playbook_id, caller)
        except PlaybookNotFound:
            continue


def _is_of(entry: PlaybookEntry, scope: Scope) -> bool:
    """Whether a named playbook is of a scope."""
    scopes = ("agent", "user") if scope == "user" else (scope,)
    return entry.scope in scopes and not entry.ref.is_default


async def _shared(store: Store, caller: Caller, *, by_team: bool) -> list[PlaybookEntry]:
    """The playbooks of others that the caller may read, or those of them that a team of theirs may read."""
    shared = await shared_with(store, caller, limit=MAX_PLAYBOOKS)
    if not by_team:
        return [each.entry for each in shared]
    subjects = [str(Subject("team", team)) for team in sorted(caller.teams)]
    page = await store.playbooks.shared_with(subjects, MAX_PLAYBOOKS) if subjects else ()
    through = {entry.playbook_id for entry, _ in page}
    return [each.entry for each in shared if each.entry.playbook_id in through]


async def destination(
    store: Store,
    learner: Caller | str,
    scope: Scope | None = None,
    playbook: PlaybookHandle | str | None = None,
) -> PlaybookHandle:
    """Return the playbook that a memory of this scope goes to: the named one, else the only one to write.

    Raises UsageError where there is none, or several; PlaybookNotFound for a name.
    """
    if isinstance(playbook, str):
        return await open_playbook(store, playbook, _name(learner), learner)
    if playbook is not None:
        return playbook
    writable = list[PlaybookHandle]()
    async for place in _places(store, learner, scope):
        if scope in _OWN:
            return place  # the own memory comes first
        try:
            if await place.may(Right.WRITE):
                writable.append(place)
        except PlaybookNotFound:
            continue
    if len(writable) == 1:
        return writable[0]
    names = ", ".join(shown_name(place) for place in writable[:5])
    raise UsageError(
        f"several playbooks fit: give one of {names}"
        if writable
        else f"you can't write to any playbook of the scope {scope}: create one, or ask for a grant as editor"
    )


async def _of_turns(
    store: Store, learner: str, kind: Kind, most: int, agent: str | None
) -> tuple[MemoryItem, ...]:
    limit = most if kind == "trajectory" else MAX_READ
    turns = (
        await store.turns(learner, limit)
        if agent is None
        else await store.find_turns(learner, TrajectoryFilter(agent=agent), limit=limit)
    )
    if kind == "trajectory":
        return tuple(MemoryItem(turn.turn_id, kind, turn.task, turn.started_at) for turn in turns)
    return tuple(memory for turn in turns for memory in _reflections(turn))[:most]


def _reflections(turn: TurnRecord) -> Iterable[MemoryItem]:
    for reflection in reversed(turn.reflections):
        lines = (
            reflection.insight,
            *reflection.recommendations,
            *reflection.failures,
            *reflection.successes,
            *reflection.observations,
        )
        content = next((line for line in lines if line), "nothing to learn")
        yield MemoryItem(reflection.turn_id, "reflection", content, reflection.at)


def _name(learner: Caller | str) -> str:
    """Raises UsageError for the host, who has no memory of its own."""
    name = learner if isinstance(learner, str) else learner.user
    if name is None:
        raise UsageError("no learner given: memories belong to one")
    return name


def _tags(agent: str | None) -> tuple[str, ...]:
    return () if agent is None else (agent_label(agent),)


def shown_name(place: PlaybookHandle) -> str:
    """Return the name of a playbook in lists of memories: `default`, or `owner/name`."""
    return DEFAULT if place.named is None else f"{place.ref.owner or ''}/{place.ref.name}"


def _item(bullet: Bullet, place: PlaybookHandle) -> MemoryItem:
    return MemoryItem(
        bullet.id, kind_of(bullet), bullet.content, bullet.created_at, bullet.importance, shown_name(place)
    )


def _refused(rejection: Rejection) -> AceError:
    if rejection.why.startswith("unknown trajectory"):
        return TrajectoryNotFound(f"{rejection.why}: trajectory list shows the ids; nothing is stored")
    return ChangeRefused(f"not remembered: {rejection.why}")
