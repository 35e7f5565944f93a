"""The solver (ACE's Generator): retrieves the bullets that matter, injects them, and answers.

Does not: judge the answer or change the memory.
"""

from __future__ import annotations

from langchain_core.messages import HumanMessage

from ace_graph.errors import InvalidMessage
from ace_graph.injection import Injection, inject
from ace_graph.learning.evidence import to_json
from ace_graph.loading import ensure_memory
from ace_graph.memory.window import select_window, truncate_tool_results
from ace_graph.prompts import data_block
from ace_graph.reasoning.cot import cot
from ace_graph.reasoning.prompt import build_system, last_question, split_history
from ace_graph.reasoning.react import react
from ace_graph.reasoning.solution import Prompt, Reason, Solution
from ace_graph.reasoning.talk import Talk
from ace_graph.reasoning.tot import tot
from ace_graph.reasoning.trace import message_dicts, tool_calls_of, trace_lines
from ace_graph.run import Run
from ace_graph.state import ACEState, Attempt, Mode, SolverUpdate
from ace_graph.usage import add_usage

__all__ = ["solver"]

_REASONING: dict[Mode, Reason] = {"cot": cot, "tot": tot, "react": react}


async def solver(state: ACEState, run: Run) -> SolverUpdate:
    """Answer the question with the playbook in the prompt.

    Raises ModelError when the model can't be reached; then nothing is stored.
    """
    memory, plan, turn = await ensure_memory(state, run), state["plan"], state["turn"]
    earlier = state.get("attempt")
    injection = await inject(turn, plan, memory.snapshot, run)
    answer_id = earlier["answer_id"] if earlier else f"answer-{turn['turn_id']}"
    model = await run.resources.ready_model(run.context)
    talk = Talk(run, model, answer_id, memory, hold=plan["max_revisions"] > 0)
    prompt = _prompt(state, run, injection, earlier)
    solution = await _REASONING[plan["mode"]](prompt, plan, talk)
    attempt = _attempt(solution, injection, talk, run.resources.new_id(), answer_id, earlier)
    return {
        "messages": message_dicts(solution.trace, solution.answer, answer_id, attempt["attempt_id"]),
        "attempt": attempt,
        "memory": memory,
        "usage": add_usage(state["usage"], "solver", talk.usage),
    }


def _prompt(state: ACEState, run: Run, injection: Injection, earlier: Attempt | None) -> Prompt:
    prompts, question = run.resources.prompts, _question(state)
    own_system, before = split_history(state["messages"], question)
    critique = ""
    if earlier is not None:
        said = (
            data_block("earlier_answer", earlier["answer"]) + "\n" + data_block("critique", _critique(state))
        )
        critique = prompts.render("critique", critique=said)
    system = build_system(
        own_system or run.resources.system_prompt or prompts.render("base"),
        prompts.render("answer"),
        context=injection.text,
        insights=injection.insights,
        persona=run.context.persona,
        critique=critique,
    )
    window = select_window(before, state["plan"]["window_size"])
    return Prompt(system, tuple(truncate_tool_results(window)), question)


def _question(state: ACEState) -> HumanMessage:
    found = last_question(state["messages"])
    if found is None:
        raise InvalidMessage("there is no question: the last user message must have text or an attachment")
    return found


def _critique(state: ACEState) -> str:
    """What the evidence said, without the ground truth that it may have come from."""
    result = state.get("result")
    told = [
        item["text"] for item in (result["evidence"] if result else []) if item["source"] != "ground_truth"
    ]
    return "\n".join(text for text in told if text) or "The answer is not right."


def _attempt(
    solution: Solution,
    injection: Injection,
    talk: Talk,
    attempt_id: str,
    answer_id: str,
    earlier: Attempt | None,
) -> Attempt:
    shown = set(injection.ids)
    return {
        "attempt_id": attempt_id,
        "number": earlier["number"] + 1 if earlier else 1,
        "answer": solution.answer,
        "answer_id": answer_id,
        "reasoning": solution.reasoning,
        "injected": list(injection.ids),
        "arm": injection.arm,
        "cited": [name for name in dict.fromkeys(solution.used) if name in shown],
        "trace": trace_lines(solution.trace),
        "tool_evidence": to_json(solution.tool_evidence),
        "problem": solution.problem,
        "streamed": talk.streamed,
        "tool_calls": tool_calls_of(solution.trace),
    }
