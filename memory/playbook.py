"""A learner's playbook: bullets in the order they were added, and aliases, votes and insights.

It is an immutable value; methods that change it return a new one. The search index and the hash table are
derived from the bullets; `apply` updates them incrementally.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from math import sqrt
from statistics import NormalDist
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ace_graph.base.clock import utc_now
from ace_graph.base.frozen import Frozen
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.decay import DecayGroups, regrouped
from ace_graph.memory.evidence import EvidenceSource, Verdict
from ace_graph.memory.search.tokenize import normal_form

if TYPE_CHECKING:
    from ace_graph.memory.search.index import Index

_LETTERS = re.compile(r"[a-z]")


class RecentInsight(NamedTuple):
    """The insight of a recent turn, shown to the next turns on the same topic."""

    insight: str
    topic: str | None


class Vote(NamedTuple):
    """One source's verdict on one turn, and the bullets that it credits or blames."""

    verdict: Verdict
    bullet_ids: tuple[str, ...]


class BaseVotes(NamedTuple):
    """This learner's votes on a bullet of the read-only base playbook."""

    helpful: int = 0
    harmful: int = 0
    neutral: int = 0
    setbacks: int = 0


class Consolidations(NamedTuple):
    """How many commits have merged bullets, and when the last one did."""

    number: int = 0
    last_at: datetime | None = None


TurnVotes = Mapping[EvidenceSource, Vote]


class PlaybookStats(Frozen):
    """Counts over the active bullets; `used` are those with at least one vote."""

    bullets: int
    quarantined: int
    sections: Mapping[str, int]
    memory_types: Mapping[str, int]
    helpful: int
    harmful: int
    neutral: int
    used: int
    unused: int
    mean_reliability: float


def mint_id(section: str, number: int) -> str:
    """Return an id such as `fil-00042`: three letters of the section, then the learner's counter."""
    ascii_form = normal_form("NFKD", section).casefold()
    return f"{''.join(_LETTERS.findall(ascii_form))[:3].ljust(3, 'x')}-{number:05d}"


