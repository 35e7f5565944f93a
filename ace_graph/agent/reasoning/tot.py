"""Tree of thoughts: a beam of lines of thought, all expanded thoughts of a step scored in one call.

2 x depth + 1 calls: every step one call for `breadth` thoughts that continue the best line, one call
that scores them beside the lines kept so far; at the end one call that answers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from langchain_core.messages import HumanMessage, SystemMessage

from ace_graph.agent.reasoning.prompt import Solution, SolverPrompt, solution_of
from ace_graph.agent.reasoning.streaming import ModelSession
from ace_graph.agent.state import Plan
from ace_graph.base.prompts import data_block

_THOUGHT = re.compile(r"<thought>(.*?)(?:</thought>|\Z)", re.DOTALL | re.IGNORECASE)
_SCORE = re.compile(r"^[^\w\n]*(\d{1,9})\s*[:.)=-]+\s*([01](?:\.\d+)?|\.\d+)\b", re.MULTILINE)
_UNKNOWN_SCORE = 0.5


@dataclass(frozen=True)
class Thoughts:
    """A line of thought: its thoughts in order, and how promising it was judged, in [0, 1]."""

    thoughts: tuple[str, ...] = ()
    score: float = _UNKNOWN_SCORE

    def text(self) -> str:
        return "\n".join(self.thoughts)


async def tot(prompt: SolverPrompt, plan: Plan, session: ModelSession) -> Solution:
    """Explore `depth` steps of `breadth` thoughts each, then answer along the best line."""
    breadth, depth = plan.get("breadth", 3), plan.get("depth", 2)
    best, kept = Thoughts(), list[Thoughts]()
    for _ in range(depth):
        expanded = await _expand(prompt, session, best, breadth)
        candidates = [Thoughts((*best.thoughts, thought)) for thought in expanded] + kept
        ranked = await _score(prompt, session, candidates)
        best, kept = ranked[0], ranked[1:breadth]
    instructions = session.run.resources.prompts.render("tot_answer", path=data_block("path", best.text()))
    reply = await session.stream_answer(prompt.messages(instructions))
    return solution_of(reply, session, best.text())


async def _expand(prompt: SolverPrompt, session: ModelSession, line: Thoughts, breadth: int) -> list[str]:
    asked = session.run.resources.prompts.render(
        "tot_expand",
        breadth=str(breadth),
        question=data_block("question", prompt.question.text),
        path=data_block("path", line.text()),
    )
    reply = await session.call(
        [SystemMessage(f"{prompt.system}\n\n{asked}"), *prompt.window, prompt.question]
    )
    thoughts = parse_thoughts(reply.message.text, breadth)
    for thought in thoughts:
        session.log_thought("tot thought", thought)
    return thoughts


async def _score(prompt: SolverPrompt, session: ModelSession, candidates: list[Thoughts]) -> list[Thoughts]:
    numbered = "\n".join(f"{n}: {line.text()}" for n, line in enumerate(candidates, 1))
    asked = session.run.resources.prompts.render(
        "tot_score",
        question=data_block("question", prompt.question.text),
        thoughts=data_block("thoughts", numbered),
    )
    reply = await session.call([SystemMessage(asked), HumanMessage("Score the numbered lines of thought.")])
    scores = parse_scores(reply.message.text, len(candidates))
    session.log_thought("tot scores", " ".join(f"{n}: {score:.2f}" for n, score in enumerate(scores, 1)))
    scored = [Thoughts(line.thoughts, score) for line, score in zip(candidates, scores, strict=True)]
    return sorted(scored, key=lambda line: -line.score)


def parse_thoughts(text: str, breadth: int) -> list[str]:
    """Return at most `breadth` thoughts; a reply without the tags counts as one thought."""
    found = [thought.strip() for thought in _THOUGHT.findall(text) if thought.strip()]
    return (found or [text.strip() or "Answer directly."])[:breadth]


def parse_scores(text: str, count: int) -> list[float]:
    """Return one score in [0, 1] for each of `count` lines; 0.5 where the reply gives none."""
    given = {int(number): min(1.0, float(score)) for number, score in _SCORE.findall(text)}
    return [given.get(n, _UNKNOWN_SCORE) for n in range(1, count + 1)]
