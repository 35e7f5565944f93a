"""Specifies the sharing part of a store: grants, teams, and the check of a caller in each transaction."""

from __future__ import annotations

import asyncio
from uuid import uuid4

from ace_graph.base.errors import AceError, ChangeRefused, PlaybookForbidden, PlaybookNotFound
from ace_graph.memory.catalogue import PlaybookRef, WantedPlaybook
from ace_graph.memory.delta.operations import Add, Remove, Reset
from ace_graph.memory.rights import Right
from ace_graph.memory.sharing import Grant, Relation, Subject
from ace_graph.testing.conformance.case import StoreUnderTest as Database
from ace_graph.testing.conformance.case import opened
from ace_graph.testing.conformance.shared_playbooks import created, error_of, grant_of, seen_by, unread
from ace_graph.testing.conformance.writing import NOON, adding, contents, new_learner, rewriting, write

MANY_GRANTS = 10_000


async def a_grant_is_stored_replaced_and_deleted(subject: Database) -> None:
    """With every field, in the order of the subjects, seen by another process at once."""
    async with opened(subject) as store, opened(subject) as other:
        playbook_id = await created(store, new_learner())
        viewer, team = grant_of(playbook_id, "user:bob"), grant_of(playbook_id, "team:ops", "editor")
        for each in (viewer, team):
            await store.playbooks.put_grant(each)
        assert await other.playbooks.grants(playbook_id) == (team, viewer)
        assert await other.playbooks.grants(playbook_id, 1, "team:ops") == (viewer,)
        editor = grant_of(playbook_id, "user:bob", "editor", by="")
        await other.playbooks.put_grant(editor)
        assert await store.playbooks.grants(playbook_id) == (team, editor)
        assert await store.playbooks.drop_grant(playbook_id, editor.subject)
        assert not await store.playbooks.drop_grant(playbook_id, editor.subject)
        assert await other.playbooks.grants(playbook_id) == (team,)


async def no_grant_is_stored_for_an_unknown_playbook(subject: Database) -> None:
    """It would hold for whatever gets this id later."""
    async with opened(subject) as store:
        unknown = str(uuid4())
        error = await error_of(store.playbooks.put_grant(grant_of(unknown, "user:bob")))
        assert isinstance(error, PlaybookNotFound)
        assert await store.playbooks.grants(unknown) == ()


async def a_new_playbook_has_its_grants_at_once(subject: Database) -> None:
    """They come with its first commit, or neither does."""
    async with opened(subject) as store, opened(subject) as other:
        playbook_id = await created(store, new_learner(), grants=(grant_of("", "team:ops"),))
        (found,) = await other.playbooks.grants(playbook_id)
        assert (str(found.subject), found.relation, found.playbook_id) == ("team:ops", "viewer", playbook_id)


async def an_asker_without_a_right_finds_nothing(subject: Database) -> None:
    """Every call is PlaybookNotFound, with the text of a playbook that is not there, and nothing changes."""
    async with opened(subject) as store:
        playbook_id = await created(store, new_learner(), "Draw a bar")
        base = await store.playbooks.load(playbook_id)
        await store.playbooks.put_grant(grant_of(playbook_id, "user:bobby", "owner"))
        for key in (playbook_id, str(uuid4())):
            view = seen_by(store, key, "bob", "ops")
            calls = (
                view.entry(key),
                view.load(key),
                view.versions(key),
                view.content_at(key, 1),
                view.history(key),
                view.export(key),
                view.commit(key, adding("Name the unit"), unread(base.version)),
                view.forget(key),
                view.grants(key),
                view.put_grant(grant_of(key, "user:bob", "owner")),
                view.drop_grant(key, Subject("user", "bobby")),
            )
            errors = [await error_of(call) for call in calls]
            assert {(type(error), str(error)) for error in errors} == {
                (PlaybookNotFound, "there is no playbook 'theirs/api_client': playbook list shows yours")
            }
        assert (await store.playbooks.load(playbook_id)).version == base.version
        assert len(await store.playbooks.grants(playbook_id)) == 1


