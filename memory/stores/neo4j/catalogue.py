"""The catalogue of named playbooks in Neo4j, and their versions. With the Cypher for all of it.

The entry of a playbook is on the node of its state. All statements but one run in the namespace of playbooks,
so they name the labels of learners (labels.py). Where no owner is, `owner` is ''.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final, LiteralString, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict

from ace_graph.memory.catalogue import (
    AttachedPlaybook,
    PlaybookEntry,
    PlaybookRef,
    Scope,
    Visibility,
    WantedPlaybook,
)
from ace_graph.memory.delta.effect import apply
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.serialization import load_effect
from ace_graph.memory.sharing import Grant, PlaybookAccess, Right
from ace_graph.memory.snapshot import Label, Version
from ace_graph.memory.stores.base import StoredVersion
from ace_graph.memory.stores.neo4j.queries import PARTS, STATE, Parts, base_properties, native, owner_name
from ace_graph.memory.stores.neo4j.runner import Row, Runner, fetch
from ace_graph.memory.stores.neo4j.sharing import GrantRow, delete_sharing, list_shared_ids, read_grants
from ace_graph.memory.stores.snapshot_and_log import (
    EMPTY_BASE,
    StoredBase,
    base_checksum,
    content_of,
    dump_base,
    load_base,
)

_ENTRY = """
m.user_id AS playbook_id, m.owner AS owner, m.name AS name, m.created_at AS created_at,
m.updated_at AS updated_at, m.description AS description, m.scope AS scope, m.visibility AS visibility,
m.epoch AS epoch, m.version AS version, m.etag AS etag, m.major AS major, m.minor AS minor
"""

FIND: Final = f"MATCH (m:AceMemoryState {{owner_name: $owner_name}}) RETURN {_ENTRY}"

OWN: Final = """
MATCH (m:AceMemoryState {user_id: $uid})
RETURN 'default' AS playbook_id, m.user_id AS owner, 'default' AS name, m.created_at AS created_at,
  m.updated_at AS updated_at, '' AS description, 'agent' AS scope, 'private' AS visibility,
  m.epoch AS epoch, m.version AS version, m.etag AS etag, m.major AS major, m.minor AS minor
"""
"""A learner's memory as an entry; runs in the namespace of learners."""

GET: Final = f"MATCH (m:AceMemoryState {{user_id: $uid}}) WHERE m.owner_name IS NOT NULL RETURN {_ENTRY}"

SET_FIELDS: Final = """
MATCH (m:AceMemoryState {user_id: $uid}) WHERE m.owner_name IS NOT NULL
SET m.description = coalesce($description, m.description), m.scope = coalesce($scope, m.scope)
RETURN m.user_id AS playbook_id
"""

OWNERS: Final = """
MATCH (m:AceMemoryState) WHERE m.owner > $after
RETURN DISTINCT m.owner AS owner ORDER BY owner LIMIT $limit
"""

ENTRIES: Final = f"""
MATCH (m:AceMemoryState) WHERE m.owner = $owner AND m.name_key > $after
RETURN {_ENTRY} ORDER BY m.name_key LIMIT $limit
"""

_ATTACHED_PARTS = """{
  base: head(COLLECT {
    MATCH (p)-[:HAS_BASE]->(b:AcePlaybookBase) WHERE b.version = p.content_base
    RETURN [b.version, b.etag, b.checksum, b.memory_json]
  }),
  effects: COLLECT {
    MATCH (d:AcePlaybookDelta) WHERE d.user_id = p.user_id AND d.content_version > p.content_base
    RETURN [d.content_version, d.parent, d.etag, d.effect_json] ORDER BY d.content_version
  }
}"""

LOAD_ATTACHED: Final = f"""
CALL () {{
  UNWIND $wanted AS wanted
  MATCH (p:AcePlaybook {{owner_name: wanted.owner_name}})
  RETURN collect(p {{
    .name, .epoch, .version, .etag, .major, .minor, .content_base, playbook_id: p.user_id,
    place: wanted.place, owner: p.owner,
    grants: COLLECT {{
      UNWIND wanted.subjects AS subject
      MATCH (g:AcePlaybookGrant {{playbook_id: p.user_id, subject: subject}})
      RETURN g {{.playbook_id, .subject, .relation, .granted_by, .at}}
    }},
    parts: CASE WHEN p.epoch = wanted.epoch AND p.etag = wanted.etag THEN null
      ELSE {_ATTACHED_PARTS} END
  }}) AS attached
}}
OPTIONAL MATCH (m:AceMemoryState {{user_id: $uid}})
CALL (m) {{
  WITH m WHERE m IS NOT NULL
  {PARTS}
  RETURN collect(parts) AS found
}}
RETURN attached, {STATE}, head(found) AS parts
"""
"""Read a learner's state and named playbooks in one round trip; runs in the namespace of learners."""

VERSIONS: Final = """
MATCH (m:AceMemoryState {user_id: $uid})-[:HAS_DELTA]->(d:AceDelta) WHERE d.content
RETURN d.version AS n, d.major AS major, d.minor AS minor, d.at AS at, d.author AS author,
  d.reason AS reason, d.op_id AS op_id ORDER BY d.version
"""

