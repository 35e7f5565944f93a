"""The solver (ACE's Generator): retrieves the bullets that matter, injects them, and answers."""

from __future__ import annotations

from dataclasses import replace

from ace_graph.agent.evidence import quotes_truth
from ace_graph.agent.models.call import add_usage
from ace_graph.agent.reasoning.attempt import REASONING, answer_id_of, attempt_of, message_dicts
from ace_graph.agent.reasoning.prompt import Solution, prompt_for
from ace_graph.agent.reasoning.recall import Injection, ensure_memory, inject
from ace_graph.agent.reasoning.streaming import ModelSession
from ace_graph.agent.runtime import Run
from ace_graph.agent.state import ACEState, Attempt, FirstAnswer, Result, SolverUpdate
from ace_graph.base.off_loop import run_off_loop
from ace_graph.base.prompts import data_block
from ace_graph.learning.statements.reading import notice_of
from ace_graph.nodes.planner import with_plan

NOT_RIGHT = "The answer is not right."


async def solver(state: ACEState, run: Run) -> SolverUpdate:
    """Answer the question with the playbook in the prompt.

    Raises ModelError when the model can't be reached; then nothing is stored.
    """
    state = await with_plan(state, run)
    memory, plan, turn = await ensure_memory(state, run), state["plan"], state["turn"]
    earlier = state.get("attempt")
    notice = await notice_of(state, memory, run)
    own, asked = notice.answer, f"\n\n{notice.question}" if notice.question else ""
    injection = await inject(turn, plan, memory, run) if own is None else Injection()
    answer_id = earlier["answer_id"] if earlier else answer_id_of(turn["turn_id"])
    model = await run.resources.ready_model(run.context)
    session = ModelSession(run, model, answer_id, memory, hold=plan["max_revisions"] > 0)
    if own is None:
        parts = (notice.prompt, _critique(state, earlier, run))
        instructions = "\n\n".join(part for part in parts if part)
        prompt = await run_off_loop(len(turn["question"]), prompt_for, state, injection, run, instructions)
        solution = await REASONING[plan["mode"]](prompt, plan, session)
        solution = replace(solution, answer=solution.answer + asked)
        if session.streamed:
            session.push_text(asked)
    else:
        session.push_text(own)
        solution = Solution(answer=own, reasoning="", used=(), raw=own)
    attempt_id = run.new_attempt_id(turn, earlier["number"] + 1 if earlier else 1)
    attempt = attempt_of(solution, injection, run, attempt_id, answer_id, earlier, streamed=session.streamed)
    if asked:
        attempt["asked"] = asked
    attempt["first"] = _first(earlier, state.get("result")) if earlier else None
    return {
        "messages": message_dicts(solution.trace, solution.answer, answer_id, attempt["attempt_id"]),
        "attempt": attempt,
        "memory": memory,
        "usage": add_usage(state["usage"], "solver", session.usage),
    }


def _first(earlier: Attempt, result: Result | None) -> FirstAnswer:
    """The answer that was sent back first; of a second revision still that of the first attempt."""
    return earlier.get("first") or {
        "answer": earlier["answer"],
        "reasoning": earlier["reasoning"],
        "cited": earlier["cited"],
        "verdict": result["verdict"] if result else "unknown",
        "evidence": result["evidence"] if result else [],
    }


def _critique(state: ACEState, earlier: Attempt | None, run: Run) -> str:
    """What a revision is told: the earlier answer, and what the evidence says of it; '' for a first attempt.

    The ground truth is never quoted, not by an evaluator either, which may know it.
    """
    if earlier is None:
        return ""
    result, truth = state.get("result"), run.context.ground_truth
    evidence = result["evidence"] if result else []
    texts = [item["text"] for item in evidence if item["source"] != "ground_truth" and item["text"]]
    quotable = [text for text in texts if truth is None or not quotes_truth(text, truth)]
    critique = data_block("critique", "\n".join(quotable) or NOT_RIGHT)
    both = f"{data_block('earlier_answer', earlier['answer'])}\n{critique}"
    return run.resources.prompts.render("critique", critique=both)
