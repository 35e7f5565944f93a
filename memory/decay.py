"""The strength of a memory: the decay formula of document 003, over access events instead of time.

    score = S(1 - r_s)^t_s + E(1 - r_e)^t_e + P(1 - r_p)^t_p

A bullet has one memory type, so one of the three strengths is its base strength and two are 0.
`decay_score` is the number that archiving at the cap, the retrieval filter and the statistics use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from ace_graph.memory.bullet import Bullet, MemoryType
from ace_graph.memory.policy import DecayRates


class Strengths(NamedTuple):
    """The base strength by memory type, each >= 0."""

    semantic: float = 0.0
    episodic: float = 0.0
    procedural: float = 0.0


class Idle(Protocol):
    """Past use of bullets, as the access part of a memory knows it."""

    def idle(self, bullet_id: str, /) -> int:
        """Return the access events since the bullet was last used."""
        ...


def memory_score(strengths: Strengths, idle: tuple[int, int, int], rates: DecayRates) -> float:
    """Return the formula's value; `idle` are the access events t_s, t_e, t_p since the last use.

    Source: document 003. With strengths (10, 5, 2), t = 10 and the default rates it is 13.99786.
    """
    return (
        decayed(strengths.semantic, idle[0], rates.semantic)
        + decayed(strengths.episodic, idle[1], rates.episodic)
        + decayed(strengths.procedural, idle[2], rates.procedural)
    )


def decayed(strength: float, idle: int, rate: float) -> float:
    """Return `strength` after `idle` access events with this decay rate (0 to 1)."""
    return strength * (1.0 - rate) ** max(0, idle)


def base_strength(bullet: Bullet) -> float:
    """Return max(0, 1 + helpful - harmful): 1 for a new bullet."""
    return max(0.0, 1.0 + bullet.helpful - bullet.harmful)


def strengths(bullet: Bullet) -> Strengths:
    """Return the three strengths of a bullet; only the one of its memory type can be above 0."""
    values: dict[MemoryType, float] = {bullet.memory_type: base_strength(bullet)}
    return Strengths(**values)


def decay_score(bullet: Bullet, access: Idle, rates: DecayRates) -> float:
    """Return the bullet's present strength. One that was never used counts as just used.

    That is its `memory_score`, in which two of the three strengths are 0.

    A core bullet is in every prompt, so it does not decay.
    """
    idle = 0 if bullet.core else access.idle(bullet.id)
    rate: float = getattr(rates, bullet.memory_type)
    return decayed(base_strength(bullet), idle, rate)


def mean_decay_score(bullets: Iterable[Bullet], access: Idle, rates: DecayRates) -> float:
    """Return the mean strength of these bullets for statistics, 0 for none."""
    scores = [decay_score(bullet, access, rates) for bullet in bullets]
    return sum(scores) / len(scores) if scores else 0.0


class DecayGroup(NamedTuple):
    """What bullets have in common of which the one that was not used for longer is never the stronger one."""

    active: bool
    importance: float
    core: bool
    memory_type: MemoryType
    helpful: int
    harmful: int


def least_score(group: DecayGroup, idle: int, rates: DecayRates) -> float:
    """Return the strength of a member that was not used for so many access events; none is weaker then."""
    rate: float = getattr(rates, group.memory_type)
    strength = max(0.0, 1.0 + group.helpful - group.harmful)
    return decayed(strength, 0 if group.core else idle, rate)


DecayGroups = Mapping[DecayGroup, Mapping[str, None]]
"""The ids of the bullets of each group."""


def regrouped(groups: DecayGroups, removed: Iterable[Bullet], added: Iterable[Bullet]) -> DecayGroups:
    """Return the groups without `removed` and with `added`; other groups are shared with the old value."""
    changed: dict[DecayGroup, dict[str, None]] = {}
    for bullet in removed:
        group = _group_of(bullet)
        _writable(changed, groups, group).pop(bullet.id, None)
    for bullet in added:
        group = _group_of(bullet)
        _writable(changed, groups, group)[bullet.id] = None
    result = {**groups, **changed}
    for group, members in changed.items():
        if not members:
            del result[group]
    return result


def _writable(
    changed: dict[DecayGroup, dict[str, None]], groups: DecayGroups, group: DecayGroup
) -> dict[str, None]:
    if group not in changed:
        changed[group] = dict(groups.get(group, {}))
    return changed[group]


def _group_of(bullet: Bullet) -> DecayGroup:
    active = bullet.status == "active"
    return DecayGroup(
        active, bullet.importance, bullet.core, bullet.memory_type, bullet.helpful, bullet.harmful
    )
