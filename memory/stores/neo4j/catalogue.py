"""Named playbooks in Neo4j: the catalogue, grants, proposals, and teams. Their Cypher is in catalogue.cypher.

The entry of a playbook is on the node of its state. Statements on teams run in the namespace of learners; all
others but one in that of playbooks, so they name the labels of learners, and a grant is an
`AcePlaybookGrant`. Where no owner is, `owner` is ''. Grants change under the playbook's lock, as commits do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, InstanceOf

from ace_graph.memory.catalogue import (
    AttachedPlaybook,
    PlaybookEntry,
    PlaybookRef,
    WantedPlaybook,
)
from ace_graph.memory.delta.effect import apply
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.rights import PlaybookAccess, Right
from ace_graph.memory.serialization import load_effect
from ace_graph.memory.sharing import Grant, Proposal, ProposalState, subjects_naming
from ace_graph.memory.snapshot import Label, Version
from ace_graph.memory.stores.base import SharingExport, StoredVersion
from ace_graph.memory.stores.neo4j.connection import Row, Runner, fetch, fetch_rows
from ace_graph.memory.stores.neo4j.graph import linked_people, release
from ace_graph.memory.stores.neo4j.queries import (
    DELETE_LEARNER,
    Parts,
    base_properties,
    owner_name,
    statement,
)
from ace_graph.memory.stores.records import (
    GRANT_COLUMNS,
    columns,
    entry_of,
    grant_of,
    grant_row,
    proposal_columns,
    stored_version_of,
)
from ace_graph.memory.stores.snapshot_and_log import (
    EMPTY_BASE,
    StoredBase,
    base_checksum,
    content_of,
    dump_base,
    load_base,
)

READ: Final = statement("catalogue.READ")
LIST: Final = statement("catalogue.LIST")
PUT: Final = statement("catalogue.PUT")
DROP: Final = statement("catalogue.DROP")
DROP_ALL: Final = "MATCH (g:AceGrant {playbook_id: $uid}) DELETE g"
DROP_PROPOSALS: Final = "MATCH (p:AceProposal {playbook_id: $uid}) DELETE p"
ABOUT: Final = statement("catalogue.ABOUT")
PROPOSED_BY: Final = statement("catalogue.PROPOSED_BY")
ADD_PROPOSAL: Final = "CREATE (p:AceProposal) SET p = $proposal"
PROPOSALS: Final = statement("catalogue.PROPOSALS")
DECIDE: Final = statement("catalogue.DECIDE")
FORGET_PROPOSALS: Final = "MATCH (p:AceProposal {proposer: $user}) DELETE p RETURN count(*) AS gone"
SHARED: Final = statement("catalogue.SHARED")
FORGET_GRANTS: Final = statement("catalogue.FORGET_GRANTS")
TEAMS_OF: Final = statement("catalogue.TEAMS_OF")
TEAMS: Final = statement("catalogue.TEAMS")
TEAMS_LIKE: Final = statement("catalogue.TEAMS_LIKE")
MEMBERS: Final = statement("catalogue.MEMBERS")
ADD: Final = statement("catalogue.ADD")
REMOVE: Final = statement("catalogue.REMOVE")
LEAVE: Final = "MATCH (m:AceTeamMember {member: $user}) DELETE m RETURN count(*) AS gone"


async def read_grants(run: Runner, playbook_id: str, subjects: Sequence[str]) -> tuple[Grant, ...]:
    """Return the grants of a playbook to these subjects."""
    if not subjects:
        return ()
    return tuple(map(grant_of, await fetch_rows(run, READ, uid=playbook_id, subjects=list(subjects))))


async def list_grants(run: Runner, playbook_id: str, limit: int, after: str) -> tuple[Grant, ...]:
    """Return grants of a playbook in the order of their subjects."""
    return tuple(map(grant_of, await fetch_rows(run, LIST, uid=playbook_id, limit=limit, after=after)))


async def put_grants(run: Runner, grants: Iterable[Grant]) -> None:
    """Store grants; one that a subject has on the same playbook is replaced."""
    await fetch(run, PUT, grants=grant_rows(grants))


async def delete_sharing(run: Runner, playbook_id: str) -> None:
    """Delete all grants of a playbook, and the proposals for it."""
    await fetch(run, DROP_ALL, uid=playbook_id)
    await fetch(run, DROP_PROPOSALS, uid=playbook_id)


async def read_sharing(run: Runner, user: str, owned: Sequence[str]) -> SharingExport:
    """Return a user's teams, grants and proposals, with the grants on the playbooks `owned`."""
    named = run.of("playbooks")
    grants = await fetch_rows(named, ABOUT, subjects=list(subjects_naming(user)), owned=list(owned))
    made = await proposals_by(named, user, 2**31, "")
    return SharingExport(await teams_of(run.of("learners"), user), tuple(map(grant_of, grants)), made)


