"""Specifies the sharing part of a store: grants, teams, and the check of a caller in each transaction."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import uuid4

from ace_graph.errors import AceError, ChangeRefused, PlaybookForbidden, PlaybookNotFound
from ace_graph.memory.catalogue.attaching import Wanted
from ace_graph.memory.catalogue.entry import checked_entry
from ace_graph.memory.catalogue.name import PlaybookRef
from ace_graph.memory.delta.operations import Add, Delta, Remove, Reset
from ace_graph.memory.sharing.asked import Asked, Caller
from ace_graph.memory.sharing.grant import Grant, Relation, Subject
from ace_graph.memory.sharing.proposal import Proposal, Trust
from ace_graph.memory.sharing.right import Right
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.playbooks import NamingStore, PlaybookStore, keeps_playbooks
from ace_graph.testing.conformance.case import Subject as Database
from ace_graph.testing.conformance.writing import NOON, adding, contents, new_learner, rewriting, write

MANY_GRANTS = 10_000


@asynccontextmanager
async def _opened(subject: Database) -> AsyncGenerator[NamingStore]:
    async with subject.open() as store:
        assert keeps_playbooks(store), "the store lacks a method of NamingStore"
        yield store


async def _created(store: NamingStore, owner: str, *texts: str, grants: tuple[Grant, ...] = ()) -> str:
    entry = checked_entry(str(uuid4()), PlaybookRef(owner, "api_client"), NOON)
    granted = tuple(Grant(each.subject, each.relation, entry.playbook_id, owner, NOON) for each in grants)
    first: Delta = rewriting(Reset(), *(Add(content=text) for text in texts))
    await store.playbooks.create(entry, first, granted)
    return entry.playbook_id


def _grant(playbook_id: str, to: str, relation: Relation = "viewer", by: str = "owner") -> Grant:
    return Grant(Subject.parse(to), relation, playbook_id, by, NOON)


def _proposal(playbook_id: str, proposal_id: str, by: str = "bob") -> Proposal:
    return Proposal(
        proposal_id=proposal_id,
        playbook_id=playbook_id,
        delta=adding("Draw a bar"),
        lineage=("bob/gen-00001",),
        trust=Trust.PROVEN,
        by=by,
        at=NOON,
        expires=NOON + timedelta(days=30),
    )


def _asked(playbook_id: str, user: str, *teams: str) -> Asked:
    return Asked(playbook_id, Caller(user, frozenset(teams)), "theirs/api_client")


def _as(store: NamingStore, playbook_id: str, user: str, *teams: str) -> PlaybookStore:
    return store.playbooks.asked(_asked(playbook_id, user, *teams))


async def _error(call: Awaitable[object]) -> AceError | None:
    try:
        await call
    except AceError as error:
        return error
    return None


def _unread(version: Version) -> Snapshot:
    return Snapshot(version=Version(epoch=version.epoch))


async def a_grant_is_stored_replaced_and_deleted(subject: Database) -> None:
    """With every field, in the order of the subjects, seen by another process at once."""
    async with _opened(subject) as store, _opened(subject) as other:
        playbook_id = await _created(store, new_learner())
        viewer, team = _grant(playbook_id, "user:bob"), _grant(playbook_id, "team:ops", "editor")
        for each in (viewer, team):
            await store.playbooks.put_grant(each)
        assert await other.playbooks.grants(playbook_id) == (team, viewer)
        assert await other.playbooks.grants(playbook_id, 1, "team:ops") == (viewer,)
        editor = _grant(playbook_id, "user:bob", "editor", by="")
        await other.playbooks.put_grant(editor)
        assert await store.playbooks.grants(playbook_id) == (team, editor)
        assert await store.playbooks.drop_grant(playbook_id, editor.subject)
        assert not await store.playbooks.drop_grant(playbook_id, editor.subject)
        assert await other.playbooks.grants(playbook_id) == (team,)


async def no_grant_is_stored_for_an_unknown_playbook(subject: Database) -> None:
    """It would hold for whatever gets this id later."""
    async with _opened(subject) as store:
        unknown = str(uuid4())
        error = await _error(store.playbooks.put_grant(_grant(unknown, "user:bob")))
        assert isinstance(error, PlaybookNotFound)
        assert await store.playbooks.grants(unknown) == ()


async def a_new_playbook_has_its_grants_at_once(subject: Database) -> None:
    """They come with its first commit, or neither does."""
    async with _opened(subject) as store, _opened(subject) as other:
        playbook_id = await _created(store, new_learner(), grants=(_grant("", "team:ops"),))
        (found,) = await other.playbooks.grants(playbook_id)
        assert (str(found.subject), found.relation, found.playbook_id) == ("team:ops", "viewer", playbook_id)


async def an_asker_without_a_right_finds_nothing(subject: Database) -> None:
    """Every call is PlaybookNotFound, with the text of a playbook that is not there, and nothing changes."""
    async with _opened(subject) as store:
        playbook_id = await _created(store, new_learner(), "Draw a bar")
        base = await store.playbooks.load(playbook_id)
        await store.playbooks.put_grant(_grant(playbook_id, "user:bobby", "owner"))
        for key in (playbook_id, str(uuid4())):
            view = _as(store, key, "bob", "ops")
            calls = (
                view.entry(key),
                view.load(key),
                view.versions(key),
                view.content_at(key, 1),
                view.history(key),
                view.export(key),
                view.commit(key, adding("Name the unit"), _unread(base.version)),
                view.forget(key),
                view.grants(key),
                view.put_grant(_grant(key, "user:bob", "owner")),
                view.drop_grant(key, Subject("user", "bobby")),
            )
            errors = [await _error(call) for call in calls]
            assert {(type(error), str(error)) for error in errors} == {
                (PlaybookNotFound, "there is no playbook 'theirs/api_client': playbook list shows yours")
            }
        assert (await store.playbooks.load(playbook_id)).version == base.version
        assert len(await store.playbooks.grants(playbook_id)) == 1


async def a_right_is_what_the_relation_gives(subject: Database) -> None:
    """Viewers and contributors read, editors write, owners grant and delete; no right gives the next one."""
    relations: tuple[Relation, ...] = ("viewer", "contributor", "editor", "owner")
    async with _opened(subject) as store:
        for relation in relations:
            playbook_id = await _created(store, new_learner(), "Draw a bar")
            await store.playbooks.put_grant(_grant(playbook_id, "user:bob", relation))
            view = _as(store, playbook_id, "bob")
            base = await view.load(playbook_id)
            written = await _error(view.commit(playbook_id, adding("Name the unit"), _unread(base.version)))
            granted = await _error(view.put_grant(_grant(playbook_id, "user:eve")))
            deleted = await _error(view.forget(playbook_id))
            allowed = [error is None for error in (written, granted, deleted)]
            assert allowed == [relation in {"editor", "owner"}, relation == "owner", relation == "owner"]
            refused = [type(error) for error in (written, granted, deleted) if error is not None]
            assert set(refused) <= {PlaybookForbidden}
            changed = relation == "editor"
            newest = await store.playbooks.load(playbook_id)
            assert (newest.version != base.version) == (changed or relation == "owner")
            assert len(newest.playbook) == (0 if relation == "owner" else 1 + changed)


async def a_commit_after_a_revocation_is_refused(subject: Database) -> None:
    """Also when the caller could write when the base was loaded; also by another process."""
    async with _opened(subject) as store, _opened(subject) as other:
        playbook_id = await _created(store, new_learner(), "Draw a bar")
        await store.playbooks.put_grant(_grant(playbook_id, "user:bob", "editor"))
        view = _as(store, playbook_id, "bob")
        base = await view.load(playbook_id)
        await other.playbooks.drop_grant(playbook_id, Subject("user", "bob"))
        error = await _error(view.commit(playbook_id, adding("Name the unit"), _unread(base.version)))
        assert isinstance(error, PlaybookNotFound)
        assert (await other.playbooks.load(playbook_id)).version == base.version


async def commits_and_revocations_at_once_agree(subject: Database) -> None:
    """Of many commits beside one revocation, those before it are there, and none comes after it."""
    async with _opened(subject) as store, _opened(subject) as other:
        playbook_id = await _created(store, new_learner())
        await store.playbooks.put_grant(_grant(playbook_id, "user:bob", "editor"))
        view = _as(store, playbook_id, "bob")
        base = _unread((await view.load(playbook_id)).version)

        async def commit(number: int) -> AceError | None:
            text = f"Fact {number} is about {number * 7}"
            return await _error(view.commit(playbook_id, adding(text), base))

        revoked = other.playbooks.drop_grant(playbook_id, Subject("user", "bob"))
        *errors, _ = await asyncio.gather(*map(commit, range(8)), revoked)
        late = await commit(99)
        written = sum(error is None for error in errors)
        assert isinstance(late, PlaybookNotFound)
        assert len((await store.playbooks.load(playbook_id)).playbook) == written


async def a_caller_changes_only_what_they_see(subject: Database) -> None:
    """A bullet of the owner's core is unknown to an editor, and stays when the editor replaces everything."""
    async with _opened(subject) as store:
        playbook_id = await _created(store, new_learner(), "Draw a bar")
        own = Add(content="Learner says: call me Ann", section="profile", ref="own")
        await write(store.playbooks, playbook_id, rewriting(own))
        await store.playbooks.put_grant(_grant(playbook_id, "user:bob", "editor"))
        (hidden,) = (await store.playbooks.load(playbook_id)).playbook.bullets("profile")
        view = _as(store, playbook_id, "bob")
        base = _unread((await view.load(playbook_id)).version)
        removing = rewriting(Remove(bullet_id=hidden.id))
        assert isinstance(await _error(view.commit(playbook_id, removing, base)), ChangeRefused)
        await view.commit(playbook_id, rewriting(Reset()), base)
        assert (await store.playbooks.load(playbook_id)).playbook.bullets() == (hidden,)


