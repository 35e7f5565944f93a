"""What a learner's turns came to, by the day or the week: the memory's lift, tokens, cost; and what waits.

The lift of a single day rests on few turns, so each period also has that of all turns up to its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import Literal

from ace_graph.memory.stores.base import PendingStore
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.trust import Lift, Trial, counted, lift, pooled
from ace_graph.memory.turn import TurnRecord
from ace_graph.prices import Price, cost_of

__all__ = ["MAX_TURNS", "LearnerFigures", "PeriodFigures", "Unit", "periods_of", "read_figures"]

MAX_TURNS = 2_000
"""The most records that are read, the newest."""
_MAX_ITEMS = 10_000

Unit = Literal["day", "week"]


@dataclass(frozen=True)
class PeriodFigures:
    """The turns that were completed in one day, or one week from Monday, in UTC; `start` is its first day.

    `success_rate` is that of the turns that were judged, None without one. `cost` is in the currency of the
    prices; `unpriced` counts the turns with tokens whose cost is unknown. `lift` is that of these turns,
    `lift_so_far` that of all turns that were read up to the end of the period, both None where a side has no
    judged turn.
    """

    start: date
    turns: int
    success_rate: float | None
    input_tokens: int
    output_tokens: int
    cost: float
    unpriced: int
    lift: Lift | None
    lift_so_far: Lift | None


@dataclass(frozen=True)
class LearnerFigures:
    """A learner's figures. `lift` is that of all turns there ever were; `periods` are those with turns.

    Without `complete` there were more turns in the time than are read. `pending` and `dead` count the work of
    learning that waits, and that has failed too often.
    """

    lift: Lift | None
    periods: tuple[PeriodFigures, ...]
    complete: bool
    pending: int
    dead: int


async def read_figures(
    store: PendingStore,
    learner_id: str,
    *,
    since: datetime,
    unit: Unit = "day",
    prices: Sequence[Price] = (),
) -> LearnerFigures:
    """Return the figures of the turns that were completed since a moment.

    Three reads: the memory, the turns, what is pending. Raises what the store raises.
    """
    snapshot = await store.load(learner_id)
    turns = await store.find_turns(learner_id, TrajectoryFilter(since=since), limit=MAX_TURNS + 1)
    items = await store.list_pending(learner_id, limit=_MAX_ITEMS)
    dead = sum(item.state == "dead" for item in items)
    return LearnerFigures(
        lift=lift(snapshot.access.trial),
        periods=periods_of(turns[:MAX_TURNS], unit, prices),
        complete=len(turns) <= MAX_TURNS,
        pending=len(items) - dead,
        dead=dead,
    )


def periods_of(
    turns: Iterable[TurnRecord], unit: Unit = "day", prices: Sequence[Price] = ()
) -> tuple[PeriodFigures, ...]:
    """Return the figures of completed turns by the day or week, the oldest first; others are left out."""
    dated = sorted(
        ((_start(turn.completed_at, unit), turn) for turn in turns if turn.completed_at is not None),
        key=lambda each: each[0],
    )
    found, so_far = list[PeriodFigures](), Trial()
    for start, group in groupby(dated, key=lambda each: each[0]):
        within = [turn for _, turn in group]
        trial = pooled(counted(turn.recent()) for turn in within)
        so_far = pooled((so_far, trial))
        found.append(_period(start, within, trial, so_far, prices))
    return tuple(found)


def _period(
    start: date, turns: Sequence[TurnRecord], trial: Trial, so_far: Trial, prices: Sequence[Price]
) -> PeriodFigures:
    judged = [turn.verdict == "success" for turn in turns if turn.verdict in ("success", "failure")]
    costs = [_cost(turn, prices) for turn in turns]
    return PeriodFigures(
        start=start,
        turns=len(turns),
        success_rate=sum(judged) / len(judged) if judged else None,
        input_tokens=sum(turn.input_tokens for turn in turns),
        output_tokens=sum(turn.output_tokens for turn in turns),
        cost=sum(cost for cost in costs if cost is not None),
        unpriced=sum(cost is None for cost in costs),
        lift=lift(trial),
        lift_so_far=lift(so_far),
    )


def _cost(turn: TurnRecord, prices: Sequence[Price]) -> float | None:
    """What a turn cost: as it was recorded, else by the present prices; None where that is unknown."""
    if turn.cost is not None:
        return turn.cost
    if not turn.input_tokens and not turn.output_tokens:
        return 0.0
    return cost_of(turn.model, turn.input_tokens, turn.output_tokens, prices)


def _start(at: datetime, unit: Unit) -> date:
    day = at.astimezone(UTC).date()
    return day if unit == "day" else day - timedelta(days=day.weekday())
