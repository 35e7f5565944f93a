"""`recall` and `learn`, the memory for agents of any framework."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from ace_graph import ACEContext
from ace_graph.errors import InvalidContext, InvalidMessage
from ace_graph.host_agents import Answered, build_memory, learn, recall
from ace_graph.testing import ScriptedModel

ADA = ACEContext(learner_id="ada", reflect_when="never")


async def test_learn_twice_changes_nothing_twice() -> None:
    recalled = await recall(build_memory("memory://"), "Remember that I like trains.", ADA)
    first, second = await learn(recalled, "Noted."), await learn(recalled, "Noted.")
    assert len(first["added"]) == 1
    assert second["version"] == first["version"]


async def test_a_conversation_in_dicts_carries_feedback() -> None:
    memory, question = build_memory("memory://"), {"role": "user", "content": "What is 1/2 + 1/3?"}
    await learn(await recall(memory, [question], ADA), "5/7")
    told = {"role": "user", "content": "That's wrong, it is 5/6."}
    recalled = await recall(memory, [question, {"role": "assistant", "content": "5/7"}, told], ADA)
    judged = (await learn(recalled, "So 5/6."))["feedback"]
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
        learning = await learn(recalled, Answered("Fixed.", trace=[call, failed], tools=[run_tests]))
    assert learning["error"] is None
    assert "2 failed" in str(model.calls[0].messages)


async def test_without_any_model_statements_are_still_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACE_MODEL", raising=False)
    recalled = await recall(build_memory("memory://"), "Remember that I like trains.", {"learner_id": "ada"})
    learning = await learn(recalled, "Noted.")
    assert (len(learning["added"]), learning["error"]) == (1, None)


async def test_what_is_no_question_is_refused() -> None:
    memory = build_memory("memory://")
    with pytest.raises(InvalidMessage):
        await recall(memory, [AIMessage("Hello")], ADA)
    with pytest.raises(InvalidContext, match="learner_id"):
        await recall(memory, [HumanMessage("Hello")], {"user": "ada"})
