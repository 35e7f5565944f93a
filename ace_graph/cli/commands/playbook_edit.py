"""What `playbook add`, `edit`, `pin`, `release`, `remove` and the like do: one delta each, and its report.

Does not: decide what a delta changes. An operation that was refused is an error here.
"""

from __future__ import annotations

from collections.abc import Sequence

from ace_graph.cli.store_access import change
from ace_graph.cli.terminal import console, print_json, printable
from ace_graph.errors import UsageError
from ace_graph.memory.bullet import BulletTag
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.operations import (
    Add,
    Merge,
    Pin,
    Quarantine,
    Release,
    Remove,
    Reset,
    Supersede,
    Tag,
    Unpin,
    Update,
)

__all__ = [
    "add",
    "clear",
    "edit",
    "merge",
    "pin",
    "quarantine",
    "release",
    "remove",
    "report_json",
    "supersede",
    "tag",
    "unpin",
]


def add(url: str | None, learner: str, operation: Add, *, as_json: bool) -> None:
    """Add one bullet; a text that is known already reinforces its bullet."""
    done = change(url, learner, operation, "playbook add")
    bullet_id = done.report.refs[operation.ref or ""]
    how = "added" if bullet_id in done.report.added else "known already, reinforced"
    _tell(done, f"{bullet_id}: {how}{_kept_back(done, bullet_id)}", as_json=as_json, bullet_id=bullet_id)


def edit(url: str | None, learner: str, operation: Update, *, as_json: bool) -> None:
    """Change a bullet's text or time to live; its votes stay."""
    done, bullet_id = change(url, learner, operation, "playbook edit"), operation.bullet_id
    how = "changed" if done.report.updated else "is so already"
    _tell(done, f"{bullet_id}: {how}{_kept_back(done, bullet_id)}", as_json=as_json)


def pin(url: str | None, learner: str, bullet_id: str, *, as_json: bool) -> None:
    """Make a bullet part of the core."""
    done = change(url, learner, Pin(bullet_id=bullet_id), "playbook pin")
    _tell(done, f"{bullet_id}: pinned", as_json=as_json)


def unpin(url: str | None, learner: str, bullet_id: str, *, as_json: bool) -> None:
    """Undo a pin."""
    done = change(url, learner, Unpin(bullet_id=bullet_id), "playbook unpin")
    _tell(done, f"{bullet_id}: no longer pinned", as_json=as_json)


def quarantine(url: str | None, learner: str, bullet_id: str, why: str, *, as_json: bool) -> None:
    """Keep a bullet out of prompts."""
    done = change(url, learner, Quarantine(bullet_id=bullet_id, why=why), "playbook quarantine")
    _tell(done, f"{bullet_id}: in quarantine", as_json=as_json)


def release(url: str | None, learner: str, bullet_id: str, *, as_json: bool) -> None:
    """Let a bullet out of quarantine."""
    done = change(url, learner, Release(bullet_id=bullet_id), "playbook release")
    _tell(done, f"{bullet_id}: released, prompts may hold it", as_json=as_json)


def remove(url: str | None, learner: str, bullet_id: str, *, as_json: bool) -> None:
    """Archive a bullet."""
    done = change(url, learner, Remove(bullet_id=bullet_id), "playbook remove")
    _tell(done, f"{bullet_id}: removed; playbook restore {bullet_id} brings it back", as_json=as_json)


def merge(
    url: str | None, learner: str, ids: Sequence[str], text: str | None, *, force: bool, as_json: bool
) -> None:
    """Make one bullet of several."""
    if len(ids) < 2:
        raise UsageError("playbook merge takes the ids of two bullets or more")
    operation = Merge(bullet_ids=tuple(ids), content=text, force=force)
    done = change(url, learner, operation, "playbook merge")
    kept = done.report.merged[-1].kept
    gone = ", ".join(pair.gone for pair in done.report.merged)
    back = f"playbook rollback {done.version.n - 1} undoes it"
    _tell(done, f"{kept}: holds what {gone} said{_kept_back(done, kept)}; {back}", as_json=as_json)


def supersede(url: str | None, learner: str, bullet_id: str, by: str, *, as_json: bool) -> None:
    """Archive a bullet in favour of another one."""
    done = change(url, learner, Supersede(bullet_id=bullet_id, by=by), "playbook supersede")
    _tell(
        done, f"{bullet_id}: replaced by {by}; playbook restore {bullet_id} brings it back", as_json=as_json
    )


def tag(url: str | None, learner: str, bullet_id: str, vote: BulletTag, by: int, *, as_json: bool) -> None:
    """Move one counter of a bullet."""
    done = change(url, learner, Tag(bullet_id=bullet_id, tag=vote, by=by), "playbook tag")
    bullet = done.snapshot.playbook.get_bullet(bullet_id)
    now = f"+{bullet.helpful}/-{bullet.harmful}" if bullet else "archived, as it did too much harm"
    _tell(done, f"{bullet_id}: {now}", as_json=as_json)


def clear(url: str | None, learner: str, *, as_json: bool) -> None:
    """Archive every bullet and start the access clock at 0."""
    done = change(url, learner, Reset(), "playbook clear")
    back = f"playbook rollback {done.version.n - 1} undoes it"
    _tell(done, f"the playbook of learner {learner} is empty; {back}", as_json=as_json)


def report_json(done: Commit) -> dict[str, object]:
    """Return the version after a commit and what it changed, in ids."""
    return {"version": done.version.n, **done.report.model_dump(mode="json", exclude={"refs"})}


def _kept_back(done: Commit, bullet_id: str) -> str:
    """What to know of a bullet that no prompt will hold, '' for another."""
    bullet = done.snapshot.playbook.get_bullet(bullet_id)
    if bullet is None or bullet.status == "active":
        return ""
    return f", in quarantine ({bullet.quarantine_reason}); playbook release {bullet_id} lets it into prompts"


def _tell(done: Commit, sentence: str, *, as_json: bool, bullet_id: str | None = None) -> None:
    if as_json:
        print_json({**({"id": bullet_id} if bullet_id else {}), **report_json(done)})
    else:
        console().print(printable(sentence), soft_wrap=True)
