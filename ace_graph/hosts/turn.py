"""One turn of an agent that is not the graph: what is recalled before its answer, and learned from it.

`recall_turn` does what the router, the planner and the solver's first half do, `learn_turn` what the critic
and the learning node do, by calling the same functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast
from uuid import uuid4

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import BaseTool
from pydantic import BaseModel, ConfigDict

from ace_graph.agent.context import ACEContext
from ace_graph.agent.models.call import Usage, add_usage, usage_of
from ace_graph.agent.reasoning.attempt import answer_id_of, attempt_of
from ace_graph.agent.reasoning.prompt import Solution, memory_parts
from ace_graph.agent.reasoning.react import tool_evidence
from ace_graph.agent.reasoning.recall import Injection, inject
from ace_graph.agent.runtime import Run
from ace_graph.agent.state import ACEState, Learning, Memory, Plan, Result, Turn, UsageJSON
from ace_graph.base.errors import AceError
from ace_graph.base.off_loop import run_off_loop
from ace_graph.base.text import truncate
from ace_graph.learning.statements.reading import Notice, notice_of
from ace_graph.memory.turn import Arm, PlaybookRead
from ace_graph.nodes.ace_learning import learn_from_turn
from ace_graph.nodes.critic import critic
from ace_graph.nodes.planner import plan_turn

MAX_ANSWER_CHARS = 100_000
_Read = HumanMessage | AIMessage | SystemMessage | ToolMessage


class Recall(BaseModel):
    """What the memory gives to a turn: plain data, for a checkpointer, a queue or another process.

    `text` goes at the end of the system prompt, '' for nothing. Where `answer` is not None the program
    answers itself and no model is asked (a request to forget everything). `asked` is a question of the
    program that ends the agent's answer, '' for none. `bullet_ids` are the bullets in the text, `why_shown`
    says why each is there, as plain JSON. The rest is for `learn`.
    """

    model_config = ConfigDict(frozen=True)

    text: str
    answer: str | None
    asked: str
    bullet_ids: tuple[str, ...]
    why_shown: dict[str, dict[str, object]]
    turn: Turn
    plan: Plan
    context: ACEContext
    messages: tuple[AnyMessage, ...]
    arm: Arm | None
    playbooks: tuple[PlaybookRead, ...]
    words_only: str | None


@dataclass(frozen=True)
class Answered:
    """How a turn of a host agent ended: its answer, and the tool calls with their results before it.

    `tools` are those the agent has; results of one marked `metadata={"evidence": True}` are evidence.
    `problem` says why the answer is none, or only a part of one.
    """

    answer: str
    trace: Sequence[BaseMessage] = ()
    tools: Sequence[BaseTool] = ()
    usage: Usage = field(default_factory=Usage)
    problem: str | None = None


def new_turn(question: HumanMessage, run: Run) -> Turn:
    return {
        "turn_id": run.new_turn_id(),
        "learner_id": run.learner_id,
        "question": question.text,
        "question_id": question.id or "",
        "mode": "react",
        "started_at": run.resources.clock().isoformat(),
    }


async def recall_turn(
    messages: Sequence[BaseMessage], turn: Turn, run: Run, loaded: Memory, *, own: bool = True
) -> Recall:
    """Return what the memory gives to `turn`, whose question is the newest message of the user.

    Without `own` the question was written by another agent: nothing in it is taken for the learner's word.
    """
    size = len(turn["question"])
    plan = await run_off_loop(size, plan_turn, turn, run.context, run.resources.settings, ())
    state = _state(messages, turn, plan)
    notice = await notice_of(state, loaded, run) if own else Notice()
    silent = notice.answer is not None
    injection = Injection() if silent else await inject(turn, plan, loaded, run, announced=False)
    parts = [*memory_parts(injection.text, injection.insights), *([notice.prompt] if notice.prompt else [])]
    text = "\n\n".join([run.resources.prompts.render("host"), *parts]) if parts else ""
    asked = f"\n\n{notice.question}" if notice.question else ""
    return Recall(
        text=text,
        answer=notice.answer,
        asked=asked,
        bullet_ids=injection.ids,
        why_shown=dict(injection.why_shown),
        turn=turn,
        plan=plan,
        context=run.context,
        messages=tuple(each for each in messages if isinstance(each, _Read)),
        arm=injection.arm,
        playbooks=injection.playbooks,
        words_only=injection.words_only,
    )


async def learn_turn(
    recalled: Recall,
    answered: Answered,
    attempt_id: str,
    run: Run,
    memory: Memory,
    messages: Sequence[BaseMessage] | None = None,
) -> tuple[Result, Learning, dict[str, UsageJSON]]:
    """Gather the evidence on the answer, learn from the turn, commit it once; return what came of it.

    `messages` are the conversation up to the question, where it has changed since `recall_turn`. Raises
    nothing that the model or the store may raise.
    """
    run, turn = await _teachable(run), recalled.turn
    answer = truncate(answered.answer, MAX_ANSWER_CHARS)
    solution = Solution(
        answer=answer,
        reasoning="",
        used=tuple(name for name in recalled.bullet_ids if f"[{name}]" in answer),
        raw=answer,
        trace=tuple(answered.trace),
        tool_evidence=tuple(tool_evidence(answered.tools, answered.trace)),
        problem=answered.problem,
    )
    answer_id = answer_id_of(turn["turn_id"])
    injection = Injection(
        ids=recalled.bullet_ids,
        arm=recalled.arm,
        playbooks=recalled.playbooks,
        words_only=recalled.words_only,
        why_shown=recalled.why_shown,
    )
    attempt = attempt_of(solution, injection, run, attempt_id, answer_id, None, streamed=True)
    if recalled.asked and answer.endswith(recalled.asked):
        attempt["asked"] = recalled.asked
    state = _state(recalled.messages if messages is None else messages, turn, recalled.plan)
    state["memory"], state["attempt"] = memory, attempt
    state["usage"] = add_usage({}, "solver", answered.usage)
    result = (await critic(state, run))["result"]
    state["result"] = result
    done = await learn_from_turn(state, run, None)
    return result, done["learning"], done["usage"]


def turn_messages(
    messages: Sequence[BaseMessage], turn: Turn, end_id: str | None = None
) -> tuple[list[BaseMessage], list[BaseMessage]]:
    """Return the conversation up to the turn's question, and what the agent did then, up to message `end_id`.

    Messages of the user that other parts of the agent put in behind the question are left out: the learner
    did not write them. A question that is no longer there, as after a summary, is put in again.
    """
    at = next((n for n, message in enumerate(messages) if message.id == turn["question_id"]), None)
    before, since = list[BaseMessage](), list[BaseMessage]()
    if at is None:
        asked = HumanMessage(turn["question"], id=turn["question_id"])
        last = max((n for n, each in enumerate(messages) if isinstance(each, HumanMessage)), default=-1)
        before.append(asked)
        since += messages[last + 1 :]
    else:
        before += messages[: at + 1]
        since += messages[at + 1 :]
    end = next((n for n, each in enumerate(since) if end_id is not None and each.id == end_id), len(since))
    return before, [each for each in since[:end] if isinstance(each, AIMessage | ToolMessage)]


def answered_by(since: Sequence[BaseMessage], tools: Sequence[BaseTool] = ()) -> Answered:
    """Return how a turn ended, from the messages behind its question."""
    replies = [each for each in since if isinstance(each, AIMessage)]
    answers = [each.text for each in replies if not each.tool_calls and each.text.strip()]
    calls = [each for each in since if isinstance(each, ToolMessage) or _calls(each)]
    usage = sum((usage_of(each) for each in replies), Usage())
    return Answered(answers[-1] if answers else "", calls, tools, usage)


def _calls(message: BaseMessage) -> bool:
    return isinstance(message, AIMessage) and bool(message.tool_calls)


async def _teachable(run: Run) -> Run:
    """The run; one without any model to reflect with keeps statements and votes, and reflects on nothing."""
    if run.learning != "inline":
        return run
    try:
        await run.resources.ready_model(run.context)
    except AceError:
        return replace(run, context=run.context.model_copy(update={"reflect_when": "never"}))
    return run


def _state(messages: Sequence[BaseMessage], turn: Turn, plan: Plan) -> ACEState:
    return {
        "messages": cast("list[AnyMessage]", list(messages)),
        "turn": turn,
        "plan": plan,
        "attempt": None,
        "result": None,
        "learning": None,
        "usage": {},
    }


def new_question(text: str) -> HumanMessage:
    return HumanMessage(text, id=uuid4().hex)
