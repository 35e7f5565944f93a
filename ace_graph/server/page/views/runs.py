"""The runs: what was recorded of each turn, what waits to be learned, and whether the memory helps."""

from __future__ import annotations

import math
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from ace_graph.base.off_loop import run_off_loop
from ace_graph.server.middleware import does
from ace_graph.server.page.render import marked
from ace_graph.server.page.session import Flash, PageRoute, VisitorDep
from ace_graph.server.routes.learner import StatsQuery, stats
from ace_graph.server.routes.trajectories import TrajectoriesQuery, reflect, trajectories, trajectory

routes = APIRouter(prefix="/runs", route_class=PageRoute)

RunName = Annotated[str, Path(min_length=1, max_length=256)]
PAGE_SIZE = 30


class RunsQuery(Flash):
    """Which runs."""

    show: Literal["all", "success", "failure", "partial", "pending", "dead"] = "all"
    page: Annotated[int, Field(ge=1, le=100_000)] = 1
    per: Literal["day", "week"] = "day"

    def wanted(self) -> TrajectoriesQuery:
        """Return the query of the API: one more than a page, to know whether there is another."""
        asked: dict[str, object] = {"limit": PAGE_SIZE + 1, "skip": (self.page - 1) * PAGE_SIZE}
        if self.show in ("pending", "dead"):
            asked["learning"] = self.show
        elif self.show != "all":
            asked["status"] = self.show
        return TrajectoriesQuery.model_validate(asked)

    def address(self, **changed: object) -> str:
        """Return the query of this list with some of it changed."""
        fields = self.model_dump(exclude={"said", "before", "after", "of"}, exclude_defaults=True)
        return urlencode({**fields, **changed})


@routes.get("")
async def show(visitor: VisitorDep, query: Annotated[RunsQuery, Query()]) -> Response:
    """Show the runs, the newest first, with the figures of the last weeks."""
    found = (await trajectories(visitor.learner, visitor.services, query.wanted())).trajectories
    figures = await stats(visitor.learner, visitor.services, StatsQuery(days=90, per=query.per))
    tokens = [period.input_tokens + period.output_tokens for period in figures.periods]
    days = [period.start for period in figures.periods]
    costs = [period.cost for period in figures.periods]
    ends = [
        abs(end)
        for period in figures.periods
        if (so_far := period.lift_so_far)
        for end in (so_far.low, so_far.high)
    ]
    return visitor.show(
        "runs.html",
        query=query,
        runs=found[:PAGE_SIZE],
        more=len(found) > PAGE_SIZE,
        figures=figures,
        lifts=[(period.start, period.lift_so_far) for period in figures.periods],
        token_points=list(zip(days, tokens, strict=True)),
        cost_points=list(zip(days, costs, strict=True)),
        tokens=tokens,
        costs=costs,
        token_top=_axis_top(max(tokens, default=0)),
        cost_top=_axis_top(max(costs, default=0)),
        lift_top=_axis_top(max(ends, default=0)),
    )


def _axis_top(most: float) -> float:
    """Return where an axis ends: the next of 1, 2, 5, 10, 20 ... that is not below the greatest value."""
    if most <= 0:
        return 1
    power = 10.0 ** math.floor(math.log10(most))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= most)


@routes.get("/{run_id}")
async def show_one(run_id: RunName, visitor: VisitorDep, query: Annotated[Flash, Query()]) -> Response:
    """Show one run with its steps, its evidence and what was reflected on it."""
    found = await trajectory(run_id, visitor.learner, visitor.services)
    answer = await run_off_loop(len(found.answer or ""), marked, found.answer or "")
    return visitor.show("run.html", query=query, run=found, answer=answer)


@routes.post("/{run_id}/retry", dependencies=[does("record")])
async def retry(run_id: RunName, visitor: VisitorDep) -> Response:
    """Leave a worker the work of learning from the run once more."""
    await reflect(run_id, visitor.learner, visitor.services)
    return visitor.lead_to(f"/runs/{run_id}", said="queued")
