"""Export and deletion of all that is stored about a learner; figures of their turns; the list of learners.

Logs, backups and what a model's provider keeps are out of reach.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Self

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse
from pydantic import ConfigDict, Field, JsonValue
from starlette.types import Receive, Scope, Send

from ace_graph.base.errors import RequestRefused
from ace_graph.base.telemetry import audit
from ace_graph.learning.trajectories import Unit, read_figures
from ace_graph.memory.stores.listing import ListedLearner, list_learners
from ace_graph.server.auth import Identity
from ace_graph.server.conversations.repository import export_chunks
from ace_graph.server.errors import REQUEST_ID, DescribedRoute, error_responses
from ace_graph.server.middleware import does, operators_only
from ace_graph.server.schemas import Body, RequestBody
from ace_graph.server.services import Learner, ServicesDep

routes = APIRouter(prefix="/api/learner", tags=["learner"], route_class=DescribedRoute)
_TEXT = r"^[^\x00]*$"
all_routes = APIRouter(prefix="/api/learners", tags=["learner"], route_class=DescribedRoute)


class ExportReply(Body):
    """Everything stored: playbook, access part, history, turns with what waits, and conversations."""

    model_config = ConfigDict(extra="allow", alias_generator=None)  # it is named as it is stored

    learner_id: str
    version: int | None
    playbook: dict[str, JsonValue]
    conversations: list[dict[str, JsonValue]]


class ForgetReply(Body):
    """Whether anything was stored, and how many conversations were among it."""

    forgotten: bool
    conversations: Annotated[int, Field(ge=0)]


class StatsQuery(RequestBody):
    """Which turns, and how they are put together."""

    days: Annotated[int, Field(ge=1, le=3_660, description="Turns of so many days, today among them.")] = 30
    per: Annotated[Unit, Field(description="A week begins on Monday; all days are in UTC.")] = "day"


class LiftReply(Body):
    """Success rates with the unproven bullets and without, the difference, and its 95 % interval."""

    with_memory: float
    without: float
    lift: float
    low: float
    high: float
    turns_with: int
    turns_without: int


class PeriodReply(Body):
    """The turns of a day or a week that begins on `start`. `successRate` is of those that were judged.

    `liftSoFar` is of all turns in the reply up to the end of the period; a lift is null where no turn with,
    or none without, was judged. `unpriced` counts the turns whose tokens have no price (ACE_PRICES).
    """

    start: date
    turns: int
    success_rate: float | None
    input_tokens: int
    output_tokens: int
    cost: float
    unpriced: int
    lift: LiftReply | None
    lift_so_far: LiftReply | None


class StatsReply(Body):
    """The learner's figures. `lift` is of all turns ever; `periods` are those with turns, the oldest first.

    `complete` is false where there were more turns than the 2,000 newest, which are read. `pending` counts
    the work of learning that waits, `dead` that which has failed too often.
    """

    lift: LiftReply | None
    periods: tuple[PeriodReply, ...]
    complete: bool
    pending: int
    dead: int


@routes.get("/stats")
async def stats(learner: Learner, services: ServicesDep, query: Annotated[StatsQuery, Query()]) -> StatsReply:
    """Return the memory's lift, tokens and cost by the day or the week, and how much waits to be learned."""
    today = datetime.combine(services.clock.now().astimezone(UTC), time(), UTC)
    found = await read_figures(
        services.store,
        learner,
        since=today - timedelta(days=query.days - 1),
        unit=query.per,
        prices=services.settings.prices,
    )
    return StatsReply.of(found)


@routes.get(
    "/export",
    response_class=StreamingResponse,
    responses={
        **error_responses(409),
        200: {"model": ExportReply, "description": "One JSON document, streamed while it is read."},
    },
)
async def export(learner: Learner, services: ServicesDep) -> StreamingResponse:
    """Return everything that is stored about the learner. One export of a learner at a time."""
    busy = services.exporting
    if learner in busy:
        raise RequestRefused(409, "busy", "an export of yours is under way: wait for its end", retry_after=5)
    busy.add(learner)
    try:
        found = await services.store.export(learner)
    except BaseException:
        busy.discard(learner)
        raise
    audit("export", learner, request_id=REQUEST_ID.get(), found=not found.snapshot.absent)
    return _ClosingResponse(export_chunks(found, services.conversations), lambda: busy.discard(learner))


@routes.delete("", dependencies=[does("forget")])
async def forget(learner: Learner, services: ServicesDep) -> ForgetReply:
    """Delete everything that is stored about the learner, for good. Turns under way are ended."""
    await services.turns.stop_learner(learner)
    conversations = await services.conversations.forget(learner)
    was_there = await services.store.forget(learner)
    services.snapshots.drop(learner)
    found = was_there or conversations > 0
    audit("forget", learner, request_id=REQUEST_ID.get(), found=found)
    return ForgetReply(forgotten=found, conversations=conversations)


class LearnerReply(Body):
    """One learner; the fields are null for one who has named playbooks and no memory."""

    learner_id: str
    version: int | None
    last_turn: datetime | None
    created_at: datetime | None
    changed_at: datetime | None

    @classmethod
    def about(cls, listed: ListedLearner) -> Self:
        if listed.stored is not None:
            return cls.of(listed.stored, learner_id=listed.learner_id)
        return cls.model_validate(dict.fromkeys(cls.model_fields) | {"learner_id": listed.learner_id})


class LearnersReply(Body):
    """Learners in the order of their ids. `next` is the `after` of the next page; null: this is the last.

    A page of a search may be short, or empty, although there is a next one.
    """

    learners: tuple[LearnerReply, ...]
    next: str | None


class LearnersQuery(RequestBody):
    """Which learners."""

    search: Annotated[
        str, Field(max_length=256, pattern=_TEXT, description="Only those with this in their id.")
    ] = ""
    limit: Annotated[int, Field(ge=1, le=500)] = 100
    after: Annotated[str, Field(max_length=256, pattern=_TEXT, description="Begin after this id.")] = ""


@all_routes.get("")
async def list_all(
    _operator: Annotated[Identity, Depends(operators_only)],
    services: ServicesDep,
    query: Annotated[LearnersQuery, Query()],
) -> LearnersReply:
    """List the learners; for operators only, who may then name one of them in `X-ACE-Learner`."""
    page = await list_learners(services.store, search=query.search, limit=query.limit, after=query.after)
    return LearnersReply(learners=tuple(map(LearnerReply.about, page.learners)), next=page.next)


class _ClosingResponse(StreamingResponse):
    """A streaming response that closes its source and calls `ended`, however it ends."""

    def __init__(self, pieces: AsyncGenerator[bytes], ended: Callable[[], None]) -> None:
        super().__init__(pieces, media_type="application/json")
        self._pieces = pieces
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with aclosing(self._pieces):
                await super().__call__(scope, receive, send)
        finally:
            self._ended()
