"""Proposals for a shared playbook over HTTP: made, listed, accepted or refused; a source is withdrawn."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from ace_graph.memory.bullet import MAX_CONTENT_CHARS, Bounded
from ace_graph.memory.sharing.proposal import Proposal, ProposalState
from ace_graph.playbooks.proposals import MAX_BULLETS, Proposals, own_proposals
from ace_graph.server.dependencies import Learner, ServicesDep
from ace_graph.server.errors import error_responses
from ace_graph.server.keyed import KeyedRoute
from ace_graph.server.middleware.access_control import does
from ace_graph.server.routes.edit import Place, PlaybookEdit, checked_place, declare_playbook_id, tag_version
from ace_graph.server.schemas import Text

__all__ = ["own", "routes"]

routes = APIRouter(
    prefix="/api/playbooks/{playbook_id}",
    tags=["sharing"],
    route_class=KeyedRoute,
    dependencies=[Depends(declare_playbook_id), Depends(checked_place)],
)

own = APIRouter(prefix="/api/proposals", tags=["sharing"])

ProposalId = Annotated[str, Path(min_length=1, max_length=128, description="A proposal.")]
Id = Annotated[Text, Field(min_length=1, max_length=128, examples=["fil-00042"])]
TrustName = Literal["unproven", "given", "proven"]
_TRUST: tuple[TrustName, ...] = ("unproven", "given", "proven")


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ProposeBody(_Body):
    """Bullets of the learner's own memory; with `replaces` one bullet, as a correction of the playbook's."""

    bullets: Annotated[list[Id], Field(min_length=1, max_length=MAX_BULLETS)]
    replaces: Id | None = None


class AcceptBody(_Body):
    """Other texts than the proposed ones, as many."""

    texts: (
        Annotated[
            list[Annotated[Text, Field(min_length=1, max_length=MAX_CONTENT_CHARS), Bounded]],
            Field(min_length=1, max_length=MAX_BULLETS),
        ]
        | None
    ) = None


class RefuseBody(_Body):
    """Why; the proposer reads it."""

    reason: Annotated[Text, Field(max_length=500)] = ""


class ProposalsQuery(_Body):
    """Which proposals."""

    state: Annotated[
        ProposalState | Literal["all"], Field(description="pending: those that can be decided.")
    ] = "pending"


class WithdrawBody(_Body):
    """Whose proposals."""

    by: Annotated[Text, Field(min_length=1, max_length=256)]


class ProposedReply(_Body):
    """A text that is proposed, and what would come with it into prompts and lists."""

    content: str
    context: str | None
    topic: str | None
    tags: tuple[str, ...]


class ProposalReply(_Body):
    """A proposal. `trust` is the lowest of the bullets that it is from; `by` is empty for many learners.

    `decided_by` is for those who may write; `reason` says why it was refused.
    """

    proposal_id: str
    playbook_id: str
    by: str
    texts: list[str]
    bullets: list[ProposedReply]
    replaces: list[str]
    trust: TrustName
    lineage: list[str]
    state: ProposalState
    at: datetime
    expires: datetime
    reason: str
    decided_by: str
    decided_at: datetime | None


class ProposalsReply(_Body):
    """Proposals: all for who may write, the learner's own for others."""

    proposals: list[ProposalReply]


class AcceptedReply(_Body):
    """The version that the playbook has now, and the bullets that say what was accepted.

    Those of them in `quarantined` are in no prompt.
    """

    version: int
    label: str
    bullets: list[str]
    quarantined: list[str]


class WithdrawnReply(_Body):
    """The bullets that were removed."""

    removed: list[str]


@own.get("", responses=error_responses())
async def list_own(learner: Learner, services: ServicesDep) -> ProposalsReply:
    """Return what the learner has proposed to any playbook, the newest first, and what became of it."""
    return ProposalsReply(proposals=[_reply(each) for each in await own_proposals(services.store, learner)])


@routes.get("/proposals", responses=error_responses(404, 409))
async def list_proposals(
    target: Place, services: ServicesDep, query: Annotated[ProposalsQuery, Query()]
) -> ProposalsReply:
    """Return the proposals that can be decided, or with `state` those that were, and all."""
    state = None if query.state == "all" else query.state
    found = await Proposals(target).listed(state, services.clock.now())
    return ProposalsReply(proposals=[_reply(each) for each in found])


@routes.post(
    "/proposals", status_code=201, responses=error_responses(404, 408, 409, 413), dependencies=[does("share")]
)
async def propose(target: Place, body: ProposeBody, learner: Learner, services: ServicesDep) -> ProposalReply:
    """Propose what the learner's memory has found. What is about the learner is refused."""
    made = await Proposals(target).propose(body.bullets, learner, body.replaces, services.clock.now())
    return _reply(made)


@routes.post("/proposals/collect", responses=error_responses(404, 409), dependencies=[does("share")])
async def collect(target: Place, services: ServicesDep) -> ProposalsReply:
    """Propose what at least five of those who may propose have found. For owners; nobody is named."""
    made = await Proposals(target).collect(services.clock.now())
    return ProposalsReply(proposals=[] if made is None else [_reply(made)])


@routes.post(
    "/proposals/{proposal_id}/accept",
    responses=error_responses(404, 408, 409, 412, 413),
    dependencies=[does("share")],
)
async def accept(proposal_id: ProposalId, body: AcceptBody, edit: PlaybookEdit) -> AcceptedReply:
    """Take a proposal into the playbook. It is 409 where a bullet that it corrects was changed since."""
    etag, now = await edit.expected_etag(), edit.services.clock.now()
    done = await Proposals(edit.target).accept(proposal_id, body.texts, now, expected_etag=etag)
    tag_version(edit.response, done.version)
    bullets = [*done.report.added, *done.report.reinforced]
    return AcceptedReply(
        version=done.version.n,
        label=str(done.version.label),
        bullets=bullets,
        quarantined=list(done.report.quarantined),
    )


@routes.post(
    "/proposals/{proposal_id}/refuse", responses=error_responses(404, 409), dependencies=[does("share")]
)
async def refuse(
    target: Place, proposal_id: ProposalId, services: ServicesDep, body: RefuseBody | None = None
) -> ProposalReply:
    """Refuse a proposal."""
    reason = "" if body is None else body.reason
    return _reply(await Proposals(target).refuse(proposal_id, reason, services.clock.now()))


@routes.post("/withdraw", responses=error_responses(404, 408, 409, 412, 413), dependencies=[does("share")])
async def withdraw(body: WithdrawBody, edit: PlaybookEdit) -> WithdrawnReply:
    """Remove what came by a user's proposals, in one version."""
    etag, now = await edit.expected_etag(), edit.services.clock.now()
    done = await Proposals(edit.target).withdraw(body.by, now, expected_etag=etag)
    return WithdrawnReply(removed=[] if done is None else list(done.report.removed))


def _reply(proposal: Proposal) -> ProposalReply:
    return ProposalReply(
        proposal_id=proposal.proposal_id,
        playbook_id=proposal.playbook_id,
        by=proposal.by,
        texts=list(proposal.texts),
        bullets=[
            ProposedReply(content=each.content, context=each.context, topic=each.topic, tags=each.tags)
            for each in proposal.adds
        ],
        replaces=list(proposal.targets),
        trust=_TRUST[proposal.trust],
        lineage=list(proposal.lineage),
        state=proposal.state,
        at=proposal.at,
        expires=proposal.expires,
        reason=proposal.reason,
        decided_by=proposal.decided_by,
        decided_at=proposal.decided_at,
    )
