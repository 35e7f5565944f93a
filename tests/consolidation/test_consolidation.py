"""Consolidating a stored playbook: dry run, run, report, batches, undo, texts by a model."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from ace_graph import playbooks
from ace_graph.base import ChangeRefused, HistoryTooShort, PlaybookNotFound
from ace_graph.base.off_loop import finish
from ace_graph.base.prompts import Prompts
from ace_graph.learning import model_writer
from ace_graph.memory import (
    Bullet,
    Commit,
    Options,
    Playbook,
    Policy,
    Snapshot,
    VersionRetention,
    dump_playbook,
)
from ace_graph.memory.consolidation import MAX_GROUP, find_candidates, find_groups
from ace_graph.memory.delta import Add, Delta, Judge, Merge, Operation, Reset, Touch
from ace_graph.memory.search.index import Index
from ace_graph.memory.stores import Store
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.playbooks.consolidation import (
    Writer,
    consolidate,
    distinguish,
    identify_similar_memories,
    merge_memories,
    undo,
)
from ace_graph.testing import ScriptedModel, check
from ace_graph.testing.conformance import NOON, adding, contents, record, rewriting, write
from tests.consolidation.planted import ALIKE, OTHERS, PARAPHRASES, bullets, pairs
from tests.plugins.sizes import PATIENT

ADA = "ada"


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store]:
    made = SQLiteStore() if request.param == "memory" else SQLiteStore(tmp_path / "ace.db")
    async with made as opened:
        yield opened


async def plant(store: Store, planted: Sequence[Bullet], *more: Operation) -> Snapshot:
    return (await write(store, ADA, rewriting(Reset(bullets=tuple(planted)), *more))).snapshot


def as_bytes(snapshot: Snapshot) -> tuple[str, dict[str, int]]:
    return dump_playbook(replace(snapshot.playbook, next_id=1)), dict(snapshot.access.stamps)


async def test_a_dry_run_names_the_groups_of_the_run_and_stores_nothing(store: Store) -> None:
    await plant(store, bullets(*PARAPHRASES, *OTHERS))
    before = await store.export(ADA)
    planned = await consolidate(store, owner=ADA, dry_run=True)
    assert await store.export(ADA) == before
    done = await consolidate(store, owner=ADA)
    assert [(group.ids, group.text) for group in done.groups] == [
        (group.ids, group.text) for group in planned.groups
    ]
    assert [set(group.ids) for group in done.groups] == [{"gen-00001", "gen-00002", "gen-00003"}]
    assert done.space_saved_bytes == planned.space_saved_bytes
    assert await check(store, ADA) == []


async def test_the_report_adds_up_and_its_bytes_are_measured(store: Store) -> None:
    important = bullets("Keep the keys in the vault", importance=0.9)[0].model_copy(
        update={"id": "gen-00009"}
    )
    before = await plant(store, (*bullets(*PARAPHRASES, *OTHERS), important))
    done = await consolidate(store, owner=ADA)
    after = await store.load(ADA)
    assert (done.merged, len(done.preserved), done.untouched, done.total) == (3, 1, 2, 6)
    sizes = [len(dump_playbook(each.playbook).encode()) for each in (before, after)]
    assert done.space_saved_bytes == sizes[0] - sizes[1]
    assert after.playbook.entries["gen-00009"] == important
    assert json.loads(json.dumps(done.json()))["merged"] == 3


async def test_a_consolidation_is_taken_back_to_the_byte(store: Store) -> None:
    vote = Judge(turn_id="t1", source="tool", verdict="success", bullet_ids=("gen-00002",))
    await plant(store, bullets(OTHERS[0], *PARAPHRASES, OTHERS[1]), vote, Touch(bullet_ids=("gen-00003",)))
    before = as_bytes(await store.load(ADA))
    done = await consolidate(store, owner=ADA)
    assert as_bytes(await store.load(ADA)) != before
    back = await undo(store, owner=ADA)
    assert as_bytes(await store.load(ADA)) == before
    assert back.run_id == done.run_id
    assert set(back.restored) == {"gen-00002", "gen-00003", "gen-00004"}
    with pytest.raises(ChangeRefused, match="no such consolidation"):
        await undo(store, owner=ADA)
    assert await check(store, ADA) == []


async def test_undo_is_refused_where_a_merged_bullet_has_changed(store: Store) -> None:
    await plant(store, bullets(*PARAPHRASES))
    (group,) = (await consolidate(store, owner=ADA)).groups
    vote = Judge(turn_id="t1", source="tool", verdict="success", bullet_ids=("gen-00001",))
    await write(store, ADA, rewriting(vote))
    before = await store.load(ADA)
    assert before.playbook.entries[group.new_id or ""].helpful == 1, "a late vote reaches the new bullet"
    with pytest.raises(ChangeRefused, match=group.new_id or ""):
        await undo(store, owner=ADA)
    assert (await store.load(ADA)).version == before.version


async def test_a_second_run_changes_nothing(store: Store) -> None:
    await plant(store, bullets(*PARAPHRASES, *OTHERS))
    await consolidate(store, owner=ADA)
    before = (await store.load(ADA)).version
    again = await consolidate(store, owner=ADA)
    assert (again.groups, again.commits) == ((), 0)
    assert (await store.load(ADA)).version == before


class _Killed(Exception):
    """The process ends here."""


async def test_batches_are_commits_and_a_stopped_run_goes_on(tmp_path: Path) -> None:
    planted, options = bullets(*pairs(125)), Options(batch=100)
    async with SQLiteStore() as whole, SQLiteStore(tmp_path / "ace.db") as store:
        await plant(whole, planted)
        done = await consolidate(whole, owner=ADA, options=options, run_id="r1", now=NOON)
        assert (done.commits, done.merged) == (3, 250)

        await plant(store, planted)
        commits = 0
        real = store.commit

        async def commit_once(learner: str, delta: Delta, base: Snapshot) -> Commit:
            nonlocal commits
            commits += 1
            if commits > 1:
                raise _Killed
            return await real(learner, delta, base)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store, "commit", commit_once)
            with pytest.raises(_Killed):
                await consolidate(store, owner=ADA, options=options, run_id="r1", now=NOON)
        assert len((await store.load(ADA)).playbook) == 200
        await consolidate(store, owner=ADA, options=options, run_id="r1", now=NOON)
        assert contents(await store.load(ADA)) == contents(await whole.load(ADA))
        back = await undo(store, owner=ADA)
        assert len(back.restored) == 250
        assert (await store.load(ADA)).playbook.bullets() == planted
        assert await check(store, ADA) == []


async def test_similar_memories_are_found_in_groups(store: Store) -> None:
    await plant(store, bullets(*PARAPHRASES, *OTHERS))
    (group,) = await identify_similar_memories(store, owner=ADA)
    assert set(group) == {"gen-00001", "gen-00002", "gen-00003"}


async def test_memories_are_merged_by_their_ids(store: Store) -> None:
    await plant(store, bullets(*ALIKE, *OTHERS))
    before = as_bytes(await store.load(ADA))
    made = await merge_memories(store, ["gen-00001", "gen-00002"], owner=ADA)
    playbook = (await store.load(ADA)).playbook
    assert playbook.entries[made].consolidated_from == ("gen-00001", "gen-00002")
    assert playbook.aliases == {"gen-00001": made, "gen-00002": made}
    assert len(playbook) == 3
    await undo(store, owner=ADA)
    assert as_bytes(await store.load(ADA)) == before
    for ids in (["gen-00001"], ["gen-00001", "gen-00077"]):
        with pytest.raises(ChangeRefused):
            await merge_memories(store, ids, owner=ADA)


async def test_consolidating_twice_gives_version_two_with_all_sources(store: Store) -> None:
    await plant(store, bullets(*ALIKE, "See what the rate limit of the service is"))
    first = await merge_memories(store, ["gen-00001", "gen-00002"], owner=ADA)
    second = await merge_memories(store, [first, "gen-00003"], owner=ADA)
    made = (await store.load(ADA)).playbook.entries[second]
    assert made.consolidation_version == 2
    assert set(made.consolidated_from) == {"gen-00001", "gen-00002", "gen-00003", first}


async def test_a_merge_that_loses_a_number_a_path_or_a_count_is_refused(store: Store) -> None:
    source = "On 429 from /v2/users stop after 3 retries"
    await plant(store, bullets(source, "When a user request fails, stop after some retries"))
    ids = ["gen-00001", "gen-00002"]
    for text, lost in (
        ("On an error from /v2/users stop after 3 retries", "number 429"),
        ("On 429 from users stop after 3 retries", "code /v2/users"),
        ("On 429 from /v2/users stop after some retries", "number 3"),
    ):
        with pytest.raises(ChangeRefused, match=f"the text loses {lost}"):
            await merge_memories(store, ids, text, owner=ADA)
    made = await merge_memories(store, ids, f"{source}; the same for any failed user request", owner=ADA)
    text = (await store.load(ADA)).playbook.entries[made].content
    assert [each for each in ("429", "/v2/users", "3 retries") if each not in text] == []


async def test_what_is_important_stays_on_every_path() -> None:
    important = bullets(*PARAPHRASES[:2], importance=0.8)
    async with SQLiteStore(policy=Policy(max_bullets=5)) as store:
        await plant(store, important)
        assert (await consolidate(store, owner=ADA)).groups == ()
        with pytest.raises(ChangeRefused, match="protected"):
            await merge_memories(store, [each.id for each in important], owner=ADA)
        merged = await write(store, ADA, rewriting(Merge(bullet_ids=tuple(each.id for each in important))))
        assert "it stays as it is" in merged.report.rejected[0].why
        await write(store, ADA, adding(*(f"Fact {n} is about {n * 7}" for n in range(20))))
        playbook = (await store.load(ADA)).playbook
        assert len(playbook) == 5
        assert [playbook.entries[each.id] for each in important] == list(important)


@pytest.mark.parametrize(
    ("options", "selected", "other"),
    [
        (Options(topic="Calls"), {"topic": "calls"}, {"topic": "sums"}),
        (Options(section="api"), {"section": "api"}, {"section": "math"}),
        (Options(kind="fact"), {"memory_type": "semantic"}, {"memory_type": "procedural"}),
    ],
    ids=["topic", "section", "kind"],
)
async def test_only_bullets_that_are_selected_are_merged(
    store: Store, options: Options, selected: dict[str, str], other: dict[str, str]
) -> None:
    texts = (*PARAPHRASES, OTHERS[0], f"{OTHERS[0].lower()}.")
    first, second, *rest = bullets(*texts, **other)
    chosen = [each.model_copy(update=selected) for each in (first, second)]
    await plant(store, (*chosen, *rest))
    done = await consolidate(store, owner=ADA, options=options)
    assert [set(group.ids) for group in done.groups] == [{first.id, second.id}]
    after = (await store.load(ADA)).playbook
    assert [each for each in after.bullets() if each.id in {it.id for it in rest}] == rest
    assert len(after) == 4


async def test_consolidation_halves_two_hundred_lessons_that_come_in_pairs() -> None:
    async with SQLiteStore(policy=Policy(max_bullets=1_000)) as store:
        kept = bullets("Keep the keys in the vault", pinned=True)[0].model_copy(update={"id": "gen-00900"})
        await plant(store, (*bullets(*pairs(100)), kept))
        for _ in range(4):  # a run takes at most 50 bullets out of the playbook
            await consolidate(store, owner=ADA)
        playbook = (await store.load(ADA)).playbook
        assert len(playbook) == 101
        assert playbook.entries[kept.id] == kept


async def test_five_hundred_noisy_lessons_stay_within_the_cap() -> None:
    async with SQLiteStore(policy=Policy(max_bullets=100)) as store:
        kept = Add(content="Keep the keys in the vault", pinned=True)
        await write(store, ADA, rewriting(kept, Add(content="Ask before you delete", importance=0.9)))
        protected = (await store.load(ADA)).playbook.bullets()
        for start in range(0, 500, 50):
            numbers = range(start, start + 50, 2)
            await write(store, ADA, adding(*(f"Item {n} costs {n * 3}" for n in numbers)))
            await write(store, ADA, adding(*(f"The price of item {n} is {n * 3}" for n in numbers)))
            await consolidate(store, owner=ADA)
        playbook = (await store.load(ADA)).playbook
        assert len(playbook) <= 100
        assert [playbook.entries[each.id] for each in protected] == list(protected)


async def test_a_run_that_its_questions_would_find_less_by_is_refused(store: Store) -> None:
    contexts = ("Sending invoices", "Deleting accounts", "Uploading photographs")
    planted: list[Bullet] = []
    for number, (bullet, context) in enumerate(zip(bullets(*PARAPHRASES), contexts, strict=True), 1):
        task = f"How do I go about {context.lower()}?"
        turn = record(number, turn_id=f"t{number}").model_copy(update={"task": task, "topic": None})
        await write(store, ADA, rewriting(), turn)
        planted.append(bullet.model_copy(update={"context": context, "examples": (f"t{number}",)}))
    before = await plant(store, planted)
    done = await consolidate(store, owner=ADA)
    assert [each.why for each in done.refused] == [
        "its questions would find less: found 3 of 3 before, 1 after"
    ]
    assert (await store.load(ADA)).version == before.version


async def test_named_playbooks_are_consolidated_and_restored(store: Store) -> None:
    adds = [Add(content=text, memory_type="procedural") for text in ALIKE]
    await playbooks.create(store, "calls", adds, owner=ADA)
    found = (await playbooks.get_playbook(store, "calls", ADA)).playbook.bullets()
    await merge_memories(store, [each.id for each in found], name="calls", owner=ADA)
    assert len((await playbooks.get_playbook(store, "calls", ADA)).playbook) == 1
    await undo(store, "calls", ADA)
    assert (await playbooks.get_playbook(store, "calls", ADA)).playbook.bullets() == found
    with pytest.raises(PlaybookNotFound):
        await consolidate(store, "unknown", ADA)


async def test_sources_stay_until_the_undo_window_ends(tmp_path: Path) -> None:
    policy = Policy(history_kept=1, undo_days=30)
    async with SQLiteStore(tmp_path / "ace.db", policy) as store, SQLiteStore(policy=policy) as other:
        for each in (store, other):
            await plant(each, bullets(*PARAPHRASES))
            await consolidate(each, owner=ADA, now=NOON)
            for n in range(5):
                await write(each, ADA, adding(f"Fact {n} is about {n * 7}", minute=n + 1))
            await undo(each, owner=ADA, now=NOON + timedelta(days=1))
            await consolidate(each, owner=ADA, now=NOON + timedelta(days=1))
            for n in range(5, 30):
                later = adding(f"Fact {n} is about {n * 7}").model_copy(
                    update={"now": NOON + timedelta(days=40, minutes=n)}
                )
                await write(each, ADA, later)
            with pytest.raises((ChangeRefused, HistoryTooShort)):
                await undo(each, owner=ADA, now=NOON + timedelta(days=41))


async def test_versions_stay_until_the_undo_window_ends() -> None:
    rule = VersionRetention(keep_latest=1, keep_all_major=False, keep_days=0)
    async with SQLiteStore(policy=Policy(versions=rule)) as store:
        adds = [Add(content=text, memory_type="procedural") for text in ALIKE]
        await playbooks.create(store, "calls", adds, owner=ADA, change=playbooks.Change(now=NOON))
        ids = [each.id for each in (await playbooks.get_playbook(store, "calls", ADA)).playbook.bullets()]
        merged = NOON + timedelta(days=90)
        await merge_memories(store, ids, name="calls", owner=ADA, now=merged)
        for n in range(3):
            later = [Add(content=f"Fact {n} is about {n * 7}")]
            change = playbooks.Change(now=merged + timedelta(days=n))
            await playbooks.update_playbook(store, later, "calls", owner=ADA, change=change)
        await undo(store, "calls", ADA, now=merged + timedelta(days=3))
        assert set(ids) <= set((await playbooks.get_playbook(store, "calls", ADA)).playbook.entries)
        await merge_memories(store, ids, name="calls", owner=ADA, now=merged + timedelta(days=4))
        later = [Add(content="Fact 9 is about 63")]
        change = playbooks.Change(now=merged + timedelta(days=40))
        await playbooks.update_playbook(store, later, "calls", owner=ADA, change=change)
        with pytest.raises((ChangeRefused, HistoryTooShort)):
            await undo(store, "calls", ADA, now=merged + timedelta(days=40))


def _writer(model: ScriptedModel) -> Writer:
    return model_writer(model, Prompts.load(), timeout=PATIENT)


async def test_a_model_writes_the_text_of_what_is_alike(store: Store) -> None:
    await plant(store, bullets(*ALIKE))
    text = "Check, look at, the rate limit of the service"
    with ScriptedModel(consolidator=[json.dumps({"content": text})]) as model:
        (group,) = (await consolidate(store, owner=ADA, writer=_writer(model))).groups
    assert group.text == text
    assert contents(await store.load(ADA)) == [text]


async def test_a_text_that_loses_something_is_asked_for_once_more(store: Store) -> None:
    await plant(
        store, bullets("Check the rate limit of AWS every day", "Look at the rate limit of AWS every day")
    )
    lossy = json.dumps({"content": "Look at the rate limit every day"})
    with ScriptedModel(consolidator=[lossy, lossy]) as model:
        done = await consolidate(store, owner=ADA, writer=_writer(model))
        assert "the text loses name AWS" in model.calls[1].messages[0].text
    assert [each.why for each in done.refused] == ["the text loses name AWS"]
    assert len((await store.load(ADA)).playbook) == 2


async def test_the_verdict_that_bullets_are_distinct_is_remembered(store: Store) -> None:
    await plant(store, bullets(*ALIKE))
    with ScriptedModel(consolidator=[json.dumps({"distinct": True})]) as model:
        done = await consolidate(store, owner=ADA, writer=_writer(model))
        assert [set(ids) for ids in done.distinct] == [{"gen-00001", "gen-00002"}]
        again = await consolidate(store, owner=ADA, writer=_writer(model))
    assert (again.distinct, again.for_model) == ((), ())
    with pytest.raises(ChangeRefused, match="are distinct"):
        await merge_memories(store, ["gen-00001", "gen-00002"], owner=ADA)


async def test_a_person_says_that_bullets_are_distinct(store: Store) -> None:
    await plant(store, bullets(*PARAPHRASES[:2]))
    await distinguish(store, ["gen-00001", "gen-00002"], owner=ADA)
    assert (await consolidate(store, owner=ADA)).groups == ()
    with pytest.raises(ChangeRefused, match="unknown id"):
        await distinguish(store, ["gen-00001", "gen-00055"], owner=ADA)


async def test_a_model_that_fails_leaves_the_bullets(store: Store) -> None:
    await plant(store, bullets(*ALIKE))
    with ScriptedModel(consolidator=[RuntimeError("down")]) as model:
        done = await consolidate(store, owner=ADA, writer=_writer(model))
    assert (done.groups, len(done.for_model)) == ((), 1)


async def test_a_model_that_writes_nothing_leaves_the_bullets(store: Store) -> None:
    await plant(store, bullets(*ALIKE))
    with ScriptedModel(consolidator=['{"content": " "}']) as model:
        done = await consolidate(store, owner=ADA, writer=_writer(model))
    assert (done.groups, done.refused, len(done.for_model)) == ((), (), 1)


def test_of_bullets_of_one_text_the_likeliest_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[str]()
    nominate = Index.nominate

    def counted(index: Index, text: str, limit: int = 10) -> tuple[str, ...]:
        asked.append(text)
        return nominate(index, text, limit)

    monkeypatch.setattr(Index, "nominate", counted)
    playbook = Playbook.of(
        Bullet(
            id=f"gen-{n:05}", section="general", content="Ada lives in Rome", created_at=NOON, updated_at=NOON
        )
        for n in range(400)
    )
    found = finish(find_candidates(playbook, playbook.bullets(), 64))
    assert asked == ["Ada lives in Rome"]
    assert max(len(close) for close in found.close.values()) < 2 * MAX_GROUP
    assert [len(group.ids) for group in find_groups(playbook, playbook.bullets(), 0.9)] == [64] * 6 + [16]
