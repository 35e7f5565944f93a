"""Chain of thought: one call; with k > 1, k samples of which the most frequent answer is given."""

from __future__ import annotations

import asyncio
from collections import Counter

from ace_graph.agent.reasoning.prompt import Solution, SolverPrompt, solution_of
from ace_graph.agent.reasoning.streaming import ModelReply, ModelSession
from ace_graph.agent.state import Plan


async def cot(prompt: SolverPrompt, plan: Plan, session: ModelSession) -> Solution:
    """Answer step by step. k calls."""
    samples = plan.get("k", 1)
    if samples == 1:
        reply = await session.stream_answer(prompt.messages())
    else:
        replies = await asyncio.gather(*(session.call(prompt.messages()) for _ in range(samples)))
        reply = most_frequent(replies)
        session.push_text(reply.parsed.answer)
    if reply.parsed.reasoning:
        session.log_thought("cot", reply.parsed.reasoning)
    return solution_of(reply, session)


def most_frequent(replies: list[ModelReply]) -> ModelReply:
    """Return the first reply whose answer, spacing and case aside, came most often; empty ones last."""
    keys = [" ".join(reply.parsed.answer.casefold().split()) for reply in replies]
    counts = Counter(key for key in keys if key)
    if not counts:
        return replies[0]
    winner = max(counts, key=lambda key: (counts[key], -keys.index(key)))
    return replies[keys.index(winner)]
