"""The bill of learning: calls, tokens and seconds of the reflector, and what the learner gets for them.

Every setting lives the same lives, in both worlds of the simulation. A call has the tokens of the real
prompt; its seconds are those of a model that begins to answer after half a second, reads 2,000 tokens a
second and writes 60.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ace_graph.base.prompts import Prompts
from ace_graph.learning.tasks import FIRST_TURNS, TOGETHER
from ace_graph.memory.evidence import Verdict
from ace_graph.memory.search.tokenize import estimate_tokens

MOST_CALLS, MOST_LOST = 0.3, 0.005
"""What a default may take in calls a turn, and lose in right answers."""
_BEGINS, _READS, _WRITES = 0.5, 2_000, 60
_OF_A_TURN = 140
"""Tokens of a question, an answer and the evidence on it."""
_REPLY, _LESSON = 110, 45
"""Tokens that a reflection without lessons takes, and one more of them."""


@dataclass(frozen=True)
class Schedule:
    """When the reflector is called: after a failure, in the `first` turns, and in each `every`th (0: none).

    With `batch` so many turns are reflected on in one call; with `urgent` the first turns and failures do not
    wait for it. `late`: a worker's lessons come so many turns later.
    """

    every: int = 1
    first: int = 0
    failures: bool = True
    batch: int = 1
    urgent: bool = False
    late: int = 0

    def asks(self, turn: int, verdict: Verdict) -> bool:
        """Whether the turn of this number is reflected on."""
        if self.failures and verdict == "failure":
            return True
        return turn < self.first or (self.every > 0 and turn % self.every == 0)

    def waits(self, turn: int, verdict: Verdict) -> bool:
        """Whether what is learned of the turn may come in a later one."""
        at_once = self.urgent and (turn < self.first or verdict == "failure")
        return not at_once and (self.batch > 1 or self.late > 0)


@dataclass(frozen=True)
class Bill:
    """What learning cost in one life."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def seconds(self) -> float:
        """How long a model took for it."""
        return _BEGINS * self.calls + self.tokens_in / _READS + self.tokens_out / _WRITES

    def with_call(self, turns: int, lessons: int, shown: int) -> Bill:
        """Return the bill with one call more, on so many turns with so many tokens of bullets shown."""
        given = prompt_tokens() + turns * _OF_A_TURN + shown
        return Bill(
            self.calls + 1, self.tokens_in + given, self.tokens_out + turns * _REPLY + lessons * _LESSON
        )


@cache
def prompt_tokens() -> int:
    """Return the tokens of the reflector's prompt without any turn."""
    return estimate_tokens(Prompts.load().texts["reflector"])


DEFAULT = Schedule(first=FIRST_TURNS, batch=TOGETHER, urgent=True)
"""What `reflect_when="auto"` does."""
SCHEDULES: Mapping[str, Schedule] = {
    "inline, every turn": Schedule(),
    "in the background, every turn": Schedule(late=1),
    "batches of 2 turns": Schedule(batch=2),
    "batches of 4 turns": Schedule(batch=4),
    "batches of 8 turns": Schedule(batch=8),
    "on failure and doubt only": Schedule(every=0),
    "on a sample: every 3rd turn": Schedule(every=3, failures=False),
    "on failure and doubt, and every 5th turn": Schedule(every=5),
    f"the default: on failure and doubt, the first {FIRST_TURNS}, others in batches of {TOGETHER}": DEFAULT,
}