async def proposals_by(run: Runner, user: str, limit: int, after: str) -> tuple[Proposal, ...]:
    """Return proposals that a user made, in the order of their ids; runs in the namespace of playbooks."""
    rows = await fetch(run, PROPOSED_BY, user=user, limit=limit, after=after)
    return tuple(Proposal.model_validate_json(str(row["proposal_json"])) for row in rows)


async def add_proposal(run: Runner, proposal: Proposal) -> None:
    """Store a new proposal."""
    await fetch(run, ADD_PROPOSAL, proposal=proposal_columns(proposal))


async def list_proposals(
    run: Runner, playbook_id: str, state: ProposalState | None, limit: int, after: str
) -> tuple[Proposal, ...]:
    """Return proposals for a playbook, in the order of their ids."""
    rows = await fetch(run, PROPOSALS, uid=playbook_id, state=state, limit=limit, after=after)
    return tuple(Proposal.model_validate_json(str(row["proposal_json"])) for row in rows)


async def list_shared_ids(run: Runner, subjects: Sequence[str], limit: int, after: str) -> tuple[str, ...]:
    """Return the ids of playbooks with a grant to one of the subjects, in order."""
    rows = await fetch(run, SHARED, subjects=list(subjects), limit=limit, after=after)
    return tuple(str(row["playbook_id"]) for row in rows)


async def teams_of(run: Runner, user: str) -> tuple[str, ...]:
    """Return the teams that a user is in, in order."""
    return _names(await fetch(run, TEAMS_OF, user=user))


async def forget_member(run: Runner, user: str) -> bool:
    """Delete a user's memberships and proposals, the grants to the user, and the name in grants to others."""
    (left,) = await fetch(run.of("learners"), LEAVE, user=user)
    subjects = list(subjects_naming(user))
    (row,) = await fetch(run.of("playbooks"), FORGET_GRANTS, user=user, subjects=subjects)
    (withdrawn,) = await fetch(run.of("playbooks"), FORGET_PROPOSALS, user=user)
    return any(row["gone"] != 0 for row in (left, row, withdrawn))


def grant_rows(grants: Iterable[Grant]) -> list[Row]:
    """Return grants as properties of nodes."""
    return [{**columns(GRANT_COLUMNS, grant_row(grant)), "at": grant.at} for grant in grants]


def _names(rows: list[Row]) -> tuple[str, ...]:
    return tuple(str(row["name"]) for row in rows)


# The catalogue, and the versions of a playbook.


_ENTRY: Final = statement("catalogue.ENTRY")
FIND: Final = f"MATCH (m:AceMemoryState {{owner_name: $owner_name}}) RETURN {_ENTRY}"

OWN: Final = statement("catalogue.OWN")
GET: Final = f"MATCH (m:AceMemoryState {{user_id: $uid}}) WHERE m.owner_name IS NOT NULL RETURN {_ENTRY}"

SET_FIELDS: Final = statement("catalogue.SET_FIELDS")
OWNERS: Final = statement("catalogue.OWNERS")
ENTRIES: Final = statement("catalogue.ENTRIES")
LOAD_ATTACHED: Final = statement("catalogue.LOAD_ATTACHED")
VERSIONS: Final = statement("catalogue.VERSIONS")
KEPT: Final = statement("catalogue.KEPT")
CONTENT: Final = statement("catalogue.CONTENT")
ETAGS: Final = statement("catalogue.ETAGS")
EFFECTS: Final = statement("catalogue.EFFECTS")
KEEP: Final = statement("catalogue.KEEP")


async def find_entry(run: Runner, ref: PlaybookRef) -> PlaybookEntry | None:
    """Return the entry of an owner and a name; `default` is the owner's memory."""
    if ref.is_default:
        rows = await fetch_rows(run.of("learners"), OWN, uid=ref.owner)
    else:
        rows = await fetch_rows(run, FIND, owner_name=owner_name(ref))
    return entry_of(rows[0]) if rows else None


