"""Trust: what is learned must earn its place, by a comparison that nothing can bend.

On a small share of turns the unproven bullets that a question would get are withheld, by a hash of the turn's
id. So the success with and without them can be compared without bias: the lift of the memory. The more likely
it is that they do harm, the larger the share; while they do, they are shown on a few turns only, so that the
memory finds out when that has changed. Once it is clear that they help, a fifth of the share is enough.

    shown ("with") or withheld ("without")  ->  verdicts of those turns  ->  Trial  ->  share of the next

Does not: count (access.touch does), choose by relevance, or ever withhold the core.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.statistics import Z_95, wilson_interval
from ace_graph.memory.turn import Arm, RecentTurn

__all__ = ["Lift", "Trial", "arm_of", "counted", "lift", "pooled", "proven", "share_withheld"]

PROVEN_VOTES = 2
"""So many successes prove a bullet: the first may be the vote it was born with."""

GIVEN = frozenset({"cli", "learner"})
"""Sources of a bullet that say that a person put it there."""

GRACE = 40
"""Nothing is withheld from a learner before so many commits.

A start is no time for experiments: there is little to show yet that fits a question, so what is there looks
useless, and one learner of twelve was distrusted for most of a life for it (20 commits, simulated).
"""

EXPLORED = 0.02
"""Unproven bullets are shown on at least so many turns, whatever speaks against them."""

_DOUBT, _DISTRUST = 0.4, 0.65
"""The probability of harm from which more is withheld, and from which all but the exploration is."""

_CLEAR, _STILL_MEASURED = 0.25, 0.2
"""Below this probability of harm less is withheld, in proportion, and at least this part of the rate."""

_PRIOR_WITH, _PRIOR_WITHOUT = (2.0, 1.0), (1.0, 1.0)
"""What is believed before any verdict, as successes and failures: that the memory helps, a little."""


class Trial(NamedTuple):
    """Judged turns that had unproven bullets to show: right and wrong with them, right and wrong without."""

    with_right: int = 0
    with_wrong: int = 0
    without_right: int = 0
    without_wrong: int = 0


class Lift(NamedTuple):
    """Success with the unproven bullets and without, the difference, and its 95 % interval."""

    with_memory: float
    without: float
    lift: float
    low: float
    high: float
    turns_with: int
    turns_without: int


def proven(bullet: Bullet) -> bool:
    """Whether a bullet has earned its place: by evidence, or because somebody put it there on purpose.

    Learned bullets name the turns they are from in `sources`. What has none, or names a person's hand, was
    given by the learner or the host.
    """
    by_hand = not bullet.sources or not GIVEN.isdisjoint(bullet.sources)
    given = bullet.core or bullet.id.startswith("base:") or by_hand
    return given or (bullet.helpful >= PROVEN_VOTES and bullet.helpful > bullet.harmful)


def arm_of(retrieved: Iterable[Bullet], trial: Trial, clock: int, turn_id: str, rate: float) -> Arm | None:
    """Return whether this turn shows its unproven bullets; None where it has none, so proves nothing.

    `clock` is the learner's access clock, `rate` the policy's `holdout_rate`. The same turn id and state
    give the same answer.
    """
    if all(map(proven, retrieved)):
        return None
    share = share_withheld(trial, rate) if clock >= GRACE else 0.0
    return "without" if _chance(turn_id) < share else "with"


def share_withheld(trial: Trial, rate: float) -> float:
    """Return the share of turns on which unproven bullets are withheld.

    `rate` while it is open whether they help, a fifth of it once that is clear, nearly all while they seem
    to do harm; 0 where the rate is 0.
    """
    if not rate:
        return 0.0
    harm = _harm(trial)
    usual = rate * min(1.0, max(_STILL_MEASURED, harm / _CLEAR))
    doubt = min(1.0, max(0.0, (harm - _DOUBT) / (_DISTRUST - _DOUBT)))
    return max(usual, usual + (1 - EXPLORED - usual) * doubt)


def counted(turn: RecentTurn | None) -> Trial:
    """Return what one turn adds to a trial: nothing without an arm, or without a success or failure."""
    if turn is None or turn.arm is None or turn.verdict not in ("success", "failure"):
        return Trial()
    right = turn.verdict == "success"
    if turn.arm == "with":
        return Trial(with_right=right, with_wrong=not right)
    return Trial(without_right=right, without_wrong=not right)


def pooled(trials: Iterable[Trial]) -> Trial:
    """Return the trials of several learners as one."""
    return Trial(*map(sum, zip(*trials, Trial(), strict=True)))


def lift(trial: Trial) -> Lift | None:
    """Return the lift of the memory with its 95 % interval; None while one side has no judged turn.

    The interval of the difference is Newcombe's (1998, method 10), from Wilson's for each side.
    """
    first, second = trial.with_right + trial.with_wrong, trial.without_right + trial.without_wrong
    if not first or not second:
        return None
    p, q = trial.with_right / first, trial.without_right / second
    p_low, p_high = wilson_interval(trial.with_right, first, Z_95)
    q_low, q_high = wilson_interval(trial.without_right, second, Z_95)
    low = p - q - sqrt((p - p_low) ** 2 + (q_high - q) ** 2)
    high = p - q + sqrt((p_high - p) ** 2 + (q - q_low) ** 2)
    return Lift(p, q, p - q, low, high, first, second)


def _harm(trial: Trial) -> float:
    """The probability that success with the unproven bullets is lower than without (normal approximation)."""
    a, b = trial.with_right + _PRIOR_WITH[0], trial.with_wrong + _PRIOR_WITH[1]
    c, d = trial.without_right + _PRIOR_WITHOUT[0], trial.without_wrong + _PRIOR_WITHOUT[1]
    spread = sqrt(_variance(a, b) + _variance(c, d))
    return NormalDist().cdf((c / (c + d) - a / (a + b)) / spread)


def _variance(a: float, b: float) -> float:
    return a * b / ((a + b) ** 2 * (a + b + 1))


def _chance(turn_id: str) -> float:
    return int.from_bytes(sha256(f"holdout:{turn_id}".encode()).digest()[:8]) / 2**64
