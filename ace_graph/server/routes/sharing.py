"""Sharing over HTTP: the grants on a playbook, and the proposals to it, made, decided about, withdrawn."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field

from ace_graph.base.errors import RequestRefused
from ace_graph.memory.bullet import MAX_CONTENT_CHARS, Bounded, Polarity
from ace_graph.memory.sharing import Grant, Granted, Proposal, ProposalState, Relation, SubjectKind
from ace_graph.playbooks.proposing import MAX_BULLETS, Proposals, own_proposals
from ace_graph.playbooks.sharing import Sharing
from ace_graph.server.errors import DescribedRoute, error_responses
from ace_graph.server.keyed import KeyedRoute
from ace_graph.server.middleware import does
from ace_graph.server.routes.edit import Place, PlaybookEdit, checked_place, declare_playbook_id, tag_version
from ace_graph.server.schemas import Body, BulletName, RequestBody, Text
from ace_graph.server.services import Learner, ServicesDep

routes = APIRouter(
    prefix="/api/playbooks/{playbook_id}",
    tags=["sharing"],
    route_class=KeyedRoute,
    dependencies=[Depends(declare_playbook_id), Depends(checked_place)],
)
own = APIRouter(prefix="/api/proposals", tags=["sharing"], route_class=DescribedRoute)

Kind = Annotated[SubjectKind, Field(description="A user is a learner; which agent acts, the host says.")]
Name = Annotated[
    Text, Field(min_length=1, max_length=256, description="Compared exactly.", examples=["bob", "ops"])
]


class GrantBody(RequestBody):
    """A viewer reads, a contributor proposes changes, an editor makes them, an owner grants and deletes."""

    kind: Kind
    name: Name
    relation: Granted = "viewer"


class SubjectQuery(RequestBody):
    """Whose grant."""

    kind: Kind
    name: Name


class GrantsQuery(RequestBody):
    """Which page of the grants."""

    limit: Annotated[int, Field(ge=1, le=1_000)] = 100
    after: Annotated[Text, Field(max_length=1_024, description="`next` of the page before.")] = ""


class ShowUseBody(RequestBody):
    """Whether the owners see by name how much the learner uses the playbook."""

    shown: Annotated[bool, Field(strict=True)]


class GrantReply(Body):
    """One grant. `by` is empty when who made it was forgotten. `declined`: the user has left the playbook.

    A `reader` who `shows` lets the owners see their use by name.
    """

    kind: SubjectKind | Literal["reader"]
    name: str
    relation: Relation
    by: str
    at: datetime

    @classmethod
    def about(cls, grant: Grant) -> Self:
        return cls.of(grant, kind=grant.subject.kind, name=grant.subject.name)


class GrantsReply(Body):
    """A page of grants; `next` is what `after` of the next page is, null after the last."""

    grants: list[GrantReply]
    next: str | None


@routes.get("/grants", responses=error_responses(409))
async def list_grants(playbook: Place, page_query: Annotated[GrantsQuery, Query()]) -> GrantsReply:
    """Return the grants of a playbook, in the order of the subjects. Its owners only."""
    found = await Sharing(playbook).grants(page_query.limit + 1, page_query.after)
    page = found[: page_query.limit]
    following = str(page[-1].subject) if len(found) > len(page) else None
    return GrantsReply(grants=[*map(GrantReply.about, page)], next=following)


@routes.post("/grants", status_code=201, dependencies=[does("share")])
async def grant(playbook: Place, body: GrantBody, services: ServicesDep) -> GrantReply:
    """Share a playbook with a user or a team. It takes the place of the grant that the subject had."""
    to, now = f"{body.kind}:{body.name}", services.clock.now()
    return GrantReply.about(await Sharing(playbook).grant(to, body.relation, now))


@routes.delete("/grants", status_code=204, dependencies=[does("share")])
async def revoke(playbook: Place, whose: Annotated[SubjectQuery, Query()]) -> None:
    """Take a grant away. It holds from the next request on; one that is not there is 404."""
    if not await Sharing(playbook).revoke(f"{whose.kind}:{whose.name}"):
        raise RequestRefused(404, "not_found", "there is no such grant")


@routes.post("/leave", status_code=204, dependencies=[does("share")])
async def leave(playbook: Place, services: ServicesDep) -> None:
    """Decline a playbook that was shared with the learner. A new grant brings it back."""
    await Sharing(playbook).leave(services.clock.now())


@routes.post("/show-use", status_code=204, dependencies=[does("share")])
async def show_use(playbook: Place, body: ShowUseBody, services: ServicesDep) -> None:
    """Let the owners of the playbook see the learner's use by name, or no longer. By default they don't."""
    await Sharing(playbook).show_use(body.shown, services.clock.now())


ProposalId = Annotated[str, Path(min_length=1, max_length=128, description="A proposal.")]
TrustName = Literal["unproven", "given", "proven"]
_TRUST: tuple[TrustName, ...] = ("unproven", "given", "proven")


class ProposeBody(RequestBody):
    """Bullets of the learner's own memory; with `replaces` one bullet, as a correction of the playbook's."""

    bullets: Annotated[list[BulletName], Field(min_length=1, max_length=MAX_BULLETS)]
    replaces: BulletName | None = None


class AcceptBody(RequestBody):
    """Other texts than the proposed ones, as many."""

    texts: (
        Annotated[
            list[Annotated[Text, Field(min_length=1, max_length=MAX_CONTENT_CHARS), Bounded]],
            Field(min_length=1, max_length=MAX_BULLETS),
        ]
        | None
    ) = None


class RefuseBody(RequestBody):
    """Why; the proposer reads it."""

    reason: Annotated[Text, Field(max_length=500)] = ""


class ProposalsQuery(RequestBody):
    """Which proposals."""

    state: Annotated[
        ProposalState | Literal["all"], Field(description="pending: those that can be decided.")
    ] = "pending"


class WithdrawBody(RequestBody):
    """Whose proposals."""

    by: Annotated[Text, Field(min_length=1, max_length=256)]


class ProposedReply(Body):
    """A text that is proposed, and what would come with it into prompts and lists."""

    content: str
    polarity: Polarity
    context: str | None
    topic: str | None
    tags: tuple[str, ...]


class ProposalReply(Body):
    """A proposal. `trust` is the lowest of the bullets that it is from; `by` is empty for many learners.

    `decidedBy` is for those who may write; `reason` says why it was refused.
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

    @classmethod
    def about(cls, proposal: Proposal) -> Self:
        trust, replaces = _TRUST[proposal.trust], list(proposal.targets)
        return cls.of(proposal, bullets=proposal.adds, replaces=replaces, trust=trust)


