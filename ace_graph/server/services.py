"""What routes depend on: the server's services, and the learner of the request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends
from starlette.requests import Request

from ace_graph.agent.resources import Resources
from ace_graph.base.clock import Clock
from ace_graph.base.errors import RequestRefused
from ace_graph.base.settings import Settings
from ace_graph.graph import ACEGraph
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.cache import SnapshotCache
from ace_graph.server.auth import Identity
from ace_graph.server.conversations.repository import Conversations
from ace_graph.server.metrics import Metrics
from ace_graph.server.middleware import identity_of, learner_of, teams_of
from ace_graph.server.turns.running import RunningTurns


class Exports:
    """The learners whose data this server is exporting."""

    def __init__(self) -> None:
        self._busy: set[str] = set()

    def acquire(self, learner_id: str) -> None:
        """Begin an export. Raises RequestRefused (409) while one of this learner is under way."""
        if learner_id in self._busy:
            raise RequestRefused(
                409, "busy", "an export of yours is under way: wait for its end", retry_after=5
            )
        self._busy.add(learner_id)

    def release(self, learner_id: str) -> None:
        """End an export."""
        self._busy.discard(learner_id)


@dataclass(frozen=True)
class Services:
    """What is opened when the server starts and closed when it stops."""

    settings: Settings
    graph: ACEGraph
    store: Store
    snapshots: SnapshotCache
    conversations: Conversations
    turns: RunningTurns
    metrics: Metrics
    clock: Clock
    exports: Exports
    resources: Resources


async def _services(request: Request) -> Services:  # FastAPI runs what is not async in a thread
    return cast("Services", request.app.state.services)


ServicesDep = Annotated[Services, Depends(_services)]
"""The services, as an argument of a route."""
Learner = Annotated[str, Depends(learner_of)]
"""The learner that the request is about, as an argument of a route."""
Sender = Annotated[Identity, Depends(identity_of)]
"""The learner that the request is about, and who sends it, as an argument of a route."""
ClaimedTeams = Annotated[frozenset[str] | None, Depends(teams_of)]
"""The teams that the request's token names, as an argument of a route; None: the table is to be asked."""
