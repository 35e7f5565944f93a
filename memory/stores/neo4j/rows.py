"""Rows as nodes of Neo4j: each table is a label, and what is under a key belongs to the node of its state.

    (:AceMemoryState {user_id}) -[:HAS_TURN]-> (:AceTurn {user_id, turn_id, ...})

A playbook's entry in the catalogue is on the node of its state. Isolation in Neo4j is read-committed: a
statement that only compares and sets loses updates. So every writer first takes the lock of a key, by writing
to its `AceLock` node, and compares after it. A transaction that waited for a lock node which `forget` deleted
sees it without properties: then the lock is not held.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple, cast
from uuid import uuid4

from neo4j import AsyncSession, AsyncTransaction
from neo4j.exceptions import ConstraintError

from ace_graph.base.errors import IncompleteState
from ace_graph.base.off_loop import Steps, in_slices
from ace_graph.memory.catalogue import AttachedPlaybook, Loaded, PlaybookRef, WantedPlaybook
from ace_graph.memory.commit import Pending, begun_at, commit_key
from ace_graph.memory.serialization import load_record
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.backend import KEYS, SHARED, Locked, Namespace, Row, Rows, T, Where
from ace_graph.memory.stores.catalogue import read_grants
from ace_graph.memory.stores.commit_queue import CommitRequest, SerializedPlan
from ace_graph.memory.stores.neo4j import graph
from ace_graph.memory.stores.neo4j import queries as cypher
from ace_graph.memory.stores.neo4j.queries import AttachedRow, Properties, Reply, known_parameter, statement
from ace_graph.memory.stores.neo4j.runner import Runner, fetch
from ace_graph.memory.stores.records import columns, moment, new_item
from ace_graph.memory.stores.snapshot_and_log import LEAST_TAIL, LEAST_TOUCHES, StateHead
from ace_graph.memory.stores.states import BASE_COLUMNS, delta_row, moved_columns, touches_row, turn_row
from ace_graph.memory.turn import TurnRecord


class _Table(NamedTuple):
    """How the rows of a table are nodes."""

    label: str
    relation: str = ""
    """From the node of the state."""
    key: str = ""
    """The column that the property `key`, unique in the database, is made of, after the user's id."""
    times: tuple[str, ...] = ()
    names: Mapping[str, str] = MappingProxyType({})
    """Properties that have other names than the columns."""
    indexed: tuple[str, ...] = ()
    """Columns with an index behind the user's id."""


_STATE_TIMES, _TURN_TIMES = ("created_at", "updated_at"), ("started_at", "completed_at")
_MARKS = MappingProxyType({"base_version": "history_base", "next_base_version": "history_next"})
_TABLES = MappingProxyType(
    {
        "states": _Table("AceMemoryState", times=_STATE_TIMES, names=_MARKS),
        "catalogue": _Table("AceMemoryState", names=MappingProxyType({"playbook_id": "user_id"})),
        "bases": _Table("AceBase", "HAS_BASE"),
        "stamps": _Table("AceStamps", "HAS_STAMPS"),
        "touches": _Table("AceTouch", "HAS_TOUCH"),
        "deltas": _Table(
            "AceDelta",
            "HAS_DELTA",
            "op_id",
            ("at",),
            MappingProxyType({"content_changed": "content"}),
            ("at", "op_id", "content_version"),
        ),
        "turns": _Table("AceTurn", "HAS_TURN", "op_id", _TURN_TIMES, indexed=("user_id",)),
        "pending": _Table("AcePending", "HAS_PENDING", "pending_id", indexed=("user_id",)),
        "vectors": _Table("AceVector", "HAS_VECTOR"),
        "duties": _Table("AceDuty"),
        "grants": _Table("AceGrant", times=("at",)),
        "proposals": _Table("AceProposal"),
        "members": _Table("AceTeamMember"),
    }
)
_MERGED = ("pending", "duties", "members")
"""Tables in which a row that is added may be there already."""
_ROWS, _CHARS = 200, 1_000_000
"""The most rows of a batch, and the most characters, unless one row has more: Neo4j holds in memory what a
transaction writes, and has little of it.
"""


class MovedError(Exception):
    """What was read has changed while it was read: it is read again, under the lock."""


@dataclass
class Neo4jSession:
    """A session of one task, and its transaction where there is one."""

    session: AsyncSession
    again: bool
    """What reads takes the lock, as it met a writer before."""
    open: Callable[[], AsyncSession]
    """Opens one more."""
    transaction: AsyncTransaction | None = None
    staged: str | None = None
    """The key of which parts were staged."""


