"""A dream: a difference with evidence, loss and replay, that is accepted, edited, refused and undone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from ace_graph import playbooks
from ace_graph.base import (
    PlaybookChanged,
    PlaybookForbidden,
    PlaybookNotFound,
    ProposalNotFound,
    Settings,
    UsageError,
)
from ace_graph.learning import (
    RetryPolicy,
    accept_dream,
    dream,
    last_dream,
    learning_resources,
    process_item,
    refuse_dream,
)
from ace_graph.memory import (
    Commit,
    Dream,
    DreamItem,
    Figures,
    Policy,
    ReflectedLesson,
    TrajectoryFilter,
    supported,
)
from ace_graph.memory.commit import Amend
from ace_graph.memory.delta import Analyze, Delta, Remove, Reset, Update
from ace_graph.memory.stores import Store
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.memory.trajectory import deleted
from ace_graph.playbooks.consolidation import consolidate, undo
from ace_graph.stores import policy_of
from ace_graph.testing import ScriptedModel, check
from ace_graph.testing.conformance import (
    NOON,
    adding,
    contents,
    new_learner,
    record,
    rewriting,
    touching,
    write,
)
from tests.consolidation.planted import OTHERS, PARAPHRASES, bullets
from tests.learning.dreamed_runs import HARMFUL, LEARNER, PAGES, live
from tests.learning.reflected_runs import add_run
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.memory.stores.postgres.subject import PostgresSubject
from tests.plugins.neo4j_server import Neo4jServer


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store]:
    made = SQLiteStore() if request.param == "memory" else SQLiteStore(tmp_path / "ace.db")
    async with made as opened:
        yield opened


def of(made: Dream, kind: str) -> DreamItem:
    (item,) = (item for item in made.items if item.kind == kind)
    return item


async def test_a_dream_is_a_difference_with_evidence_loss_and_replay(store: Store) -> None:
    await live(store)
    before = await store.load(LEARNER)
    made = await dream(store, LEARNER, embeddings=None)
    assert (await store.load(LEARNER)).version == before.version
    assert [item.kind for item in made.items] == ["add", "merge", "archive"]
    added, merged, archived = (of(made, kind) for kind in ("add", "merge", "archive"))
    assert (added.text, added.runs, len(added.reflections)) == (PAGES, ("run-0", "run-1", "run-2"), 1)
    assert added.losses == ("name Invoice", "name Service")
    assert set(merged.was.values()) == set(PARAPHRASES)
    assert (merged.text, merged.losses) == (PARAPHRASES[2], ())
    assert (archived.text, archived.why) == (HARMFUL, "did more harm than good (+0/-2)")
    assert [item.figures for item in made.items] == [Figures(1, 1, 1)] * 3
    assert made.runs == 7
    assert await dream(store, LEARNER, embeddings=None) == made == await last_dream(store, LEARNER)


async def test_what_is_accepted_is_there_and_one_undo_takes_it_back(store: Store) -> None:
    await live(store)
    before = await store.load(LEARNER)
    made = await dream(store, LEARNER, embeddings=None)
    done = await accept_dream(store, LEARNER)
    assert [item.item_id for item in done.decided] == [item.item_id for item in made.items]
    after = await store.load(LEARNER)
    assert contents(after) == sorted((PARAPHRASES[2], *OTHERS, PAGES))
    (added,) = (bullet for bullet in after.playbook.bullets() if bullet.content == PAGES)
    assert added.examples == ("run-0", "run-1", "run-2")
    assert done.version == after.version.n
    (stored,) = await store.find_turns(LEARNER, TrajectoryFilter(task_type="dream"))
    assert (stored.turn_id, stored.status) == (made.dream_id, "success")
    with pytest.raises(ProposalNotFound):
        await accept_dream(store, LEARNER)
    taken_back = await undo(store, owner=LEARNER)
    assert taken_back.run_id == made.dream_id
    assert (await store.load(LEARNER)).playbook.bullets() == before.playbook.bullets()
    assert await check(store, LEARNER) == []


async def test_single_items_are_accepted_and_the_others_wait(store: Store) -> None:
    await live(store)
    made = await dream(store, LEARNER, embeddings=None)
    archived = of(made, "archive")
    await accept_dream(store, LEARNER, item_ids=[archived.item_id])
    assert HARMFUL not in contents(await store.load(LEARNER))
    left = await last_dream(store, LEARNER)
    assert [(item.kind, item.state) for item in left.items] == [
        ("add", "open"),
        ("merge", "open"),
        ("archive", "accepted"),
    ]
    again = await dream(store, LEARNER, embeddings=None)
    assert [item.item_id for item in again.items] == [item.item_id for item in left.open]
    with pytest.raises(ProposalNotFound):
        await accept_dream(store, LEARNER, item_ids=["nothing"])


async def test_what_is_accepted_twice_is_applied_once_and_not_refused_afterwards(store: Store) -> None:
    await live(store)
    made = await dream(store, LEARNER, embeddings=None)
    ids = [of(made, "add").item_id]
    once = await accept_dream(store, LEARNER, item_ids=ids)
    assert await accept_dream(store, LEARNER, item_ids=ids) == once
    with pytest.raises(ProposalNotFound):
        await refuse_dream(store, LEARNER, item_ids=ids)


async def test_an_item_is_taken_with_another_text_unless_that_loses_something(store: Store) -> None:
    await live(store)
    made = await dream(store, LEARNER, embeddings=None)
    added, merged, archived = (of(made, kind) for kind in ("add", "merge", "archive"))
    texts = {
        added.item_id: "Ask the Invoice Service for ten pages",
        merged.item_id: "Check the limit of the server",
    }
    done = await accept_dream(store, LEARNER, item_ids=list(texts), texts=texts)
    assert [(item.text, item.losses) for item in done.decided] == [(texts[added.item_id], ())]
    assert [(each.text, each.why) for each in done.left_out] == [
        (texts[merged.item_id], "the text loses name API")
    ]
    assert texts[added.item_id] in contents(await store.load(LEARNER))
    assert of(done.dream, "merge").state == "open"
    with pytest.raises(UsageError):
        await accept_dream(store, LEARNER, item_ids=[archived.item_id], texts={archived.item_id: "no"})


async def test_what_is_refused_is_not_proposed_again(store: Store) -> None:
    await live(store)
    await dream(store, LEARNER, embeddings=None)
    before = contents(await store.load(LEARNER))
    done = await refuse_dream(store, LEARNER)
    assert [item.state for item in done.dream.items] == ["refused"] * 3
    assert contents(await store.load(LEARNER)) == before
    await write(store, LEARNER, adding("Something new is known"))
    again = await dream(store, LEARNER, embeddings=None)
    assert again.items == ()
    assert again.dream_id != done.dream.dream_id
    assert (await consolidate(store, owner=LEARNER)).groups == ()


async def test_an_item_whose_bullets_have_changed_is_said_and_left_out(store: Store) -> None:
    await live(store)
    made = await dream(store, LEARNER, embeddings=None)
    changed = (
        Update(bullet_id="gen-00002", content="Before you call the API, check its rate limit twice"),
        Remove(bullet_id="gen-00009"),
    )
    await write(store, LEARNER, rewriting(*changed))
    await write(store, LEARNER, adding(PAGES))
    before = await store.load(LEARNER)
    done = await accept_dream(store, LEARNER)
    assert done.decided == ()
    assert {each.text: each.why for each in done.left_out} == {
        PAGES: "the playbook says it already",
        PARAPHRASES[2]: "gen-00002 has changed since, or is gone: dream again",
        HARMFUL: "gen-00009 has changed since, or is gone: dream again",
    }
    assert (await store.load(LEARNER)).version == before.version
    assert done.dream.open == made.items


async def test_a_change_that_lowers_what_other_turns_find_is_left_out_and_said(store: Store) -> None:
    known, other = "Never retry after a timeout", "Always retry after a timeout"
    await write(store, LEARNER, rewriting(Reset(bullets=bullets(known, *OTHERS))))
    own: dict[str, object] = {"task": "Do I retry after a timeout?", "cited": ("gen-00001",)}
    for n in range(5):  # the runs that it comes from say nothing against it
        await add_run(store, LEARNER, f"run-{n}", other, minute=n, task=own["task"], cited=own["cited"])
    rival = await dream(store, LEARNER, embeddings=None)
    assert [(item.kind, item.text) for item in rival.items] == [("add", other), ("archive", known)]
    assert of(rival, "archive").losses == ("negation not retry",)
    asked = record(9, turn_id="failed").model_copy(update={**own, "verdict": "failure"})
    await write(store, LEARNER, touching("gen-00001"), asked)
    await write(store, LEARNER, adding("Something new is known"))
    assert len((await dream(store, LEARNER, embeddings=None)).items) == 2
    await write(store, LEARNER, touching("gen-00001"), record(9, turn_id="right").model_copy(update=own))
    await write(store, LEARNER, adding("Something else is known"))
    made = await dream(store, LEARNER, embeddings=None)
    assert made.items == ()
    assert [(each.text, each.why) for each in made.left_out] == [
        (other, "questions of other turns would find less: found 1 of 1 before, 0 after")
    ]
    waiting = [item.item_id for item in rival.items]
    with pytest.raises(ProposalNotFound):
        await accept_dream(store, LEARNER, item_ids=waiting)


async def test_a_run_that_was_deleted_meanwhile_is_no_example(store: Store) -> None:
    await live(store)
    made = await dream(store, LEARNER, embeddings=None)
    await store.amend(LEARNER, Amend("run-0", deleted))
    (item,) = (await accept_dream(store, LEARNER, item_ids=[of(made, "add").item_id])).decided
    (bullet,) = (each for each in (await store.load(LEARNER)).playbook.bullets() if each.content == PAGES)
    assert (item.runs, bullet.examples) == (("run-0", "run-1", "run-2"), ("run-1", "run-2"))


async def test_what_was_removed_is_not_dreamed_of_again(store: Store) -> None:
    await live(store)
    made = await dream(store, LEARNER, embeddings=None)
    await accept_dream(store, LEARNER, item_ids=[of(made, "add").item_id])
    (bullet,) = (each for each in (await store.load(LEARNER)).playbook.bullets() if each.content == PAGES)
    done = await write(store, LEARNER, rewriting(Remove(bullet_id=bullet.id)))
    again = await dream(store, LEARNER, embeddings=None)
    assert [item.kind for item in again.items] == ["merge", "archive"]
    assert (PAGES, f"it was archived in version {done.version.n} (removed)") in again.left_out


async def test_without_history_nothing_is_dreamed_and_nothing_stored(store: Store) -> None:
    made = await dream(store, LEARNER)
    assert (made.runs, made.items, made.dream_id) == (0, (), "")
    assert (await store.load(LEARNER)).absent
    assert await last_dream(store, LEARNER) == made
    for decide in (accept_dream, refuse_dream):
        with pytest.raises(ProposalNotFound):
            await decide(store, LEARNER)


async def test_a_trajectory_of_this_type_that_holds_no_dream_is_passed_over(store: Store) -> None:
    await live(store)
    made = await dream(store, LEARNER, embeddings=None)
    for n, held in enumerate((5, {"playbook": "default", "playbook_id": LEARNER})):
        other = record(30 + n, turn_id=f"other-{n}").model_copy(
            update={"task_type": "dream", "metrics": {"dream": held}}
        )
        await write(store, LEARNER, touching(), other)
    assert await last_dream(store, LEARNER) == made
    assert len((await accept_dream(store, LEARNER)).decided) == 3


async def test_a_full_playbook_pushes_nothing_out_for_an_addition() -> None:
    async with SQLiteStore(policy=Policy(max_bullets=2)) as store:
        await write(store, LEARNER, adding(*OTHERS))
        for n in range(5):
            await add_run(store, LEARNER, f"run-{n}", PAGES, minute=n)
        made = await dream(store, LEARNER, embeddings=None)
        assert made.items == ()
        assert [each.why for each in made.left_out] == [
            "the playbook is full, and gen-00001 would go: raise ACE_MAX_BULLETS"
        ]


async def test_a_rule_accepts_what_loses_nothing_and_has_runs_behind_it(store: Store) -> None:
    await live(store)
    made = await dream(store, LEARNER, embeddings=None)
    assert [item.kind for item in made.items if supported(item, 3)] == ["merge"]
    plain = [item.model_copy(update={"losses": ()}) for item in made.items]
    assert [item.kind for item in plain if supported(item, 3)] == ["add", "merge"]
    assert [item.kind for item in plain if supported(item, 4)] == ["merge"]


async def test_a_named_playbook_dreams_and_takes_back(store: Store) -> None:
    await live(store)
    await playbooks.create(store, "api", list(OTHERS), owner=LEARNER)
    made = await dream(store, LEARNER, "api", embeddings=None)
    assert [(item.kind, item.text) for item in made.items] == [("add", PAGES)]
    assert (await accept_dream(store, LEARNER, "api")).dream.open == ()
    named = await playbooks.get_playbook(store, "api", LEARNER)
    assert contents(named.snapshot) == sorted((*OTHERS, PAGES))
    assert PAGES not in contents(await store.load(LEARNER))
    await undo(store, "api", LEARNER)
    assert contents((await playbooks.get_playbook(store, "api", LEARNER)).snapshot) == sorted(OTHERS)


async def test_to_a_playbook_of_another_the_lessons_are_proposed(store: Store) -> None:
    await live(store)
    for n in (20, 21):
        own = ReflectedLesson(content="We met Bob at the printer", memory_type="episodic")
        await add_run(store, LEARNER, f"run-{n}", own, minute=n)
    assert "We met Bob at the printer" in [item.text for item in (await dream(store, LEARNER)).items]
    await playbooks.create(store, "api", list(OTHERS), owner="ada")
    with pytest.raises(PlaybookNotFound):
        await dream(store, LEARNER, "ada/api", embeddings=None)
    await playbooks.grant(store, "api", f"user:{LEARNER}", "viewer", owner="ada")
    with pytest.raises(PlaybookForbidden):
        await dream(store, LEARNER, "ada/api", embeddings=None)
    await playbooks.grant(store, "api", f"user:{LEARNER}", "contributor", owner="ada")
    made = await dream(store, LEARNER, "ada/api", embeddings=None)
    assert await dream(store, LEARNER, "ada/api", embeddings=None) == made
    (waiting,) = await playbooks.proposals(store, "api", owner="ada")
    assert (waiting.proposal_id, waiting.texts, waiting.by) == (made.proposal_id, (PAGES,), LEARNER)
    assert waiting.lineage == tuple(f"{LEARNER}/run-{n}" for n in range(3))
    assert made.items == ()
    with pytest.raises(PlaybookForbidden):
        await accept_dream(store, LEARNER, "ada/api")


async def test_two_who_accept_at_once_apply_each_item_once(store: Store) -> None:
    await live(store)
    await dream(store, LEARNER, embeddings=None)
    await asyncio.gather(*(accept_dream(store, LEARNER) for _ in range(2)), return_exceptions=True)
    assert contents(await store.load(LEARNER)) == sorted((PARAPHRASES[2], *OTHERS, PAGES))
    made = await last_dream(store, LEARNER)
    assert [item.state for item in made.items] == ["accepted"] * 3
    assert await check(store, LEARNER) == []


async def _work(store: Store, minute: int, settings: Settings) -> list[str]:
    """Work on the learner's items until none may be had, at `minute` past noon."""
    now, ended = NOON + timedelta(minutes=minute), list[str]()
    resources, own = learning_resources(
        model=ScriptedModel([]), store=store, settings=settings, clock=lambda: now
    )
    while (item := await own.claim("w", now, 30, LEARNER)) is not None:
        ended.append((await process_item(item, own, resources, RetryPolicy())).status)
    return ended


