"""How sure a bullet is: the mean of a Beta posterior over the trajectories behind it, computed on read.

    confidence = (c * n + sum of w * v) / (n + sum of w)

`c` and `n` are the prior: what a file or a host stated about the bullet, else 0.5 with the weight of 2
trajectories. Each trajectory adds its value `v` in [0, 1] with a weight `w` that halves every 90 days. So 1
of 1 gives 0.67, 9 of 10 0.83, 90 of 100 0.89; old evidence fades towards the prior.

    it was shown and followed     a success is for the bullet (1), a failure against it (0), partial 0.5
    it was learned from it        the same; but what to avoid is supported by a failure, and a failed turn of
                                  the graph says nothing about the advice that it led to

Votes from before the known turns, such as those of an imported bullet, count as of its last change. Document
004, 6.2. Only people read confidence: retrieval, decay and trust have votes, which no clock moves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from ace_graph.base.frozen import Frozen
from ace_graph.memory.bullet import Bullet, Moment, Stated
from ace_graph.memory.evidence import SCORES, Evidence, Verdict, tag_of, verdict_of
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.trust import lift
from ace_graph.memory.turn import GRAPH_AGENT, TurnRecord
from ace_graph.memory.usage import OWN_PLAYBOOK, PlaybookUsage, pooled_usage

PRIOR = 0.5
PRIOR_COUNT = 2
HALF_LIFE_DAYS = 90.0
_DAY = 86_400.0


class Support(NamedTuple):
    """What a number of trajectories says about a bullet: 1 for it, 0 against it, as of `at`."""

    value: float
    at: datetime
    trajectories: int = 1


def confidence(evidence: Iterable[Support], now: datetime, stated: Stated | None = None) -> float:
    """Return the confidence in [0, 1]. Evidence from before a statement is part of the statement."""
    prior = PRIOR if stated is None else stated.confidence
    weight = float(stated.count if stated is not None and stated.count else PRIOR_COUNT)
    sums = [0.0, 0.0]
    for each in evidence:
        if stated is None or each.at > stated.at:
            days = max(0.0, (now - each.at).total_seconds()) / _DAY
            share = each.trajectories * math.pow(0.5, days / HALF_LIFE_DAYS)
            sums[0] += share
            sums[1] += share * each.value
    if not sums[0]:
        return prior
    return min(1.0, max(0.0, (prior * weight + sums[1]) / (weight + sums[0])))


def turns_behind(bullets: Iterable[Bullet], playbook: Playbook) -> frozenset[str]:
    """Return the ids of the turns behind these bullets: their examples, and those with a vote on them."""
    voted = _votes_by_bullet(playbook)
    return frozenset(turn for b in bullets for turn in (*b.examples, *voted.get(b.id, ())))


class EvidenceIndex:
    """The evidence on the bullets of one snapshot, from the records of turns behind them.

    `turns` may hold others too; of two attempts at a turn the first in order counts.
    """

    def __init__(self, snapshot: Snapshot, turns: Iterable[TurnRecord]) -> None:
        self._playbook = snapshot.playbook
        self._recent: dict[str, Verdict] = {
            turn.turn_id: turn.verdict for turn in snapshot.access.recent_turns
        }
        self._voted = _votes_by_bullet(snapshot.playbook)
        self._turns: dict[str, TurnRecord] = {}
        for turn in turns:
            self._turns.setdefault(turn.turn_id, turn)
        self._absorbed: dict[str, set[str]] = {}
        for old, new in snapshot.playbook.aliases.items():
            self._absorbed.setdefault(new, set()).add(old)

    def confidence(self, bullet: Bullet, now: datetime) -> float:
        """Return the confidence in a bullet of the snapshot."""
        return confidence(self.evidence_of(bullet), now, bullet.stated)

    def evidence_of(self, bullet: Bullet) -> tuple[Support, ...]:
        """Return what the turns say about the bullet, each once, and its earlier votes."""
        voted = self._voted.get(bullet.id, frozenset())
        names = {bullet.id, *self._absorbed.get(bullet.id, ())}
        found, verdicts = list[Support](), list[Verdict]()
        for name in dict.fromkeys((*bullet.examples, *sorted(voted))):
            turn = self._turns.get(name)
            if turn is None:
                continue
            verdict = present_verdict(turn, self._playbook, self._recent)
            follows = not names.isdisjoint(turn.cited) or (
                name in voted and not names.isdisjoint(turn.injected)
            )
            value = _value(bullet, turn, verdict, follows=follows)
            if value is not None:
                found.append(Support(value, turn.completed_at or turn.started_at))
            if name in voted:
                verdicts.append(verdict)
        return (*found, *_earlier_votes(bullet, verdicts))


def _votes_by_bullet(playbook: Playbook) -> dict[str, frozenset[str]]:
    """The turns with a vote on each bullet, under its present id."""
    found: dict[str, set[str]] = {}
    for turn, votes in playbook.votes.items():
        for vote in votes.values():
            for name in vote.bullet_ids:
                found.setdefault(playbook.aliases.get(name, name), set()).add(turn)
    return {name: frozenset(turns) for name, turns in found.items()}


def present_verdict(turn: TurnRecord, playbook: Playbook, recent: Mapping[str, Verdict]) -> Verdict:
    """Return the verdict that stands: by votes, by feedback, as the access part has it, or as it was stored.

    `playbook` is the learner's own, `recent` the verdicts of the recent turns in its access part.
    """
    votes = playbook.votes.get(turn.turn_id, {})
    standing = verdict_of(Evidence(source=source, verdict=vote.verdict) for source, vote in votes.items())
    if standing != "unknown":
        return standing
    return turn.feedback[-1].verdict if turn.feedback else recent.get(turn.turn_id, turn.verdict)


def _value(bullet: Bullet, turn: TurnRecord, verdict: Verdict, *, follows: bool) -> float | None:
    """What the turn says about the bullet, which it followed, or else from which the bullet was learned."""
    value = SCORES.get(verdict)
    if follows or verdict != "failure":
        return value
    if bullet.polarity == "anti_pattern":
        return 1.0
    return None if turn.agent == GRAPH_AGENT else value


def _earlier_votes(bullet: Bullet, voted: list[Verdict]) -> Iterator[Support]:
    """The counted votes that no known turn explains."""
    known = [tag_of(verdict) for verdict in voted]
    for value, count in (
        (1.0, bullet.helpful - known.count("helpful")),
        (0.0, bullet.harmful - known.count("harmful")),
    ):
        if count > 0:
            yield Support(value, bullet.updated_at, count)


# What a learner's playbook has been worth (document 004, 2.2 and 2.3): its use, and the work behind it.


class Effectiveness(Frozen):
    """How often turns were shown bullets of the playbook, and how these turns ended.

    `success_rate` is that of the turns with a verdict, None before the first. `avg_improvement` is the lift
    of the unproven bullets, the success rate with them less that without; None until both are known.
    `used_by` counts the learners whose turns these are.
    """

    usage_count: int = 0
    success_rate: float | None = None
    avg_improvement: float | None = None
    last_used_at: Moment | None = None
    used_by: int = 0


class PlaybookMetadata(Frozen):
    """How many trajectories a reflector has read, and how many commits have merged bullets."""

    total_trajectories_analyzed: int = 0
    consolidation_count: int = 0
    last_consolidated: Moment | None = None


def effectiveness_of(
    snapshot: Snapshot, playbook: str = OWN_PLAYBOOK, others: Iterable[PlaybookUsage] = ()
) -> Effectiveness:
    """Return how the learner of the snapshot used their own playbook, or another one by its name in ids.

    `others` is how others used it; it counts, too. The lift is measured on all unproven bullets together, so
    it is that of the own playbook.
    """
    used = [each for each in (snapshot.access.usage.get(playbook, PlaybookUsage()), *others) if each.turns]
    usage = pooled_usage(used)
    measured = lift(snapshot.access.trial) if playbook == OWN_PLAYBOOK else None
    return Effectiveness(
        usage_count=usage.turns,
        success_rate=usage.success_rate,
        avg_improvement=None if measured is None else measured.lift,
        last_used_at=usage.last_used_at,
        used_by=len(used),
    )


def metadata_of(snapshot: Snapshot) -> PlaybookMetadata:
    """Return what was done to make the playbook what it is."""
    merged = snapshot.playbook.consolidations
    return PlaybookMetadata(
        total_trajectories_analyzed=snapshot.access.analyzed,
        consolidation_count=merged.number,
        last_consolidated=merged.last_at,
    )
