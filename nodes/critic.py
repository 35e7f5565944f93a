"""The critic: judges the turn from evidence. With no evidence the verdict is `unknown`."""

from __future__ import annotations

from typing import Literal

from ace_graph.agent.evidence import gather_evidence, to_json
from ace_graph.agent.reasoning.streaming import push_text
from ace_graph.agent.runtime import Run, logger
from ace_graph.agent.state import ACEState, Attempt, CriticUpdate, Plan, Result
from ace_graph.memory.evidence import verdict_of


async def critic(state: ACEState, run: Run) -> CriticUpdate:
    """Gather the evidence and say what it amounts to; show an answer that was held back until now.

    An answer that goes back leaves the conversation: what its revision calls stands before the new answer.
    """
    attempt = state["attempt"]
    if attempt is None:
        raise RuntimeError("the solver runs before the critic")
    evidence = await gather_evidence(state["turn"]["question"], attempt, run)
    verdict, first = verdict_of(evidence), attempt.get("first")
    result: Result = {
        "answer": attempt["answer"],
        "reasoning": attempt["reasoning"],
        "bullet_ids": attempt["cited"],
        "injected": attempt["injected"],
        "why_shown": attempt.get("why_shown", {}),
        "memory": run.context.memory,
        "playbooks": attempt.get("consulted", []),
        "withheld": attempt.get("arm") == "without",
        "verdict": verdict,
        "evidence": to_json(evidence),
        "first": {"answer": first["answer"], "verdict": first["verdict"]}
        if first is not None
        else {"answer": attempt["answer"], "verdict": verdict},
        "problem": attempt["problem"],
    }
    if "words_only" in attempt:
        result["words_only"] = attempt["words_only"]
    if "raw" in attempt:
        result["raw"] = attempt["raw"]
    logger.info("[ACE Critic] verdict=%s evidence=%s", verdict, [item.source for item in evidence])
    if wants_revision(result, attempt, state["plan"]):
        # A fork may have removed the answer from the conversation already
        there = any(message.id == attempt["answer_id"] for message in state["messages"])
        removed: dict[str, object] = {"role": "remove", "content": "", "id": attempt["answer_id"]}
        return {"result": result, "messages": [removed] if there else []}
    if not attempt["streamed"]:
        push_text(attempt["answer"], attempt["answer_id"], run.listener)
    return {"result": result}


def wants_revision(result: Result, attempt: Attempt, plan: Plan) -> bool:
    """Whether evidence of failure sends the answer back, within the revisions allowed."""
    return result["verdict"] == "failure" and attempt["number"] <= plan["max_revisions"]


def after_critic(state: ACEState) -> Literal["solver", "ace_learning"]:
    """Choose the edge after the critic."""
    result, attempt = state["result"], state["attempt"]
    if result is not None and attempt is not None and wants_revision(result, attempt, state["plan"]):
        return "solver"
    return "ace_learning"
