"""The working copy of `resolve`: the playbook after the changes so far.

It records every change as a fact, folds it into the copy, and resolves names: a ref of the same delta to its
bullet, a merged id to its survivor. A superseded or unknown id is refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from itertools import islice

from pydantic import ValidationError

from ace_graph.base.text import clean_line
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.delta.effect import (
    Archived,
    Change,
    Consolidated,
    Counted,
    Fold,
    Merged,
    Pruned,
    Put,
    Rejection,
    Report,
    Revived,
    Unlinked,
)
from ace_graph.memory.playbook import Playbook, id_number, mint_id
from ace_graph.memory.policy import Policy
from ace_graph.memory.screening.screen import screen
from ace_graph.memory.search.index import Index
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.use_stamps import Uses

_SAFE_ID = re.compile(r"[\w.-]{1,128}")
TAKEN_IDS = frozenset(
    ("archived", "audit", "changes", "diff", "history", "merge", "rollback", "search", "versions")
)
"""What stands in an address where an id does: a bullet of such an id could not be reached."""


def _is_safe_id(wanted: str) -> bool:
    """Whether a requested id is unambiguous (no spaces, no colon), can stand in an address, and is harmless.

    Prompts show ids, so the screen reads an id too.
    """
    if wanted in TAKEN_IDS or not wanted.strip("."):
        return False
    as_words = re.sub(r"[_.-]+", " ", wanted)
    return (
        _SAFE_ID.fullmatch(wanted) is not None and clean_line(wanted) == wanted and screen(as_words) is None
    )


class Refused(Exception):
    """Raised for an operation that can't be applied; the others of its delta still are."""


class _NewBullets:
    """An index of the bullets that this delta wrote, so that a large import takes linear time."""

    def __init__(self) -> None:
        self._index = Index()
        self._waiting: dict[str, Bullet] = {}
        self._known: dict[str, Bullet] = {}
        self._by_hash: dict[str, dict[str, None]] = {}

    def add(self, bullet: Bullet) -> None:
        self._waiting[bullet.id] = bullet

    def nominate(self, arriving: Bullet) -> dict[str, None]:
        for bullet in self._waiting.values():
            self._by_hash.setdefault(bullet.content_hash, {})[bullet.id] = None
        earlier = [self._known[key] for key in self._waiting if key in self._known]
        self._index = self._index.changed(earlier, self._waiting.values())
        self._known |= self._waiting
        self._waiting.clear()
        nominated = dict.fromkeys(self._index.nominate(arriving.content))
        return self._by_hash.get(arriving.content_hash, {}) | nominated


