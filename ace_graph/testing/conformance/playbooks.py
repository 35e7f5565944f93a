"""Specifies the named playbooks of a store: the catalogue, versions, reading them beside a memory."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

from ace_graph.base.errors import LearnerForgotten, PlaybookChanged, PlaybookExists
from ace_graph.memory.catalogue import DEFAULT, PlaybookEntry, PlaybookRef, WantedPlaybook, checked_entry
from ace_graph.memory.commit import playbook_at
from ace_graph.memory.delta.operations import Add, Delta, Remove, Reset
from ace_graph.memory.serialization import dump_playbook
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.store import PlaybookStore, Store
from ace_graph.testing.conformance.case import StoreUnderTest, opened
from ace_graph.testing.conformance.writing import (
    NOON,
    adding,
    contents,
    new_learner,
    record,
    rewriting,
    touching,
    write,
)

WRITERS = 20


def _entry(owner: str | None, name: str = "api_client", description: str = "") -> PlaybookEntry:
    ref = PlaybookRef(owner, name)
    return checked_entry(str(uuid4()), ref, NOON, description=description, scope="tenant")


def _first(*texts: str) -> Delta:
    """Return the first delta of a playbook, which gives it version 1.0 even without a bullet."""
    return rewriting(Reset(), *(Add(content=text) for text in texts))


async def _created(store: Store, owner: str | None, name: str = "api_client", *texts: str) -> str:
    entry = _entry(owner, name)
    await store.playbooks.create(entry, _first(*texts))
    return entry.playbook_id


async def _labels(playbooks: PlaybookStore, playbook_id: str) -> list[str]:
    return [str(version.label) for version in await playbooks.versions(playbook_id)]


async def the_fields_of_an_entry_are_replaced(subject: StoreUnderTest) -> None:
    """Without a version, and for others to see at once; False where there is no such playbook."""
    owner = new_learner()
    async with opened(subject) as store, opened(subject) as other:
        playbook_id = await _created(store, owner, "api_client", "Draw a bar")
        before = await store.playbooks.entry(playbook_id)
        assert await store.playbooks.set_fields(playbook_id, "how to draw", "user", "judged")
        found = await other.playbooks.find(PlaybookRef(owner, "api_client"))
        assert before is not None
        assert found == replace(before, description="how to draw", scope="user", lessons="judged")
        assert await other.playbooks.set_fields(playbook_id, None, "agent", None)
        assert await other.playbooks.set_fields(playbook_id, "", None, None)
        assert await other.playbooks.set_fields(playbook_id, None, None, "off")
        now = replace(before, description="", scope="agent", lessons="off")
        assert await store.playbooks.entry(playbook_id) == now
        assert not await store.playbooks.set_fields(str(uuid4()), "how to draw", "user", "off")


async def owners_are_listed_in_the_order_of_their_ids(subject: StoreUnderTest) -> None:
    """Each once, without the host, page by page, whether or not there is a memory of theirs."""
    async with opened(subject) as store:
        owners = sorted(new_learner() for _ in range(3))
        for owner in (*owners, owners[0]):
            await _created(store, owner, f"n{uuid4()}")
        await _created(store, None, f"n{uuid4()}")
        found: list[str] = []
        after = ""
        while page := await store.playbooks.owners(2, after):
            found += page
            after = page[-1]
        assert [each for each in found if each in owners] == owners
        assert len(set(found)) == len(found)
        assert "" not in found


async def a_playbook_is_deleted_with_the_content_that_was_read(subject: StoreUnderTest) -> None:
    """With another etag it stays, whole; without one it is deleted whatever it holds."""
    async with opened(subject) as store, opened(subject) as other:
        playbook_id = await _created(store, new_learner(), "api_client", "Draw a bar")
        read = (await store.playbooks.load(playbook_id)).version.etag
        await write(other.playbooks, playbook_id, adding("Estimate the result"))
        try:
            await store.playbooks.forget(playbook_id, read)
        except PlaybookChanged:
            pass
        else:
            raise AssertionError("a stale deletion must be refused")
        assert len(contents(await other.playbooks.load(playbook_id))) == 2
        newest = (await other.playbooks.load(playbook_id)).version.etag
        assert await store.playbooks.forget(playbook_id, newest)
        assert not await store.playbooks.forget(playbook_id, newest)
        assert await other.playbooks.entry(playbook_id) is None


async def a_created_playbook_is_found(subject: StoreUnderTest) -> None:
    """By owner and name, by id, and in the owner's list, with every field, also by another process."""
    owner = new_learner()
    async with opened(subject) as store, opened(subject) as other:
        entry = _entry(owner, description="how to call the API")
        done = await store.playbooks.create(entry, _first("Draw a bar"))
        assert str(done.version.label) == "1.0"
        found = await other.playbooks.find(entry.ref)
        assert found is not None
        assert (found.playbook_id, found.owner, found.name) == (entry.playbook_id, owner, "api_client")
        assert (found.description, found.scope, found.visibility) == (
            "how to call the API",
            "tenant",
            "private",
        )
        assert (found.created_at, found.updated_at, found.version) == (NOON, NOON, done.version)
        assert await other.playbooks.entry(entry.playbook_id) == found
        assert await other.playbooks.entries(owner) == (found,)
        assert contents(await other.playbooks.load(entry.playbook_id)) == ["Draw a bar"]