async def grants_come_with_the_attached_playbook(subject: Database) -> None:
    """Those to the subjects that are named, and no others; with them the owner."""
    learner, owner = new_learner(), new_learner()
    async with _opened(subject) as store:
        playbook_id = await _created(store, owner, "Draw a bar")
        for to in ("user:bob", "user:bobby", "team:ops", "team:op"):
            await store.playbooks.put_grant(_grant(playbook_id, to))
        ref = PlaybookRef(owner, "api_client")
        wanted = Wanted(ref, subjects=("team:ops", "user:bob", "user:b%", "user:"))
        (found,) = (await store.load_attached(learner, [wanted])).attached
        assert found is not None
        assert sorted(str(each.subject) for each in found.grants) == ["team:ops", "user:bob"]
        assert (found.owner, {each.playbook_id for each in found.grants}) == (owner, {playbook_id})
        (bare,) = (await store.load_attached(learner, [Wanted(ref, found.version)])).attached
        assert bare is not None
        assert (bare.grants, bare.playbook) == ((), None)


async def shared_playbooks_are_listed(subject: Database) -> None:
    """Those with a grant to one of the subjects, each once, with these grants, in pages."""
    team, user = f"team:{uuid4()}", f"user:{uuid4()}"
    async with _opened(subject) as store:
        ids = sorted([await _created(store, new_learner()) for _ in range(3)])
        for playbook_id in ids[:2]:
            await store.playbooks.put_grant(_grant(playbook_id, team))
        await store.playbooks.put_grant(_grant(ids[1], user, "editor"))
        found = await store.playbooks.shared_with((team, user))
        assert [entry.playbook_id for entry, _ in found] == ids[:2]
        assert [len(grants) for _, grants in found] == [1, 2]
        (second,) = await store.playbooks.shared_with((team, user), 1, ids[0])
        assert second[0].playbook_id == ids[1]
        assert await store.playbooks.shared_with((f"{user}x",)) == ()


