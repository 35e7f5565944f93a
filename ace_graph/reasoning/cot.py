"""Chain of thought: one call; with k > 1, k samples of which the most frequent answer is given.

Does not: use tools.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from ace_graph.reasoning.solution import Prompt, Solution, solution_of
from ace_graph.reasoning.streaming import Reply, Talk
from ace_graph.state import Plan

__all__ = ["cot"]


async def cot(prompt: Prompt, plan: Plan, talk: Talk) -> Solution:
    """Answer step by step. k calls."""
    samples = plan.get("k", 1)
    if samples == 1:
        reply = await talk.answer(prompt.messages())
    else:
        replies = await asyncio.gather(*(talk.ask(prompt.messages()) for _ in range(samples)))
        reply = most_frequent(replies)
        talk.show(reply.parsed.answer)
    if reply.parsed.reasoning:
        talk.think("cot", reply.parsed.reasoning)
    return solution_of(reply, talk)


def most_frequent(replies: list[Reply]) -> Reply:
    """Return the first reply whose answer, spacing and case aside, came most often; empty ones last."""
    keys = [" ".join(reply.parsed.answer.casefold().split()) for reply in replies]
    counts = Counter(key for key in keys if key)
    if not counts:
        return replies[0]
    winner = max(counts, key=lambda key: (counts[key], -keys.index(key)))
    return replies[keys.index(winner)]