class Neo4jRows(Rows):
    """A session whose statements run on the nodes of one namespace."""

    locks_rows = True

    def __init__(self, on: Neo4jSession, namespace: Namespace) -> None:
        super().__init__(namespace)
        self._on = on

    def of(self, namespace: Namespace) -> Neo4jRows:
        """Return the same session, for a namespace."""
        return Neo4jRows(self._on, namespace)

    @property
    def run(self) -> Runner:
        """What runs a statement."""
        return Runner(self._on.transaction or self._on.session, self.namespace)

    @asynccontextmanager
    async def reading(self, key: str | None = None) -> AsyncGenerator[None]:
        """A transaction that reads what is under a key at one moment.

        It takes no lock, so that nothing is written to a database that is read only: where the count of the
        lock has moved meanwhile, it raises MovedError, and is repeated under the lock.
        """
        async with self._transaction():
            if key is None or self._on.again:
                _ = key is None or await self.lock(key)
                yield
                return
            before = await self._count_of_locks(key)
            try:
                yield
            except Exception as error:
                if await self._count_of_locks(key) != before:
                    raise MovedError from error
                raise
            if await self._count_of_locks(key) != before:
                raise MovedError

    async def _count_of_locks(self, key: str) -> list[dict[str, object]]:
        return await fetch(
            self.run, "OPTIONAL MATCH (l:AceLock {user_id: $uid}) RETURN l.seq AS seq", uid=key
        )

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[None]:
        """A transaction that is committed at the end, and rolled back on an error."""
        async with self._transaction():
            yield

    @asynccontextmanager
    async def _transaction(self) -> AsyncGenerator[None]:
        async with await self._on.session.begin_transaction() as transaction:
            self._on.transaction = transaction
            try:
                yield
                await transaction.commit()
            finally:
                self._on.transaction = None

    async def carry_out(self, steps: Steps[T], whose: str) -> T:
        """Do the work away from the event loop."""
        return await in_slices(steps, whose)

    async def lock(self, key: str, *, wait: bool = True) -> bool:
        """Take the lock of a key, always waiting for it; False where there is none."""
        taken = await fetch(
            self.run, "MATCH (l:AceLock {user_id: $uid}) SET l.seq = l.seq + 1 RETURN l.seq AS seq", uid=key
        )
        return bool(taken) and taken[0]["seq"] is not None

    # The primitives.

    async def select(
        self,
        table: str,
        columns: str,
        *where: Where,
        order: str = "",
        limit: int | None = None,
        skip: int = 0,
        distinct: bool = False,
    ) -> list[Row]:
        """Return rows; see `Rows.select`."""
        names = columns.split(", ")
        query, values = selection(table, names, where, order, limit, skip, distinct=distinct)
        return [tuple(row[name] for name in names) for row in await self._fetch(table, query, values)]

    async def count(self, table: str, *where: Where) -> int:
        """Return how many rows match."""
        return await self._number(table, where, "RETURN count(n) AS number")

    async def add(self, table: str, *rows: Mapping[str, object]) -> int:
        """Store rows with keys that are not there yet; return how many were."""
        if not rows:
            return 0
        nodes = [_node(table, row) for row in rows]
        if table == "states":
            return await self._begin(nodes[0])
        if table == "catalogue":
            return await self._enter(nodes[0])
        made = _TABLES[table]
        if made.relation and len(nodes) > 1:
            return await self._take(made, nodes)
        key = ", ".join(f"{name}: row.{name}" for name in (("key",) if made.key else KEYS[table]))
        if table in _MERGED:
            query = (
                f"MERGE (n:{made.label} {{{key}}}) ON CREATE SET n = row, n.added = true "
                f"{_owned(made)} WITH n, n.added AS added REMOVE n.added RETURN count(added) AS number"
            )
        else:
            query = f"CREATE (n:{made.label}) SET n = row {_owned(made, 'CREATE')} RETURN count(n) AS number"
        added = 0
        for batch in _batches(nodes):
            found = await self._fetch(
                table, f"UNWIND $rows AS row {_state_of(made)} {query}", {"rows": batch}
            )
            added += cast("int", found[0]["number"])
        return added

    async def put(self, table: str, *rows: Mapping[str, object]) -> None:
        """Store rows, in the place of those with the same keys."""
        made = _TABLES[table]
        key = ", ".join(f"{name}: row.{name}" for name in KEYS[table])
        query = f"UNWIND $rows AS row {_state_of(made)} "
        if table == "stamps":  # of which a state has one
            query += f"MERGE (m)-[:{made.relation}]->(n:{made.label}) SET n = row"
        else:
            query += f"MERGE (n:{made.label} {{{key}}}) SET n = row {_owned(made)}"
        if table == "grants":
            query += " WITH DISTINCT row.playbook_id AS uid MATCH (m:AceMemoryState {user_id: uid}) "
            query += cypher.CHANGED
        for batch in _batches([_node(table, row) for row in rows]):
            await self._fetch(table, query, {"rows": batch})

    async def update(self, table: str, values: Mapping[str, object], *where: Where) -> int:
        """Change columns of the rows that match; return how many there were."""
        first, given = "", _node(table, values)
        seq = given.pop("seq", None)
        if (
            table == "duties"
        ):  # no lock is held: writing takes that of the node, and then it is compared again
            first = f"SET n.asked = timestamp() WITH n WHERE {_conditions(table, where)[0]} "
        if table == "states" and "etag" in given:
            first = (
                "FOREACH (m IN CASE WHEN n.etag <> $values.etag "
                f"OR n.epoch <> coalesce($values.epoch, n.epoch) THEN [n] ELSE [] END | {cypher.CHANGED}) "
            )
        found = await self._number(table, where, f"{first}SET n += $values RETURN count(n) AS number", given)
        if seq is not None and "epoch" in given:
            await self._number_on(str(where[0][2]), seq)
        return found

    async def delete(self, table: str, *where: Where) -> int:
        """Delete the rows that match; return how many there were."""
        if table == "states":
            return await self._end(str(where[0][2]))
        if table == "catalogue":
            gone = dict.fromkeys(_CATALOGUE, None)
            return await self._number(table, where, "SET n += $values RETURN count(n) AS number", gone)
        first = ""
        if table == "grants":
            state = "OPTIONAL MATCH (m:AceMemoryState {user_id: n.playbook_id})"
            first = f"WITH n {state} {cypher.CHANGED} WITH n "
        return await self._number(table, where, f"{first}DETACH DELETE n RETURN count(*) AS number")

    async def _number(
        self, table: str, where: Iterable[Where], then: str, values: Mapping[str, object] | None = None
    ) -> int:
        match, compared = _match(table, where)
        given = {**compared, **({} if values is None else {"values": dict(values)})}
        return cast("int", (await self._fetch(table, f"{match} {then}", given))[0]["number"])

    async def _fetch(self, table: str, query: str, values: Mapping[str, object]) -> list[dict[str, object]]:
        run = self.run
        if table in SHARED:
            run = run.of("learners" if table == "members" else "playbooks")
        return await fetch(run, query, **values)

    # States, with the nodes of people.

    async def _begin(self, state: Properties) -> int:
        """Store a first state under a lock that is made for it; 0 where there is one."""
        query = statement(f"queries.BEGIN_{'OWNED' if self.namespace == 'learners' else 'NAMED'}")
        seq, key = state.pop("seq"), state["user_id"]
        (row,) = await fetch(self.run, query, uid=key, state={"id": str(uuid4()), **state})
        if row["begun"] and seq > 1:
            await self._number_on(key, seq)
        return cast("int", row["begun"])

    async def _number_on(self, key: str, seq: int) -> None:
        """Make the next number of the lock one after this."""
        query = (
            "MATCH (l:AceLock {user_id: $uid}) SET l.seq = CASE WHEN l.seq < $seq THEN $seq ELSE l.seq END"
        )
        await fetch(self.run, query, uid=key, seq=seq)

    async def _end(self, key: str) -> int:
        """Delete a state, its lock, and what is drawn of it; a User node where only this made it."""
        run = self.run
        people = await graph.linked_people(run, key) if self.namespace == "playbooks" else {}
        rows = await fetch(run, statement("queries.DELETE_LEARNER"), uid=key)
        await graph.release(run, people)
        return sum(row["found"] is True for row in rows)

    async def _enter(self, entry: Properties) -> int:
        """Store an entry on the node of its state; 0 where the owner has a playbook of that name."""
        named = {**entry, "owner_name": cypher.owner_name(PlaybookRef(entry["owner"], entry["name"]))}
        query = "MATCH (n:AceMemoryState {user_id: $uid}) SET n += $values RETURN count(n) AS number"
        try:
            found = await self._fetch("catalogue", query, {"uid": entry["user_id"], "values": named})
        except ConstraintError:
            return 0
        return cast("int", found[0]["number"])

    # Many parts of one state: they are written as nodes that no other statement finds (`AceStaged`), each
    # batch in a transaction of its own; this transaction makes them parts. What a process that was killed
    # has left of them, the next one deletes.

    async def _take(self, made: _Table, nodes: Sequence[Properties]) -> int:
        key = str(nodes[0]["user_id"])
        async with self._on.open() as session:
            aside = Runner(session, self.namespace)
            if self._on.staged is None:
                await unstage(aside, key)
            self._on.staged = key
            for batch in _batches({**node, "part": made.label} for node in nodes):
                await fetch(aside, "UNWIND $rows AS row CREATE (n:AceStaged) SET n = row", rows=batch)
        query = f"{statement('queries.STAGED')} SET n:{made.label} CREATE (m)-[:{made.relation}]->(n)"
        await fetch(self.run, query, uid=key, part=made.label)
        return len(nodes)

    # Savings.

    async def load_at_once(self, key: str, known: Snapshot, wanted: Sequence[WantedPlaybook]) -> Loaded:
        """Return the newest snapshot and named playbooks, read in one round trip.

        Where another transaction wrote them meanwhile, they are read again under the lock.
        """
        given = {"uid": key, "known": known_parameter(known)}
        if not wanted:
            rows = await fetch(self.run, cypher.LOAD, **given)
            return Loaded(await self._snapshot(key, known, rows[0] if rows else None))
        (row,) = await fetch(
            self.run, statement("queries.LOAD_ATTACHED"), **given, wanted=cypher.wanted_rows(wanted)
        )
        attached: list[AttachedPlaybook | None] = [None] * len(wanted)
        for playbook in map(AttachedRow.model_validate, cast("list[Properties]", row.pop("attached"))):
            subjects = wanted[playbook.place].subjects
            attached[playbook.place] = await self.of("playbooks")._attached(playbook, subjects)
        return Loaded(await self._snapshot(key, known, row), tuple(attached))

    async def _snapshot(self, key: str, known: Snapshot, row: Properties | None) -> Snapshot:
        if row is None:
            return Snapshot()
        try:
            return Reply.model_validate(row).snapshot(known)
        except IncompleteState:
            pass  # another transaction wrote it meanwhile, or what is known is of another history
        return await self._read_locked(key, known)

    async def _read_locked(self, key: str, known: Snapshot) -> Snapshot:
        if self._on.transaction is None:
            async with self.writing():
                return (await self.lock_at_once(key, "", known)).snapshot or Snapshot()
        return (await self.lock_at_once(key, "", known)).snapshot or Snapshot()

    async def _attached(self, row: AttachedRow, subjects: Sequence[str]) -> AttachedPlaybook | None:
        """Return the playbook, read once more where another transaction wrote it while it was read."""
        if row.content_base is not None:
            try:
                return row.attached()
            except IncompleteState:
                pass
        found = await self._read_locked(row.playbook_id, Snapshot())
        if found.absent:
            return None
        grants = await read_grants(self, row.playbook_id, subjects)
        owner = row.owner or None
        return AttachedPlaybook(row.playbook_id, row.name, found.version, found.playbook, owner, grants)

    async def lock_at_once(self, key: str, op_id: str, known: Snapshot) -> Locked:
        """Take the lock and read the state under it, in one round trip where it follows what is known."""

        async def read(known: Snapshot) -> Reply | None:
            parameters = {"key": commit_key(key, op_id), "known": known_parameter(known)}
            rows = await fetch(self.run, statement("queries.LOCK"), uid=key, **parameters)
            reply = Reply.model_validate(rows[0]) if rows else None
            return reply if reply is not None and reply.seq is not None else None

        reply = await read(known)
        if reply is None or reply.head is None:
            return Locked()
        try:
            snapshot = reply.snapshot(known)
        except IncompleteState:  # what is known may be of another history: a backup was restored
            if known.absent:
                raise
            whole = await read(Snapshot())
            if whole is None or whole.head is None:
                return Locked()
            reply, snapshot = whole, whole.snapshot(Snapshot(known.playbook))
        return Locked(cast("StateHead", reply.head), cast("int", reply.seq) - 1, reply.report(), snapshot)

    async def write_at_once(self, key: str, serialized: SerializedPlan, locked: Locked) -> bool:
        """Write a plan onto a state that is locked, in one round trip."""
        if locked.head.version.epoch is None:
            return False
        parameters = plan_parameters(key, serialized)
        await fetch(self.run, statement("queries.WRITE"), uid=key, seq=locked.seq + 1, **parameters)
        return True

    async def last_turns_at_once(self, keys: Sequence[str]) -> Mapping[str, str | None]:
        """Return when the newest turn of each of these learners ended, or else began."""
        rows = await fetch(self.run, statement("queries.LAST_TURNS"), keys=list(keys))
        return {str(row["key"]): moment(row["at"]).isoformat() for row in rows}

    async def describe(self, name: str) -> str:
        """Return the server's version and edition, and the schema."""
        (row,) = await fetch(self.run, statement("queries.DESCRIBE"))
        return f"{name} {row['version']} {row['edition']}, schema {row['schema']}"


