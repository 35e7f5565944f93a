"""What `playbook show` and `search` print: a table on a terminal, one bullet a line elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import cast

from rich.table import Table
from rich.text import Text

from ace_graph.cli.options import Which
from ace_graph.cli.store_access import on_playbook, on_store
from ace_graph.cli.terminal import console, counted, print_json, printable
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.decay import decay_score
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.memories import Memory, memories
from ace_graph.memory.views.bullet_filter import BulletFilter
from ace_graph.playbooks.handle import PlaybookHandle

__all__ = [
    "as_text",
    "bullet_json",
    "bullet_table",
    "bullets_json",
    "print_bullets",
    "search",
    "show",
    "show_records",
]


_PLURALS = {"trajectory": "trajectories", "reflection": "reflections"}
_EMPTY: dict[str, object] = {
    "vouched": [],
    "examples": [],
    "evidence_count": 0,
    "consolidation_version": 0,
    "distinct_from": [],
    "source_words": [],
}
"""The fields that are not null without a value, and that are not stored then."""


def show(url: str | None, which: Which, *, as_json: bool, shown: BulletFilter, limit: int) -> None:
    """Print totals, sections and the bullets that pass `shown`, the strongest first."""
    snapshot, policy = _load(url, which)
    wanted = [b for b in snapshot.playbook.bullets() if shown.passes(b)]
    if as_json:
        print_json(bullets_json(snapshot, wanted))
        return
    _print_totals(snapshot, which)
    ranked = _ranked(wanted, snapshot, policy)
    print_bullets(ranked[:limit], snapshot, policy)
    if len(ranked) > limit:
        console().print(f"… and {len(ranked) - limit} more: --limit {len(ranked)} shows all", style="dim")


def search(url: str | None, which: Which, wanted: BulletFilter, *, as_json: bool) -> None:
    """Print the bullets that pass `wanted`, the strongest first."""
    snapshot, policy = _load(url, which)
    found = [b for b in snapshot.playbook.bullets() if wanted.passes(b)]
    if as_json:
        print_json(bullets_json(snapshot, found))
    elif found:
        print_bullets(_ranked(found, snapshot, policy), snapshot, policy)
    else:
        held = f"No bullet of {printable(str(which))} holds {printable(wanted.words)!r}"
        other = " with that tag and type" if wanted.tags or wanted.memory_types else ""
        console(error=True).print(f"{held}{other}.")


def show_records(url: str | None, learner: str, kind: str, *, as_json: bool, limit: int) -> None:
    """Print memories that are no bullets, trajectories or reflections, the newest first."""

    async def job(store: Store) -> tuple[Snapshot, tuple[Memory, ...]]:
        return await store.load(learner), await memories(store, learner, kind, limit)

    snapshot, found = on_store(url, job)
    if as_json:
        rows = [
            {"id": each.id, "kind": each.kind, "content": each.content, "at": each.at.isoformat()}
            for each in found
        ]
        print_json({**bullets_json(snapshot, ()), _PLURALS[kind]: rows})
        return
    for each in found:
        print(f"[{printable(each.id)}] {each.at:%Y-%m-%d %H:%M} {printable(each.content)}")
    if not found:
        console(error=True).print(f"Nothing of the kind {kind} is stored for learner {printable(learner)}.")


def bullets_json(snapshot: Snapshot, bullets: Sequence[Bullet]) -> dict[str, object]:
    """Return the version and every field of the bullets; the version is None without a state."""
    return {
        "version": None if snapshot.absent else snapshot.version.n,
        "bullets": [bullet_json(bullet) for bullet in bullets],
    }


def bullet_json(bullet: Bullet) -> dict[str, object]:
    """Return every field of the bullet, also those that are stored only where they hold something."""
    stored = bullet.model_dump(mode="json")
    return {name: stored.get(name, _EMPTY.get(name)) for name in Bullet.model_fields}


def _last_used(bullet: Bullet, snapshot: Snapshot) -> str:
    """When the bullet was last used in a prompt: a day, never, or always (the core)."""
    used = snapshot.access.last_used(bullet.id)
    return "always" if bullet.core else used.isoformat() if used else "never"


def print_bullets(bullets: Sequence[Bullet], snapshot: Snapshot, policy: Policy) -> None:
    """Print the bullets, the strength beside each."""
    if sys.stdout.isatty():
        console().print(bullet_table(bullets, snapshot, policy))
        return
    for bullet in bullets:
        print(
            f"[{bullet.id}] +{bullet.helpful}/-{bullet.harmful} "
            f"strength={decay_score(bullet, snapshot.access, policy.decay):.2f} "
            f"{_marked(bullet)}: {printable(bullet.content)}"
        )


def bullet_table(
    bullets: Sequence[Bullet], snapshot: Snapshot, policy: Policy, title: str | None = None
) -> Table:
    """Return the bullets as a table."""
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("id", no_wrap=True)
    table.add_column("section")
    table.add_column("content", ratio=1, overflow="fold")
    table.add_column("votes", justify="right", no_wrap=True)
    table.add_column("strength", justify="right")
    table.add_column("last used", no_wrap=True)
    for bullet in bullets:
        table.add_row(
            Text(bullet.id),
            Text(printable(_marked(bullet))),
            Text(printable(bullet.content)),
            Text(f"+{bullet.helpful}/-{bullet.harmful}"),
            Text(f"{decay_score(bullet, snapshot.access, policy.decay):.2f}"),
            Text(_last_used(bullet, snapshot)),
        )
    return table


def _load(url: str | None, which: Which) -> tuple[Snapshot, Policy]:
    async def job(store: Store, target: PlaybookHandle) -> tuple[Snapshot, Policy]:
        return await target.load(), store.policy

    return on_playbook(url, which, job)


def _print_totals(snapshot: Snapshot, which: Which) -> None:
    totals = snapshot.playbook.stats()
    version = "nothing stored yet" if snapshot.absent else f"version {snapshot.version.n}"
    kept_back = f", {totals.quarantined} in quarantine (--quarantined)" if totals.quarantined else ""
    held = f"{counted(totals.bullets, 'bullet')}{kept_back}"
    out = console()
    out.print(f"{_titled(which)}: {version}, {held}", soft_wrap=True)
    if totals.sections:
        out.print(f"Sections: {as_text(dict(totals.sections))}", soft_wrap=True)


def _titled(which: Which) -> str:
    title = printable(str(which))
    return title[0].upper() + title[1:]


def _ranked(bullets: Sequence[Bullet], snapshot: Snapshot, policy: Policy) -> list[Bullet]:
    return sorted(
        bullets,
        key=lambda b: (decay_score(b, snapshot.access, policy.decay), b.helpful, b.updated_at),
        reverse=True,
    )


def _marked(bullet: Bullet) -> str:
    marks = [bullet.section]
    marks += ["pinned"] if bullet.pinned else []
    marks += ["avoid"] if bullet.polarity == "anti_pattern" else []
    if bullet.status == "quarantined":
        marks.append(f"quarantined: {bullet.quarantine_reason or 'no reason given'}")
    return " ".join([marks[0], *(f"({mark})" for mark in marks[1:])])


def as_text(value: object) -> str:
    """Return a figure, or counts by name with the largest first, for people."""
    if isinstance(value, dict):
        counts = cast("dict[str, int]", value)
        parts = [f"{name} {counts[name]}" for name in sorted(counts, key=lambda name: -counts[name])]
        return printable(", ".join(parts)) or "none"
    return f"{value:.3f}" if isinstance(value, float) else printable(str(value))
