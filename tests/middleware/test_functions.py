"""`recall` and `learn`, the memory for agents of any framework."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from ace_graph import ACEContext
from ace_graph.agent import Resources
from ace_graph.base import InvalidContext, InvalidMessage, StoreUnavailable
from ace_graph.hosts import Answered, Recall, build_memory, learn, recall
from ace_graph.memory import Snapshot, TurnRecord
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing import ScriptedModel

ADA = ACEContext(learner_id="ada", reflect_when="never")


async def test_learn_twice_changes_nothing_twice() -> None:
    memory = build_memory("memory://")
    recalled = await recall(memory, "Remember that I like trains.", ADA)
    first, second = await learn(memory, recalled, "Noted."), await learn(memory, recalled, "Noted.")
    assert len(first["added"]) == 1
    assert second["version"] == first["version"]


async def test_a_conversation_in_dicts_carries_feedback() -> None:
    memory, question = build_memory("memory://"), {"role": "user", "content": "What is 1/2 + 1/3?"}
    await learn(memory, await recall(memory, [question], ADA), "5/7")
    told = {"role": "user", "content": "That's wrong, it is 5/6."}
    recalled = await recall(memory, [question, {"role": "assistant", "content": "5/7"}, told], ADA)
    judged = (await learn(memory, recalled, "So 5/6."))["feedback"]
    assert judged is not None
    assert judged["verdict"] == "failure"


async def test_a_check_among_the_tools_is_evidence_to_reflect_on() -> None:
    @tool
    def run_tests() -> str:
        """Run the tests."""
        return ""

    run_tests.metadata = {"evidence": True}
    call = AIMessage("", tool_calls=[{"name": "run_tests", "args": {}, "id": "1"}])
    failed = ToolMessage("2 failed", name="run_tests", tool_call_id="1", status="error")
    with ScriptedModel(reflector=['{"insight": "Run the tests.", "lessons": []}']) as model:
        memory = build_memory("memory://", model=model)
        recalled = await recall(memory, "Fix it.", ACEContext(learner_id="ada", reflect_when="evidence"))
        learning = await learn(memory, recalled, Answered("Fixed.", trace=[call, failed], tools=[run_tests]))
    assert learning["error"] is None
    assert "2 failed" in str(model.calls[0].messages)


async def test_without_any_model_statements_are_still_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACE_MODEL", raising=False)
    memory = build_memory("memory://")
    recalled = await recall(memory, "Remember that I like trains.", {"learner_id": "ada"})
    learning = await learn(memory, recalled, "Noted.")
    assert (len(learning["added"]), learning["error"]) == (1, None)


async def test_what_is_no_question_is_refused() -> None:
    memory = build_memory("memory://")
    with pytest.raises(InvalidMessage):
        await recall(memory, [AIMessage("Hello")], ADA)
    with pytest.raises(InvalidContext, match="learner_id"):
        await recall(memory, [HumanMessage("Hello")], {"user": "ada"})


async def test_what_was_recalled_survives_json_whole() -> None:
    memory = build_memory("memory://")
    await learn(memory, await recall(memory, "Remember that I weigh flour in grams.", ADA), "Noted.")
    asked = await recall(memory, ["How do I weigh flour?"], ADA)
    again = Recall.model_validate_json(asked.model_dump_json())
    assert again == asked
    assert asked.bullet_ids
    learning = await learn(memory, json.loads(asked.model_dump_json()), "In grams.")
    assert learning["error"] is None
    (_, turn) = await turns_of(memory)
    assert (turn.answer, turn.injected) == ("In grams.", asked.bullet_ids)


async def turns_of(memory: Resources) -> tuple[TurnRecord, TurnRecord]:
    """The two turns of ada, the oldest first."""
    assert isinstance(memory.store, SQLiteStore)
    newest, oldest = await memory.store.turns("ada")
    return oldest, newest


async def test_a_dict_that_is_no_recall_is_refused() -> None:
    with pytest.raises(InvalidMessage, match="what recall returned"):
        await learn(build_memory("memory://"), {"text": "x"}, "Noted.")


async def test_a_store_that_fails_before_learning_is_said_and_nothing_is_lost() -> None:
    class Failing(SQLiteStore):
        broken = False

        async def load(self, learner_id: str, *args: Any, **named: Any) -> Snapshot:  # Any: handed on
            if self.broken:
                raise StoreUnavailable("no connection")
            return await super().load(learner_id, *args, **named)

    store = Failing()
    memory = build_memory(store)
    recalled = await recall(memory, "Remember that I like trains.", ADA)
    store.broken = True
    failed = await learn(memory, recalled, "Noted.")
    assert failed["error"] == "StoreUnavailable: no connection"
    assert failed["skipped"] is not None
    assert "call learn again" in failed["skipped"]
    store.broken = False
    assert len((await learn(memory, recalled, "Noted."))["added"]) == 1