KEPT: Final = """
MATCH (m:AceMemoryState {user_id: $uid})
OPTIONAL MATCH (m)-[:HAS_BASE]->(b:AceBase)
RETURN m.version AS newest, m.etag AS etag, m.history_base AS base, m.content_base AS of_state,
  collect(b.version) AS kept
"""

CONTENT: Final = """
MATCH (:AceMemoryState {user_id: $uid})-[:HAS_BASE]->(b:AceBase) WHERE b.version = $n
RETURN [b.version, b.etag, b.checksum, b.memory_json] AS base
"""

ETAGS: Final = """
MATCH (d:AceDelta) WHERE d.user_id = $uid AND d.content_version IN $versions
RETURN d.content_version AS n, d.etag AS etag
"""

EFFECTS: Final = """
MATCH (:AceMemoryState {user_id: $uid})-[:HAS_DELTA]->(d:AceDelta)
WHERE d.content AND d.version > $base AND d.version <= $n
RETURN d.effect_json AS effect_json ORDER BY d.version
"""

KEEP: Final = """
MATCH (m:AceMemoryState {user_id: $uid})
SET m.history_base = $base, m.content_base = $of_state REMOVE m.history_next
WITH m
CALL (m) {
  MATCH (m)-[:HAS_BASE]->(b:AceBase) WHERE NOT b.version IN $versions DETACH DELETE b
}
CALL (m) {
  UNWIND $contents AS content
  CREATE (m)-[:HAS_BASE]->(b:AceBase) SET b = content
}
CALL (m) {
  MATCH (m)-[:HAS_DELTA]->(d:AceDelta)
  WHERE d.content AND d.version <= $base AND d.effect_json IS NOT NULL
  REMOVE d.effect_json
}
SET m.base_bytes = coalesce(head(COLLECT {
    MATCH (m)-[:HAS_BASE]->(b:AceBase) WHERE b.version = $of_state RETURN size(b.memory_json)
  }), 0),
  m.effects_bytes = reduce(total = 0, each IN COLLECT {
    MATCH (d:AceDelta) WHERE d.user_id = m.user_id AND d.content_version > $of_state RETURN d.effect_bytes
  } | total + each)
"""
"""Replace the contents that are kept; the caller holds the lock."""


async def list_owners(run: Runner, limit: int, after: str) -> tuple[str, ...]:
    """Return the learners who own named playbooks, in order."""
    return tuple(str(row["owner"]) for row in await fetch(run, OWNERS, after=after, limit=limit))


async def set_fields(run: Runner, playbook_id: str, description: str | None, scope: Scope | None) -> bool:
    """Replace the description and the scope of an entry; False where there is none."""
    rows = await fetch(run, SET_FIELDS, uid=playbook_id, description=description, scope=scope)
    return bool(rows)


async def find_entry(run: Runner, ref: PlaybookRef) -> PlaybookEntry | None:
    """Return the entry of an owner and a name; `default` is the owner's memory."""
    if ref.is_default:
        return _first(await fetch(run.of("learners"), OWN, uid=ref.owner))
    return _first(await fetch(run, FIND, owner_name=owner_name(ref)))


async def read_entry(run: Runner, playbook_id: str) -> PlaybookEntry | None:
    """Return the entry with an id."""
    return _first(await fetch(run, GET, uid=playbook_id))


async def list_entries(run: Runner, owner: str | None, limit: int, after: str) -> tuple[PlaybookEntry, ...]:
    """Return entries of an owner in the order of their name keys."""
    rows = await fetch(run, ENTRIES, owner=owner or "", limit=limit, after=after)
    return tuple(_EntryRow.model_validate(row).entry() for row in rows)


async def list_shared(
    run: Runner, subjects: Sequence[str], limit: int, after: str
) -> tuple[tuple[PlaybookEntry, tuple[Grant, ...]], ...]:
    """Return playbooks with a grant to one of the subjects, in the order of their ids, with these grants."""
    ids = await list_shared_ids(run, subjects, limit, after)
    found = [(await read_entry(run, each), await read_grants(run, each, subjects)) for each in ids]
    return tuple((entry, grants) for entry, grants in found if entry is not None)


async def check_right(run: Runner, asked: PlaybookAccess, needed: Right) -> None:
    """Check the caller's right as it is stored now; run it under the lock of the playbook.

    Raises PlaybookNotFound, PlaybookForbidden.
    """
    entry = await read_entry(run, asked.playbook_id)
    asked.check(needed, entry, await read_grants(run, asked.playbook_id, asked.caller.subjects))


async def delete_owned(run: Runner, owner: str, statement: LiteralString) -> bool:
    """Run the statement that deletes a playbook for each that a learner owns; whether there was any."""
    ids = [entry.playbook_id for entry in await list_entries(run, owner, 2**31, "")]
    for playbook_id in ids:
        await fetch(run, statement, uid=playbook_id)
        await delete_sharing(run, playbook_id)
    return bool(ids)