_CATALOGUE = (
    *("owner_name", "owner", "name", "name_key"),
    *("description", "scope", "visibility", "lessons"),
)


def selection(
    table: str,
    names: Sequence[str],
    where: Iterable[Where],
    order: str = "",
    limit: int | None = None,
    skip: int = 0,
    *,
    distinct: bool = False,
) -> tuple[str, dict[str, object]]:
    """Return the statement that selects rows, made of names of ours, and its parameters."""
    match, values = _match(table, where)
    columns = ", ".join(f"n.{_property(table, name)} AS {name}" for name in names)
    if order and not distinct:
        order = ", ".join(f"n.{_property(table, part)}" for part in order.split(", "))
    ends = [f" ORDER BY {order}"] if order else []
    if skip:
        ends.append(" SKIP $skip")
        values["skip"] = skip
    if limit is not None:
        ends.append(" LIMIT $limit")
        values["limit"] = limit
    if distinct:
        return f"{match} RETURN DISTINCT {columns}{''.join(ends)}", values
    # Nodes are sorted, not their texts
    return f"{match} WITH n{''.join(ends)} RETURN {columns}", values


def _property(table: str, column: str) -> str:
    return _TABLES[table].names.get(column, column)


def _match(table: str, where: Iterable[Where]) -> tuple[str, dict[str, object]]:
    """Return the clause that finds the nodes `n` of rows that match."""
    found = tuple(where)
    made, texts = _TABLES[table], _by_index(table, found)
    conditions, values = _conditions(table, texts)
    label = f"MATCH (n:{made.label})"
    if made.relation and not any(column in made.indexed for column, _, _ in texts):
        users = [value for column, sign, value in texts if (column, sign) == ("user_id", "=")]
        if users:
            values["owner"] = users[0]
            label = f"MATCH (:AceMemoryState {{user_id: $owner}})-[:{made.relation}]->(n:{made.label})"
    if table == "catalogue":
        conditions = f"n.owner_name IS NOT NULL AND {conditions}"
    return f"{label} WHERE {conditions}", values