async def a_playbook_has_the_times_of_its_creation_and_its_last_change(subject: StoreUnderTest) -> None:
    """A named one and the own memory, also for another process."""
    owner, later = new_learner(), NOON + timedelta(hours=1)
    async with opened(subject) as store, opened(subject) as other:
        playbook_id = await _created(store, owner, "api_client", "Draw a bar")
        await write(store.playbooks, playbook_id, adding("Name the unit", minute=60))
        await write(store, owner, adding("Draw a bar"))
        await write(store, owner, adding("Name the unit", minute=60))
        for name in ("api_client", DEFAULT):
            found = await other.playbooks.find(PlaybookRef(owner, name))
            assert found is not None
            assert (found.created_at, found.updated_at) == (NOON, later)


async def an_unknown_playbook_is_not_found(subject: StoreUnderTest) -> None:
    """Neither by name nor by id, and reading it creates nothing."""
    owner = new_learner()
    async with opened(subject) as store:
        assert await store.playbooks.find(PlaybookRef(owner, "none")) is None
        assert await store.playbooks.entry(str(uuid4())) is None
        assert await store.playbooks.entries(owner) == ()
        assert (await store.playbooks.load(str(uuid4()))).absent


async def a_name_is_one_playbook_of_its_owner(subject: StoreUnderTest) -> None:
    """The same name again is PlaybookExists, also after changes, in another case, and without an owner."""
    for owner in (new_learner(), None):
        name = f"Größe {uuid4()}"
        async with opened(subject) as store:
            playbook_id = await _created(store, owner, name)
            await write(store.playbooks, playbook_id, adding("Draw a bar"))
            for same in (name, name.upper(), name.replace("ö", "o\u0308")):
                try:
                    await _created(store, owner, same, "Name the unit")
                except PlaybookExists:
                    continue
                raise AssertionError(f"{same!r} was created beside {name!r}")
            assert contents(await store.playbooks.load(playbook_id)) == ["Draw a bar"]


async def two_owners_may_use_one_name(subject: StoreUnderTest) -> None:
    """A name belongs to its owner: others, whose ids look alike, and the host have their own of that name."""
    one, name = new_learner(), f"shared {uuid4()}"
    owners = (one, f"{one} ", one.upper(), f"{one}/{name}", None)
    async with opened(subject) as store:
        ids = [await _created(store, owner, name, f"Fact {n} is {n * 7}") for n, owner in enumerate(owners)]
        assert len(set(ids)) == len(owners)
        for n, owner in enumerate(owners):
            found = await store.playbooks.find(PlaybookRef(owner, name))
            assert found is not None
            assert found.playbook_id == ids[n]


