"""One turn through the graph: the prompt, one load and one commit."""

from __future__ import annotations

import logging

import pytest
from pydantic import ValidationError

from ace_graph import ACEContext, Evidence
from ace_graph.base import InvalidMessage, InvalidMode
from ace_graph.memory import infer_topic
from ace_graph.memory.delta import Add, Reflect, Tag
from ace_graph.testing import Reply, ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask, said

ALICE = ACEContext(learner_id="alice", reflect_when="never")


def test_the_picture_is_five_nodes_and_one_way_back(build: Build) -> None:
    edges = {(e.source, e.target) for e in build(ScriptedModel([])).get_graph().edges}
    assert edges == {
        ("__start__", "router"),
        ("router", "planner"),
        ("planner", "solver"),
        ("solver", "critic"),
        ("critic", "ace_learning"),
        ("critic", "solver"),
        ("ace_learning", "__end__"),
    }


@pytest.mark.parametrize(
    ("question", "mode", "replies"),
    [
        ("hello there", "cot", 1),
        ("plan the options", "tot", 5),
        ("calculate 12*5", "react", 1),
    ],
)
async def test_the_router_chooses_the_mode(build: Build, question: str, mode: str, replies: int) -> None:
    with ScriptedModel(["<final>ok</final>"] * replies) as model:
        out = await build(model).ainvoke(ask(question), context=ALICE)
    assert out["mode"] == mode
    assert out["messages"][-1].content == "ok"


async def test_a_forced_mode_wins_and_an_unknown_one_is_refused(build: Build, store: CountingStore) -> None:
    graph = build(ScriptedModel(["<thought>t</thought>", "1: 1"] * 2 + ["<final>4</final>"]))
    out = await graph.ainvoke(ask("What is 2+2?", "tot"), context=ALICE)
    assert out["mode"] == "tot"
    with pytest.raises(InvalidMode, match="cot, tot or react"):
        await graph.ainvoke(ask("What is 2+2?", "weird"), context=ALICE)
    assert store.calls.loads == 1


@pytest.mark.parametrize(
    "messages", [[], [{"role": "user", "content": "   "}], [{"role": "ai", "content": "x"}]]
)
async def test_without_a_question_there_is_a_clear_error(build: Build, messages: list[object]) -> None:
    with pytest.raises(InvalidMessage, match="no question"):
        await build(ScriptedModel([])).ainvoke(said(messages), context=ALICE)


@pytest.mark.parametrize("mode", ["cot", "tot", "react"])
async def test_the_relevant_bullet_is_in_the_prompt_of_the_answering_call_once(
    build: Build, store: CountingStore, mode: str
) -> None:
    await store.seed(
        "alice",
        Add(content="Adding fractions: find a common denominator first", section="math"),
        Add(content="Fractions can be added on a number line, too", section="math"),
        Tag(bullet_id="mat-00001", tag="helpful", by=3),
        Tag(bullet_id="mat-00001", tag="harmful"),
    )
    script = ["<thought>t</thought>", "1: 1"] * 2 if mode == "tot" else []
    model = ScriptedModel([*script, "<final>5/6</final>"])
    out = await build(model).ainvoke(ask("How do I add fractions 1/2 + 1/3?", mode), context=ALICE)
    system = model.calls[-1].messages[0].text
    assert system.count("## Relevant Strategies") == 1
    assert [line for line in system.splitlines() if "[mat-0000" in line] == [
        "1. [mat-00001] [+3/-1] Adding fractions: find a common denominator first",
        "2. [mat-00002] [+0/-0] Fractions can be added on a number line, too",
    ]
    assert out["result"]["injected"] == ["mat-00001", "mat-00002"]


async def test_the_result_says_why_each_bullet_was_in_the_prompt(build: Build, store: CountingStore) -> None:
    await store.seed(
        "alice",
        Add(content="Adding fractions: find a common denominator first", section="math"),
        Add(content="Learner says: I prefer pictures", section="preferences"),
        Add(content="Der Sauerteig braucht zwei Tage", section="math"),
    )
    model = ScriptedModel(["<final>x</final>"] * 2)
    result = (await build(model).ainvoke(ask("How do I add fractions?"), context=ALICE))["result"]
    assert list(result["why_shown"]) == result["injected"] == ["pre-00002", "mat-00001"]
    assert result["why_shown"]["pre-00002"] == {"kind": "core", "by": "profile"}
    retrieved = result["why_shown"]["mat-00001"]
    assert (retrieved["kind"], set(retrieved["words"])) == ("retrieved", {"add", "fractions"})
    result = (await build(model).ainvoke(ask("Was ist mit dem Teig?"), context=ALICE))["result"]
    assert result["why_shown"]["mat-00003"]["compounds"] == ["teig"], "no word of the bullet"