class ProposalsReply(Body):
    """Proposals: all for who may write, the learner's own for others."""

    proposals: list[ProposalReply]


class AcceptedReply(Body):
    """The version that the playbook has now, and the bullets that say what was accepted.

    Those of them in `quarantined` are in no prompt.
    """

    version: int
    label: str
    bullets: list[str]
    quarantined: list[str]


class WithdrawnReply(Body):
    """The bullets that were removed."""

    removed: list[str]


@own.get("")
async def list_own(learner: Learner, services: ServicesDep) -> ProposalsReply:
    """Return what the learner has proposed to any playbook, the newest first, and what became of it."""
    return ProposalsReply(proposals=[*map(ProposalReply.about, await own_proposals(services.store, learner))])


@routes.get("/proposals", responses=error_responses(409))
async def list_proposals(
    playbook: Place, services: ServicesDep, query: Annotated[ProposalsQuery, Query()]
) -> ProposalsReply:
    """Return the proposals that can be decided, or with `state` those that were, and all."""
    state = None if query.state == "all" else query.state
    found = await Proposals(playbook).listed(state, services.clock.now())
    return ProposalsReply(proposals=[*map(ProposalReply.about, found)])


@routes.post("/proposals", status_code=201, dependencies=[does("share")])
async def propose(
    playbook: Place, body: ProposeBody, learner: Learner, services: ServicesDep
) -> ProposalReply:
    """Propose what the learner's memory has found. What is about the learner is refused."""
    made = await Proposals(playbook).propose(body.bullets, learner, body.replaces, services.clock.now())
    return ProposalReply.about(made)


@routes.post("/proposals/collect", dependencies=[does("share")])
async def collect(playbook: Place, services: ServicesDep) -> ProposalsReply:
    """Propose what at least five of those who may propose have found. For owners; nobody is named."""
    made = await Proposals(playbook).collect(services.clock.now())
    return ProposalsReply(proposals=[] if made is None else [ProposalReply.about(made)])


@routes.post("/proposals/{proposal_id}/accept", dependencies=[does("share")])
async def accept(proposal_id: ProposalId, body: AcceptBody, edit: PlaybookEdit) -> AcceptedReply:
    """Take a proposal into the playbook. It is 409 where a bullet that it corrects was changed since."""
    etag, now = await edit.expected_etag(), edit.services.clock.now()
    done = await Proposals(edit.playbook).accept(proposal_id, body.texts, now, expected_etag=etag)
    version, report = done.version, done.report
    tag_version(edit.response, version)
    bullets = [*report.added, *report.reinforced]
    return AcceptedReply.of(report, version=version.n, label=str(version.label), bullets=bullets)


@routes.post("/proposals/{proposal_id}/refuse", dependencies=[does("share")])
async def refuse(
    playbook: Place, proposal_id: ProposalId, services: ServicesDep, body: RefuseBody | None = None
) -> ProposalReply:
    """Refuse a proposal."""
    reason = "" if body is None else body.reason
    return ProposalReply.about(await Proposals(playbook).refuse(proposal_id, reason, services.clock.now()))


@routes.post("/withdraw", dependencies=[does("share")])
async def withdraw(body: WithdrawBody, edit: PlaybookEdit) -> WithdrawnReply:
    """Remove what came by a user's proposals, in one version."""
    etag, now = await edit.expected_etag(), edit.services.clock.now()
    done = await Proposals(edit.playbook).withdraw(body.by, now, expected_etag=etag)
    return WithdrawnReply(removed=[] if done is None else list(done.report.removed))