async def test_a_worker_dreams_once_enough_was_reflected_on(tmp_path: Path) -> None:
    settings, due = Settings(embeddings="off"), list[int]()
    async with SQLiteStore(tmp_path / "ace.db", Policy(dream_after=5)) as store:
        await live(store)
        for n in range(12):
            done = await write(store, LEARNER, rewriting(Analyze(turn_ids=(f"work-{n}",))))
            due += [n] if done.scheduled else []
        assert due == [4, 9]
        assert len(await store.list_pending(LEARNER)) == 2
        with pytest.raises(Killed):
            await _work(cast("Store", Mortal(store, [2])), 20, settings)
        assert await _work(store, 30, settings) == ["dreamed", "dreamed"]
        made = await last_dream(store, LEARNER)
        assert [(item.kind, item.state) for item in made.items] == [
            ("add", "open"),
            ("merge", "open"),
            ("archive", "open"),
        ]
        assert len(await store.find_turns(LEARNER, TrajectoryFilter(task_type="dream"))) == 1
        note = (await store.load(LEARNER)).access.consolidation
        assert (note.next_id, note.ended) == (0, ""), "a dream is no consolidation"
        assert contents(await store.load(LEARNER)) == sorted((*PARAPHRASES, *OTHERS, HARMFUL))


