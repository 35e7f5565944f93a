"""A search of a playbook over HTTP: the bullets that hold the words, or why a question gets each bullet.

The route is there for the own memory under /api/playbook, and for every playbook under
/api/playbooks/{playbook_id}.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, HTTPException, Query, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from ace_graph.errors import RequestRefused
from ace_graph.memory.bullet import MemoryType
from ace_graph.memory.views.bullet_filter import BulletFilter
from ace_graph.reasoning.explained_search import explain_search
from ace_graph.server.dependencies import Learner, ServicesDep
from ace_graph.server.errors import error_responses
from ace_graph.server.routes.edit import Absent, Place, checked_place, declare_playbook_id, tag_version
from ace_graph.server.schemas import Text

__all__ = ["named", "own"]

own = APIRouter(prefix="/api/playbook", tags=["playbook"])
named = APIRouter(
    prefix="/api/playbooks/{playbook_id}",
    tags=["playbooks"],
    dependencies=[Depends(declare_playbook_id), Depends(checked_place)],
)

_WHY: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SearchQuery(_Model):
    """What is searched for, and whether each bullet comes with the reason why it is shown or not."""

    words: Annotated[
        Text,
        Field(min_length=1, max_length=4_000, description="Words; with `explain` the question of a turn."),
    ]
    explain: Annotated[
        Literal["true", "false"],
        Field(description="true: every bullet, and why a turn with this question would be shown it or not."),
    ] = "false"
    id: Annotated[Text, Field(min_length=1, max_length=128, description="This bullet only.")] | Absent = None
    type: Annotated[
        tuple[MemoryType, ...], Field(max_length=3, description="Only bullets of one of these memory types.")
    ] = ()
    limit: Annotated[int, Field(ge=1, le=1_000, description="At most so many.")] = 100


class FoundReply(_Model):
    """A bullet. `shown`, `why` and `reason` (the same in words) are null without `explain`."""

    id: str
    content: str
    shown: bool | None = None
    why: dict[str, JsonValue] | None = None
    reason: str | None = None


class SearchReply(_Model):
    """The bullets, those that are shown first; `left` counts those beyond the limit.

    `words_only` says why embeddings had no part, where they could have had one.
    """

    version: int | None
    bullets: list[FoundReply]
    left: int
    words_only: str | None = None


@named.get("/search", responses=error_responses(404))
@own.get("/search", responses=error_responses(404))
async def search(
    target: Place,
    learner: Learner,
    services: ServicesDep,
    query: Annotated[SearchQuery, Query()],
    response: Response,
) -> SearchReply:
    """Return the bullets that hold all of the words, or with `explain` why a turn would be shown each one."""
    if query.explain == "false":
        snapshot = await target.store.load(target.key)
        wanted = BulletFilter(memory_types=frozenset(query.type), words=query.words)
        held = [
            each
            for each in snapshot.playbook.bullets()
            if wanted.passes(each) and query.id in (None, each.id)
        ]
        tag_version(response, snapshot.version)
        version = None if snapshot.absent else snapshot.version.n
        return _reply(version, [FoundReply(id=each.id, content=each.content) for each in held], query.limit)
    found = await explain_search(
        target,
        learner,
        query.words,
        services.store.policy,
        now=services.clock.now(),
        meaning=services.resources.meaning,
        bullet_id=query.id,
        memory_types=query.type,
    )
    if query.id is not None and not found.reasons:
        raise RequestRefused(404, "not_found", "there is no such bullet in your playbook")
    tag_version(response, found.snapshot.version)
    bullets = [
        FoundReply(
            id=each.id,
            content=each.content,
            shown=each.shown,
            why=_WHY.validate_python(each.why),
            reason=each.reason,
        )
        for each in found.bullets()
    ]
    return _reply(found.version, bullets, query.limit, found.words_only)


@own.api_route("/search", methods=["PATCH", "DELETE"], include_in_schema=False)
async def no_bullet() -> None:
    """Keep this name apart from ids of bullets."""
    raise HTTPException(405)


def _reply(
    version: int | None, bullets: Sequence[FoundReply], limit: int, words_only: str | None = None
) -> SearchReply:
    return SearchReply(
        version=version,
        bullets=list(bullets[:limit]),
        left=max(0, len(bullets) - limit),
        words_only=words_only,
    )
