"""What a playbook can be filled with, as the operations that fill it; and its bullets screened again.

Nothing is taken over unseen: texts are checked and screened whether they are merged in or replace everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import uuid4

from ace_graph.base.clock import utc_now
from ace_graph.base.errors import ChangeRefused
from ace_graph.base.off_loop import Steps, in_slices
from ace_graph.memory.bullet import Bullet, BulletSource, content_hash
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.effect import Rejection, Report, apply
from ace_graph.memory.delta.operations import Add, Delta, Operation, Rescreen, Reset
from ace_graph.memory.delta.resolve import resolving
from ace_graph.memory.formats.json import JsonFormat
from ace_graph.memory.formats.registry import read_bullets
from ace_graph.memory.playbook import Playbook, id_number, mint_id
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.store import ContentStore, Store
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.views import PlaybookContent, StrategyEntry, add_of

Content = Playbook | PlaybookContent | Iterable[str | Add | StrategyEntry]
"""A playbook, its strategies, or texts, Add operations and strategies."""


@dataclass(frozen=True)
class Change:
    """Who changes a playbook, when and why; and what else is asked of the commit.

    `keeps_label`: the version has the label of the one before. With `expected_etag` the change is for the
    content with that etag only. With an `op_id`, at most 128 characters, the change is made once, however
    often it is asked for.
    """

    author: str = "host"
    reason: str = ""
    now: datetime | None = None
    keeps_label: bool = False
    expected_etag: str | None = None
    op_id: str | None = None

    def delta(self, *operations: Operation) -> Delta:
        """Return the operations as one delta."""
        return Delta(
            op_id=self.op_id or uuid4().hex,
            now=self.now or utc_now(),
            operations=operations,
            author=self.author,
            reason=self.reason[:500],
            keeps_label=self.keeps_label,
            expected_etag=self.expected_etag,
        )


@dataclass(frozen=True)
class Replacement:
    """The operation that replaces everything, and what of the new content was refused."""

    operation: Reset
    refused: tuple[Rejection, ...] = ()


def adds_of(content: Content, now: datetime) -> list[Add]:
    """Return the operations that add this content; `now` is when confidences are stated.

    Raises `pydantic.ValidationError` for an empty text.
    """
    if isinstance(content, Playbook):
        return (
            list(read_bullets(JsonFormat().write(content), JsonFormat.name).bullets) if len(content) else []
        )
    if isinstance(content, str):
        content = [content]
    parts = content.strategies if isinstance(content, PlaybookContent) else content
    return [_add_of_part(each, now) for each in parts]


def _add_of_part(part: str | Add | StrategyEntry, now: datetime) -> Add:
    by_host = (BulletSource.HOST,)
    if isinstance(part, StrategyEntry):
        return add_of(part, now).model_copy(update={"sources": by_host})
    return Add(content=part, sources=by_host) if isinstance(part, str) else part


def without_turns(adds: Iterable[Add]) -> list[Add]:
    """Return the operations without the turns that their bullets came from, and the words of these turns.

    A named playbook may be shown to others; where a bullet came from stays in the learner's own memory.
    """
    nothing = {"turn_id": None, "conversation_id": None, "source_text": None, "source_words": ()}
    return [add.model_copy(update=nothing) for add in adds]


async def unknown_examples(store: Store, owner: str | None, adds: Iterable[Add]) -> frozenset[str]:
    """Return the trajectories that the operations name and that the owner has no record of."""
    named = frozenset(name for add in adds for name in add.examples)
    if not named or owner is None:
        return named
    found = await store.find_turns(owner, TrajectoryFilter(turn_ids=named), limit=len(named) * 4)
    return named - {turn.turn_id for turn in found}


def replacement(
    adds: Sequence[Add], present: Playbook, policy: Policy, now: datetime, unknown: Collection[str] = ()
) -> Steps[Replacement]:
    """Return in steps what replaces `present`, judged as if it were added to an empty playbook.

    A bullet keeps the id that it asks for. What is there already, and said again, stays as it is, votes and
    all; other bullets get ids that were never used. `unknown` are trajectories that are not stored.
    """
    known = dict[str, Bullet]()
    for add in adds:
        known.update({bullet.id: bullet for bullet in _known(add, present)})
        yield
    ids = {content_hash(bullet.content): name for name, bullet in known.items()}
    numbered = _numbered(adds, ids, present.next_id)
    delta = Delta(op_id="replacement", now=now, operations=tuple(numbered))
    effect = yield from resolving(Snapshot(), delta, policy, unknown)
    bullets = [known.get(bullet.id, bullet) for bullet in apply(Playbook(), effect).bullets()]
    return Replacement(Reset(bullets=tuple(bullets)), effect.report.rejected)


def _known(add: Add, present: Playbook) -> Iterable[Bullet]:
    """The bullet that is added again as it is: nothing that the operation says differs from it."""
    names = (add.id,) if add.id else present.hashes.get(content_hash(add.content), ())
    found = present.get_bullet(names[0]) if names else None
    said = add.model_fields_set & Bullet.model_fields.keys()
    if found and all(getattr(add, name) == getattr(found, name) for name in said):
        yield found


def _numbered(adds: Iterable[Add], ids: Mapping[str, str], next_id: int) -> Iterator[Add]:
    """The operations, each with an id to ask for: its own, that of a known text, or one never used."""
    asked = list(adds)
    number = max([next_id, *(1 + id_number(add.id) for add in asked if add.id is not None)])
    for add in asked:
        name = add.id or ids.get(content_hash(add.content))
        if name is None:
            name, number = mint_id(add.section, number), number + 1
        yield add.model_copy(update={"id": name})


def check_any_accepted(asked: int, refused: tuple[Rejection, ...]) -> None:
    """Raise ChangeRefused when all of the content was refused."""
    if asked and len(refused) >= asked:
        first = refused[0]
        raise ChangeRefused(f"{first.id}: {first.why}: none of the content was taken; correct it")


REASON = "playbook rescreen"


@dataclass(frozen=True)
class Rescreened:
    """What screening again has changed, in ids with the reasons of those kept back; the version after it."""

    kept_back: dict[str, str]
    released: tuple[str, ...]
    version: int


async def rescreen(
    store: ContentStore, key: str, base: Snapshot, change: Change, *, dry_run: bool = False
) -> Rescreened:
    """Screen all bullets again; what a person released, kept back or vouched for stays.

    With `dry_run`, or where nothing changes, nothing is written. Raises what the store raises.
    """
    # The ids whose last move was a person's release, as far back as the history goes. Bullets say so
    # themselves since they have `vouched`; those that were released before do not
    kept = await store.history(key)
    released: dict[str, None] = {}
    for entry in kept.entries:
        for bullet_id in entry.report.quarantined:
            released.pop(bullet_id, None)
        if entry.reason != REASON:
            released.update(dict.fromkeys(entry.report.released))
    operation = Rescreen(kept=tuple(released))
    delta = replace(change, reason=REASON).delta(operation)
    effect = await in_slices(resolving(base, delta, store.policy), key)
    if dry_run or not effect.changes:
        return _result_of(effect.report, apply(base.playbook, effect), base.version.n)
    return rescreened(await store.commit(key, delta, base))


def rescreened(done: Commit) -> Rescreened:
    """Return what a commit of `rescreen` has changed."""
    return _result_of(done.report, done.snapshot.playbook, done.version.n)


def _result_of(report: Report, after: Playbook, version: int) -> Rescreened:
    bullets = (after.get_bullet(bullet_id) for bullet_id in report.quarantined)
    reasons = {bullet.id: bullet.quarantine_reason or "" for bullet in bullets if bullet is not None}
    return Rescreened(reasons, report.released, version)