async def of_many_that_create_one_name_one_does(subject: StoreUnderTest) -> None:
    """20 processes create the same name at once: one playbook, 19 times PlaybookExists, nothing left over."""
    owner = new_learner()

    async def create(number: int) -> str | None:
        async with opened(subject) as store:
            try:
                return await _created(store, owner, "api_client", f"Fact {number} is about {number * 7}")
            except PlaybookExists:
                return None

    made = [each for each in await asyncio.gather(*map(create, range(WRITERS))) if each is not None]
    assert len(made) == 1
    async with opened(subject) as store:
        assert [entry.playbook_id for entry in await store.playbooks.entries(owner)] == made


async def creating_again_under_one_op_id_is_a_repetition(subject: StoreUnderTest) -> None:
    """The same entry and the same delta, as after a lost reply, change nothing."""
    entry, delta = _entry(new_learner()), _first("Draw a bar")
    async with opened(subject) as store, opened(subject) as other:
        await store.playbooks.create(entry, delta)
        again = await other.playbooks.create(entry, delta)
        assert again.status == "repeated"
        assert contents(await other.playbooks.load(entry.playbook_id)) == ["Draw a bar"]


async def the_list_is_in_order_and_paged(subject: StoreUnderTest) -> None:
    """Entries come in the order of their names, whatever their case, and from a place on."""
    owner = new_learner()
    async with opened(subject) as store:
        for name in ("beta", "Alpha", "delta", "Charlie"):
            await _created(store, owner, name)
        names = [entry.name for entry in await store.playbooks.entries(owner)]
        assert names == ["Alpha", "beta", "Charlie", "delta"]
        page = await store.playbooks.entries(owner, 2, "alpha")
        assert [entry.name for entry in page] == ["beta", "Charlie"]


async def a_deleted_playbook_is_gone(subject: StoreUnderTest) -> None:
    """With its entry; a late commit does not bring it back, and its name can be used again."""
    owner = new_learner()
    async with opened(subject) as store:
        playbook_id = await _created(store, owner, "api_client", "Draw a bar")
        base = await store.playbooks.load(playbook_id)
        assert await store.playbooks.forget(playbook_id)
        assert not await store.playbooks.forget(playbook_id)
        try:
            await store.playbooks.commit(playbook_id, adding("Name the unit"), base)
        except LearnerForgotten:
            pass
        else:
            raise AssertionError("a late commit was accepted")
        assert await store.playbooks.find(PlaybookRef(owner, "api_client")) is None
        assert await _created(store, owner) != playbook_id


async def a_learner_and_a_playbook_with_one_id_are_two(subject: StoreUnderTest) -> None:
    """An id of a playbook may be a learner's id, too: neither sees or deletes what is the other's."""
    async with opened(subject) as store:
        playbook_id = await _created(store, new_learner(), "api_client", "Draw a bar")
        delta = adding("Name the unit")
        await write(store, playbook_id, delta, record())
        await write(store.playbooks, playbook_id, delta)
        assert contents(await store.load(playbook_id)) == ["Name the unit"]
        assert contents(await store.playbooks.load(playbook_id)) == ["Draw a bar", "Name the unit"]
        assert await store.playbooks.turns(playbook_id) == ()
        assert await store.forget(playbook_id)
        assert contents(await store.playbooks.load(playbook_id)) == ["Draw a bar", "Name the unit"]


async def forgetting_a_learner_deletes_the_playbooks(subject: StoreUnderTest) -> None:
    """All that the learner owns, with or without a memory; those of others stay."""
    for has_memory in (True, False):
        owner, other = new_learner(), new_learner()
        async with opened(subject) as store:
            if has_memory:
                await write(store, owner, adding("Draw a bar"))
            mine = [await _created(store, owner, name) for name in ("one", "two")]
            theirs = await _created(store, other)
            assert await store.forget(owner)
            assert await store.playbooks.entries(owner) == ()
            assert all([(await store.playbooks.load(each)).absent for each in mine])
            assert await store.playbooks.entry(theirs) is not None
            assert not await store.forget(owner)