async def a_right_is_what_the_relation_gives(subject: Database) -> None:
    """Viewers and contributors read, editors write, owners grant and delete; no right gives the next one."""
    relations: tuple[Relation, ...] = ("viewer", "contributor", "editor", "owner")
    async with opened(subject) as store:
        for relation in relations:
            playbook_id = await created(store, new_learner(), "Draw a bar")
            await store.playbooks.put_grant(grant_of(playbook_id, "user:bob", relation))
            view = seen_by(store, playbook_id, "bob")
            base = await view.load(playbook_id)
            written = await error_of(view.commit(playbook_id, adding("Name the unit"), unread(base.version)))
            granted = await error_of(view.put_grant(grant_of(playbook_id, "user:eve")))
            deleted = await error_of(view.forget(playbook_id))
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
    async with opened(subject) as store, opened(subject) as other:
        playbook_id = await created(store, new_learner(), "Draw a bar")
        await store.playbooks.put_grant(grant_of(playbook_id, "user:bob", "editor"))
        view = seen_by(store, playbook_id, "bob")
        base = await view.load(playbook_id)
        await other.playbooks.drop_grant(playbook_id, Subject("user", "bob"))
        error = await error_of(view.commit(playbook_id, adding("Name the unit"), unread(base.version)))
        assert isinstance(error, PlaybookNotFound)
        assert (await other.playbooks.load(playbook_id)).version == base.version


async def commits_and_revocations_at_once_agree(subject: Database) -> None:
    """Of many commits beside one revocation, those before it are there, and none comes after it."""
    async with opened(subject) as store, opened(subject) as other:
        playbook_id = await created(store, new_learner())
        await store.playbooks.put_grant(grant_of(playbook_id, "user:bob", "editor"))
        view = seen_by(store, playbook_id, "bob")
        base = unread((await view.load(playbook_id)).version)

        async def commit(number: int) -> AceError | None:
            text = f"Fact {number} is about {number * 7}"
            return await error_of(view.commit(playbook_id, adding(text), base))

        revoked = other.playbooks.drop_grant(playbook_id, Subject("user", "bob"))
        *errors, _ = await asyncio.gather(*map(commit, range(8)), revoked)
        late = await commit(99)
        written = sum(error is None for error in errors)
        assert isinstance(late, PlaybookNotFound)
        assert len((await store.playbooks.load(playbook_id)).playbook) == written


async def a_caller_changes_only_what_they_see(subject: Database) -> None:
    """A bullet of the owner's core is unknown to an editor, and stays when the editor replaces everything."""
    async with opened(subject) as store:
        playbook_id = await created(store, new_learner(), "Draw a bar")
        own = Add(content="Learner says: call me Ann", section="profile", ref="own")
        await write(store.playbooks, playbook_id, rewriting(own))
        await store.playbooks.put_grant(grant_of(playbook_id, "user:bob", "editor"))
        (hidden,) = (await store.playbooks.load(playbook_id)).playbook.bullets("profile")
        view = seen_by(store, playbook_id, "bob")
        base = unread((await view.load(playbook_id)).version)
        removing = rewriting(Remove(bullet_id=hidden.id))
        assert isinstance(await error_of(view.commit(playbook_id, removing, base)), ChangeRefused)
        await view.commit(playbook_id, rewriting(Reset()), base)
        assert (await store.playbooks.load(playbook_id)).playbook.bullets() == (hidden,)


async def grants_come_with_the_attached_playbook(subject: Database) -> None:
    """Those to the subjects that are named, and no others; with them the owner."""
    learner, owner = new_learner(), new_learner()
    async with opened(subject) as store:
        playbook_id = await created(store, owner, "Draw a bar")
        for to in ("user:bob", "user:bobby", "team:ops", "team:op"):
            await store.playbooks.put_grant(grant_of(playbook_id, to))
        ref = PlaybookRef(owner, "api_client")
        wanted = WantedPlaybook(ref, subjects=("team:ops", "user:bob", "user:b%", "user:"))
        (found,) = (await store.load_attached(learner, [wanted])).attached
        assert found is not None
        assert sorted(str(each.subject) for each in found.grants) == ["team:ops", "user:bob"]
        assert (found.owner, {each.playbook_id for each in found.grants}) == (owner, {playbook_id})
        (bare,) = (await store.load_attached(learner, [WantedPlaybook(ref, found.version)])).attached
        assert bare is not None
        assert (bare.grants, bare.playbook) == ((), None)


