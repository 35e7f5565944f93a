"""The review: what waits for a decision: bullets that are switched off, proposals, possible merges."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

from fastapi import APIRouter, Form, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, Json

from ace_graph.base.errors import ChangeRefused, RequestRefused
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.catalogue import DEFAULT
from ace_graph.memory.delta.operations import Operation, Release, Remove
from ace_graph.playbooks.handle import PlaybookHandle
from ace_graph.server.middleware import does
from ace_graph.server.page.editing import PlaceDep, after_change, edit_for, place_of, to_view
from ace_graph.server.page.session import Flash, PageRoute, Visitor, VisitorDep, view_of
from ace_graph.server.routes.consolidation import ConsolidateBody, ConsolidationReply, consolidate_playbook
from ace_graph.server.routes.edit import playbook_of
from ace_graph.server.routes.playbook import DistinctBody, MergeBody, distinct, merge
from ace_graph.server.routes.playbooks import PageQuery, list_all
from ace_graph.server.routes.sharing import (
    AcceptBody,
    ProposalReply,
    ProposalsQuery,
    RefuseBody,
    accept,
    list_proposals,
    refuse,
)
from ace_graph.server.schemas import Text

routes = APIRouter(prefix="/review", route_class=PageRoute)
_VIEW = "/review"
Item = TypeVar("Item")
Name = Annotated[str, Field(min_length=1, max_length=128)]
Ids = Annotated[list[str], Field(max_length=200)]
Decision = Literal["approve", "reject"]
Reason = Annotated[Text, Field(max_length=500)]


@dataclass(frozen=True)
class ReviewedGroup:
    """Bullets that would become one, and the text that it would have."""

    bullets: tuple[Bullet, ...]
    text: str


class BulletsForm(BaseModel):
    """Bullets, and what becomes of them."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    ids: Ids = []
    decision: Decision


class GroupsForm(BaseModel):
    """Groups of bullets, each as a JSON list of ids."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    groups: Annotated[list[Json[Ids]], Field(max_length=50)] = []
    decision: Decision


class ProposalForm(BaseModel):
    """What becomes of a proposal, and why; the proposer reads it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    decision: Decision
    reason: Reason = ""


class ProposalsForm(ProposalForm):
    """What becomes of several: each a JSON list of its playbook and its own id."""

    proposals: Annotated[list[Json[tuple[Name, Name]]], Field(max_length=50)] = []


@routes.get("")
async def show(request: Request, visitor: VisitorDep, query: Annotated[Flash, Query()]) -> Response:
    """Show what waits."""
    target = await playbook_of(visitor.services.store, DEFAULT, visitor.identity)
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


@routes.post("/bullets", dependencies=[does("change")])
async def decide_bullets(
    request: Request, visitor: VisitorDep, form: Annotated[BulletsForm, Form()]
) -> Response:
    """Let bullets into prompts again, or remove them: all of them or none."""
    target = await playbook_of(visitor.services.store, DEFAULT, visitor.identity)
    edit = await edit_for(visitor, target, "")
    approved = form.decision == "approve"
    wanted: Sequence[Operation] = [
        Release(bullet_id=name) if approved else Remove(bullet_id=name) for name in dict.fromkeys(form.ids)
    ]

    async def decide() -> object:
        return await edit.apply(f"{form.decision}d in the review", *wanted)

    return await after_change(request, _VIEW, "on" if approved else "removed", edit, decide)


@routes.post("/groups", dependencies=[does("change")])
async def decide_groups(
    request: Request, visitor: VisitorDep, form: Annotated[GroupsForm, Form()]
) -> Response:
    """Merge groups, or say that their bullets mean different things, so that nobody proposes it again."""
    target = await playbook_of(visitor.services.store, DEFAULT, visitor.identity)
    approved = form.decision == "approve"

    async def decide(ids: list[str]) -> None:
        edit = await edit_for(visitor, target, "", own=not approved)
        await (merge(MergeBody(ids=ids), edit) if approved else distinct(DistinctBody(ids=ids), edit))

    failed = list[list[str]]()

    async def decide_all() -> None:
        failed.extend(await _not_decided(form.groups, decide))

    edit = await edit_for(visitor, target, "")
    done = await after_change(request, _VIEW, "merged" if approved else "distinct", edit, decide_all)
    return to_view(request, _VIEW, {"said": "some"}) if failed else done


