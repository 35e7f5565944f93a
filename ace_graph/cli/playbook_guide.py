"""`/playbook` inside a chat: list what is remembered, ask why, pin, remove, undo.

Bullets in quarantine are not shown; `ace-graph playbook show --quarantined` shows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from ace_graph.cli.store_access import commit_operation
from ace_graph.cli.terminal import console, counted, printable
from ace_graph.errors import ChangeRefused
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.delta.operations import Operation, Pin, Remove, Restore, Unpin
from ace_graph.memory.playbook import Lineage, lineage_of
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import Store
from ace_graph.memory.views.bullet_filter import BulletFilter

__all__ = ["GUIDE_HELP", "PlaybookGuide"]

GUIDE_HELP = """\
/playbook              what is remembered of you, numbered
/playbook search WORDS only what holds these words
/playbook why N        where number N comes from
/playbook pin N        always use it (unpin N: no longer)
/playbook remove N     throw it away
/playbook undo         take the last pin or remove back"""

_PAGE = 20


class PlaybookGuide:
    """Numbers refer to the list that was shown last; an id does as well."""

    def __init__(self, store: Store, learner: str) -> None:
        self._store = store
        self._learner = learner
        self._listed: tuple[str, ...] = ()
        self._undo: list[tuple[str, Operation]] = []

    async def run(self, words: str) -> None:
        """Carry out what follows `/playbook`. Raises ChangeRefused for what can't be done."""
        verb, _, rest = words.strip().partition(" ")
        rest = rest.strip()
        snapshot = await self._store.load(self._learner)
        if verb in ("", "list"):
            self._list(snapshot, BulletFilter())
        elif verb == "search" and rest:
            self._list(snapshot, BulletFilter(words=rest))
        elif verb == "why" and rest:
            self._why(snapshot, rest)
        elif verb in ("pin", "unpin", "remove") and rest:
            await self._change(snapshot, verb, rest)
        elif verb == "undo":
            await self._take_back(snapshot)
        else:
            console().print(GUIDE_HELP, style="dim")

    def _list(self, snapshot: Snapshot, wanted: BulletFilter) -> None:
        found = [bullet for bullet in snapshot.playbook.bullets() if wanted.passes(bullet)]
        self._listed = tuple(bullet.id for bullet in found[:_PAGE])
        out = console()
        if not found:
            out.print("Nothing is remembered yet." if not wanted.words else "Nothing holds these words.")
            return
        for number, bullet in enumerate(found[:_PAGE], 1):
            out.print(f"{number:3}. {_line(bullet)}")
        if len(found) > _PAGE:
            out.print(f"     and {len(found) - _PAGE} more: /playbook search WORDS finds them")
        out.print("/playbook why N, pin N, remove N, search WORDS, undo", style="dim")

    def _why(self, snapshot: Snapshot, name: str) -> None:
        found = lineage_of(snapshot.playbook, self._id_of(name))
        if found is None:
            raise ChangeRefused(f"{name}: there is no such item: /playbook lists them")
        for line in _reasons(found, snapshot.access.last_used(found.bullet.id)):
            console().print(line)

    async def _change(self, snapshot: Snapshot, verb: str, name: str) -> None:
        bullet = self._bullet(snapshot, name)
        operation, inverse, confirmation = _operations(verb, bullet)
        await commit_operation(self._store, self._learner, snapshot, operation, f"/playbook {verb}")
        self._undo.append((bullet.id, inverse))
        console().print(f"{confirmation}: {printable(bullet.advice)} (/playbook undo takes it back)")

    async def _take_back(self, snapshot: Snapshot) -> None:
        if not self._undo:
            raise ChangeRefused("there is nothing to undo: only pins and removals of this chat can be undone")
        name, inverse = self._undo[-1]
        await commit_operation(self._store, self._learner, snapshot, inverse, "/playbook undo")
        self._undo.pop()
        console().print(f"taken back: {name} is as it was")

    def _bullet(self, snapshot: Snapshot, name: str) -> Bullet:
        bullet = snapshot.playbook.get_bullet(self._id_of(name))
        if bullet is None or bullet.status != "active":
            raise ChangeRefused(f"{name}: there is no such item: /playbook lists them")
        return bullet

    def _id_of(self, name: str) -> str:
        number = int(name) if name.isascii() and name.isdigit() and len(name) < 4 else 0
        return self._listed[number - 1] if 0 < number <= len(self._listed) else name


def _line(bullet: Bullet) -> str:
    pinned = ", pinned" if bullet.pinned else ""
    return f"{printable(bullet.advice)}  ({bullet.section}, +{bullet.helpful}/-{bullet.harmful}{pinned})"


def _operations(verb: str, bullet: Bullet) -> tuple[Operation, Operation, str]:
    """The operation, the one that takes it back, and the confirmation."""
    pin, unpin = Pin(bullet_id=bullet.id), Unpin(bullet_id=bullet.id)
    if verb == "pin":
        return pin, pin if bullet.pinned else unpin, "pinned"
    if verb == "unpin":
        return unpin, pin if bullet.pinned else unpin, "no longer pinned"
    return Remove(bullet_id=bullet.id), Restore(bullet=bullet), "removed"


def _reasons(found: Lineage, used: date | None) -> Sequence[str]:
    bullet = found.bullet
    learned = bullet.sources or bullet.examples
    own = bullet.profile or not learned or "cli" in bullet.sources or "learner" in bullet.sources
    origin = "You or your host put it there." if own else "It was learned from your conversations."
    older = (name for name in bullet.sources if name not in ("cli", "learner"))
    turns = list(dict.fromkeys((*bullet.examples, *older)))
    lines = [
        printable(bullet.advice),
        f"  {origin} Kept since {bullet.created_at:%Y-%m-%d}, last changed {bullet.updated_at:%Y-%m-%d}.",
        f"  It came up {counted(bullet.seen, 'time')}; it helped {counted(bullet.helpful, 'time')} and "
        f"did harm {counted(bullet.harmful, 'time')}.",
    ]
    lines += [f"  Turns behind it: {', '.join(turns[:10])}"] if turns else []
    lines += [f"  It replaced {', '.join(found.replaced[:10])}."] if found.replaced else []
    lines += [f"  It absorbed {', '.join(found.absorbed[:10])}."] if found.absorbed else []
    shown = f"; the last time was {used:%Y-%m-%d}" if used else ""
    lines += (
        ["  It is in every prompt."]
        if bullet.core
        else [f"  It is shown when a question is about it{shown}."]
    )
    return lines