async def read_entry(run: Runner, playbook_id: str) -> PlaybookEntry | None:
    """Return the entry with an id."""
    rows = await fetch_rows(run, GET, uid=playbook_id)
    return entry_of(rows[0]) if rows else None


async def list_entries(run: Runner, owner: str | None, limit: int, after: str) -> tuple[PlaybookEntry, ...]:
    """Return entries of an owner in the order of their name keys."""
    rows = await fetch_rows(run, ENTRIES, owner=owner or "", limit=limit, after=after)
    return tuple(map(entry_of, rows))


async def list_shared(
    run: Runner, subjects: Sequence[str], limit: int, after: str
) -> tuple[tuple[PlaybookEntry, tuple[Grant, ...]], ...]:
    """Return playbooks with a grant to one of the subjects, in the order of their ids, with these grants."""
    ids = await list_shared_ids(run, subjects, limit, after)
    found = [
        (await read_entry(run, playbook_id), await read_grants(run, playbook_id, subjects))
        for playbook_id in ids
    ]
    return tuple((entry, grants) for entry, grants in found if entry is not None)


async def check_right(run: Runner, asked: PlaybookAccess, needed: Right) -> None:
    """Check the caller's right as it is stored now; run it under the lock of the playbook.

    Raises PlaybookNotFound, PlaybookForbidden.
    """
    entry = await read_entry(run, asked.playbook_id)
    asked.check(needed, entry, await read_grants(run, asked.playbook_id, asked.caller.subjects))


async def delete_playbook(run: Runner, playbook_id: str) -> bool:
    """Delete a playbook and all that is stored or drawn about it; False when there was none."""
    people = await linked_people(run, playbook_id)
    rows = await fetch(run, DELETE_LEARNER, uid=playbook_id)
    await delete_sharing(run, playbook_id)
    await release(run, people)
    return any(row["found"] is True for row in rows)


async def delete_owned(run: Runner, owner: str) -> bool:
    """Delete all playbooks that a learner owns; whether there was any."""
    ids = [entry.playbook_id for entry in await list_entries(run, owner, 2**31, "")]
    for playbook_id in ids:
        await delete_playbook(run, playbook_id)
    return bool(ids)


def wanted_rows(wanted: Sequence[WantedPlaybook]) -> list[Row]:
    """Return the parameter of LOAD_ATTACHED."""
    return [
        {
            "place": place,
            "owner_name": owner_name(asked.ref),
            "epoch": asked.known.epoch,
            "etag": asked.known.etag,
            "subjects": list(asked.subjects),
        }
        for place, asked in enumerate(wanted)
    ]


async def read_versions(run: Runner, key: str) -> tuple[StoredVersion, ...]:
    """Return all versions, the oldest first."""
    held = await _kept(run, key)
    rows = await fetch_rows(run, VERSIONS, uid=key)
    return tuple(stored_version_of(row, base=held.base, kept=held.kept) for row in rows)


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
        contents=[base_properties(key, content) for content in bases],
    )


async def _kept(run: Runner, key: str) -> _KeptRow:
    """What is stored of the versions of a playbook."""
    rows = await fetch(run, KEPT, uid=key)
    return _KeptRow.model_validate(rows[0]) if rows else _KeptRow(newest=-1)


class _KeptRow(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    """The newest version, the bases of the history and of the state, and the versions with a base."""

    newest: int
    etag: str = ""
    base: int = 0
    of_state: int = 0
    kept: tuple[int, ...] = ()


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
    grants: tuple[Annotated[InstanceOf[Grant], BeforeValidator(grant_of)], ...]

    def attached(self) -> AttachedPlaybook:
        """Return the playbook.

        Raises IncompleteState where another transaction wrote it while it was read; see `Reply.snapshot`.
        """
        content = None
        if self.parts is not None:
            base = self.parts.base or (None if self.content_base else EMPTY_BASE)
            content = content_of(base, self.parts.effects, self._version())
        version, owner = self._version(), self.owner or None
        return AttachedPlaybook(self.playbook_id, self.name, version, content, owner, self.grants)

    def _version(self) -> Version:
        label = Label(self.major or 0, self.minor or 0)
        return Version(self.epoch, self.version, self.etag, label)
