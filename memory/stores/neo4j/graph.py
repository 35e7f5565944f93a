"""The graph that people look at: bullets, topics and playbooks as nodes, drawn behind the commits.

What is stored stays as it is, and nothing reads the graph: it is a picture of one version, which the state
names (`drawn_version`). Commits and grants mark a memory (`undrawn_since`) in the statement that they are
anyway; a drawing compares what is drawn with what should be, writes the difference in batches, and takes the
mark away at the end. So it can stop after any statement, and the next one goes on. Each statement takes the
lock, and writes nothing once the memory has changed since the drawing began (`changes`). The Cypher is in
graph.cypher.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ace_graph.base.errors import CommitContention
from ace_graph.base.off_loop import Steps, in_slices
from ace_graph.memory.bullet import Bullet, Hidden, Hides
from ace_graph.memory.decay import decay_score
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import DecayRates
from ace_graph.memory.screening.screen import is_screen_reason
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.backend import Namespace, Rows, T
from ace_graph.memory.stores.neo4j.queries import Properties, statement
from ace_graph.memory.stores.neo4j.runner import Row, Runner, fetch

if TYPE_CHECKING:
    from ace_graph.memory.stores.neo4j.connection import Neo4jConnection
    from ace_graph.memory.stores.neo4j.rows import Neo4jRows


_ATTEMPTS = 5
_ROWS = 200
"""The most bullets of a batch: Neo4j holds in memory what a transaction writes."""
_DIGITS = 6


# What is drawn: a pure function of a snapshot.


class BulletNode(NamedTuple):
    """A bullet's node and what leads from it. One that is gone has nothing but its id and how it went.

    `fingerprint` is of all of this but the strength, which every turn moves.
    """

    id: str
    live: bool
    properties: Properties
    strength: float | None = None
    topics: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    merged_from: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """What differs where the node or a relation differs."""
        return _fingerprint([*self[:3], *self[4:]])

    def row(self, key: str) -> Properties:
        """Return the row of PUT."""
        own = {"user_id": key, "id": self.id, "fingerprint": self.fingerprint, "strength": self.strength}
        return {**self._asdict(), "properties": self.properties | own}


def graph_of(snapshot: Snapshot, rates: DecayRates, hides: Hides) -> Steps[tuple[BulletNode, ...]]:
    """Return in steps the nodes of a memory: its bullets, and those that one of them took the place of.

    Bullets that were removed, and what they had taken the place of, are left out.
    """
    playbook, access = snapshot.playbook, snapshot.access
    successors = _successors(playbook)
    replaces, merged_from = dict[str, list[str]](), dict[str, list[str]]()
    for gone, into in successors.items():
        links = replaces if playbook.tombstones.get(gone) == into else merged_from
        links.setdefault(into, []).append(gone)
    nodes = list[BulletNode]()
    for bullet in playbook.entries.values():
        hidden = hides(bullet)
        nodes.append(
            BulletNode(
                bullet.id,
                live=True,
                properties=_properties(bullet, hidden),
                strength=round(decay_score(bullet, access, rates), _DIGITS),
                topics=(bullet.topic,) if bullet.topic and hidden is None else (),
                turns=tuple(dict.fromkeys((*bullet.examples, *filter(None, (bullet.turn_id,))))),
                replaces=tuple(sorted(replaces.get(bullet.id, ()))),
                merged_from=tuple(sorted(merged_from.get(bullet.id, ()))),
            )
        )
        yield
    for gone, into in successors.items():
        how = "replaced" if playbook.tombstones.get(gone) == into else "merged"
        old, merged = replaces.get(gone, ()), merged_from.get(gone, ())
        nodes.append(
            BulletNode(
                gone,
                live=False,
                properties={"status": how},
                replaces=tuple(sorted(old)),
                merged_from=tuple(sorted(merged)),
            )
        )
    return tuple(nodes)


def _successors(playbook: Playbook) -> dict[str, str]:
    """Return the bullets that are gone, with the one that each became part of or gave way to.

    Only those that lead to a bullet that is there. A link of this playbook comes before what a bullet says of
    itself, which may be from a file.
    """
    links = dict[str, str]()
    for bullet in playbook.entries.values():
        links |= dict.fromkeys(bullet.consolidated_from, bullet.id)
    links |= playbook.aliases
    links |= playbook.tombstones
    links = {old: into for old, into in links.items() if old not in playbook.entries}
    return {old: into for old, into in links.items() if _leads_to_one(into, links, playbook)}


def _leads_to_one(into: str, links: Mapping[str, str], playbook: Playbook) -> bool:
    passed = set[str]()
    while into not in playbook.entries:
        if into in passed or into not in links:
            return False
        passed.add(into)
        into = links[into]
    return True


def _properties(bullet: Bullet, hidden: Hidden | None) -> Properties:
    """Return what a node shows. Of a hidden bullet no text that anybody wrote: a section may tell as much."""
    shown: Properties = {
        "type": bullet.memory_type,
        "polarity": bullet.polarity,
        "status": bullet.status,
        "helpful": bullet.helpful,
        "harmful": bullet.harmful,
        "neutral": bullet.neutral,
        "seen": bullet.seen,
        "importance": bullet.importance,
        "pinned": bullet.pinned,
        "created_at": bullet.created_at,
        "updated_at": bullet.updated_at,
    }
    if hidden is not None:
        why = bullet.quarantine_reason if is_screen_reason(bullet.quarantine_reason) else None
        return shown | {"hidden": hidden, "why": why}
    return shown | {
        "section": bullet.section,
        "content": bullet.content,
        "context": bullet.context,
        "tags": list(bullet.tags),
    }


class GraphChanges(NamedTuple):
    """What makes the graph that is drawn the one that should be."""

    put: tuple[BulletNode, ...]
    strengths: tuple[BulletNode, ...]
    gone: tuple[str, ...]


DrawnBullets = Mapping[str, tuple[str | None, float | None]]
"""The fingerprint and the strength of each bullet that is drawn."""


def changes_of(nodes: Sequence[BulletNode], drawn: DrawnBullets) -> GraphChanges:
    """Return what differs between the nodes and what is drawn."""
    put = tuple(node for node in nodes if drawn.get(node.id, ("", None))[0] != node.fingerprint)
    written = {node.id for node in put}
    strengths = (node for node in nodes if node.id not in written and drawn[node.id][1] != node.strength)
    return GraphChanges(put, tuple(strengths), tuple(sorted(drawn.keys() - {node.id for node in nodes})))


class People(NamedTuple):
    """Whose a playbook is, and the grants to users and to teams."""

    owner: str
    users: Mapping[str, Row]
    teams: tuple[Row, ...]

    @property
    def names(self) -> frozenset[str]:
        """The users among them."""
        return frozenset((*self.users, *filter(None, (self.owner,))))

    @property
    def fingerprint(self) -> str:
        """What differs where one of them differs."""
        return _fingerprint([self.owner, list(self.users.values()), self.teams])


def people_of(owner: str, grants: Iterable[Row]) -> People:
    """Return the people of a playbook from the rows of GRANTS; an agent is no person, and is not drawn."""
    users, teams = dict[str, Row](), list[Row]()
    for grant in grants:
        kind, _, name = str(grant["subject"]).partition(":")
        row: Row = {"name": name, "relation": grant["relation"], "at": grant["at"]}
        if kind == "team":
            teams.append(row)
        elif kind == "user":
            users[name] = row
    return People(owner, users, tuple(teams))


def _fingerprint(value: object) -> str:
    return hashlib.sha256(json.dumps(value, default=str, sort_keys=True).encode()).hexdigest()[:16]


# Drawing it.


class _MemoryChangedError(Exception):
    """The memory has changed since the drawing began; nothing of the transaction is kept."""


@dataclass(frozen=True)
class _Place:
    """A namespace of a database."""

    connection: Neo4jConnection
    namespace: Namespace

    async def run(self, job: Callable[[Neo4jRows], Coroutine[Any, Any, T]], *, writes: bool = False) -> T:
        def on(rows: Rows) -> Coroutine[Any, Any, T]:  # Any: asyncio's own
            return job(cast("Neo4jRows", rows))

        return await self.connection.run(self.namespace, on, writes=writes)

    async def read(self, query: str, /, **parameters: object) -> list[Row]:
        return await self.run(lambda rows: fetch(rows.run, query, **parameters))


class Drawing(NamedTuple):
    """The drawing of one memory or playbook, and what that was when it began.

    `due`: something is not drawn yet. `people` is the fingerprint of the people that are drawn.
    """

    place: _Place
    key: str
    epoch: str
    changes: int
    due: bool
    owner: str
    people: str | None

    async def write(self, query: str, /, **parameters: object) -> None:
        """Run one statement that begins with UNCHANGED. Raises _MemoryChangedError."""

        await self.place.run(lambda rows: self.write_in(rows.run, query, **parameters), writes=True)

    async def write_in(self, run: Runner, query: str, /, **parameters: object) -> None:
        """Run it in a transaction."""
        known = {"uid": self.key, "epoch": self.epoch, "changes": self.changes}
        (row,) = await fetch(run, query, **known, **parameters)
        if row["held"] == 0:
            raise _MemoryChangedError


async def draw(
    connection: Neo4jConnection,
    namespace: Namespace,
    key: str,
    load: Callable[[], Awaitable[Snapshot]],
    rates: DecayRates,
    hides: Hides,
    *,
    afresh: bool,
) -> int:
    """Draw what `load` returns; with `afresh` all of it, else what has changed. Return the bullets drawn.

    Where nothing has changed, or nothing is stored, that is 0. Raises CommitContention, and what `load`
    raises.
    """
    place = _Place(connection, namespace)
    for _ in range(_ATTEMPTS):
        begun = await place.read(statement("graph.BEGIN"), uid=key)
        if not begun:
            return 0
        drawing = Drawing(place, key, **cast("Properties", begun[0]))
        if not (drawing.due or afresh):
            return 0
        nodes = await in_slices(graph_of(await load(), rates, hides), key)
        try:
            gone = await _draw_bullets(drawing, nodes, afresh=afresh)
            if namespace == "playbooks":
                await _draw_people(drawing, afresh=afresh)
            await drawing.write(statement("graph.FINISH"), gone=gone)
        except _MemoryChangedError:
            continue
        return sum(node.live for node in nodes)
    raise CommitContention(f"{key} keeps changing: draw its graph again later")


async def _draw_bullets(drawing: Drawing, nodes: Sequence[BulletNode], *, afresh: bool) -> list[str]:
    """Write what differs; return the ids of bullets that are no longer part of the picture."""
    key, rows = drawing.key, await drawing.place.read(statement("graph.DRAWN"), uid=drawing.key)
    found = {str(row["id"]): cast("tuple[str, float]", (row["fingerprint"], row["strength"])) for row in rows}
    todo = changes_of(nodes, dict.fromkeys(found, (None, None)) if afresh else found)
    for part in _batches(todo.put):
        await drawing.write(
            statement("graph.PUT"), rows=[node.row(key) for node in part], owner=drawing.owner
        )
    for part in _batches(todo.strengths):
        await drawing.write(
            statement("graph.STRENGTHS"), rows=[{"id": node.id, "strength": node.strength} for node in part]
        )
    return list(todo.gone)


def _batches(nodes: Sequence[BulletNode]) -> Iterator[Sequence[BulletNode]]:
    return (nodes[start : start + _ROWS] for start in range(0, len(nodes), _ROWS))


async def _draw_people(drawing: Drawing, *, afresh: bool) -> None:
    """Connect a playbook with its owner and with those it is shared with, in one transaction."""
    grants = await drawing.place.read(statement("graph.GRANTS"), uid=drawing.key)
    people = people_of(drawing.owner, grants)
    if people.fingerprint == drawing.people and not afresh:
        return

    async def attempt(rows: Neo4jRows) -> None:
        async with rows.writing():
            transaction = rows.run
            before = await linked_people(transaction, drawing.key)
            # The locks of people before that of the playbook, as when a learner is forgotten.
            nodes = {
                name: await _person(transaction.of("learners"), name)
                for name in sorted(people.names | before.keys())
            }
            await drawing.write_in(
                transaction,
                statement("graph.PEOPLE"),
                owners=[nodes[people.owner]] if people.owner else [],
                users=[{**grant, "node": nodes[name]} for name, grant in people.users.items()],
                teams=list(people.teams),
                fingerprint=people.fingerprint,
            )
            await release(
                transaction, {name: node for name, node in before.items() if name not in people.names}
            )

    await drawing.place.run(attempt, writes=True)


async def _person(run: Runner, name: str) -> object:
    rows = await fetch(run, statement("graph.PERSON"), user=name)
    if not rows:
        raise _MemoryChangedError  # that learner was forgotten while this waited
    return rows[0]["node"]


async def linked_people(run: Runner, playbook_id: str) -> dict[str, object]:
    """Return the users that a playbook is drawn with, and their nodes."""
    return {
        str(row["user"]): row["node"] for row in await fetch(run, statement("graph.LINKED"), uid=playbook_id)
    }


async def release(run: Runner, people: Mapping[str, object]) -> None:
    """Delete nodes that were made for the graph of a playbook, where nothing else needs them."""
    learners = run.of("learners")
    for name in sorted(people):
        await fetch(learners, statement("graph.RELEASE"), user=name, node=people[name])
    await fetch(learners, statement("graph.EMPTY_TEAMS"))