async def a_playbook_may_have_ten_thousand_grants(subject: Database) -> None:
    """They are paged, and each holds."""
    async with _opened(subject) as store:
        many = tuple(_grant("", f"user:{number:05}") for number in range(MANY_GRANTS))
        playbook_id = await _created(store, new_learner(), "Draw a bar", grants=many)
        page = await store.playbooks.grants(playbook_id, 2, "user:09997")
        assert [str(each.subject) for each in page] == ["user:09998", "user:09999"]
        assert contents(await _as(store, playbook_id, "07777").load(playbook_id)) == ["Draw a bar"]
        assert await store.playbooks.forget(playbook_id)
        assert await store.playbooks.grants(playbook_id, 1) == ()


async def a_deleted_playbook_has_no_grants(subject: Database) -> None:
    """Whether it was deleted or its owner forgotten; for a caller it is as if it had never been."""
    for forgotten in (True, False):
        owner = new_learner()
        async with _opened(subject) as store:
            playbook_id = await _created(store, owner, "Draw a bar")
            await store.playbooks.put_grant(_grant(playbook_id, "user:bob"))
            view = _as(store, playbook_id, "bob")
            assert not (await view.load(playbook_id)).absent
            assert await (store.forget(owner) if forgotten else store.playbooks.forget(playbook_id))
            assert isinstance(await _error(view.load(playbook_id)), PlaybookNotFound)
            assert await store.playbooks.grants(playbook_id) == ()