async def shared_playbooks_are_listed(subject: Database) -> None:
    """Those with a grant to one of the subjects, each once, with these grants, in pages."""
    team, user = f"team:{uuid4()}", f"user:{uuid4()}"
    async with opened(subject) as store:
        ids = sorted([await created(store, new_learner()) for _ in range(3)])
        for playbook_id in ids[:2]:
            await store.playbooks.put_grant(grant_of(playbook_id, team))
        await store.playbooks.put_grant(grant_of(ids[1], user, "editor"))
        found = await store.playbooks.shared_with((team, user))
        assert [entry.playbook_id for entry, _ in found] == ids[:2]
        assert [len(grants) for _, grants in found] == [1, 2]
        (second,) = await store.playbooks.shared_with((team, user), 1, ids[0])
        assert second[0].playbook_id == ids[1]
        assert await store.playbooks.shared_with((f"{user}x",)) == ()


async def a_playbook_may_have_ten_thousand_grants(subject: Database) -> None:
    """They are paged, and each holds."""
    async with opened(subject) as store:
        many = tuple(grant_of("", f"user:{number:05}") for number in range(MANY_GRANTS))
        playbook_id = await created(store, new_learner(), "Draw a bar", grants=many)
        page = await store.playbooks.grants(playbook_id, 2, "user:09997")
        assert [str(each.subject) for each in page] == ["user:09998", "user:09999"]
        assert contents(await seen_by(store, playbook_id, "07777").load(playbook_id)) == ["Draw a bar"]
        assert await store.playbooks.forget(playbook_id)
        assert await store.playbooks.grants(playbook_id, 1) == ()


async def a_deleted_playbook_has_no_grants(subject: Database) -> None:
    """Whether it was deleted or its owner forgotten; for a caller it is as if it had never been."""
    for forgotten in (True, False):
        owner = new_learner()
        async with opened(subject) as store:
            playbook_id = await created(store, owner, "Draw a bar")
            await store.playbooks.put_grant(grant_of(playbook_id, "user:bob"))
            view = seen_by(store, playbook_id, "bob")
            assert not (await view.load(playbook_id)).absent
            assert await (store.forget(owner) if forgotten else store.playbooks.forget(playbook_id))
            assert isinstance(await error_of(view.load(playbook_id)), PlaybookNotFound)
            assert await store.playbooks.grants(playbook_id) == ()


async def forgetting_a_learner_takes_grants_and_teams(subject: Database) -> None:
    """The grants to the learner, the memberships, and the learner's name in grants to others."""
    owner, learner, team = new_learner(), new_learner(), f"team {uuid4()}"
    async with opened(subject) as store, opened(subject) as other:
        playbook_id = await created(store, owner)
        await store.playbooks.put_grant(grant_of(playbook_id, f"user:{learner}", "owner", by=owner))
        shown = Grant(Subject("reader", learner), "shows", playbook_id, learner, NOON)
        await store.playbooks.put_grant(shown)
        assert shown in await other.playbooks.grants(playbook_id)
        assert shown in (await other.export(learner)).sharing.grants
        await store.playbooks.put_grant(grant_of(playbook_id, "user:eve", by=learner))
        await store.add_members(team, (learner, owner))
        assert await other.forget(learner)
        (kept,) = await store.playbooks.grants(playbook_id)
        assert (str(kept.subject), kept.by) == ("user:eve", "")
        assert (await store.members(team), await store.teams_of(learner)) == ((owner,), ())
        assert not await store.forget(learner)


async def teams_have_members(subject: Database) -> None:
    """Members join and leave; a team is there as long as it has one; names are compared exactly."""
    team, mine = f"Ops {uuid4()}", new_learner()
    async with opened(subject) as store, opened(subject) as other:
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
    async with opened(subject) as store:
        playbook_id = await created(store, new_learner())
        await store.playbooks.put_grant(grant_of(playbook_id, "team:ops"))
        await store.playbooks.put_grant(grant_of(playbook_id, "user:bob", "editor"))
        held = {
            ("bob", "ops"): Right.WRITE,
            ("eve", "ops"): Right.READ,
            ("eve", "op"): Right.NONE,
            ("Bob", "Ops"): Right.NONE,
        }
        for (user, team), right in held.items():
            view = seen_by(store, playbook_id, user, team)
            readable = await error_of(view.load(playbook_id)) is None
            base = unread((await store.playbooks.load(playbook_id)).version)
            writable = await error_of(view.commit(playbook_id, adding("Draw a bar"), base)) is None
            assert (readable, writable) == (right >= Right.READ, right >= Right.WRITE)
