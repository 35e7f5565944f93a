"""Live updates over HTTP: what is new about a playbook as server-sent events, as it is stored.

A stream ends after ten minutes, when the server stops, and when the playbook can't be read any more. A
client that goes on with `Last-Event-ID`, as a browser does by itself, misses nothing; its token and its
rights are checked again then.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Header
from fastapi.responses import StreamingResponse
from pydantic import Field

from ace_graph.base.errors import PlaybookNotFound, RequestRefused, StoreError
from ace_graph.base.tables import word_sets
from ace_graph.learning.pending import AUTHOR
from ace_graph.memory.consolidation import RUN
from ace_graph.playbooks.handle import PlaybookHandle
from ace_graph.playbooks.proposing import Proposals
from ace_graph.playbooks.watching import EVERY_SECONDS, versions_after
from ace_graph.server.errors import DescribedRoute, error_responses
from ace_graph.server.middleware import does
from ace_graph.server.routes.edit import Place, checked_place, declare_playbook_id
from ace_graph.server.routes.playbook import VersionReply
from ace_graph.server.schemas import Body
from ace_graph.server.services import Learner, Services, ServicesDep
from ace_graph.server.sse import (
    PING,
    PING_SECONDS,
    described_stream,
    encode_event,
    event_number,
    event_stream,
)

logger = logging.getLogger("ace_graph")
own = APIRouter(
    prefix="/api/playbook", tags=["playbook"], route_class=DescribedRoute, dependencies=[does("change")]
)
named = APIRouter(
    prefix="/api/playbooks/{playbook_id}",
    tags=["playbooks"],
    route_class=DescribedRoute,
    dependencies=[does("change"), Depends(declare_playbook_id), Depends(checked_place)],
)


class EndEvent(Body):
    """Why the stream ends."""

    code: str


class ProposalEvent(Body):
    """A proposal that waits for a decision."""

    proposal_id: str
    at: datetime


class LearnedEvent(Body):
    """A turn whose lessons are in the learner's memory."""

    turn_id: str
    at: datetime


class ChangeEvents(Body):
    """What the `data` of each event of a playbook's changes holds, by the event's name."""

    version: VersionReply
    proposal_created: Annotated[ProposalEvent, Field(alias="proposal.created")]
    learning_done: Annotated[LearnedEvent, Field(alias="learning.done")]
    gone: EndEvent
    error: EndEvent


MAX_STREAMS = 8
"""Streams that a learner may have open on one server."""
_MAX_SECONDS = 600.0
_RESPONSES = described_stream(
    "The present version, or those since `Last-Event-ID`, then each new one. `proposal.created`: a proposal "
    "waits for a decision; those that wait already come first. `learning.done`: what a turn taught is in the "
    "learner's memory. `gone`: it can't be read any more. `error`: the store can't be reached.",
    ChangeEvents,
    word_sets("ace_graph.server", "streams.toml")["changes"],
    required=("event", "data"),
) | error_responses(429, 503)


@named.get("/changes", responses=_RESPONSES, response_class=StreamingResponse)
@own.get("/changes", responses=_RESPONSES, response_class=StreamingResponse)
async def changes(
    playbook: Place,
    learner: Learner,
    services: ServicesDep,
    last_event_id: Annotated[
        str, Header(max_length=20, description="The version of the last event received.")
    ] = "",
) -> StreamingResponse:
    """Follow a playbook: versions, proposals and what was learned as server-sent events, as they come.

    A stream ends after ten minutes; connect again with `Last-Event-ID`.
    """
    if services.turns.draining:
        raise RequestRefused(503, "stopping", "the server is stopping: connect again", retry_after=2)
    if services.watching[learner] >= MAX_STREAMS:
        raise RequestRefused(
            429, "too_many", f"{MAX_STREAMS} streams of changes are open: close one", retry_after=2
        )
    if services.watching.total() >= services.settings.server_turns:
        raise RequestRefused(503, "overloaded", "the server is busy: try again later", retry_after=2)
    seen, since = event_number(last_event_id), services.clock.now()
    if seen is None:
        seen = max(0, (await playbook.version()).n - 1)
    else:
        known = await playbook.store.versions(playbook.key)
        since = next((version.at for version in known if version.n == seen), since)
    return event_stream(_stream(playbook, seen, since, learner, services))


async def _stream(
    playbook: PlaybookHandle, seen: int, since: datetime, learner: str, services: Services
) -> AsyncGenerator[bytes]:
    services.watching[learner] += 1
    began = quiet_since = services.clock.monotonic()
    told = set[str]()
    try:
        yield b": connected\n\n"
        while not services.turns.draining and services.clock.monotonic() < began + _MAX_SECONDS:
            for version in await versions_after(playbook, seen):
                shown = VersionReply.about(version).model_dump(mode="json", by_alias=True)
                yield encode_event("version", shown, version.n)
                seen, quiet_since = version.n, services.clock.monotonic()
            for name, key, data in await _news(playbook, since, services.clock.now()):
                if key not in told:
                    told.add(key)
                    yield encode_event(name, data)
                    quiet_since = services.clock.monotonic()
            if services.clock.monotonic() >= quiet_since + PING_SECONDS:
                yield PING
                quiet_since = services.clock.monotonic()
            await services.clock.sleep(EVERY_SECONDS)
    except PlaybookNotFound:
        yield encode_event("gone", {"code": "not_found"})
    except StoreError:
        logger.exception("[ACE Server] a stream of changes ended")
        yield encode_event("error", {"code": "unavailable"})
    finally:
        services.watching[learner] -= 1
        if not services.watching[learner]:
            del services.watching[learner]


async def _news(
    playbook: PlaybookHandle, since: datetime, now: datetime
) -> list[tuple[str, str, dict[str, object]]]:
    """Return events that are no versions, each with a key: the proposals that wait and the caller may see, or
    what was learned since.
    """
    if playbook.named is not None:
        waiting = await Proposals(playbook).listed(now=now)
        return [
            ("proposal.created", name, {"proposalId": name, "at": at.isoformat()})
            for name, at in ((proposal.proposal_id, proposal.at) for proposal in waiting)
        ]
    done = await playbook.root.commits_by(playbook.key, AUTHOR, since)
    return [
        ("learning.done", op_id, {"turnId": turn_id, "at": at.isoformat()})
        for op_id, turn_id, at in done
        if not turn_id.startswith(RUN)
    ]