def _by_index(table: str, where: tuple[Where, ...]) -> tuple[Where, ...]:
    """Return the same conditions on what has an index."""
    if table == "deltas" and ("content_changed", "=", True) in where:
        return tuple(
            ("content_version" if column == "version" else column, sign, value)
            for column, sign, value in where
        )
    columns = {column for column, _, _ in where}
    if table == "turns" and columns <= {"user_id", "deleted"} and columns:
        return (*where, ("seq", ">", 0))  # the index in the order of the turns
    return where


def _conditions(table: str, where: Iterable[Where]) -> tuple[str, dict[str, object]]:
    made, texts, values = _TABLES[table], ["true"], dict[str, object]()
    user = next((value for column, sign, value in where if (column, sign) == ("user_id", "=")), None)
    for place, (column, sign, value) in enumerate(where):
        name = f"n.{_property(table, column)}"
        if value is False:
            texts.append(f"coalesce({name}, false) = false")
            continue
        if column == made.key and sign in ("=", "in") and user is not None:
            name = "n.key"
            keys = [value] if sign == "=" else cast("list[str]", value)
            value = [commit_key(str(user), str(each)) for each in keys]
            sign = "in"
        values[f"p{place}"] = _value(table, column, value)
        parameter = f"$p{place}"
        match sign:
            case "in":
                texts.append(f"{name} IN {parameter}")
            case "not in":
                texts.append(f"NOT {name} IN {parameter}")
            case "!=":
                texts.append(f"{name} <> {parameter}")
            case _:
                texts.append(f"{name} {sign} {parameter}")
    return " AND ".join(texts[1:] or texts), values