async def the_export_holds_the_playbooks(subject: StoreUnderTest) -> None:
    """Of a learner the owned ones with their entry, content and history; of a playbook the same alone."""
    owner = new_learner()
    async with opened(subject) as store:
        playbook_id = await _created(store, owner, "api_client", "Draw a bar")
        await write(store.playbooks, playbook_id, adding("Name the unit"))
        (found,) = (await store.export(owner)).playbooks
        assert found.entry == await store.playbooks.entry(playbook_id)
        assert contents(found.stored.snapshot) == ["Draw a bar", "Name the unit"]
        assert [entry.n for entry in found.stored.history.entries] == [1, 2]
        assert (await store.playbooks.export(playbook_id)).playbooks == ()


async def labels_count_changes_and_replacements(subject: StoreUnderTest) -> None:
    """1.0 at first, a change raises the minor number, a replacement the major one; an amendment none."""
    async with opened(subject) as store, opened(subject) as other:
        playbook_id = await _created(store, new_learner())
        playbooks = store.playbooks
        (bar,) = (await write(playbooks, playbook_id, adding("Draw a bar"))).report.added
        amended = rewriting(Remove(bullet_id=bar)).model_copy(update={"keeps_label": True})
        before = (await playbooks.load(playbook_id)).version
        after = (await write(playbooks, playbook_id, amended)).version
        assert (after.n, after.label) == (before.n + 1, before.label)
        assert after.etag != before.etag
        await write(playbooks, playbook_id, _first("Name the unit"))
        await write(playbooks, playbook_id, touching())
        await write(playbooks, playbook_id, adding("Draw a bar"))
        assert await _labels(other.playbooks, playbook_id) == ["1.0", "1.1", "1.1", "2.0", "2.1"]
        assert str((await other.playbooks.load(playbook_id)).version.label) == "2.1"
        history = await other.playbooks.history(playbook_id)
        assert [str(entry.label) for entry in history.entries] == ["1.0", "1.1", "1.1", "2.0", "2.1"]


async def a_version_says_who_when_and_why(subject: StoreUnderTest) -> None:
    """A version holds its number, author, moment, reason and op id."""
    async with opened(subject) as store:
        playbook_id = await _created(store, new_learner())
        delta = adding("Draw a bar", minute=5)
        await write(store.playbooks, playbook_id, delta)
        _, version = await store.playbooks.versions(playbook_id)
        assert (version.n, version.author, version.reason) == (2, delta.author, delta.reason)
        assert (version.at, version.op_id, version.readable) == (delta.now, delta.op_id, True)


async def a_change_for_another_version_is_refused(subject: StoreUnderTest) -> None:
    """A delta with an expected etag applies to that content only, also where the caller's base is older."""
    async with opened(subject) as store, opened(subject) as other:
        playbook_id = await _created(store, new_learner())
        base = await store.playbooks.load(playbook_id)
        await write(other.playbooks, playbook_id, adding("Draw a bar"))
        stale = adding("Name the unit").model_copy(update={"expected_etag": base.version.etag})
        for held in (base, await store.playbooks.load(playbook_id)):
            try:
                await store.playbooks.commit(playbook_id, stale, held)
            except PlaybookChanged:
                continue
            raise AssertionError("a stale change was accepted")
        assert contents(await other.playbooks.load(playbook_id)) == ["Draw a bar"]


