"""How many tokens a learner may cost in a day: ACE_DAILY_TOKENS, answers and learning together, days in UTC.

What counts is what the records of the day's turns say, whichever process made them, and what this process
knows beside: temporary chats, turns without learning, and turns that were deleted or forgotten since. A turn
that began is finished, so a learner may end a day a turn above the limit.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from ace_graph.base.errors import DailyTokensUsed
from ace_graph.memory.trajectory import TrajectoryFilter

if TYPE_CHECKING:
    from ace_graph.memory.stores.store import Store

MAX_TURNS = 10_000
MAX_LEARNERS = 20_000


class DailyTokens:
    """Counts tokens by learner and turn for the present day. With the limit 0 nothing is read."""

    def __init__(self, store: Store, limit: int, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._limit = limit
        self._clock = clock
        self._day = date.min
        self._known: OrderedDict[str, dict[str, int]] = OrderedDict()

    async def check(self, learner_id: str) -> None:
        """Raise DailyTokensUsed where the learner has none left today; and what the store raises."""
        if not self._limit:
            return
        now = self._clock().astimezone(UTC)
        midnight = datetime.combine(now.date(), time(), UTC)
        turns = self._turns_of(learner_id)
        today = TrajectoryFilter(since=midnight)
        for record in await self._store.find_turns(learner_id, today, limit=MAX_TURNS):
            self._note(turns, record.turn_id, record.input_tokens + record.output_tokens)
        if sum(turns.values()) >= self._limit:
            raise DailyTokensUsed(self._limit, now, midnight + timedelta(days=1))

    def spent(self, learner_id: str, turn_id: str, tokens: int) -> None:
        """Note what a turn of this process cost; its record may say more later, when it was learned from."""
        if self._limit:
            self._note(self._turns_of(learner_id), turn_id, tokens)

    def _turns_of(self, learner_id: str) -> dict[str, int]:
        today = self._clock().astimezone(UTC).date()
        if today != self._day:
            self._day = today
            self._known.clear()
        turns = self._known.setdefault(learner_id, {})
        self._known.move_to_end(learner_id)
        while len(self._known) > MAX_LEARNERS:
            self._known.popitem(last=False)
        return turns

    @staticmethod
    def _note(turns: dict[str, int], turn_id: str, tokens: int) -> None:
        turns[turn_id] = max(tokens, turns.get(turn_id, 0))
