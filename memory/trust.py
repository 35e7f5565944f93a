"""Trust: a randomised holdout experiment on each learner's memory, which measures its lift.

On a small share of turns the unproven bullets that a question would get are withheld. A hash of the turn's id
decides, so the success rates with and without them can be compared without bias. The more likely it is that
they do harm, the larger the share; while they do, they are still shown on a few turns, so that a change is
noticed. Once it is clear that they help, a tenth of the share is enough. The core is never withheld.

    shown ("with") or withheld ("without")  ->  verdicts of those turns  ->  Trial  ->  share of later turns

Whether they do harm is asked of the turns whose verdict was a vote on a bullet: there the answer followed
advice, so the advice was right or wrong, and not the model alone; and of lessons that were tried on their own
question. A dozen of both are enough to tell a reflector that lies. The lift is that of all turns.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

from ace_graph.memory.bullet import GIVEN, Bullet
from ace_graph.memory.foreign import is_foreign
from ace_graph.memory.playbook import Z_95, wilson_interval
from ace_graph.memory.turn import Arm, RecentTurn

PROVEN_VOTES = 2
"""How many successes prove a bullet: the first may be the vote of the turn it was learned from."""

GRACE = 40
"""Before this number of commits nothing is withheld to measure, only what seems to do harm.

A young memory has few bullets, and its learner sees every one that is missing.
"""

EXPLORED = 0.02
"""The least share of turns on which unproven bullets are shown."""

_DOUBT, _DISTRUST = 0.4, 0.65
"""The probabilities of harm from which more is withheld, and from which all but EXPLORED is."""

_CLEAR, _STILL_MEASURED = 0.25, 0.1
"""Below this probability of harm less is withheld, in proportion, but at least this part of the rate."""

_PRIOR_WITH, _PRIOR_WITHOUT = (2.0, 1.0), (2.0, 3.0)
"""The priors as successes and failures: the memory is expected to help."""

_FOLLOWED_SHARE = 0.1
"""The share of the judged turns with unproven bullets that followed one, where a model names what it uses.

Below it all of them count: some models never name a bullet.
"""


class Trial(NamedTuple):
    """Judged turns with unproven bullets: right and wrong where they were shown, and where withheld.

    `followed_right` and `followed_wrong` are those of the first in which a bullet got a vote, and the replays
    that kept or refused lessons.
    """

    with_right: int = 0
    with_wrong: int = 0
    without_right: int = 0
    without_wrong: int = 0
    followed_right: int = 0
    followed_wrong: int = 0


class Lift(NamedTuple):
    """The success rates with the unproven bullets and without, the difference, and its 95 % interval."""

    with_memory: float
    without: float
    lift: float
    low: float
    high: float
    turns_with: int
    turns_without: int


def proven(bullet: Bullet) -> bool:
    """Whether a bullet is proven by evidence, or was added on purpose.

    Learned bullets name their turns in `examples`, older ones in `sources`. A bullet without either, or with
    one of GIVEN among its sources, was added by the learner or the host.
    """
    by_hand = not (bullet.sources or bullet.examples) or not GIVEN.isdisjoint(bullet.sources)
    given = bullet.core or is_foreign(bullet.id) or by_hand
    return given or (bullet.helpful >= PROVEN_VOTES and bullet.helpful > bullet.harmful)


def arm_of(retrieved: Iterable[Bullet], trial: Trial, clock: int, turn_id: str, rate: float) -> Arm | None:
    """Return the arm of this turn, whether it shows its unproven bullets; None where it has none.

    `clock` is the learner's access clock, `rate` the policy's `holdout_rate`. The same turn id and state
    give the same answer.
    """
    if all(map(proven, retrieved)):
        return None
    share = share_withheld(trial, rate, clock)
    chance = int.from_bytes(sha256(f"holdout:{turn_id}".encode()).digest()[:8]) / 2**64
    return "without" if chance < share else "with"


def share_withheld(trial: Trial, rate: float, clock: int = GRACE) -> float:
    """Return the share of turns on which unproven bullets are withheld, at an access clock of `clock`.

    `rate` while their effect is unclear, a tenth of it once it is clear that they help, nearly all while they
    seem to do harm; 0 where the rate is 0. Before GRACE nothing but what seems to do harm.
    """
    if not rate:
        return 0.0
    # The probability that success is lower where unproven bullets were followed than where all were withheld
    # (normal approximation)
    shown = trial.with_right + trial.with_wrong
    followed = trial.followed_right + trial.followed_wrong
    right, wrong = trial.followed_right, trial.followed_wrong
    if followed < _FOLLOWED_SHARE * shown:
        right, wrong = trial.with_right, trial.with_wrong
    a, b = right + _PRIOR_WITH[0], wrong + _PRIOR_WITH[1]
    c, d = trial.without_right + _PRIOR_WITHOUT[0], trial.without_wrong + _PRIOR_WITHOUT[1]
    spread = sqrt(_variance(a, b) + _variance(c, d))
    harm = NormalDist().cdf((c / (c + d) - a / (a + b)) / spread)
    usual = rate * min(1.0, max(_STILL_MEASURED, harm / _CLEAR)) if clock >= GRACE else 0.0
    doubt = min(1.0, max(0.0, (harm - _DOUBT) / (_DISTRUST - _DOUBT)))
    return max(usual, usual + (1 - EXPLORED - usual) * doubt)


def counted(turn: RecentTurn | None) -> Trial:
    """Return the counts of one turn: of its replay, and of its answer if that has an arm and was judged."""
    if turn is None:
        return Trial()
    right, wrong = turn.verdict == "success", turn.verdict == "failure"
    shown, withheld = turn.arm == "with", turn.arm == "without"
    followed = shown and turn.followed
    return Trial(
        with_right=shown and right,
        with_wrong=shown and wrong,
        without_right=withheld and right,
        without_wrong=withheld and wrong,
        followed_right=(followed and right) + (turn.replay == "kept"),
        followed_wrong=(followed and wrong) + (turn.replay == "refused"),
    )


def pooled(trials: Iterable[Trial]) -> Trial:
    """Return the trials of several learners as one."""
    return Trial(*map(sum, zip(*trials, Trial(), strict=True)))


def lift(trial: Trial) -> Lift | None:
    """Return the lift of the memory with its 95 % interval; None while one arm has no judged turn.

    The interval of the difference is Newcombe's (1998, method 10), from Wilson's for each arm.
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


def _variance(a: float, b: float) -> float:
    return a * b / ((a + b) ** 2 * (a + b + 1))
