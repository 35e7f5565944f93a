"""Dreaming: what many runs suggest for a playbook, stored as a proposal, accepted or refused item by item.

    made = await dream(store, "ada")
    for item in made.open:
        print(item.item_id, item.kind, item.text, item.runs, item.losses, item.figures)
    await accept_dream(store, "ada", item_ids=[made.open[0].item_id])
    await undo(store, owner="ada")        # of ace_graph.playbooks.consolidation: all that was accepted

It has no engine of its own: a batch reflection finds what the runs have in common, curation makes additions
of it and names what is outdated, a consolidation plans the merges, and what the learner said of themselves in
imported transcripts is read as in a turn. What it proposes is the trajectory of a
dream, in progress until the last item is decided, so it is listed, exported, forgotten and cleaned as others
are. Each accepted item is a commit, and all of them are one run for `undo`. No model is called.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from ace_graph.base.clock import utc_now
from ace_graph.base.errors import ChangeRefused, PlaybookChanged
from ace_graph.base.off_loop import finish, off_loop
from ace_graph.learning.batch_reflection import (
    REFLECTOR,
    ChosenEmbeddings,
    NotEnough,
    batch_reflect,
    chosen_embeddings,
)
from ace_graph.learning.curate_reflections import lessons_of, outdated_bullets, with_known_examples
from ace_graph.learning.curator import stays_own
from ace_graph.learning.reflection import every_turn, find_reflections
from ace_graph.learning.statements.explicit import read_statements
from ace_graph.learning.statements.statement import dated
from ace_graph.learning.transcripts import MODE
from ace_graph.memory.bullet import content_hash
from ace_graph.memory.catalogue import DEFAULT
from ace_graph.memory.commit import Amend, check_expected, operation_id
from ace_graph.memory.consolidation import RUN, ConsolidationPlan, Options, Outlook, make_plan
from ace_graph.memory.delta.near import joined_by_meaning
from ace_graph.memory.delta.operations import Add, Delta
from ace_graph.memory.delta.rollback import archived
from ace_graph.memory.dream import (
    DREAM_TYPE,
    KNOWN,
    Dream,
    DreamItem,
    LeftOut,
    archive_item,
    check_items,
    dream_of,
    merge_item,
    with_decision,
)
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.rights import Right
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.store import Store
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord
from ace_graph.memory.vocabulary import vocabulary_of
from ace_graph.playbooks.consolidation import distinguish, read_outlook
from ace_graph.playbooks.handle import PlaybookHandle, User, open_owned, open_playbook
from ace_graph.playbooks.proposing import Proposals

AUTHOR = "ace_dream"
FEWEST_RUNS = 2
"""The fewest runs that something must come from, to be proposed."""
MAX_TRANSCRIPTS = 2_000
"""The newest imported exchanges in which statements are looked for."""
MAX_EACH = 50
"""The most additions, merges and archivings of one dream."""
_TRIES = 5


@dataclass(frozen=True)
class DecidedDream:
    """The dream after a decision; the items that it was made on, and what of them could not be accepted."""

    dream: Dream
    decided: tuple[DreamItem, ...]
    left_out: tuple[LeftOut, ...] = ()
    version: int = 0


# What to propose. Pure, but for the reading of the lessons.


def plan_dream(
    outlook: Outlook,
    additions: Sequence[DreamItem],
    merges: ConsolidationPlan,
    gone: Mapping[str, str] = MappingProxyType({}),
) -> tuple[tuple[DreamItem, ...], tuple[LeftOut, ...]]:
    """Return the items that hold, and those that are left out; what the playbook says already is neither.

    `gone` says of texts that were archived, by their hashes, why: these are not proposed again.
    """
    left = [LeftOut(each.text, gone[h]) for each in additions if (h := content_hash(each.text)) in gone]
    fresh = [each for each in additions if content_hash(each.text) not in gone]
    kept, refused, after = check_items(outlook, fresh)
    playbook = after.snapshot.playbook
    new = [
        bullet for name, bullet in playbook.entries.items() if name not in outlook.snapshot.playbook.entries
    ]
    outdated = finish(outdated_bullets(playbook, new, outlook.policy.similarity))
    others = [merge_item(group) for group in merges.groups[:MAX_EACH]]
    others += [archive_item(playbook, each.id, each.why, each.by) for each in outdated[:MAX_EACH]]
    more, dropped, _ = check_items(after, others)
    left += [LeftOut(" = ".join(_texts(outlook, each.ids)), each.why) for each in merges.refused]
    return (*kept, *more), tuple(each for each in (*left, *refused, *dropped) if each.why != KNOWN)


def _texts(outlook: Outlook, ids: Sequence[str]) -> list[str]:
    return [outlook.snapshot.playbook.entries[name].content for name in ids]


async def _additions(
    store: Store,
    owner: str,
    target: PlaybookHandle,
    base: Snapshot,
    embeddings: ChosenEmbeddings,
    now: datetime,
) -> tuple[int, tuple[DreamItem, ...]]:
    """How many runs there are, and an addition for all that several of them teach."""
    common = await batch_reflect(store, owner, embeddings=embeddings, clock=lambda: now)
    if isinstance(common, NotEnough):
        return common.found, ()
    patterns = {
        each.memory_id: each.pattern
        for each in common.patterns[:MAX_EACH]
        if each.pattern.frequency >= FEWEST_RUNS
    }
    labels = vocabulary_of(base.playbook.entries.values())
    found = await find_reflections(store, owner, tuple(patterns))
    taught = await lessons_of(store, owner, found, None, labels)
    adds = [add.model_copy(update={"ref": None}) for _, add in taught]
    joined = await joined_by_meaning(adds, base.playbook, chosen_embeddings(embeddings))
    items = [
        DreamItem(
            operation=add,
            why=f"{patterns[each.reflection.reflection_id].frequency} runs taught it",
            wordings=patterns[each.reflection.reflection_id].wordings,
            runs=patterns[each.reflection.reflection_id].trajectory_ids,
            reflections=(each.reflection.reflection_id,),
        ).named()
        for (each, _), add in zip(taught, joined, strict=True)
    ]
    return common.found, tuple(items)


async def _said(store: Store, owner: str, base: Playbook) -> tuple[DreamItem, ...]:
    """An addition for each statement in imported transcripts: of a slot the newest, unless a newer is known.

    What a transcript said is as old as the transcript. What is sensitive is left out: nobody was asked.
    """
    turns = list[TurnRecord]()
    async for turn in every_turn(store, owner, TrajectoryFilter()):
        turns += [turn] if turn.mode == MODE else []
        if len(turns) == MAX_TRANSCRIPTS:
            break
    at = {turn.turn_id: turn.started_at for turn in turns}
    known = {
        bullet.slot: max((at[name] for name in bullet.examples if name in at), default=bullet.created_at)
        for bullet in base.bullets()
        if bullet.slot is not None
    }
    items = dict[str, DreamItem]()
    for turn in sorted(turns, key=lambda each: each.started_at, reverse=True):
        said = await off_loop(read_statements, turn.task, base, turn.turn_id, "drop")
        for each in reversed(said):
            add = dated(each, turn.started_at.date()).operation
            if not isinstance(add, Add) or (add.slot in known and known[add.slot] > turn.started_at):
                continue
            key = add.slot or content_hash(add.content)
            before = items.get(key)
            if before is None:
                why = f"said in a transcript of {turn.started_at:%Y-%m-%d}"
                items[key] = DreamItem(operation=add, why=why, runs=(turn.turn_id,)).named()
            elif before.text == add.content:
                items[key] = before.model_copy(update={"runs": (turn.turn_id, *before.runs)})
    return tuple(items.values())[:MAX_EACH]


async def dream(
    store: Store,
    owner: str,
    name: str = DEFAULT,
    *,
    user: User = None,
    embeddings: ChosenEmbeddings = "settings",
    clock: Callable[[], datetime] = utc_now,
) -> Dream:
    """Dream over the owner's runs, and store what they suggest for a playbook as a proposal; change nothing.

    The same runs and the same playbook give the same dream, as far as it was decided; another one takes the
    place of the one before. To a playbook of somebody else the lessons are proposed as `playbooks.propose`
    does, and its owner decides. A dream without items is not stored. `embeddings` are those of
    `batch_reflect`. Raises PlaybookNotFound, PlaybookForbidden without the right to propose, ChangeRefused
    where too much is proposed already, and what the store raises.
    """
    target, now = await open_playbook(store, name, owner, user), clock()
    await target.require(Right.PROPOSE)
    base = await target.load()
    empty = Dream(playbook=target.ref.name, playbook_id=target.key)
    if base.absent:
        return empty
    runs, additions = await _additions(store, owner, target, base, embeddings, now)
    if target.named is None:
        additions += await _said(store, owner, base.playbook)
    found = operation_id(DREAM_TYPE, target.key, base.version.etag, *(item.item_id for item in additions))
    empty = empty.model_copy(update={"runs": runs, "dream_id": found})
    if target.asked is not None:
        return await _propose(target, owner, empty, additions, now)
    last = await _last(store, owner, target.key)
    if last is not None and last.dream_id == found:
        return last
    refused = () if last is None else last.refused
    outlook = await read_outlook(store, target, now)
    gone = {
        content_hash(left.bullet.content): f"it was archived in version {left.n} ({left.why})"
        for left in archived(await target.store.history(target.key), base.playbook)
        if left.why in ("removed", "harmful", "superseded")
    }
    options = Options(batch=store.policy.consolidate_batch)
    merges = await asyncio.to_thread(make_plan, outlook, options)
    items, left = await asyncio.to_thread(plan_dream, outlook, additions, merges, gone)
    made = empty.model_copy(
        update={
            "items": tuple(item for item in items if item.item_id not in refused),
            "left_out": left,
            "refused": refused,
        }
    )
    if last is not None and last.open:
        replaced = [item.model_copy(update={"state": "replaced"}) for item in last.open]
        await _decide(store, owner, last.dream_id, replaced, now)
    if made.open:
        delta = Delta(op_id=operation_id(found, DREAM_TYPE), now=now, author=AUTHOR, source=found)
        await store.commit(owner, delta, await store.load(owner), _record(made, now))
    return made


def _record(made: Dream, now: datetime) -> TurnRecord:
    return TurnRecord(
        turn_id=made.dream_id,
        attempt_id=made.dream_id,
        task=f"A dream of the playbook {made.playbook}, over {made.runs} runs",
        mode=DREAM_TYPE,
        agent=REFLECTOR,
        task_type=DREAM_TYPE,
        status="in_progress",
        metrics={DREAM_TYPE: made.model_dump(mode="json")},
        started_at=now,
    )


async def _propose(
    target: PlaybookHandle, owner: str, empty: Dream, additions: Sequence[DreamItem], now: datetime
) -> Dream:
    """Propose to somebody else's playbook what may leave the own memory; merges are its owner's business."""
    shared, runs = list[Add](), dict[str, None]()
    for item in additions:
        if isinstance(item.operation, Add) and not await off_loop(stays_own, item.operation):
            shared.append(item.operation)
            runs.update(dict.fromkeys(f"{owner}/{run}" for run in item.runs))
    name = operation_id(DREAM_TYPE, owner, target.key, *(add.content for add in shared))
    made = await Proposals(target).propose_lessons(shared, name, now, tuple(runs)) if shared else None
    return empty.model_copy(update={"proposal_id": None if made is None else made.proposal_id})


async def _last(store: Store, owner: str, playbook_id: str) -> Dream | None:
    """The newest dream of a playbook."""
    async for turn in every_turn(store, owner, TrajectoryFilter(task_type=DREAM_TYPE)):
        found = dream_of(turn)
        if found is not None and (found.playbook_id, found.dream_id) == (playbook_id, turn.turn_id):
            return found
    return None


async def last_dream(store: Store, owner: str, name: str = DEFAULT) -> Dream:
    """Return the newest dream of one of the owner's playbooks, as far as it is decided; without one an empty.

    Raises PlaybookNotFound, PlaybookForbidden for a playbook of somebody else, and what the store raises.
    """
    target = await open_owned(store, name, owner)
    last = await _last(store, owner, target.key)
    return last or Dream(playbook=target.ref.name, playbook_id=target.key)


# What is decided: each item by itself, onto the playbook as it is then.


async def accept_dream(
    store: Store,
    owner: str,
    name: str = DEFAULT,
    item_ids: Collection[str] | None = None,
    texts: Mapping[str, str] = MappingProxyType({}),
    *,
    author: str = AUTHOR,
    clock: Callable[[], datetime] = utc_now,
    expected_etag: str | None = None,
) -> DecidedDream:
    """Take open items of the newest dream into the playbook, each as one commit; None: all of them.

    `texts` are other texts by item id. Each item is checked again on the playbook as it is by then, and what
    does not hold any more stays open and is in `left_out`. One that was stopped may be called again: nothing
    is applied twice. With `expected_etag` the first commit is onto the version with that etag only, else it
    raises PlaybookChanged. Raises ProposalNotFound where there is no such item, UsageError for a text in the
    place of an archiving's, PlaybookNotFound, PlaybookForbidden, and what the store raises.
    """
    target, now = await open_owned(store, name, owner), clock()
    waiting = await last_dream(store, owner, name)
    chosen = waiting.chosen(item_ids, "accepted")
    outlook = await read_outlook(store, target, now)
    check_expected(expected_etag, outlook.snapshot.version)
    committed = frozenset(version.op_id for version in await target.store.versions(target.key))
    strict = expected_etag is not None
    accepting = _Acceptance(store, owner, target, waiting.dream_id, author, committed, strict)
    decided, left = list[DreamItem](), list[LeftOut]()
    for item in chosen:
        text = texts.get(item.item_id)
        edited = item if text is None or item.state == "accepted" else item.with_text(text)
        found, outlook = await accepting.accept(edited, outlook)
        if isinstance(found, LeftOut):
            left.append(found)
        else:
            decided.append(found)
    await target.drop_old_versions(now)
    after = await last_dream(store, owner, name)
    return DecidedDream(after, tuple(decided), tuple(left), outlook.snapshot.version.n)


@dataclass(frozen=True)
class _Acceptance:
    """Accepts items of one dream; `committed` are the op ids of the versions that the playbook has.

    `only_this_version`: where the playbook changes meanwhile, PlaybookChanged is raised.
    """

    store: Store
    owner: str
    target: PlaybookHandle
    dream_id: str
    author: str
    committed: frozenset[str]
    only_this_version: bool

    async def accept(self, item: DreamItem, outlook: Outlook) -> tuple[DreamItem | LeftOut, Outlook]:
        """Commit an item onto the newest version, and note it; return what became of it, and the state."""
        if item.state == "accepted":
            return item, outlook
        op_id = operation_id(DREAM_TYPE, self.target.key, self.dream_id, item.item_id)
        accepted = item.model_copy(update={"state": "accepted"})
        if op_id in self.committed:  # a process ended before it could note it
            await _decide(self.store, self.owner, self.dream_id, [accepted], outlook.now)
            return accepted, outlook
        if isinstance(item.operation, Add):
            (known,) = await with_known_examples(self.store, self.owner, [item.operation])
            accepted = accepted.model_copy(update={"operation": known})
        for _ in range(_TRIES):
            held, dropped, _ = await asyncio.to_thread(check_items, outlook, [accepted])
            if dropped:
                return dropped[0], outlook
            delta = Delta(
                op_id=op_id,
                now=outlook.now,
                operations=(held[0].operation,),
                author=self.author,
                reason=f"dream: {item.why}"[:500],
                source=f"{RUN}{self.dream_id}",
                expected_etag=outlook.snapshot.version.etag,
            )
            try:
                return held[0], replace(outlook, snapshot=await self._commit(delta, outlook.snapshot, held))
            except PlaybookChanged:
                if self.only_this_version:
                    raise
                outlook = await read_outlook(self.store, self.target, outlook.now)
        raise PlaybookChanged("other writers keep changing the playbook: accept the items again")

    async def _commit(self, delta: Delta, base: Snapshot, items: Sequence[DreamItem]) -> Snapshot:
        """Commit with the note that the items are accepted: in one transaction in the owner's own memory.

        A named playbook has a namespace of its own: there the note comes after, made good by the op id.
        """
        if self.target.named is not None:
            done = await self.target.commit(delta, base)
            await _decide(self.store, self.owner, self.dream_id, items, delta.now)
            return done.snapshot
        note = Amend(self.dream_id, lambda turn: with_decision(turn, items, delta.now))
        return (await self.store.commit(self.owner, delta, base, note)).snapshot


async def refuse_dream(
    store: Store,
    owner: str,
    name: str = DEFAULT,
    item_ids: Collection[str] | None = None,
    *,
    clock: Callable[[], datetime] = utc_now,
) -> DecidedDream:
    """Refuse open items of the newest dream, None: all of them, so that no dream proposes them again.

    Of a merge that also records that its bullets are distinct. Raises as `accept_dream` does.
    """
    target, now = await open_owned(store, name, owner), clock()
    waiting = await last_dream(store, owner, name)
    chosen = waiting.chosen(item_ids, "refused")
    decided = [item.model_copy(update={"state": "refused"}) for item in chosen]
    for item in decided:
        if item.kind == "merge":
            with suppress(ChangeRefused):  # its bullets are gone
                await distinguish(store, tuple(item.was), name=name, owner=owner, now=now)
    await _decide(store, owner, waiting.dream_id, decided, now)
    after = await last_dream(store, owner, name)
    return DecidedDream(after, tuple(decided), (), (await target.version()).n)


async def _decide(store: Store, owner: str, dream_id: str, items: Sequence[DreamItem], now: datetime) -> None:
    await store.amend(owner, Amend(dream_id, lambda turn: with_decision(turn, items, now)))