def wanted_rows(wanted: Sequence[WantedPlaybook]) -> list[Row]:
    """Return the parameter of LOAD_ATTACHED."""
    return [
        {
            "place": place,
            "owner_name": owner_name(each.ref),
            "epoch": each.known.epoch,
            "etag": each.known.etag,
            "subjects": list(each.subjects),
        }
        for place, each in enumerate(wanted)
    ]


async def read_versions(run: Runner, key: str) -> tuple[StoredVersion, ...]:
    """Return all versions, the oldest first."""
    held = await _kept(run, key)
    rows = await fetch(run, VERSIONS, uid=key)
    return tuple(_VersionRow.model_validate(row).version(held.base, frozenset(held.kept)) for row in rows)


async def read_content_at(run: Runner, key: str, n: int) -> Playbook | None:
    """Return the content of a version; None where it is not kept. The caller holds the lock."""
    held = await _kept(run, key)
    start = n if n in held.kept else held.base
    if not start <= n <= held.newest:
        return None
    content = Playbook()
    if start:
        (row,) = await fetch(run, CONTENT, uid=key, n=start)
        content = load_base(StoredBase(*cast("list[Any]", row["base"])).checked().text)
    effects = await fetch(run, EFFECTS, uid=key, base=start, n=n)
    return apply(content, *(load_effect(str(row["effect_json"])) for row in effects))


async def keep_contents(run: Runner, key: str, base: int, contents: Mapping[int, Playbook]) -> None:
    """Keep the versions from `base` on and those of `contents`; the caller holds the lock."""
    held = await _kept(run, key)
    if not held.base <= base <= held.newest:
        return
    of_state, new = max(held.of_state, base), sorted(contents.keys() - {*held.kept})
    etags = {row["n"]: str(row["etag"]) for row in await fetch(run, ETAGS, uid=key, versions=new)}
    bases = list[StoredBase]()
    for n in new:
        text, etag = dump_base(contents[n]), etags.get(n, "")
        bases.append(StoredBase(n, etag, base_checksum(n, etag, text), text))
    await fetch(
        run,
        KEEP,
        uid=key,
        base=base,
        of_state=of_state,
        versions=[*contents, of_state],
        contents=[base_properties(key, each) for each in bases],
    )


async def _kept(run: Runner, key: str) -> _KeptRow:
    """What is stored of the versions of a playbook."""
    rows = await fetch(run, KEPT, uid=key)
    return _KeptRow.model_validate(rows[0]) if rows else _KeptRow(newest=-1)


def _first(rows: list[Row]) -> PlaybookEntry | None:
    return _EntryRow.model_validate(rows[0]).entry() if rows else None


class _KeptRow(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    """The newest version, the bases of the history and of the state, and the versions with a base."""

    newest: int
    etag: str = ""
    base: int = 0
    of_state: int = 0
    kept: tuple[int, ...] = ()


class _VersionRow(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    n: int
    major: int | None
    minor: int | None
    at: Annotated[datetime, BeforeValidator(native)]
    author: str
    reason: str
    op_id: str

    def version(self, base: int, kept: frozenset[int]) -> StoredVersion:
        label = Label(self.major or 0, self.minor or 0)
        readable = self.n >= base or self.n in kept
        return StoredVersion(self.n, label, self.at, self.author, self.reason, self.op_id, readable)


class _EntryRow(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    playbook_id: str
    owner: str
    name: str
    created_at: Annotated[datetime, BeforeValidator(native)]
    updated_at: Annotated[datetime, BeforeValidator(native)]
    description: str
    scope: Scope
    visibility: Visibility
    epoch: str
    version: int
    etag: str
    major: int | None
    minor: int | None

    def entry(self) -> PlaybookEntry:
        label = Label(self.major or 0, self.minor or 0)
        return PlaybookEntry(
            self.playbook_id,
            self.owner or None,
            self.name,
            self.created_at,
            self.updated_at,
            self.description,
            self.scope,
            self.visibility,
            Version(self.epoch, self.version, self.etag, label),
        )


class AttachedRow(BaseModel):
    """A playbook that was wanted, and its place among them. The content is missing where it is known."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    playbook_id: str
    name: str
    epoch: str
    version: int
    etag: str
    major: int | None
    minor: int | None
    place: int
    content_base: int | None
    parts: Parts | None
    owner: str
    grants: tuple[GrantRow, ...]

    def attached(self) -> AttachedPlaybook:
        """Return the playbook.

        Raises IncompleteState where another transaction wrote it while it was read; see `Reply.snapshot`.
        """
        content = None
        if self.parts is not None:
            base = self.parts.base or (None if self.content_base else EMPTY_BASE)
            content = content_of(base, self.parts.effects, self._version())
        grants = tuple(each.grant() for each in self.grants)
        return AttachedPlaybook(
            self.playbook_id, self.name, self._version(), content, self.owner or None, grants
        )

    def _version(self) -> Version:
        label = Label(self.major or 0, self.minor or 0)
        return Version(self.epoch, self.version, self.etag, label)