async def test_what_the_rule_of_the_settings_accepts_is_accepted_by_the_worker() -> None:
    async with SQLiteStore(policy=Policy(dream_after=1)) as store:
        await live(store)
        await write(store, LEARNER, rewriting(Analyze(turn_ids=("work",))))
        assert await _work(store, 20, Settings(embeddings="off", dream_accepts=5)) == ["dreamed"]
        made = await last_dream(store, LEARNER)
        assert [(item.kind, item.state) for item in made.items] == [
            ("add", "open"),
            ("merge", "accepted"),
            ("archive", "open"),
        ]
        assert contents(await store.load(LEARNER)) == sorted((PARAPHRASES[2], *OTHERS, HARMFUL))


async def test_by_default_no_dream_is_due() -> None:
    async with SQLiteStore(policy=policy_of(Settings())) as store:
        turns = tuple(f"work-{n}" for n in range(500))
        assert (await write(store, LEARNER, rewriting(Analyze(turn_ids=turns)))).scheduled is None
    assert policy_of(Settings(dream_after=40)).dream_after == 40
    assert policy_of(Settings(dream_after=0)).dream_after is None


class Overtaken:
    """Hands every call on to a store; before the first change of a dream somebody else changes the memory."""

    def __init__(self, inner: Store) -> None:
        self._inner, self._first = inner, True

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    async def commit(self, learner: str, delta: Delta, *args: object) -> Commit:
        if self._first and delta.reason.startswith("dream: "):
            self._first = False
            await write(self._inner, learner, rewriting(Remove(bullet_id="gen-00002")))
        return await self._inner.commit(learner, delta, *args)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # handed on


