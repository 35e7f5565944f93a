"""A dream: changes of a playbook that many runs suggest, for a person or a rule to decide. Pure.

It is a difference and no rewrite: additions, merges and archivings, each with the runs and reflections that
it comes from, what its text loses of those that it stands for, and what the questions of other turns find
before and after it. An item is checked against the present playbook when it is made, and again when it is
accepted: what has changed since, or lowers what is found, is left out with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, ValidationError

from ace_graph.base.errors import ProposalNotFound, UsageError
from ace_graph.base.frozen import Frozen
from ace_graph.memory.bullet import Text
from ace_graph.memory.commit import operation_id
from ace_graph.memory.consolidation import Figures, Outlook, PlannedGroup, Question, after_effect, measure
from ace_graph.memory.delta.operations import Add, Consolidate, Delta, Operation, Remove
from ace_graph.memory.delta.resolve import resolve
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.search.tokenize import terms
from ace_graph.memory.similarity.losses import losses
from ace_graph.memory.turn import TurnRecord

DREAM_TYPE = "dream"
"""The task type of the trajectory that a dream is stored as."""
MAX_QUESTIONS = 30
"""The most questions that an item is replayed on, of the newest turns."""
KNOWN = "the playbook says it already"
ItemKind = Literal["add", "merge", "archive"]
ItemState = Literal["open", "accepted", "refused", "replaced"]
"""`replaced`: nobody had decided it when another dream took the place of its own."""
_KINDS: Mapping[str, ItemKind] = {"add": "add", "consolidate": "merge", "remove": "archive"}


class LeftOut(NamedTuple):
    """A change that a dream does not propose, or that could not be accepted: its text, and why."""

    text: Text
    why: Text


class DreamItem(Frozen):
    """One change, and what speaks for it.

    `was` holds the texts of the bullets that it merges or archives, by id; where one of them has another text
    by now, the item is stale. `wordings` are the other texts that an addition stands for, `instead` the one
    that an archived bullet gives way to. `losses` are what the new text lacks of all these. `runs` and
    `reflections` are the ids of its evidence. `figures` are what questions of turns that it does not come
    from find before and after it.
    """

    operation: Annotated[Add | Consolidate | Remove, Field(discriminator="op")]
    why: Text = ""
    was: dict[str, Text] = Field(default_factory=dict)
    wordings: tuple[Text, ...] = ()
    instead: Text = ""
    runs: tuple[Text, ...] = ()
    reflections: tuple[Text, ...] = ()
    losses: tuple[Text, ...] = ()
    figures: Figures = Figures()
    item_id: Text = ""
    state: ItemState = "open"

    @property
    def kind(self) -> ItemKind:
        """What it does."""
        return _KINDS[self.operation.op]

    @property
    def text(self) -> str:
        """The text that it adds, merges to, or archives."""
        return next(iter(self.was.values())) if isinstance(self.operation, Remove) else self.operation.content

    def shown(self) -> dict[str, object]:
        """Return it as plain values, without what only a commit needs."""
        shown = self.model_dump(mode="json", exclude={"operation", "figures", "wordings", "instead"})
        return {"kind": self.kind, "text": self.text, **shown, "questions": self.figures._asdict()}

    def named(self) -> DreamItem:
        """Return it with its id, which follows from what it changes, so that it is the same in each dream."""
        parts = (part for pair in sorted(self.was.items()) for part in pair)
        name = operation_id(DREAM_TYPE, self.operation.op, *(parts if self.was else (self.text,)))
        return self.model_copy(update={"item_id": name[:8]})

    def with_text(self, text: str) -> DreamItem:
        """Return it with another text. Raises UsageError for an archiving."""
        if isinstance(self.operation, Remove):
            raise UsageError(f"{self.item_id} archives a bullet: accept or refuse it, it has no text to edit")
        return self.model_copy(
            update={"operation": self.operation.model_copy(update={"content": text.strip()})}
        )


class Dream(Frozen):
    """A difference of one playbook, over `runs` runs, that waits to be decided item by item.

    `left_out` are changes that were not proposed, and why. `refused` are the ids of items that were refused,
    here or in an earlier dream, and are not proposed again. `proposal_id` is set where the playbook is
    somebody else's: then the lessons were proposed there, and nothing is decided here.
    """

    dream_id: Text = ""
    playbook: Text
    playbook_id: Text
    runs: int = 0
    items: tuple[DreamItem, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    refused: tuple[Text, ...] = ()
    proposal_id: Text | None = None

    @property
    def open(self) -> tuple[DreamItem, ...]:
        """The items that nobody has decided."""
        return tuple(item for item in self.items if item.state == "open")

    def shown(self) -> dict[str, object]:
        """Return it as plain values."""
        return {
            **self.model_dump(mode="json", include={"dream_id", "playbook", "runs", "proposal_id"}),
            "items": [item.shown() for item in self.items],
            "left_out": [each._asdict() for each in self.left_out],
        }

    def chosen(self, item_ids: Iterable[str] | None, state: ItemState) -> tuple[DreamItem, ...]:
        """Return the items with these ids that are open, or decided like that already; None: all open ones.

        Raises ProposalNotFound for another id, and where all are wanted and none is open.
        """
        if item_ids is None and not self.open:
            raise ProposalNotFound("there is no dream that waits for a decision: playbook dream makes one")
        items = {item.item_id: item for item in self.items if item.state in ("open", state)}
        names = [item.item_id for item in self.open] if item_ids is None else list(dict.fromkeys(item_ids))
        for name in names:
            if name not in items:
                raise ProposalNotFound(
                    f"the dream has no open item {name[:60]}: playbook dream lists those that it has"
                )
        return tuple(items[name] for name in names)


def supported(item: DreamItem, fewest: int) -> bool:
    """Whether a rule may accept it: it loses nothing, and is a merge or has so many runs behind it."""
    return not item.losses and (item.kind == "merge" or len(item.runs) >= fewest)


def merge_item(planned: PlannedGroup) -> DreamItem:
    """Return the item for a group of a consolidation's plan; the runs are those that its bullets name."""
    bullets = planned.group.bullets
    return DreamItem(
        operation=planned.operation,
        why="they say the same",
        was={bullet.id: bullet.content for bullet in bullets},
        runs=tuple(dict.fromkeys(run for bullet in bullets for run in bullet.examples)),
    ).named()