class Draft:
    """The state of one call of `resolve`; mutable."""

    def __init__(
        self,
        snapshot: Snapshot,
        policy: Policy,
        now: datetime,
        unknown: Collection[str] = (),
        apart: Collection[str] = (),
    ) -> None:
        self.playbook: Playbook = snapshot.playbook
        self.access = snapshot.access
        self.policy = policy
        self.now = now
        self.unknown = unknown
        self.apart = apart
        self.fold = Fold(snapshot.playbook)
        self.changes: list[Change] = []
        self._new = _NewBullets()
        self.touched: dict[str, None] = {}
        self.analyzed: dict[str, None] = {}
        self.consolidated = False
        self.access_reset = False
        self.restamped: Uses | None = None
        self.upheld: set[str] = set()
        self.blamed: dict[str, None] = {}
        self._next_id = snapshot.playbook.next_id
        self._first_free = snapshot.playbook.next_id
        self._granted: set[str] = set()
        self._refs: dict[str, str] = {}
        self._lists: dict[str, dict[str, None]] = {}
        self._pairs: dict[str, list[Merged]] = {"merged": [], "superseded": []}
        self._pruned: list[Pruned] = []
        self._rejected: list[Rejection] = []
        self._refused: dict[str, bool] = {}

    def refuses(self, text: str) -> bool:
        """Whether the screen finds something in a text. Read once: a turn's adds share a source."""
        if text not in self._refused:
            self._refused[text] = screen(text) is not None
        return self._refused[text]

    @property
    def entries(self) -> Mapping[str, Bullet]:
        """The bullets after the changes so far."""
        return self.fold.entries.now

    def locate(self, name: str, *, follow_aliases: bool = True) -> Bullet:
        """Return the bullet that `name` means. Raises Refused where it means none."""
        bullet_id = self._refs.get(name, name)
        if bullet_id in self.entries:
            return self.entries[bullet_id]
        if bullet_id in self.fold.tombstones.now:
            raise Refused("superseded")
        survivor = self.fold.aliases.now.get(bullet_id)
        if survivor is None:
            raise Refused("unknown id")
        if not follow_aliases:
            raise Refused("merged")
        return self.locate(survivor)

    def present(self, name: str) -> Bullet | None:
        """Return the bullet that `name` means, None where it means none."""
        try:
            return self.locate(name)
        except Refused:
            return None

    def validated(self, fields: Mapping[str, object]) -> Bullet:
        """Return a bullet of these fields. Raises Refused naming those that are out of range."""
        try:
            return Bullet.model_validate(fields)
        except ValidationError as error:
            names = sorted({str(item["loc"][0]) for item in error.errors() if item["loc"]})
            raise Refused(f"invalid {', '.join(names)}") from error

    def check_known(self, trajectories: Iterable[str]) -> None:
        """Raise Refused for a trajectory that the store does not hold."""
        missing = next((name for name in trajectories if name in self.unknown), None)
        if missing is not None:
            raise Refused(f"unknown trajectory {missing[:128]}")

    def reserve(self, number: int) -> None:
        """Mark ids up to this number as used."""
        self._next_id = max(self._next_id, number + 1)

    def bind(self, ref: str | None, bullet_id: str) -> None:
        if ref is not None:
            self._refs[ref] = bullet_id

    def new_id(self, section: str, wanted: str | None) -> str:
        """Return a new id, or the wanted one if it was certainly never used.

        That is certain for a number above all so far, and for an id without a number before the first bullet.
        """
        number = id_number(wanted) if wanted else 0
        if (
            wanted
            and (number >= self._first_free or (number == 0 and self._first_free == 1))
            and wanted not in self._granted
            and wanted not in self.entries
            and _is_safe_id(wanted)
        ):
            self._next_id = max(self._next_id, number + 1, 2)
            self._granted.add(wanted)
            return wanted
        minted = mint_id(section, self._next_id)
        while minted in self.entries:  # an imported id may look like one from the counter
            self._next_id += 1
            minted = mint_id(section, self._next_id)
        self._next_id += 1
        self._granted.add(minted)
        return minted

    def record(self, change: Change) -> None:
        """Make a change."""
        self.changes.append(change)
        self.fold.apply(change)

    def put(self, bullet: Bullet) -> None:
        """Add or replace the bullet. A value equal to the present one is no change."""
        if self.entries.get(bullet.id) != bullet:
            self._new.add(bullet)
            self.record(Put(bullet=bullet))

    def revive(self, bullet: Bullet, place: int | None = None) -> None:
        self._new.add(bullet)
        self.reserve(id_number(bullet.id))
        self.record(Revived(bullet=bullet, place=place))

    def restamp(self, uses: Uses) -> None:
        """Restore the stamps of restored bullets; they are not stamped as used by this delta."""
        earlier = self.restamped or Uses()
        self.restamped = Uses(clock=max(earlier.clock, uses.clock), stamps={**earlier.stamps, **uses.stamps})

    def archive(self, fact: Archived) -> None:
        self.touched.pop(fact.bullet.id, None)
        self.record(fact)

    def survivor_of(self, bullet_id: str) -> Bullet | None:
        """Return the bullet that absorbed the one with this id, None where none did."""
        return self.entries.get(self.fold.aliases.now.get(bullet_id, ""))

    def links(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Return the aliases and the tombstones after the changes so far."""
        return self.fold.aliases.now, self.fold.tombstones.now

    def changed_ids(self) -> set[str]:
        """Return the ids of the bullets that were put, archived or revived so far."""
        return {each.bullet.id for each in self.changes if isinstance(each, Put | Archived | Revived)}

    def candidates(self, arriving: Bullet) -> list[Bullet]:
        """Return the candidates that may say the same: with its hash, or sharing its rare words."""
        ids = dict.fromkeys(self.playbook.hashes.get(arriving.content_hash, ()))
        ids.update(dict.fromkeys(self.playbook.index.nominate(arriving.content)))
        ids.update(self._new.nominate(arriving))
        return [self.entries[each] for each in ids if each in self.entries and each not in self.apart]

    def slot_occupant(self, arriving: Bullet) -> Bullet | None:
        """Return another bullet in the profile slot of `arriving`, None where there is none.

        A quarantined bullet only replaces quarantined ones, so only bullets of the same status count.
        """
        if arriving.slot is None:
            return None
        return next(
            (
                known
                for known in self.entries.values()
                if known.slot == arriving.slot and known.status == arriving.status and known.id != arriving.id
            ),
            None,
        )

    def supersede(self, old: Bullet, successor_id: str) -> None:
        """Archive `old` in favour of its successor."""
        self.archive(Archived(bullet=old, why="superseded", into=successor_id))
        self.pair("superseded", successor_id, old.id)

    def touch(self, bullet_id: str) -> None:
        self.touched[bullet_id] = None

    def note(self, what: str, bullet_id: str) -> None:
        self._lists.setdefault(what, {})[bullet_id] = None

    def pair(self, what: str, kept: str, gone: str) -> None:
        self._pairs[what].append(Merged(kept=kept, gone=gone))

    def prune(self, bullet: Bullet, score: float) -> None:
        self.archive(Archived(bullet=bullet, why="pruned"))
        self._pruned.append(Pruned(id=bullet.id, score=score))

    def reject(self, op: str, name: str, why: str) -> None:
        self._rejected.append(Rejection(op=op, id=name[:128], why=why))

    def close(self) -> None:
        """Record the counter and the consolidation, and drop the oldest links beyond 2 x cap."""
        if self.consolidated:
            self.record(Consolidated(at=self.now))
        limit = 2 * self.policy.max_bullets
        old = [key for links in self.links() for key in islice(links, max(0, len(links) - limit))]
        if old:
            self.record(Unlinked(ids=tuple(old)))
        if self._next_id != self.playbook.next_id:
            self.record(Counted(next_id=self._next_id))

    def report(self) -> Report:
        lists = {what: tuple(found) for what, found in (*self._lists.items(), *self._pairs.items())}
        pruned, rejected = tuple(self._pruned), tuple(self._rejected)
        return Report.model_validate({**lists, "pruned": pruned, "rejected": rejected, "refs": self._refs})