async def test_what_changes_between_the_check_and_the_commit_is_checked_again(store: Store) -> None:
    await live(store)
    made = await dream(store, LEARNER, embeddings=None)
    merge = [of(made, "merge").item_id]
    done = await accept_dream(cast("Store", Overtaken(store)), LEARNER, item_ids=merge)
    assert (done.decided, [each.why for each in done.left_out]) == (
        (),
        ["gen-00002 has changed since, or is gone: dream again"],
    )
    etag = (await store.load(LEARNER)).version.etag
    await write(store, LEARNER, adding(PARAPHRASES[1]))
    with pytest.raises(PlaybookChanged):
        await accept_dream(store, LEARNER, expected_etag=etag)


async def test_an_acceptance_for_one_version_is_not_made_to_another(store: Store) -> None:
    await live(store)
    made = await dream(store, LEARNER, embeddings=None)
    etag = (await store.load(LEARNER)).version.etag
    with pytest.raises(PlaybookChanged):
        await accept_dream(
            cast("Store", Overtaken(store)),
            LEARNER,
            item_ids=[of(made, "archive").item_id],
            expected_etag=etag,
        )
    assert HARMFUL in contents(await store.load(LEARNER))


class Killed(BaseException):
    """The process ends here."""


class Mortal:
    """Hands every call on to a store and its playbooks; after so many writes the process dies."""

    def __init__(self, inner: object, left: list[int]) -> None:
        self._inner, self._left = inner, left

    def __getattr__(self, name: str) -> object:
        found = getattr(self._inner, name)
        if name == "playbooks":
            return Mortal(found, self._left)
        if name not in ("commit", "amend"):
            return found

        async def written(*args: object, **more: object) -> Commit:
            done = await found(*args, **more)
            self._left[0] -= 1
            if not self._left[0]:
                raise Killed
            return cast("Commit", done)

        return written