async def test_only_the_memory_types_that_were_asked_for_are_injected(
    build: Build, store: CountingStore
) -> None:
    await store.seed(
        "alice",
        Add(content="Add fractions only with one denominator", memory_type="procedural"),
        Add(content="Fractions with one denominator add like apples", memory_type="semantic"),
        Add(content="Learner says: I prefer pictures", section="preferences", memory_type="episodic"),
    )
    model = ScriptedModel(["<final>x</final>"] * 2)
    graph, question = build(model), ask("How do I add fractions with one denominator?")
    wanted = {"learner_id": "alice", "reflect_when": "never", "memory_types": ["procedural"]}
    narrowed = await graph.ainvoke(question, context=wanted)  # type: ignore[arg-type]  # pyright: ignore  # a dict does as well
    whole = await graph.ainvoke(question, context=ACEContext(learner_id="alice", reflect_when="never"))
    assert narrowed["result"]["injected"] == ["gen-00001"]
    assert sorted(whole["result"]["injected"]) == ["gen-00001", "gen-00002", "pre-00003"]
    for wrong in ([], ["emotional"]):
        with pytest.raises(ValidationError):
            ACEContext.model_validate({"memory_types": wrong})


async def test_a_new_learner_has_no_playbook_section(build: Build) -> None:
    model = ScriptedModel(["<final>hi</final>"])
    await build(model).ainvoke(ask("What is a fraction?"), context=ALICE)
    system = model.calls[0].messages[0].text
    assert "Relevant Strategies" not in system
    assert "<playbook>" not in system


async def test_the_parts_of_the_prompt_have_a_fixed_order(build: Build, store: CountingStore) -> None:
    await store.seed(
        "alice",
        Add(content="Learner says: call me Al", section="profile", slot="name"),
        Add(content="Fractions need a common denominator", section="math"),
        Reflect(insight="Halves come first", topic=infer_topic("How do fractions work?")),
    )
    model = ScriptedModel(["<final>ok</final>"])
    messages = [
        {"role": "system", "content": "You are the tutor of school X."},
        {"role": "user", "content": "earlier question"},
        {"role": "assistant", "content": "earlier answer"},
        {"role": "user", "content": "How do fractions work?"},
    ]
    await build(model).ainvoke(said(messages), context=ALICE)
    sent = model.calls[0].messages
    assert [m.type for m in sent] == ["system", "human", "ai", "human"]
    system = sent[0].text
    parts = [
        "You are the tutor of school X.",
        "<final>",
        "## About this learner",
        "## Relevant Strategies",
        "## Recent reflections",
        "Halves come first",
    ]
    positions = [system.index(part) for part in parts]
    assert positions == sorted(positions)
    assert [system.count(part) for part in parts] == [1] * len(parts)
    assert sent[-1].text == "How do fractions work?"


async def test_cited_bullets_are_a_subset_of_the_injected(build: Build, store: CountingStore) -> None:
    await store.seed("alice", Add(content="Fractions need a common denominator", section="math"))
    model = ScriptedModel(["<final>ok</final><used>mat-00001, mat-09999, [zzz-00001]</used>"])
    out = await build(model).ainvoke(ask("How do fractions work?"), context=ALICE)
    assert out["result"]["bullet_ids"] == ["mat-00001"]


@pytest.mark.parametrize("mode", ["cot", "tot", "react"])
async def test_the_raw_reply_is_returned_on_request(build: Build, mode: str) -> None:
    reply = "<scratch>3/6\n+ 2/6</scratch>\n<final>5/6</final> <used>gen-00009</used> \ud800"
    steps = ["1. one\n2. two", "1: 3\n2: 4"] if mode == "tot" else []
    asked = ALICE.model_copy(update={"raw_reply": True, "depth": 1})
    graph = build(ScriptedModel([*steps, reply, *steps, reply]))
    out = await graph.ainvoke(ask("What is 1/2 + 1/3?", mode), context=asked)
    assert out["result"].get("raw") == reply.replace("\ud800", "?")
    path = "1. one\n2. two\n" if mode == "tot" else ""
    assert (out["result"]["answer"], out["result"]["reasoning"]) == ("5/6", f"{path}3/6\n+ 2/6")
    plain = await graph.ainvoke(
        ask("What is 1/2 + 1/3?", mode), context=asked.model_copy(update={"raw_reply": False})
    )
    assert "raw" not in plain["result"]
    assert {*plain["result"], "raw"} == set(out["result"])


async def test_a_raw_reply_is_bounded(build: Build) -> None:
    replies = [f"<final>x</final>{'y' * (chars - 16)}" for chars in (20_000, 20_001)]
    graph = build(ScriptedModel(list[Reply](replies)))
    asked = ALICE.model_copy(update={"raw_reply": True})
    whole, cut = [(await graph.ainvoke(ask(), context=asked))["result"].get("raw") for _ in replies]
    assert (whole, cut) == (replies[0], f"{replies[1][:-1]}… [len=20001]")


