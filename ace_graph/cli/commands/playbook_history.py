"""What `playbook history`, `diff`, `rollback`, `archived` and `restore` do: read changes, compare, go back.

Going back is a change like any other: it is in the history, and can itself be undone.
"""

from __future__ import annotations

from typing import cast

from ace_graph.cli.commands.playbook_view import bullet_json
from ace_graph.cli.options import Which
from ace_graph.cli.store_access import by_command, commit_json, on_playbook, refused
from ace_graph.cli.terminal import console, counted, print_json, print_line, printable
from ace_graph.errors import UsageError
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.commit import Commit, HistoryEntry
from ace_graph.memory.delta.effect import Report
from ace_graph.memory.delta.rollback import ArchivedBullet
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.stores.base import Store
from ace_graph.memory.views.diff import diff as bullet_diff
from ace_graph.playbooks.handle import PlaybookHandle
from ace_graph.playbooks.versions import version_from, version_number

__all__ = ["archive", "diff", "history", "restore", "rollback"]

_COUNTED = (
    "added", "reinforced", "updated", "tagged", "merged", "superseded", "removed", "pruned", "restored",
    "quarantined", "released",
)  # fmt: skip


def history(url: str | None, which: Which, *, as_json: bool, limit: int) -> None:
    """Print the content changes, the newest first."""
    kept = on_playbook(url, which, lambda _, target: target.store.history(target.key))
    newest = [entry for entry in reversed(kept.entries) if entry.effect is None or entry.effect.changes]
    if as_json:
        print_json({"oldest": kept.base_n, "versions": [_entry_json(entry) for entry in newest[:limit]]})
        return
    out = console()
    if not newest:
        console(error=True).print(f"There is no history of {printable(str(which))} yet.")
    for entry in newest[:limit]:
        by = " ".join(part for part in (entry.author, entry.reason or entry.source) if part)
        line = f"{entry.n:>5}  {entry.at:%Y-%m-%d %H:%M}  {printable(by)}: {_summary(entry.report)}"
        out.print(line, soft_wrap=True)


def diff(url: str | None, which: Which, before: str, after: str, *, as_json: bool) -> None:
    """Print the bullets that were added, removed or changed between two versions."""

    wanted = (_version_from(before), _version_from(after))

    async def job(_: Store, target: PlaybookHandle) -> tuple[tuple[int, Playbook], ...]:
        stored = await target.store.versions(target.key)
        numbers = [version_number(stored, version) for version in wanted]
        return tuple([(n, await target.content_at(n)) for n in numbers])

    (first, old), (second, new) = on_playbook(url, which, job)
    found = bullet_diff(old, new)
    changed = [(each.before, each.after) for each in found.updated]
    if as_json:
        print_json(
            {
                "from": first,
                "to": second,
                "added": [bullet_json(bullet) for bullet in found.added],
                "removed": [bullet_json(bullet) for bullet in found.removed],
                "changed": [{"before": bullet_json(was), "after": bullet_json(now)} for was, now in changed],
            }
        )
        return
    lines = [f"- [{b.id}] {b.content}" for b in found.removed] + [
        f"+ [{b.id}] {b.content}" for b in found.added
    ]
    lines += [f"~ [{was.id}] {_changes(was, now)}" for was, now in changed]
    for line in lines or [f"Versions {before} and {after} hold the same bullets."]:
        print_line(line)


def rollback(url: str | None, which: Which, version: str, *, as_json: bool) -> None:
    """Restore the content of an earlier version, as a new version."""

    wanted = _version_from(version)

    async def job(_: Store, target: PlaybookHandle) -> Commit:
        return await target.restore(wanted, by_command(f"playbook rollback {version}"))

    done = on_playbook(url, which, job)
    if as_json:
        print_json(commit_json(done))
        return
    held = counted(len(done.snapshot.playbook), "bullet")
    console().print(f"version {done.version.n} holds the {held} of version {version}", soft_wrap=True)


def archive(url: str | None, which: Which, *, as_json: bool, limit: int) -> None:
    """Print the bullets that left the playbook and are not back, the latest first."""

    found = on_playbook(url, which, lambda _, target: target.archived_bullets())[:limit]
    if as_json:
        print_json({"bullets": [_left_json(left) for left in found]})
        return
    if not found:
        console(error=True).print(f"No bullet of {printable(str(which))} has left its playbook.")
    for left in found:
        why = f"{left.why} (now {left.into})" if left.into else left.why
        line = f"[{left.bullet.id}] version {left.n}, {left.at:%Y-%m-%d}, {why}: {left.bullet.content}"
        print_line(line)


def restore(url: str | None, which: Which, bullet_id: str, *, as_json: bool) -> None:
    """Bring one archived bullet back as it was."""

    async def job(_: Store, target: PlaybookHandle) -> Commit:
        base = await target.load()
        return await target.restore_bullet(base, bullet_id, by_command("playbook restore"), refused)

    done = on_playbook(url, which, job)
    if as_json:
        print_json(commit_json(done))
        return
    bullet = done.snapshot.playbook.entries[bullet_id]
    hidden = "; it does more harm than good, so no prompt shows it" if bullet.harmful > bullet.helpful else ""
    if bullet.status == "quarantined":
        hidden = f", in quarantine ({bullet.quarantine_reason})"
    print_line(f"{bullet_id}: back{hidden}")


def _version_from(text: str) -> int | str:
    """Return the version that a text names. Raises UsageError for what is no number and no label."""
    if not text.isascii() or not text.replace(".", "", 1).isdecimal():
        raise UsageError(f"{text[:20]} is no version: give a number such as 2, or a label such as 2.0")
    return version_from(text)


def _left_json(left: ArchivedBullet) -> dict[str, object]:
    return {
        **bullet_json(left.bullet),
        "left": {"version": left.n, "at": left.at.isoformat(), "why": left.why, "into": left.into},
    }


def _entry_json(entry: HistoryEntry) -> dict[str, object]:
    return {
        "version": entry.n,
        "at": entry.at.isoformat(),
        "author": entry.author,
        "reason": entry.reason,
        "source": entry.source,
        **entry.report.model_dump(mode="json", exclude={"refs"}),
    }


def _summary(report: Report) -> str:
    counts = [f"{len(getattr(report, name))} {name}" for name in _COUNTED if getattr(report, name)]
    return ", ".join(counts) or "no bullet changed"


def _changes(was: Bullet, now: Bullet) -> str:
    """The fields that differ, the moment of the change aside."""
    fields = [name for name in Bullet.model_fields if getattr(was, name) != getattr(now, name)]
    changed = [name for name in fields if name != "updated_at"] or fields
    return "; ".join(
        f"{name}: {_formatted(getattr(was, name))} -> {_formatted(getattr(now, name))}" for name in changed
    )


def _formatted(value: object) -> str:
    return ", ".join(cast("tuple[str, ...]", value)) or "none" if isinstance(value, tuple) else str(value)
