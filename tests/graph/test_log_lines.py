"""The log lines that the contract names, from real turns."""

from __future__ import annotations

import json
import re

import pytest

from ace_graph import ACEContext, Policy
from ace_graph.base import Settings
from ace_graph.memory.delta import Add
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask, said

ALICE = ACEContext(learner_id="alice", reflect_when="always", ground_truth="5/6")
RULE = "Find the least common denominator before adding fractions"


def lessons(*contents: str) -> str:
    return json.dumps({"lessons": [{"content": c} for c in contents]})


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level("INFO", "ace_graph")
    return caplog


def log_content_by_default() -> Settings:
    return Settings().model_copy(update={"log_content": True})


async def test_every_lesson_and_every_change_has_its_line(
    build: Build, store: CountingStore, lines: pytest.LogCaptureFixture
) -> None:
    reply = "<final>5/6</final>"
    model = ScriptedModel(solver=[reply] * 2, reflector=[lessons(RULE, "Check the units"), lessons(RULE)])
    graph = build(model, settings=log_content_by_default())
    await graph.ainvoke(ask(), context=ALICE)
    assert len(re.findall(r"\[Lesson \d\]", lines.text)) == 2
    assert f"[ACE Memory][Delta Add] id=les-00001 content={RULE}" in lines.text
    assert "[ACE Memory][Delta Update] id=les-00001" in lines.text, "the vote on the lesson"
    lines.clear()
    await graph.ainvoke(ask(), context=ALICE)
    assert f"[Curator][Heuristic Reinforce] id=les-00001 content={RULE}" in lines.text
    assert "[ACE Memory][Dedup Merge] kept=les-00001 merged=" in lines.text
    assert "Delta Add" not in lines.text


async def test_an_injected_bullet_is_described_with_score_votes_type_and_tags(
    build: Build, store: CountingStore, lines: pytest.LogCaptureFixture
) -> None:
    await store.seed("alice", Add(content=RULE, section="math", helpful=3, harmful=1, tags=("sums",)))
    quiet = ACEContext(learner_id="alice", reflect_when="never")
    await build(ScriptedModel(["<final>x</final>"]), settings=log_content_by_default()).ainvoke(
        ask("adding fractions?"), context=quiet
    )
    [line] = [r.getMessage() for r in lines.records if "id=mat-00001 score=" in r.getMessage()]
    assert re.search(
        r"score=\d\.\d+ strength=3\.000 helpful=3 harmful=1 type=\w+ tags=\['sums'\] content=Find the", line
    )


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (True, "tags=['zoo'] content=Otters hold hands while they sleep"),
        (False, "tags=['[len=3]'] content=[len=34]"),
    ],
)
async def test_a_bullet_archived_by_the_cap_is_logged_with_its_score(
    build: Build, store: CountingStore, lines: pytest.LogCaptureFixture, content: bool, shown: str
) -> None:
    store.policy = Policy(max_bullets=1)
    otters = Add(content="Otters hold hands while they sleep", tags=("zoo",), helpful=1, harmful=1)
    await store.seed("alice", otters)
    model = ScriptedModel(solver=["<final>5/6</final>"], reflector=[lessons(RULE)])
    settings = Settings(log_content=content)
    out = await build(model, settings=settings).ainvoke(ask(), context=ALICE)
    assert out["learning"]["removed"] == ["gen-00001"]
    told = [r.getMessage() for r in lines.records if "[ACE Memory][Prune]" in r.getMessage()]
    votes = "[ACE Memory][Prune] Pruned id=gen-00001 score=1.000 helpful=1 harmful=1"
    assert told == [f"{votes} {shown}", "[ACE Memory][Prune] Pruned count=1"]
    assert len((await store.now("alice")).playbook) == 1


