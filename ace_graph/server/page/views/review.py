"""The review: what waits for a decision: bullets that are switched off, what a dream suggests, proposals."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, TypeVar

from fastapi import APIRouter, Form, Path, Query, Response
from pydantic import Field, Json

from ace_graph.base.errors import ChangeRefused, RequestRefused
from ace_graph.learning.dreaming import last_dream
from ace_graph.memory.bullet import MAX_CONTENT_CHARS, Bullet
from ace_graph.memory.catalogue import DEFAULT
from ace_graph.memory.delta.operations import Operation, Release, Remove
from ace_graph.server.middleware import does
from ace_graph.server.page.session import Flash, Opened, OpenedDep, PageForm, PageRoute, Visitor, VisitorDep
from ace_graph.server.routes import playbook as api
from ace_graph.server.routes import sharing
from ace_graph.server.schemas import Text

routes = APIRouter(prefix="/review", route_class=PageRoute)
_VIEW = "/review"
_MOST_OWN = 10
Item = TypeVar("Item")
Name = Annotated[str, Field(min_length=1, max_length=128)]
Ids = Annotated[list[str], Field(max_length=200)]
Decision = Literal["approve", "reject"]
Reason = Annotated[Text, Field(max_length=500)]


class BulletsForm(PageForm):
    """Bullets, and what becomes of them."""

    ids: Ids = Field([])
    decision: Decision


class ItemsForm(BulletsForm):
    """Items of a dream, what becomes of them, and the text of a single one."""

    text: Annotated[Text, Field(max_length=MAX_CONTENT_CHARS)] = ""


class DecisionForm(PageForm):
    """What becomes of proposals, and why; the proposer reads it."""

    decision: Decision
    reason: Reason = ""


class ProposalForm(DecisionForm):
    """What becomes of one; its texts may have been edited."""

    texts: Annotated[
        list[Annotated[Text, Field(min_length=1, max_length=MAX_CONTENT_CHARS)]], Field(max_length=50)
    ] = Field([])


class ProposalsForm(DecisionForm):
    """What becomes of several: each a JSON list of its playbook and its own id."""

    proposals: Annotated[list[Json[tuple[Name, Name]]], Field(max_length=50)] = Field([])


@routes.get("")
async def show(visitor: VisitorDep, query: Annotated[Flash, Query()]) -> Response:
    """Show what waits."""
    opened = await visitor.open(DEFAULT)
    bullets = (await visitor.services.store.load(opened.handle.key)).playbook.bullets()
    return visitor.show(
        "review.html",
        query=query,
        playbook_id=DEFAULT,
        quarantined=[bullet for bullet in bullets if bullet.status == "quarantined"],
        proposals=await _proposals(visitor),
        mine=await _own_proposals(visitor),
        dream=await last_dream(visitor.services.store, visitor.learner),
        may_dream=visitor.identity.may("consolidate"),
    )


@routes.post("/bullets", dependencies=[does("change")])
async def decide_bullets(visitor: VisitorDep, form: Annotated[BulletsForm, Form()]) -> Response:
    """Let bullets into prompts again, or remove them: all of them or none."""
    edit = await (await visitor.open(DEFAULT)).edit()
    approved = form.decision == "approve"
    wanted: Sequence[Operation] = [
        Release(bullet_id=name) if approved else Remove(bullet_id=name) for name in dict.fromkeys(form.ids)
    ]
    decide = partial(edit.apply, f"{form.decision}d in the review", *wanted)
    return await visitor.after_change(_VIEW, "on" if approved else "removed", edit, decide)


@routes.post("/dream", dependencies=[does("consolidate")])
async def make_dream(visitor: VisitorDep) -> Response:
    """Find what many runs suggest; it waits for a decision then."""
    opened = await visitor.open(DEFAULT)
    made = await api.make_dream(opened.handle, visitor.identity, visitor.services)
    waits = any(item.state == "open" for item in made.items)
    return visitor.lead_to(_VIEW, said="dreamed" if waits else "nothing")


@routes.post("/dream/items", dependencies=[does("change")])
async def decide_items(visitor: VisitorDep, form: Annotated[ItemsForm, Form()]) -> Response:
    """Take items of a dream into the memory, a single one with the text that was typed; or refuse them."""
    edit = await (await visitor.open(DEFAULT)).edit(own=True)
    if not form.ids:
        return visitor.lead_to(_VIEW, said="nothing")
    if form.decision == "reject":
        await api.refuse_items(api.ItemsBody(items=form.ids), edit)
        return visitor.lead_to(_VIEW, said="refused")
    texts, left = {form.ids[0]: form.text} if form.text.strip() else {}, list[api.LeftOutReply]()

    async def accept() -> None:
        done = await api.accept_items(api.AcceptItemsBody(items=form.ids, texts=texts), edit)
        left.extend(done.left_out)

    done = await visitor.after_change(_VIEW, "accepted", edit, accept)
    return visitor.lead_to(_VIEW, said="some") if left else done


@routes.post("/proposals", dependencies=[does("share")])
async def decide_proposals(visitor: VisitorDep, form: Annotated[ProposalsForm, Form()]) -> Response:
    """Take proposals into their playbooks, or refuse them."""

    async def decide(names: tuple[str, str]) -> None:
        await _decide_proposal(await visitor.open(names[0]), names[1], form)

    failed = await _not_decided(form.proposals, decide)
    said = "accepted" if form.decision == "approve" else "refused"
    return visitor.lead_to(_VIEW, said="some" if failed else said if form.proposals else "nothing")


@routes.post("/playbooks/{playbook_id}/proposals/{proposal_id}", dependencies=[does("share")])
async def decide_proposal(
    opened: OpenedDep,
    proposal_id: Annotated[str, Path(min_length=1, max_length=128)],
    form: Annotated[ProposalForm, Form()],
) -> Response:
    """Take a proposal into the playbook, which can be undone, or refuse it."""
    if form.decision == "reject":
        await _decide_proposal(opened, proposal_id, form)
        return opened.visitor.lead_to(_VIEW, said="refused")
    edit = await opened.edit()
    take = partial(sharing.accept, proposal_id, sharing.AcceptBody(texts=form.texts or None), edit)
    return await opened.visitor.after_change(_VIEW, "accepted", edit, take)


async def _decide_proposal(opened: Opened, proposal_id: str, form: DecisionForm) -> None:
    if form.decision == "approve":
        await sharing.accept(proposal_id, sharing.AcceptBody(), await opened.edit())
    else:
        reason = sharing.RefuseBody(reason=form.reason)
        await sharing.refuse(opened.handle, proposal_id, opened.visitor.services, reason)


async def _not_decided(items: Sequence[Item], decide: Callable[[Item], Awaitable[None]]) -> list[Item]:
    """Decide on one after the other; return those for which things have changed. Of a single one, raise."""
    failed = list[Item]()
    for item in items:
        try:
            await decide(item)
        except (ChangeRefused, RequestRefused):
            if len(items) == 1:
                raise
            failed.append(item)
    return failed


@dataclass(frozen=True)
class WaitingProposal:
    """A proposal to the playbook of this name, and what the bullets say that it would replace."""

    name: str
    proposal: sharing.ProposalReply
    before: tuple[str, ...]


async def _proposals(visitor: Visitor) -> list[WaitingProposal]:
    """The proposals that wait, to playbooks that the visitor may write."""
    if not visitor.identity.may("share"):
        return []
    found: list[WaitingProposal] = []
    for which in ("own", "shared"):
        query = api.PageQuery.model_validate({"which": which, "limit": 100})
        for listed in (await api.list_all(visitor.identity, visitor.services, query)).playbooks:
            if listed.playbook_id != DEFAULT and listed.right in ("write", "own"):
                opened = await visitor.open(listed.playbook_id)
                waiting = await sharing.list_proposals(
                    opened.handle, visitor.services, sharing.ProposalsQuery()
                )
                replaces = any(proposal.replaces for proposal in waiting.proposals)
                texts: Mapping[str, Bullet] = (
                    (await opened.handle.load()).playbook.entries if replaces else {}
                )
                found += [
                    WaitingProposal(
                        listed.name,
                        proposal,
                        tuple(texts[name].content for name in proposal.replaces if name in texts),
                    )
                    for proposal in waiting.proposals
                ]
    return found


async def _own_proposals(visitor: Visitor) -> list[sharing.ProposalReply]:
    """The newest that the visitor has proposed."""
    if not visitor.identity.may("share"):
        return []
    return (await sharing.list_own(visitor.learner, visitor.services)).proposals[:_MOST_OWN]