def _value(table: str, column: str, value: object) -> object:
    return (
        datetime.fromisoformat(value) if column in _TABLES[table].times and isinstance(value, str) else value
    )


def _node(table: str, row: Mapping[str, object], record: TurnRecord | None = None) -> Properties:
    """Return the properties of a row's node."""
    made = _TABLES[table]
    node: Properties = {_property(table, name): _value(table, name, value) for name, value in row.items()}
    if made.key and made.key in row and "user_id" in row:
        node["key"] = commit_key(str(row["user_id"]), str(row[made.key]))
    if table == "turns" and "record_json" in row:
        node = cypher.turn_properties(record or load_record(str(row["record_json"]))) | node
    if table == "deltas" and row.get("content_changed") and row.get("etag"):
        node["content_version"] = row["version"]
    return node


def _state_of(made: _Table) -> str:
    return "MATCH (m:AceMemoryState {user_id: row.user_id})" if made.relation else ""


def _owned(made: _Table, how: str = "MERGE") -> str:
    return f"{how} (m)-[:{made.relation}]->(n)" if made.relation else ""


def _batches(rows: Iterable[Properties]) -> Iterator[list[Properties]]:
    batch, size = list[Properties](), 0
    for row in rows:
        more = sum(len(value) for value in row.values() if isinstance(value, str))
        if batch and (len(batch) == _ROWS or size + more > _CHARS):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += more
    if batch:
        yield batch