@dataclass(frozen=True)
class Playbook:
    """The content of a learner's memory. `next_id` never goes back.

    `aliases` maps a merged id to its survivor, `tombstones` a superseded id to its successor.
    `votes` holds the judged turns (the newest 200), so that a later judgement replaces an earlier one.
    """

    entries: Mapping[str, Bullet] = field(default_factory=lambda: MappingProxyType({}))
    next_id: int = 1
    aliases: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    tombstones: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    reflections: tuple[RecentInsight, ...] = ()
    votes: Mapping[str, TurnVotes] = field(default_factory=lambda: MappingProxyType({}))
    base_votes: Mapping[str, BaseVotes] = field(default_factory=lambda: MappingProxyType({}))
    consolidations: Consolidations = Consolidations()  # noqa: RUF009  a named tuple

    @classmethod
    def of(cls, bullets: Iterable[Bullet]) -> Playbook:
        """Return a playbook of these bullets; new ids are counted on from the highest number in theirs.

        Raises ValueError when two bullets have one id.
        """
        entries: dict[str, Bullet] = {}
        for bullet in bullets:
            if bullet.id in entries:
                raise ValueError(f"two bullets have the id {bullet.id}: give each its own")
            entries[bullet.id] = bullet
        return cls(entries=entries, next_id=1 + max(map(id_number, entries), default=0))

    def __len__(self) -> int:
        return len(self.entries)

    def bullets(self, section: str | None = None) -> tuple[Bullet, ...]:
        """Return the bullets in the order they came, those of one section if it is given."""
        return tuple(b for b in self.entries.values() if section is None or b.section == section)

    def get_bullet(self, bullet_id: str) -> Bullet | None:
        """Return the bullet with this id, None where there is none."""
        return self.entries.get(bullet_id)

    @cached_property
    def index(self) -> Index:
        """The search index over these bullets."""
        from ace_graph.memory.search.index import Index

        return Index.build(self.entries.values())

    @cached_property
    def hashes(self) -> Mapping[str, tuple[str, ...]]:
        """Content hash -> sorted ids of the bullets that have it."""
        return _rehashed({}, (), self.entries.values())

    @cached_property
    def stating(self) -> Mapping[str, tuple[str, ...]]:
        """Key of a relation -> ids of the bullets that state it, those that came last at the end.

        Reading what texts state takes as long as indexing them; only who shows such a bullet asks.
        """
        return _restated({}, (), self.entries.values())

    @cached_property
    def decay_groups(self) -> DecayGroups:
        """The ids of the bullets that decay alike."""
        return regrouped({}, (), self.entries.values())

    def inherit(self, parent: Playbook, changed: Collection[str] | None = None) -> None:
        """Derive index, tables and groups from `parent`'s, where it has them, instead of from nothing.

        `changed` names all bullets that may differ; None: any may.
        """
        derived = vars(parent).keys() & {"index", "hashes", "stating", "decay_groups"}
        if not derived:
            return
        ids = {**parent.entries, **self.entries} if changed is None else changed
        pairs = [(parent.entries.get(key), self.entries.get(key)) for key in ids]
        removed = [old for old, new in pairs if old is not None and old is not new]
        added = [new for old, new in pairs if new is not None and old is not new]
        if "index" in derived:
            # One built anew, where most numbers of the old one are free
            index = parent.index.changed(removed, added)
            vars(self)["index"] = type(index).build(self.entries.values()) if index.scattered else index
        if "decay_groups" in derived:
            vars(self)["decay_groups"] = regrouped(parent.decay_groups, removed, added)
        if "stating" in derived:
            other = [pair for pair in pairs if _claim(pair[0]) != _claim(pair[1])]
            gone = [old for old, _ in other if old is not None]
            came = [new for _, new in other if new is not None]
            vars(self)["stating"] = _restated(parent.stating, gone, came) if other else parent.stating
        if "hashes" in derived:
            other = [pair for pair in pairs if _text(pair[0]) != _text(pair[1])]
            removed = [old for old, _ in other if old is not None]
            added = [new for _, new in other if new is not None]
            vars(self)["hashes"] = _rehashed(parent.hashes, removed, added) if other else parent.hashes

    def add_bullet(
        self, section: str, content: str, *, ttl_days: float | None = None, now: datetime | None = None
    ) -> tuple[Playbook, Bullet]:
        """Return the playbook with a new bullet, and the bullet. `now` defaults to the system's clock.

        Raises `pydantic.ValidationError` for an empty section or text, or a time to live that is not above 0.
        """
        moment = now or utc_now()
        bullet = Bullet(
            id=mint_id(section, self.next_id),
            section=section,
            content=content,
            created_at=moment,
            updated_at=moment,
            ttl_days=ttl_days,
        )
        return replace(self, entries={**self.entries, bullet.id: bullet}, next_id=self.next_id + 1), bullet

    def tag_bullet(self, bullet_id: str, tag: str, *, now: datetime | None = None) -> Playbook:
        """Return the playbook with one counter of one bullet one higher.

        Raises KeyError for an unknown id, ValueError for a tag that is none of the three.
        """
        return replace(self, entries={**self.entries, bullet_id: self.entries[bullet_id].tag(tag, now)})

    def remove_bullet(self, bullet_id: str) -> Playbook:
        """Return the playbook without the bullet. Raises KeyError for an unknown id."""
        entries = dict(self.entries)
        del entries[bullet_id]
        return replace(self, entries=entries)

    def as_prompt(self) -> str:
        """Return the bullets as markdown by section (document 000); an empty playbook gives ''."""
        blocks = [
            f"## {section}\n"
            + "\n".join(f"- {_line(b)}" for b in self.bullets(section) if b.status == "active")
            for section in dict.fromkeys(b.section for b in self.entries.values() if b.status == "active")
        ]
        return "\n\n".join(blocks)

    def as_context(self, max_strategies: int = 50) -> str:
        """Return at most `max_strategies` bullets, best first, as a prompt's section (document 001).

        Sections are sorted by name and titled; nothing to show gives ''. Best is helpful - harmful,
        then the newest.
        """
        active = [b for b in self.entries.values() if b.status == "active"]
        best = sorted(active, key=lambda b: (b.helpful - b.harmful, b.updated_at), reverse=True)[
            :max_strategies
        ]
        if not best:
            return ""
        blocks = [
            f"### {_title(section)}\n" + "\n".join(f"- {_line(b)}" for b in best if b.section == section)
            for section in sorted({b.section for b in best})
        ]
        return "## Learned Strategies\n\n" + "\n\n".join(blocks)

    def stats(self) -> PlaybookStats:
        """Return counts over the active bullets; decay needs the access part, so it is not in here."""
        active = [b for b in self.entries.values() if b.status == "active"]
        used = sum(1 for b in active if b.helpful or b.harmful or b.neutral)
        return PlaybookStats(
            bullets=len(active),
            quarantined=len(self.entries) - len(active),
            sections=dict(Counter(b.section for b in active)),
            memory_types=dict(Counter(b.memory_type for b in active)),
            helpful=sum(b.helpful for b in active),
            harmful=sum(b.harmful for b in active),
            neutral=sum(b.neutral for b in active),
            used=used,
            unused=len(active) - used,
            mean_reliability=sum(b.reliability for b in active) / len(active) if active else 0.0,
        )