@pytest.mark.parametrize("name", ["default", "api"])
async def test_a_dream_killed_after_any_step_goes_on_and_applies_once(name: str, tmp_path: Path) -> None:
    for kills in range(1, 12):
        path = tmp_path / f"{kills}.db"
        async with SQLiteStore(path) as store:
            await live(store)
            if name != "default":
                await playbooks.create(store, name, list(OTHERS), owner=LEARNER)
            mortal = cast("Store", Mortal(store, [kills]))
            survived = False
            try:
                await dream(mortal, LEARNER, name, embeddings=None)
                await accept_dream(mortal, LEARNER, name)
                survived = True
            except Killed:
                pass
        async with SQLiteStore(path) as store:
            made = await last_dream(store, LEARNER, name)
            if not made.dream_id:
                made = await dream(store, LEARNER, name, embeddings=None)
            if made.open:
                await accept_dream(store, LEARNER, name)
            found = await playbooks.get_playbook(store, name, LEARNER)
            merged = (PARAPHRASES[2],) if name == "default" else ()
            assert contents(found.snapshot) == sorted((*merged, *OTHERS, PAGES))
            ended = await last_dream(store, LEARNER, name)
            assert {item.state for item in ended.items} == {"accepted"}
            assert await check(store, LEARNER) == []
            await undo(store, name, LEARNER)
            if survived:
                assert kills > 3
                return
    pytest.fail("it was killed after every step")


async def _expect_a_dream_to_be_decided_and_taken_back(store: Store) -> None:
    learner = new_learner()
    await live(store, learner)
    await playbooks.create(store, "api", list(OTHERS), owner=learner)
    before = await store.load(learner)
    for name in ("default", "api"):
        made = await dream(store, learner, name, embeddings=None)
        assert of(made, "add").losses == ("name Invoice", "name Service")
        done = await accept_dream(store, learner, name)
        assert [item.item_id for item in done.decided] == [item.item_id for item in made.items]
        assert await last_dream(store, learner, name) == done.dream
        await undo(store, name, learner)
    assert (await store.load(learner)).playbook.bullets() == before.playbook.bullets()
    assert await check(store, learner) == []


@pytest.mark.heavy
async def test_a_dream_is_decided_and_taken_back_on_neo4j(neo4j: Neo4jServer) -> None:
    async with Neo4jSubject(neo4j).open() as store:
        await _expect_a_dream_to_be_decided_and_taken_back(store)


@pytest.mark.heavy
async def test_a_dream_is_decided_and_taken_back_on_postgresql(postgres: str) -> None:
    async with PostgresSubject(postgres).open() as store:
        await _expect_a_dream_to_be_decided_and_taken_back(cast("Store", store))
