"""One attempt at a turn's question: its prompt, the call, and the result.

The first attempt is shown to the learner, and its verdict counts. A revision follows evidence of failure:
the solver is told what was wrong. A retry belongs to the reflector: the same question, with the new lessons
in the prompt, shows whether they help. It runs only where a ground truth or an evaluator can judge the new
answer; it is not shown, moves no counter and is no evidence. Revisions and retries reuse the results of tools
that were called before, and call again only tools marked as idempotent.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from ace_graph.agent.evidence import gather_evidence, quotes_truth, to_json
from ace_graph.agent.models import Usage
from ace_graph.agent.reasoning.prompt import Reason, Solution, SolverPrompt, prompt_for, solution_of
from ace_graph.agent.reasoning.react import react
from ace_graph.agent.reasoning.recall import Injection, ensure_memory, inject
from ace_graph.agent.reasoning.streaming import ModelReply, ModelSession
from ace_graph.agent.runtime import Run
from ace_graph.agent.state import ACEState, Attempt, Mode, Plan, ToolCallJSON
from ace_graph.base.off_loop import run_off_loop
from ace_graph.base.prompts import data_block, preview
from ace_graph.base.text import truncate
from ace_graph.memory.evidence import Evidence, Verdict, verdict_of
from ace_graph.memory.foreign import source_of


async def cot(prompt: SolverPrompt, plan: Plan, session: ModelSession) -> Solution:
    """Answer step by step, in one call; with k > 1, of k samples the most frequent answer is given."""
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
    winner = Counter(filter(None, keys)).most_common(1)  # the first one of equals
    return replies[keys.index(winner[0][0])] if winner else replies[0]


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
    """Explore `depth` steps of `breadth` thoughts each, then answer along the best line.

    A step is two calls: one for thoughts that continue the best line, one that scores them beside those kept.
    """
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


@dataclass(frozen=True)
class Retry:
    """The new answer, what the evidence says about it, what it cost, and the lessons in its prompt."""

    answer: str
    evidence: tuple[Evidence, ...]
    usage: Usage
    shown: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """What the evidence amounts to."""
        return verdict_of(self.evidence)


AnswerAgain = Callable[[Sequence[str]], Awaitable[Retry]]
"""Answers the turn's question with these lessons in the prompt."""


def may_retry(evidence: Sequence[Evidence], run: Run) -> bool:
    """Whether a retry makes sense: the answer did not pass, it can be judged, and lessons are tried."""
    judge = run.context.ground_truth is not None or run.resources.evaluator is not None
    tries = run.context.max_reflection_rounds > 1 or run.resources.settings.replay
    return tries and judge and verdict_of(evidence) in ("failure", "partial")


MAX_RAW_CHARS = 20_000
MAX_ARGUMENT_CHARS = 500
REASONING: dict[Mode, Reason] = {"cot": cot, "tot": tot, "react": react}
_ANSWER = "answer-"


def answer_id_of(turn_id: str) -> str:
    """Return the id of the message that holds a turn's answer."""
    return f"{_ANSWER}{turn_id}"


def turn_of_answer(message_id: str) -> str | None:
    """Return the turn whose answer this message is; None where it is no turn's."""
    return message_id.removeprefix(_ANSWER) if message_id.startswith(_ANSWER) else None


def message_dicts(
    trace: Sequence[BaseMessage], answer: str, answer_id: str, attempt_id: str
) -> list[dict[str, object]]:
    """Return the turn's messages for the conversation: tool calls with their results, then the answer.

    They are plain dicts: LangGraph streams message objects that a node returns, but only the final
    answer's text may be streamed, and an answer that is held back not at all.
    """
    messages = [_trace_message(message, f"trace-{attempt_id}-{n}") for n, message in enumerate(trace)]
    return [*messages, {"role": "assistant", "content": answer, "id": answer_id}]


def _trace_message(message: BaseMessage, message_id: str) -> dict[str, object]:
    if isinstance(message, ToolMessage):
        return {
            "role": "tool",
            "content": message.text,
            "id": message_id,
            "name": message.name,
            "tool_call_id": message.tool_call_id,
            "status": message.status,
        }
    return {
        "role": "assistant",
        "content": "",
        "id": message_id,
        "tool_calls": message.tool_calls if isinstance(message, AIMessage) else [],
        "additional_kwargs": message.additional_kwargs,
    }


def trace_lines(trace: Sequence[BaseMessage]) -> list[str]:
    """Return the trace as the reflector reads it, a line per message."""
    return [
        f"{message.type}: "
        + (
            ", ".join(f"{call['name']}({call['args']})" for call in message.tool_calls)
            if isinstance(message, AIMessage) and message.tool_calls
            else message.text
        )
        for message in trace
    ]


