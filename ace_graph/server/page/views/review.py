"""The review: what waits for a decision: bullets that are switched off, proposals, possible merges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import RedirectResponse

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.catalogue.name import DEFAULT
from ace_graph.memory.delta.operations import Operation, Release, Remove
from ace_graph.server.page.editing import PlaceDep, after_change, edit_for
from ace_graph.server.page.said import Said
from ace_graph.server.page.session import Visitor, VisitorDep, prefix_of, view_of
from ace_graph.server.routes.edit import playbook_of
from ace_graph.server.routes.playbooks.catalogue import PageQuery, list_all
from ace_graph.server.routes.playbooks.consolidation import (
    ConsolidateBody,
    ConsolidationReply,
    consolidate_playbook,
)
from ace_graph.server.routes.playbooks.curation import DistinctBody, MergeBody, distinct, merge
from ace_graph.server.routes.playbooks.proposals import (
    AcceptBody,
    ProposalReply,
    ProposalsQuery,
    RefuseBody,
    accept,
    list_proposals,
    refuse,
)
from ace_graph.server.schemas import Text

__all__ = ["routes"]

routes = APIRouter(prefix="/review")

_VIEW = "/review"
Ids = Annotated[list[str], Field(max_length=200)]


@dataclass(frozen=True)
class Group:
    """Bullets that would become one, and the text that it would have."""

    bullets: tuple[Bullet, ...]
    text: str


class DecisionForm(BaseModel):
    """Bullets, and what becomes of them. `one` is the row whose own button was used."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    ids: Ids = []
    one: Annotated[str, Field(max_length=128)] = ""
    decision: Literal["approve", "reject"]

    @property
    def chosen(self) -> tuple[str, ...]:
        """The bullets that it is about."""
        return (self.one,) if self.one else tuple(dict.fromkeys(self.ids))


class GroupForm(BaseModel):
    """Bullets of a group."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    ids: Ids
    decision: Literal["approve", "reject"]


class ProposalForm(BaseModel):
    """What becomes of a proposal, and why; the proposer reads it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    decision: Literal["approve", "reject"]
    reason: Annotated[Text, Field(max_length=500)] = ""


@routes.get("")
async def show(request: Request, visitor: VisitorDep, query: Annotated[Said, Query()]) -> Response:
    """Show what waits."""
    target = await playbook_of(visitor.services.store, DEFAULT, visitor.user)
    snapshot = await visitor.services.store.load(target.key)
    bullets = snapshot.playbook.bullets()
    values = {
        "query": query,
        "playbook_id": DEFAULT,
        "quarantined": [each for each in bullets if each.status == "quarantined"],
        "proposals": await _proposals(visitor),
        "groups": await _groups(visitor, {each.id: each for each in bullets}),
    }
    return view_of(request, visitor, "review.html", values)


@routes.post("/bullets")
async def decide_bullets(
    request: Request, visitor: VisitorDep, form: Annotated[DecisionForm, Form()]
) -> Response:
    """Let bullets into prompts again, or remove them: all of them or none."""
    target = await playbook_of(visitor.services.store, DEFAULT, visitor.user)
    edit = await edit_for(visitor, target, "")
    approved = form.decision == "approve"
    wanted: Sequence[Operation] = [
        Release(bullet_id=name) if approved else Remove(bullet_id=name) for name in form.chosen
    ]

    async def decide() -> object:
        return await edit.commit(await edit.load(), wanted, f"{form.decision}d in the review")

    return await after_change(request, _VIEW, "on" if approved else "removed", edit, decide)


@routes.post("/groups")
async def decide_group(request: Request, visitor: VisitorDep, form: Annotated[GroupForm, Form()]) -> Response:
    """Merge a group, or say that its bullets mean different things, so that nobody proposes it again."""
    target = await playbook_of(visitor.services.store, DEFAULT, visitor.user)
    approved = form.decision == "approve"
    edit = await edit_for(visitor, target, "", own=not approved)

    async def decide() -> object:
        if approved:
            return await merge(MergeBody(ids=form.ids), edit)
        return await distinct(DistinctBody(ids=form.ids), edit)

    return await after_change(request, _VIEW, "merged" if approved else "distinct", edit, decide)


@routes.post("/playbooks/{playbook_id}/proposals/{proposal_id}")
async def decide_proposal(
    request: Request,
    target: PlaceDep,
    proposal_id: Annotated[str, Path(min_length=1, max_length=128)],
    visitor: VisitorDep,
    form: Annotated[ProposalForm, Form()],
) -> Response:
    """Take a proposal into the playbook, or refuse it."""
    if form.decision == "approve":
        edit = await edit_for(visitor, target, "")
        await accept(proposal_id, AcceptBody(), edit)
    else:
        await refuse(target, proposal_id, visitor.services, RefuseBody(reason=form.reason))
    said = "accepted" if form.decision == "approve" else "refused"
    return RedirectResponse(f"{prefix_of(request)}{_VIEW}?said={said}", 303)


async def _proposals(visitor: Visitor) -> list[tuple[str, ProposalReply]]:
    """The proposals that wait, to playbooks that the visitor may write, with the playbook's name."""
    if visitor.identity.operator is not None:
        return []
    found: list[tuple[str, ProposalReply]] = []
    for which in ("own", "shared"):
        query = PageQuery.model_validate({"which": which, "limit": 100})
        for listed in (await list_all(visitor.learner, visitor.user, visitor.services, query)).playbooks:
            if listed.playbook_id != DEFAULT and listed.right in ("write", "own"):
                target = await playbook_of(visitor.services.store, listed.playbook_id, visitor.user)
                waiting = await list_proposals(target, visitor.services, ProposalsQuery())
                found += [(listed.name, each) for each in waiting.proposals]
    return found


async def _groups(visitor: Visitor, bullets: dict[str, Bullet]) -> list[Group]:
    """The merges that a consolidation would make now; none where nothing is stored."""
    if not bullets:
        return []
    target = await playbook_of(visitor.services.store, DEFAULT, visitor.user)
    edit = await edit_for(visitor, target, "", own=True)
    plan = await consolidate_playbook(DEFAULT, ConsolidateBody(dry_run=True), edit)
    if not isinstance(plan, ConsolidationReply):
        return []
    return [
        Group(tuple(bullets[name] for name in each.ids if name in bullets), each.text) for each in plan.groups
    ]