@pytest.mark.parametrize("mode", [None, "cot", "react"])
async def test_one_load_and_one_commit_a_turn(build: Build, store: CountingStore, mode: str | None) -> None:
    graph = build(ScriptedModel(["<final>x</final>"] * 2))
    for n in (1, 2):
        await graph.ainvoke(ask("hello", mode), context=ALICE)
        assert (store.calls.loads, len(store.calls.commits)) == (n, n)
    record = store.calls.records[-1]
    assert record is not None
    assert (record.task, record.answer, record.status) == ("hello", "x", "success")


async def test_the_record_of_a_partly_right_answer_says_so(build: Build, store: CountingStore) -> None:
    def judge(_question: str, _answer: str, _context: ACEContext) -> Evidence:
        return Evidence(source="evaluator", verdict="partial", text="half of it")

    answer = "x" * 2_500
    model = ScriptedModel([f"<final>{answer}</final>"])
    await build(model, evaluator=judge).ainvoke(ask("hello"), context=ALICE)
    record = store.calls.records[-1]
    assert record is not None
    assert (record.status, record.verdict) == ("partial", "partial")
    assert record.answer == f"{answer[:2_000]}… [len=2500]", "a long answer is cut and says how long it was"


async def test_without_a_learner_there_is_no_memory_and_a_log_line_says_so(
    build: Build, store: CountingStore, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "ace_graph"):
        out = await build(ScriptedModel(["<final>x</final>"])).ainvoke(ask("Remember that I like tea."))
    assert out["learning"]["skipped"] == "no learner_id in the context"
    assert (store.calls.loads, store.calls.commits) == (0, [])
    assert "no learner_id" in caplog.text


async def test_exactly_one_loaded_line_a_turn(
    build: Build, store: CountingStore, caplog: pytest.LogCaptureFixture
) -> None:
    await store.seed("alice", Add(content="A fact about otters"))
    with caplog.at_level(logging.INFO, "ace_graph"):
        await build(ScriptedModel(["<final>x</final>"])).ainvoke(ask("hello"), context=ALICE)
    loaded = [r.getMessage() for r in caplog.records if "Loaded" in r.getMessage()]
    assert loaded == ["[ACE Memory] Loaded 1 bullets from SQLite for learner=alice"]


async def test_texts_are_logged_only_when_asked_for(
    build: Build, store: CountingStore, caplog: pytest.LogCaptureFixture
) -> None:
    from ace_graph.base import Settings

    await store.seed("alice", Add(content="Otters hold hands while they sleep"))
    for content in (False, True):
        caplog.clear()
        settings = Settings().model_copy(update={"log_content": content})
        with caplog.at_level(logging.INFO, "ace_graph"):
            await build(
                ScriptedModel(["<scratch>SECRETWORK</scratch><final>x</final>"]), settings=settings
            ).ainvoke(ask("Do otters hold hands?"), context=ALICE)
        assert ("otters" in caplog.text.casefold()) is content
        assert ("SECRETWORK" in caplog.text) is content
        assert "[ACE Thought]" in caplog.text
        assert "[ACE Memory][Inject] Retrieved 1 bullets" in caplog.text
        assert "id=gen-00001" in caplog.text


async def test_learning_off_reads_and_stores_nothing(build: Build, store: CountingStore) -> None:
    before = await store.seed("alice", Add(content="Fractions need a common denominator", section="math"))
    context = ALICE.model_copy(update={"learning": "off", "reflect_when": "always"})
    model = ScriptedModel(["<final>x</final>"])
    out = await build(model).ainvoke(ask("How do fractions work?"), context=context)
    assert len(model.calls) == 1, "nothing is reflected on"
    assert "common denominator" in model.calls[0].messages[0].text
    assert store.calls.commits == []
    assert await store.now("alice") == before
    assert out["learning"]["skipped"] == "learning is off"


@pytest.mark.parametrize(
    ("evidence", "status", "verdict"),
    [
        (Evidence(source="evaluator", verdict="failure", text="wrong"), "failure", "failure"),
        (Evidence(source="evaluator", verdict="partial", text="half"), "partial", "partial"),
        (Evidence(source="evaluator", verdict="success", text="right"), "success", "success"),
        (None, "success", "unknown"),
    ],
    ids=lambda value: str(getattr(value, "verdict", value)),
)
async def test_the_critics_verdict_is_the_outcome_of_the_trajectory(
    build: Build, store: CountingStore, evidence: Evidence | None, status: str, verdict: str
) -> None:
    def judge(_question: str, _answer: str, _context: ACEContext) -> Evidence | None:
        return evidence

    graph = build(ScriptedModel(["<final>5/6</final>"]), evaluator=judge)
    context = ALICE.model_copy(update={"max_revisions": 0})
    out = await graph.ainvoke(ask(), context=context)
    (turn,) = await store.turns("alice")
    assert out["result"]["verdict"] == verdict
    assert (turn.status, turn.verdict, turn.answer) == (status, verdict, "5/6")