def tool_calls_of(trace: Sequence[BaseMessage]) -> list[ToolCallJSON]:
    """Return the tool calls in order, each with its error where it failed."""
    failed = {
        message.tool_call_id: preview(message.text, MAX_ARGUMENT_CHARS)
        for message in trace
        if isinstance(message, ToolMessage) and message.status == "error"
    }
    return [
        {
            "name": call["name"],
            "args": _bounded_arguments(call["args"]),
            "error": failed.get(call["id"] or ""),
        }
        for message in trace
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    ]


def _bounded_arguments(args: Mapping[str, object]) -> dict[str, object]:
    """The arguments as plain JSON, long texts cut: they are checkpointed."""
    plain: dict[str, object] = json.loads(json.dumps(args, default=str))
    return {
        name: value[:MAX_ARGUMENT_CHARS] if isinstance(value, str) else value for name, value in plain.items()
    }


def attempt_of(
    solution: Solution,
    injection: Injection,
    run: Run,
    attempt_id: str,
    answer_id: str,
    earlier: Attempt | None,
    *,
    streamed: bool,
) -> Attempt:
    """Return the attempt as the state keeps it; the tool messages of an `earlier` one stay in its trace."""
    shown = set(injection.ids)
    # The attached playbooks whose bullets the turn was shown: in the prompt, or by a tool
    before = earlier.get("consulted", []) if earlier else []
    sources = (source for name in injection.ids if (source := source_of(name)))
    trace, calls = trace_lines(solution.trace), tool_calls_of(solution.trace)
    attempt: Attempt = {
        "attempt_id": attempt_id,
        "number": earlier["number"] + 1 if earlier else 1,
        "answer": solution.answer,
        "answer_id": answer_id,
        "reasoning": solution.reasoning,
        "injected": list(injection.ids),
        "why_shown": dict(injection.why_shown),
        "arm": injection.arm,
        "playbooks": [list(each) for each in injection.playbooks],
        "consulted": list(dict.fromkeys([*before, *sources, *solution.consulted])),
        "cited": [name for name in dict.fromkeys(solution.used) if name in shown],
        "trace": [*earlier["trace"], *trace] if earlier else trace,
        "tool_evidence": to_json(solution.tool_evidence),
        "problem": solution.problem,
        "streamed": streamed,
        "tool_calls": [*earlier["tool_calls"], *calls] if earlier else calls,
    }
    if injection.words_only is not None:
        attempt["words_only"] = injection.words_only
    if run.context.raw_reply:
        attempt["raw"] = truncate(solution.raw, MAX_RAW_CHARS, show_length=True)
    return attempt


async def answer_again(state: ACEState, attempt: Attempt, run: Run, lessons: Sequence[str]) -> Retry:
    """Answer the turn's question once more with `lessons` in the prompt, and judge it by the same evidence.

    The bullets that the failed answer followed are left out, or else what a lesson corrects would stand
    beside it. The solver never sees the ground truth, so a lesson that holds it is left out, too. Raises
    ModelError.
    """
    memory = await ensure_memory(state, run)
    injection = await inject(
        state["turn"], state["plan"], memory, run, announced=False, without=frozenset(attempt["cited"])
    )
    model = await run.resources.ready_model(run.context)
    session = ModelSession(run, model, attempt["answer_id"], memory, hold=True, role="retry")
    truth = run.context.ground_truth
    shown = [text for text in lessons if truth is None or not quotes_truth(text, truth)]
    noted = data_block("lessons", "\n".join(f"- {text}" for text in shown) or "(none)")
    instructions = run.resources.prompts.render("retry", lessons=noted)
    prompt = await run_off_loop(
        len(state["turn"]["question"]), prompt_for, state, injection, run, instructions
    )
    solution = await REASONING[state["plan"]["mode"]](prompt, state["plan"], session)
    tried = attempt_of(
        solution, injection, run, attempt["attempt_id"], attempt["answer_id"], None, streamed=session.streamed
    )
    evidence = await gather_evidence(state["turn"]["question"], tried, run)
    return Retry(solution.answer, tuple(evidence), session.usage, tuple(shown))


ReplayOutcome = Literal["kept", "refused", "not tried"]
"""What became of the lessons of a failed turn, tried on its question where the answer can be judged again.

`not tried`: the new answer or its check failed to run; the lessons are kept, on trial as any other.
"""
_RANK: dict[Verdict, int] = {"failure": 0, "partial": 1, "success": 2}


def helped(before: Iterable[Evidence], after: Iterable[Evidence]) -> bool | None:
    """Whether an answer with the lessons is better than the one before; None where no check judged it.

    Better is a better verdict, or a higher score with the same one.
    """
    old, new = _worth(tuple(before)), _worth(tuple(after))
    return None if old is None or new is None else new > old


def _worth(evidence: tuple[Evidence, ...]) -> tuple[int, float] | None:
    verdict = verdict_of(evidence)
    if verdict not in _RANK:
        return None
    scores = [item.score for item in evidence if item.verdict == verdict and item.score is not None]
    return _RANK[verdict], scores[-1] if scores else 0.0