async def unstage(run: Runner, key: str) -> None:
    """Delete what was staged and is no part of a memory."""
    while (await fetch(run, statement("queries.UNSTAGE"), uid=key))[0]["gone"] != 0:
        pass


# What a commit in one round trip is made of.


def plan_parameters(learner: str, serialized: SerializedPlan) -> Properties:
    """Return the parameters of a plan that folds nothing; `etag` is set where it changes the content."""
    plan, touched, record = serialized.plan, serialized.touched, serialized.record
    state = moved_columns(serialized)
    if plan.parent.epoch is not None and not plan.content_changed:
        state = {name: state[name] for name in ("access_json", "access_clock", "access_mark", "updated_at")}
    turns = () if record is None else (_node("turns", turn_row(learner, serialized, record), record),)
    return {
        "state": _node("states", state),
        "content_changed": plan.content_changed,
        "deltas": [_node("deltas", delta_row(learner, serialized))] if serialized.in_history else [],
        "turns": list(turns),
        "touches": [] if touched is None else [_node("touches", touches_row(learner, touched))],
        "effect_bytes": serialized.effect_bytes,
        "touches_bytes": serialized.touches_bytes,
        "bases": [],
        "pending": [],
    }


def fresh_parameters(request: CommitRequest, serialized: SerializedPlan) -> Properties:
    """Return the parameters of CREATE and UPDATE, which compare the state that a plan was made from."""
    plan, learner, bases = serialized.plan, request.learner, list[Properties]()
    parameters = plan_parameters(learner, serialized)
    if plan.parent.epoch is None:
        begun = {"user_id": learner, "epoch": plan.snapshot.version.epoch, "created_at": plan.effect.now}
        sizes = {"effects_bytes": serialized.effect_bytes, "touches_bytes": serialized.touches_bytes}
        none = dict.fromkeys(("history_base", "content_base", "base_bytes", "stamps_bytes"), 0)
        parameters["state"] |= {"id": str(uuid4()), **begun, **sizes, **none}
        if not plan.content_changed:
            bases = [{"user_id": learner, **columns(BASE_COLUMNS, serialized.base)}]
    known = {"epoch": plan.parent.epoch, "n": plan.parent.n, "etag": plan.parent.etag}
    works = [work for work in (request.pending, plan.scheduled) if isinstance(work, Pending)]
    return {
        **parameters,
        "uid": learner,
        "key": request.key,
        "known": {**known, "clock": plan.parent_clock, "mark": plan.parent_mark},
        "begun": begun_at(request.delta, request.new_turn).timestamp(),
        "bases": bases,
        "pending": [_node("pending", new_item(learner, work, plan.effect.now)) for work in works],
        "kept": serialized.kept,
        "least_tail": LEAST_TAIL,
        "least_touches": LEAST_TOUCHES,
    }
