"""What `playbook stats` and `playbook get ID` print: figures of a playbook, and one bullet as a strategy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ace_graph.cli.commands.playbook_view import as_text, bullet_json
from ace_graph.cli.options import DEFAULT_NAME, Which
from ace_graph.cli.store_access import on_store
from ace_graph.cli.terminal import console, print_json, printable
from ace_graph.errors import ChangeRefused
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.catalogue.foreign import foreign_prefix
from ace_graph.memory.clock import utc_now
from ace_graph.memory.decay import mean_decay_score
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.memories import trajectories_behind
from ace_graph.memory.trust import lift, proven, share_withheld
from ace_graph.memory.turn import TurnRecord
from ace_graph.memory.usage import OWN_PLAYBOOK
from ace_graph.memory.views.confidence import EvidenceIndex
from ace_graph.memory.views.effectiveness import effectiveness_of, metadata_of
from ace_graph.memory.views.kinds import kind_of
from ace_graph.memory.views.strategy import CATEGORIES, content_of, entry_of
from ace_graph.playbooks.target import target_of

__all__ = ["Worth", "get", "read_worth", "stats", "strategies_json", "worth_of"]


class Worth(NamedTuple):
    """A playbook, the records behind its bullets, and how its learner used it."""

    snapshot: Snapshot
    policy: Policy
    turns: tuple[TurnRecord, ...]
    effectiveness: dict[str, object]


def stats(url: str | None, which: Which, *, as_json: bool) -> None:
    """Print counts, the means of strength and confidence, and how the playbook was used."""
    found = on_store(url, lambda store: read_worth(store, which))
    snapshot, policy = found.snapshot, found.policy
    totals = snapshot.playbook.stats()
    active = [b for b in snapshot.playbook.bullets() if b.status == "active"]
    figures: dict[str, object] = {
        "learner": which.learner,
        "version": None if snapshot.absent else snapshot.version.n,
        **{name: dict(v) if hasattr(v, "items") else v for name, v in totals._asdict().items()},
        "core": sum(b.core for b in active),
        "mean_strength": mean_decay_score(active, snapshot.access, policy.decay),
        "access_clock": snapshot.access.access_clock,
        "max_bullets": policy.max_bullets,
        "proven": sum(map(proven, active)),
        "withheld_share": share_withheld(snapshot.access.trial, policy.holdout_rate),
        "lift": _lift(snapshot),
        "kinds": dict(Counter(map(kind_of, active))),
        "categories": dict(Counter(CATEGORIES[b.polarity] for b in active)),
        "mean_confidence": _mean_confidence(active, found),
        **worth_of(found),
    }
    if as_json:
        print_json(figures)
        return
    for name, value in figures.items():
        console().print(f"{name.replace('_', ' ')}: {as_text(value)}", soft_wrap=True)


def get(url: str | None, which: Which, bullet_id: str, *, as_json: bool) -> None:
    """Print one bullet as a strategy, with the trajectories behind it.

    Raises ChangeRefused for an unknown id.
    """
    found = on_store(url, lambda store: read_worth(store, which, bullet_id))
    snapshot, turns = found.snapshot, found.turns
    bullet = _bullet(snapshot, bullet_id)
    entry = entry_of(bullet, EvidenceIndex(snapshot, turns), utc_now())
    if as_json:
        print_json(
            {
                "version": snapshot.version.n,
                "kind": kind_of(bullet),
                "importance": bullet.importance,
                **entry.model_dump(mode="json"),
                "trajectories": [_trajectory(turn) for turn in turns],
                "bullet": bullet_json(bullet),
            }
        )
        return
    out = console()
    for name, value in (("kind", kind_of(bullet)), *entry):
        if value not in (None, ()):
            shown = ", ".join(entry.examples) if name == "examples" else as_text(value)
            out.print(f"{name.replace('_', ' ')}: {printable(shown)}", soft_wrap=True)
    for turn in turns:
        told = f"{turn.verdict} {turn.completed_at or turn.started_at:%Y-%m-%d} {turn.turn_id}: {turn.task}"
        out.print(f"  {printable(told)}", soft_wrap=True)


def _used_as(owner: str, name: str) -> str:
    """The name of a playbook in the ids under which a turn is shown its bullets."""
    return foreign_prefix(owner, name).removesuffix(":")


async def read_worth(store: Store, which: Which, bullet_id: str | None = None) -> Worth:
    """Return a playbook, its use, and the records behind one bullet or all active ones.

    Raises PlaybookNotFound, and ChangeRefused for an unknown bullet.
    """
    own = await store.load(which.learner)
    snapshot, used_as = own, OWN_PLAYBOOK
    if which.name != DEFAULT_NAME:
        target = await target_of(store, which.name, which.learner)
        snapshot, used_as = (
            await target.store.load(target.key),
            _used_as(target.ref.owner or "", target.ref.name),
        )
    active = (b for b in snapshot.playbook.bullets() if b.status == "active")
    bullets = active if bullet_id is None else [_bullet(snapshot, bullet_id)]
    turns = await trajectories_behind(store, which.learner, snapshot, bullets)
    used = effectiveness_of(own, used_as).model_dump(mode="json")
    return Worth(snapshot, store.policy, turns, used)


def worth_of(found: Worth) -> dict[str, object]:
    """Return how the playbook was used, and what was done to make it what it is."""
    return {**found.effectiveness, **metadata_of(found.snapshot).model_dump(mode="json")}


def strategies_json(found: Worth) -> dict[str, object]:
    """Return the active bullets as strategies in three categories, and what the playbook was worth."""
    content = content_of(found.snapshot, found.turns, utc_now())
    return {
        "strategies": {
            category: [entry.model_dump(mode="json") for entry in entries]
            for category, entries in (
                ("helpful", content.helpful),
                ("harmful", content.harmful),
                ("neutral", content.neutral),
            )
        },
        "metadata": metadata_of(found.snapshot).model_dump(mode="json"),
        "effectiveness": found.effectiveness,
    }


def _bullet(snapshot: Snapshot, bullet_id: str) -> Bullet:
    """The bullet of this id, or the one that it was merged into."""
    playbook = snapshot.playbook
    found = playbook.get_bullet(playbook.aliases.get(bullet_id, bullet_id))
    if found is None:
        raise ChangeRefused(f"{bullet_id}: unknown id: playbook show lists the ids")
    return found


def _lift(snapshot: Snapshot) -> dict[str, float] | None:
    """The lift of the unproven bullets with its 95 % interval; None until turns on both sides were judged."""
    found = lift(snapshot.access.trial)
    return None if found is None else {name: round(value, 4) for name, value in found._asdict().items()}


def _mean_confidence(active: Sequence[Bullet], found: Worth) -> float | None:
    evidence, now = EvidenceIndex(found.snapshot, found.turns), utc_now()
    return sum(evidence.confidence(b, now) for b in active) / len(active) if active else None


def _trajectory(turn: TurnRecord) -> dict[str, object]:
    shown = {"task", "agent", "task_type", "status", "verdict", "score", "started_at", "completed_at"}
    return {"trajectory_id": turn.turn_id, **turn.model_dump(mode="json", include=shown)}