async def forgetting_a_learner_takes_grants_and_teams(subject: Database) -> None:
    """The grants to the learner, the memberships, and the learner's name in grants to others."""
    owner, learner, team = new_learner(), new_learner(), f"team {uuid4()}"
    async with _opened(subject) as store, _opened(subject) as other:
        playbook_id = await _created(store, owner)
        await store.playbooks.put_grant(_grant(playbook_id, f"user:{learner}", "owner", by=owner))
        await store.playbooks.put_grant(_grant(playbook_id, "user:eve", by=learner))
        await store.add_members(team, (learner, owner))
        assert await other.forget(learner)
        (kept,) = await store.playbooks.grants(playbook_id)
        assert (str(kept.subject), kept.by) == ("user:eve", "")
        assert (await store.members(team), await store.teams_of(learner)) == ((owner,), ())
        assert not await store.forget(learner)


async def a_proposal_is_stored_and_decided_once(subject: Database) -> None:
    """In the order of their ids, by state; of two decisions the first holds; others playbooks' are apart."""
    async with _opened(subject) as store, _opened(subject) as other:
        playbook_id, another = await _created(store, new_learner()), await _created(store, new_learner())
        made = [_proposal(playbook_id, f"{number}-{uuid4()}") for number in range(3)]
        for each in (*made, _proposal(another, str(uuid4()))):
            await store.playbooks.put_proposal(each)
        assert await other.playbooks.proposals(playbook_id) == tuple(made)
        assert await other.playbooks.proposals(playbook_id, "pending", 1, made[0].proposal_id) == (made[1],)
        accepted = made[0].model_copy(update={"state": "accepted", "decided_by": "ada", "decided_at": NOON})
        assert await store.playbooks.decide(accepted, "pending")
        refused = made[0].model_copy(update={"state": "refused"})
        assert not await other.playbooks.decide(refused, "pending")
        assert not await other.playbooks.decide(_proposal(another, made[1].proposal_id), "pending")
        assert await other.playbooks.proposals(playbook_id, "accepted") == (accepted,)
        assert await other.playbooks.proposals(playbook_id, "pending") == tuple(made[1:])
        assert isinstance(
            await _error(store.playbooks.put_proposal(_proposal(str(uuid4()), str(uuid4())))),
            PlaybookNotFound,
        )


async def proposing_and_deciding_need_their_rights(subject: Database) -> None:
    """A viewer does neither, a contributor proposes, an editor decides; a stranger finds nothing."""
    async with _opened(subject) as store:
        playbook_id = await _created(store, new_learner())
        relations: tuple[Relation, ...] = ("viewer", "contributor", "editor")
        for relation in relations:
            await store.playbooks.put_grant(_grant(playbook_id, f"user:{relation}", relation))
        for user in (*relations, "stranger"):
            view, proposal = _as(store, playbook_id, user), _proposal(playbook_id, str(uuid4()), user)
            made = await _error(view.put_proposal(proposal))
            decided = await _error(view.decide(proposal, "pending"))
            checked = await _error(view.check(playbook_id, Right.WRITE))
            expected = {
                "viewer": (PlaybookForbidden, PlaybookForbidden),
                "contributor": (type(None), PlaybookForbidden),
                "editor": (type(None), type(None)),
                "stranger": (PlaybookNotFound, PlaybookNotFound),
            }[user]
            assert (type(made), type(decided), type(checked)) == (*expected, expected[1])