def _rehashed(
    table: Mapping[str, tuple[str, ...]], removed: Iterable[Bullet], added: Iterable[Bullet]
) -> Mapping[str, tuple[str, ...]]:
    changed = dict(table)
    for bullet in removed:
        left = tuple(key for key in changed.pop(bullet.content_hash, ()) if key != bullet.id)
        if left:
            changed[bullet.content_hash] = left
    for bullet in added:
        changed[bullet.content_hash] = tuple(sorted({*changed.get(bullet.content_hash, ()), bullet.id}))
    return changed


def _text(bullet: Bullet | None) -> str | None:
    return None if bullet is None else bullet.content


def _restated(
    stating: Mapping[str, tuple[str, ...]], removed: Iterable[Bullet], added: Iterable[Bullet]
) -> Mapping[str, tuple[str, ...]]:
    from ace_graph.memory.retrieval.current_values import restated

    return restated(stating, removed, added)


def _claim(bullet: Bullet | None) -> tuple[object, ...]:
    """Return what tells which relation a bullet states."""
    return () if bullet is None else (bullet.content, bullet.claim)


def id_number(bullet_id: str) -> int:
    """Return the counter in an id of the form `abc-00042` (at most 9 digits), 0 where there is none."""
    found = re.fullmatch(r".*?-(\d{1,9})", bullet_id, re.ASCII)
    return int(found.group(1)) if found else 0


def _line(bullet: Bullet) -> str:
    return f"[{bullet.id}] {bullet.advice} (helpful={bullet.helpful}, harmful={bullet.harmful})"


def _title(section: str) -> str:
    return section.replace("_", " ").title()


@dataclass(frozen=True)
class Lineage:
    """The bullet, and the ids that it took the place of (`replaced`) or was merged with (`absorbed`)."""

    bullet: Bullet
    replaced: tuple[str, ...]
    absorbed: tuple[str, ...]


def lineage_of(playbook: Playbook, bullet_id: str) -> Lineage | None:
    """Return the lineage of an active bullet, found by its own id or one it absorbed; None for no such."""
    bullet = playbook.get_bullet(playbook.aliases.get(bullet_id, bullet_id))
    if bullet is None or bullet.status != "active":
        return None
    return Lineage(
        bullet,
        replaced=tuple(old for old, new in playbook.tombstones.items() if new == bullet.id),
        absorbed=tuple(old for old, new in playbook.aliases.items() if new == bullet.id),
    )


# The interval of a share: how far the true rate may be from the observed one.
#
# Source: Wilson (1927), "Probable inference, the law of succession, and statistical inference".


Z_95 = NormalDist().inv_cdf(0.975)
"""The two-sided quantile of a 95 % interval, 1.96."""


class Interval(NamedTuple):
    """An interval; both ends belong to it."""

    low: float
    high: float


def wilson_interval(successes: float, total: float, z: float = Z_95) -> Interval:
    """Return the interval of the rate `successes / total`; without any observation it is [0, 1]."""
    if total <= 0:
        return Interval(0.0, 1.0)
    share = successes / total
    centre = (share + z**2 / (2 * total)) / (1 + z**2 / total)
    half = z * sqrt(share * (1 - share) / total + z**2 / (4 * total**2)) / (1 + z**2 / total)
    low = 0.0 if successes <= 0 else max(0.0, centre - half)
    return Interval(low, 1.0 if successes >= total else min(1.0, centre + half))