async def test_the_log_shows_how_the_playbook_changed(
    build: Build, store: CountingStore, lines: pytest.LogCaptureFixture
) -> None:
    store.policy = Policy(max_bullets=2)
    await store.seed("alice", Add(content="Otters hold hands while they sleep"))
    model = ScriptedModel(
        solver=["<final>5/6</final>"] * 3,
        reflector=[lessons(RULE), lessons(RULE, "Say the result in a sentence"), lessons()],
    )
    graph = build(model)
    for _ in range(3):
        await graph.ainvoke(ask(), context=ALICE)
    told = [r.getMessage() for r in lines.records if "[ACE Memory][Playbook]" in r.getMessage()]
    assert told == [
        "[ACE Memory][Playbook] version 2: bullets 1 -> 2 (1 came, 0 went, 0 changed)",
        "[ACE Memory][Playbook] version 3: bullets 2 -> 2 (1 came, 1 went, 1 changed)",
    ], "a turn that changed no bullet says nothing"


async def test_the_log_shows_the_content_of_the_window(
    build: Build, store: CountingStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "ace_graph")
    conversation = [
        {"role": role, "content": text}
        for n in range(1, 10)
        for role, text in (("user", f"query {n}"), ("assistant", f"answer {n}"))
    ]
    question = {"role": "user", "content": "and now?"}
    quiet = ACEContext(reflect_when="never")
    for settings in (log_content_by_default(), Settings()):
        await build(ScriptedModel(["<final>x</final>"]), settings=settings).ainvoke(
            said([*conversation, question]), context=quiet
        )
    with_text, without = [r.getMessage() for r in caplog.records if "[ACE Window]" in r.getMessage()]
    assert with_text.startswith("[ACE Window] query=and now? size=3 messages=6 of 18 tokens=")
    assert with_text.endswith("queries=['query 7', 'query 8', 'query 9']")
    assert "query=[len=8] size=3 messages=6 of 18" in without
    assert "query 7" not in without


async def test_the_line_of_a_large_window_is_bounded_too(
    build: Build, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "ace_graph")
    long = "word " * 100
    talk = [{"role": role, "content": long} for _ in range(100) for role in ("user", "assistant")]
    context = ACEContext(reflect_when="never", window_size=100)
    await build(ScriptedModel(["<final>x</final>"]), settings=log_content_by_default()).ainvoke(
        said([*talk, {"role": "user", "content": "and now?"}]), context=context
    )
    [line] = [r.getMessage() for r in caplog.records if "[ACE Window]" in r.getMessage()]
    assert "size=100 messages=200 of 200" in line
    assert len(line) < 2_500


async def test_no_line_is_longer_than_its_bound(
    build: Build, store: CountingStore, lines: pytest.LogCaptureFixture
) -> None:
    long = "word " * 5_000
    model = ScriptedModel(
        solver=[f"<scratch>{long}</scratch><final>{long}</final>"], reflector=[lessons("x" * 1_900)]
    )
    await build(model, settings=log_content_by_default()).ainvoke(ask(long), context=ALICE)
    assert max(len(r.getMessage()) for r in lines.records) < 400
    assert "… [len=25000]" in lines.text


async def test_a_removed_bullet_has_its_line(
    build: Build, store: CountingStore, lines: pytest.LogCaptureFixture
) -> None:
    await store.seed("alice", Add(content="Learner says: Call me Sam", section="profile", slot="name"))
    quiet = ACEContext(learner_id="alice", reflect_when="never")
    await build(ScriptedModel(["<final>fine</final>"])).ainvoke(ask("Forget my name."), context=quiet)
    assert "[ACE Memory][Delta Remove] id=pro-00001" in lines.messages


async def test_a_superseded_bullet_counts_as_one_that_went(
    build: Build, store: CountingStore, lines: pytest.LogCaptureFixture
) -> None:
    await store.seed("alice", Add(content="Adding fractions: add the tops and the bottoms", section="math"))
    model = ScriptedModel(
        solver=["<final>2/5</final><used>mat-00001</used>"],
        reflector=[lessons("To add fractions, find the common denominator before adding the tops")],
    )
    out = await build(model).ainvoke(ask("adding fractions: 1/2 + 1/3?"), context=ALICE)
    assert [pair["gone"] for pair in out["learning"]["superseded"]] == ["mat-00001"]
    assert "bullets 1 -> 1 (1 came, 1 went, " in lines.text