async def proposals_go_with_playbook_and_proposer(subject: Database) -> None:
    """With the playbook, its owner, or who made them."""
    async with _opened(subject) as store:
        owner, learner = new_learner(), new_learner()
        playbook_id = await _created(store, owner)
        await store.playbooks.put_proposal(_proposal(playbook_id, str(uuid4()), learner))
        kept = _proposal(playbook_id, str(uuid4()), "eve")
        await store.playbooks.put_proposal(kept)
        assert await store.forget(learner)
        assert await store.playbooks.proposals(playbook_id) == (kept,)
        assert await store.forget(owner)
        assert await store.playbooks.proposals(playbook_id) == ()


async def the_export_holds_what_a_learner_shares(subject: Database) -> None:
    """Teams, grants to the learner, grants on owned playbooks, and proposals made; nothing of others."""
    async with _opened(subject) as store:
        learner, owner, team = new_learner(), new_learner(), f"team {uuid4()}"
        mine, theirs, others = [await _created(store, who) for who in (learner, owner, new_learner())]
        given, held = _grant(mine, "user:eve"), _grant(theirs, f"user:{learner}")
        for each in (given, held, _grant(theirs, "user:eve"), _grant(others, "user:eve")):
            await store.playbooks.put_grant(each)
        made = _proposal(theirs, str(uuid4()), learner)
        for proposal in (made, _proposal(theirs, str(uuid4()), "eve")):
            await store.playbooks.put_proposal(proposal)
        await store.add_members(team, (learner, "eve"))
        sharing = (await store.export(learner)).sharing
        assert (sharing.teams, sharing.proposals) == ((team,), (made,))
        assert (len(sharing.grants), set(sharing.grants)) == (2, {given, held})


async def teams_have_members(subject: Database) -> None:
    """Members join and leave; a team is there as long as it has one; names are compared exactly."""
    team, mine = f"Ops {uuid4()}", new_learner()
    async with _opened(subject) as store, _opened(subject) as other:
        assert await store.add_members(team, (mine, "ben")) == 2
        assert await store.add_members(team, (mine,)) == 0
        assert await other.members(team) == tuple(sorted((mine, "ben")))
        assert await other.teams_of(mine) == (team,)
        assert await other.teams_of(mine.upper()) == ()
        assert await other.teams_of(mine[:-1]) == ()
        assert await other.teams_like(team.lower()) == (team,)
        assert await other.teams_like(team) == ()
        assert team in await other.teams(100_000)
        assert team not in await other.teams(100_000, team)
        assert await other.members(team, 1, "ben") == (mine,)
        assert await store.remove_members(team, (mine, "nobody")) == 1
        assert await store.remove_members(team, ("ben",)) == 1
        assert (await other.members(team), await other.teams_of("ben")) == ((), ())
        assert team not in await other.teams(100_000)


async def every_right_is_what_the_one_function_says(subject: Database) -> None:
    """A membership counts through the team's grant, the highest of several grants, and never a prefix."""
    async with _opened(subject) as store:
        playbook_id = await _created(store, new_learner())
        await store.playbooks.put_grant(_grant(playbook_id, "team:ops"))
        await store.playbooks.put_grant(_grant(playbook_id, "user:bob", "editor"))
        held = {
            ("bob", "ops"): Right.WRITE,
            ("eve", "ops"): Right.READ,
            ("eve", "op"): Right.NONE,
            ("Bob", "Ops"): Right.NONE,
        }
        for (user, team), right in held.items():
            view = _as(store, playbook_id, user, team)
            readable = await _error(view.load(playbook_id)) is None
            base = _unread((await store.playbooks.load(playbook_id)).version)
            writable = await _error(view.commit(playbook_id, adding("Draw a bar"), base)) is None
            assert (readable, writable) == (right >= Right.READ, right >= Right.WRITE)