def archive_item(playbook: Playbook, bullet_id: str, why: str, by: str | None) -> DreamItem:
    """Return the item that archives a bullet; the turns that blame it are its runs.

    `by` is the bullet that says something else on the subject, where one does: its runs count, too.
    """
    rival = None if by is None else playbook.entries[by]
    blamed = [
        turn
        for turn, votes in playbook.votes.items()
        if any(vote.verdict == "failure" and bullet_id in vote.bullet_ids for vote in votes.values())
    ]
    return DreamItem(
        operation=Remove(bullet_id=bullet_id),
        why=why if rival is None else f"something else is said now: {rival.content}",
        was={bullet_id: playbook.entries[bullet_id].content},
        instead="" if rival is None else rival.content,
        runs=tuple(dict.fromkeys((*(() if rival is None else rival.examples), *blamed))),
    ).named()


def held_out(item: DreamItem, questions: Iterable[Question], playbook: Playbook) -> Iterator[Question]:
    """Yield the questions that an item may matter for, of turns that it does not come from.

    They belong to a bullet of the item, or share a word with its texts. In a turn that failed, what was found
    was of no use, so it speaks for nothing.
    """
    known = (playbook.entries[name] for name in item.was if name in playbook.entries)
    behind = {*item.runs, *(run for bullet in known for run in bullet.examples)}
    words = frozenset(terms(" ".join((item.text, *item.was.values()))))
    for question in questions:
        if question.turn_id in behind or question.verdict == "failure":
            continue
        if not item.was.keys().isdisjoint(question.bullet_ids) or not words.isdisjoint(terms(question.text)):
            yield question


def check_items(
    outlook: Outlook, items: Iterable[DreamItem]
) -> tuple[tuple[DreamItem, ...], tuple[LeftOut, ...], Outlook]:
    """Return the items that hold, each onto the state that the ones before it leave; the others; that state.

    An item is left out where a bullet of it has changed or is gone, where the playbook refuses it, knows it
    already or would push another bullet out for it, and where held-out questions would find less.
    """
    kept, left = list[DreamItem](), list[LeftOut]()
    for item in items:
        found, outlook = _checked(outlook, item)
        if isinstance(found, LeftOut):
            left.append(found)
        else:
            kept.append(found)
    return tuple(kept), tuple(left), outlook


def _checked(outlook: Outlook, item: DreamItem) -> tuple[DreamItem | LeftOut, Outlook]:
    state = outlook.snapshot
    for name, text in item.was.items():
        present = state.playbook.entries.get(name)
        if present is None or present.content != text:
            return LeftOut(item.text, f"{name} has changed since, or is gone: dream again"), outlook
    operations: tuple[Operation, ...] = (item.operation,)
    effect = resolve(state, Delta(op_id="dream", now=outlook.now, operations=operations), outlook.policy)
    report = effect.report
    if report.rejected:
        return LeftOut(item.text, report.rejected[0].why), outlook
    if item.kind == "add" and not report.added:
        return LeftOut(item.text, KNOWN), outlook
    if report.pruned:
        gone = ", ".join(each.id for each in report.pruned)
        return LeftOut(
            item.text, f"the playbook is full, and {gone} would go: raise ACE_MAX_BULLETS"
        ), outlook
    after = after_effect(outlook, effect)
    asked = tuple(islice(held_out(item, outlook.questions, state.playbook), MAX_QUESTIONS))
    figures = measure(asked, state, after, outlook.policy, outlook.now)
    if figures.lowered:
        return LeftOut(item.text, f"questions of other turns would find less: {figures}"), outlook
    stands = item.instead if item.kind == "archive" else item.text
    lost = tuple(map(str, losses((*item.wordings, *item.was.values()), stands)))
    return item.model_copy(update={"figures": figures, "losses": lost}), replace(outlook, snapshot=after)


# A dream as it is stored: in the metrics of a trajectory of its own, which is in progress while it waits.


def dream_of(turn: TurnRecord) -> Dream | None:
    """Return the dream that a trajectory holds, None where it holds none: anybody may use its type."""
    try:
        return Dream.model_validate(turn.metrics.get(DREAM_TYPE))
    except ValidationError:
        return None


def with_decision(turn: TurnRecord, decided: Sequence[DreamItem], now: datetime) -> TurnRecord:
    """Return the trajectory with these items as they were decided; it ends with the last one."""
    dream, items = dream_of(turn), {item.item_id: item for item in decided}
    if dream is None:
        return turn
    refused = (item.item_id for item in decided if item.state == "refused")
    dream = dream.model_copy(
        update={
            "items": tuple(items.get(item.item_id, item) for item in dream.items),
            "refused": tuple(dict.fromkeys((*dream.refused, *refused))),
        }
    )
    end = {} if dream.open else {"status": "success", "completed_at": turn.completed_at or now}
    return turn.model_copy(update={"metrics": {DREAM_TYPE: dream.model_dump(mode="json")}, **end})