async def every_version_can_be_read(subject: StoreUnderTest) -> None:
    """The content of each version is the one that its commit returned, however many there are."""
    async with opened(subject) as store:
        playbook_id = await _created(store, new_learner())
        done = [
            await write(store.playbooks, playbook_id, adding(f"Fact {n} is about {n * 7}")) for n in range(6)
        ]
        for commit in done:
            then = await store.playbooks.content_at(playbook_id, commit.version.n)
            assert then is not None
            assert dump_playbook(then) == dump_playbook(commit.snapshot.playbook)
        assert await store.playbooks.content_at(playbook_id, 99) is None


async def only_the_contents_that_are_kept_stay(subject: StoreUnderTest) -> None:
    """A dropped version keeps author, time and reason; the kept ones and later commits stay readable."""
    async with opened(subject) as store, opened(subject) as other:
        playbook_id = await _created(store, new_learner())
        done = [
            await write(store.playbooks, playbook_id, adding(f"Fact {n} is about {n * 7}")) for n in range(7)
        ]
        states = {commit.version.n: dump_playbook(commit.snapshot.playbook) for commit in done}
        for kept in ((2, 4, 6), (4, 7)):
            found = [await store.playbooks.content_at(playbook_id, n) for n in kept]
            held = {n: playbook for n, playbook in zip(kept, found, strict=True) if playbook is not None}
            await store.playbooks.keep_contents(playbook_id, kept[-1], held)
        await write(other.playbooks, playbook_id, adding("Draw a bar"))
        versions = await other.playbooks.versions(playbook_id)
        assert [version.n for version in versions if version.readable] == [4, 7, 8, 9]
        assert [version.n for version in versions] == list(range(1, 10))
        for n in (4, 7, 8):
            then = await other.playbooks.content_at(playbook_id, n)
            assert then is not None
            assert dump_playbook(then) == states[n]
        assert await other.playbooks.content_at(playbook_id, 5) is None
        history = await other.playbooks.history(playbook_id)
        newest = await other.playbooks.load(playbook_id)
        assert dump_playbook(playbook_at(history, 9)) == dump_playbook(newest.playbook)


async def playbooks_come_with_the_memory(subject: StoreUnderTest) -> None:
    """One read gives a learner's memory and the playbooks wanted, in their order, None for unknown ones."""
    learner = new_learner()
    async with opened(subject) as store:
        for number, name in enumerate(("one", "two")):
            await _created(store, learner, name, f"Fact {number} is about {number * 7}")
        wanted = [WantedPlaybook(PlaybookRef(learner, name)) for name in ("TWO", "none", "one")]
        nobody = await store.load_attached(learner, wanted)
        assert nobody.snapshot.absent
        written = (await write(store, learner, adding("Draw a bar"))).snapshot
        loaded = await store.load_attached(learner, wanted, written)
        assert loaded.snapshot.playbook is written.playbook
        assert [each and each.name for each in loaded.attached] == ["two", None, "one"]
        texts = [each.playbook and contents(Snapshot(each.playbook)) for each in loaded.attached if each]
        assert texts == [["Fact 1 is about 7"], ["Fact 0 is about 0"]]
        assert (await store.load_attached(learner, [])).attached == ()


async def a_known_content_is_not_read_again(subject: StoreUnderTest) -> None:
    """A playbook whose version the caller knows comes without its content, a changed one with it."""
    learner = new_learner()
    async with opened(subject) as store, opened(subject) as other:
        playbook_id = await _created(store, learner)
        (first,) = (
            await store.load_attached(learner, [WantedPlaybook(PlaybookRef(learner, "api_client"))])
        ).attached
        assert first is not None
        known = WantedPlaybook(PlaybookRef(learner, "api_client"), first.version)
        (same,) = (await store.load_attached(learner, [known])).attached
        assert same is not None
        assert (same.playbook_id, same.version, same.playbook) == (playbook_id, first.version, None)
        await write(other.playbooks, playbook_id, adding("Draw a bar"))
        (changed,) = (await store.load_attached(learner, [known])).attached
        assert changed is not None
        assert changed.playbook is not None
        assert contents(Snapshot(changed.playbook)) == ["Draw a bar"]