@routes.post("/proposals", dependencies=[does("share")])
async def decide_proposals(
    request: Request, visitor: VisitorDep, form: Annotated[ProposalsForm, Form()]
) -> Response:
    """Take proposals into their playbooks, or refuse them."""

    async def decide(names: tuple[str, str]) -> None:
        target = await place_of(names[0], visitor)
        await _decide_proposal(visitor, target, names[1], form)

    failed = await _not_decided(form.proposals, decide)
    said = "accepted" if form.decision == "approve" else "refused"
    return to_view(request, _VIEW, {"said": "some" if failed else said if form.proposals else "nothing"})


@routes.post("/playbooks/{playbook_id}/proposals/{proposal_id}", dependencies=[does("share")])
async def decide_proposal(
    request: Request,
    target: PlaceDep,
    proposal_id: Annotated[str, Path(min_length=1, max_length=128)],
    visitor: VisitorDep,
    form: Annotated[ProposalForm, Form()],
) -> Response:
    """Take a proposal into the playbook, which can be undone, or refuse it."""
    if form.decision == "reject":
        await _decide_proposal(visitor, target, proposal_id, form)
        return to_view(request, _VIEW, {"said": "refused"})
    edit = await edit_for(visitor, target, "")
    return await after_change(
        request, _VIEW, "accepted", edit, lambda: accept(proposal_id, AcceptBody(), edit)
    )


async def _decide_proposal(
    visitor: Visitor, target: PlaybookHandle, proposal_id: str, form: ProposalForm
) -> None:
    if form.decision == "approve":
        await accept(proposal_id, AcceptBody(), await edit_for(visitor, target, ""))
    else:
        await refuse(target, proposal_id, visitor.services, RefuseBody(reason=form.reason))


async def _not_decided(each: Sequence[Item], decide: Callable[[Item], Awaitable[None]]) -> list[Item]:
    """Decide on one after the other; return those for which things have changed. Of a single one, raise."""
    failed = list[Item]()
    for item in each:
        try:
            await decide(item)
        except (ChangeRefused, RequestRefused):
            if len(each) == 1:
                raise
            failed.append(item)
    return failed


async def _proposals(visitor: Visitor) -> list[tuple[str, ProposalReply]]:
    """The proposals that wait, to playbooks that the visitor may write, with the playbook's name."""
    if not visitor.identity.may("share"):
        return []
    found: list[tuple[str, ProposalReply]] = []
    for which in ("own", "shared"):
        query = PageQuery.model_validate({"which": which, "limit": 100})
        for listed in (await list_all(visitor.identity, visitor.services, query)).playbooks:
            if listed.playbook_id != DEFAULT and listed.right in ("write", "own"):
                target = await playbook_of(visitor.services.store, listed.playbook_id, visitor.identity)
                waiting = await list_proposals(target, visitor.services, ProposalsQuery())
                found += [(listed.name, each) for each in waiting.proposals]
    return found


async def _groups(visitor: Visitor, bullets: dict[str, Bullet]) -> list[ReviewedGroup]:
    """The merges that a consolidation would make now; none where nothing is stored."""
    if not bullets:
        return []
    target = await playbook_of(visitor.services.store, DEFAULT, visitor.identity)
    edit = await edit_for(visitor, target, "", own=True)
    plan = await consolidate_playbook(DEFAULT, ConsolidateBody(dry_run=True), edit)
    if not isinstance(plan, ConsolidationReply):
        return []
    return [
        ReviewedGroup(tuple(bullets[name] for name in each.ids if name in bullets), each.text)
        for each in plan.groups
    ]
