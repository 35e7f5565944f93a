"""The router: reads the learner's memory, the one read of the turn, and chooses the mode.

The mode comes from the caller, from an injected model router, or from rules on whole words of the
question. Nothing of an earlier turn sticks: the router writes every key of the turn anew.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

from ace_graph.agent.reasoning.prompt import bounded_context, last_question
from ace_graph.agent.reasoning.recall import load_memory
from ace_graph.agent.runtime import Run, log_text, logger
from ace_graph.agent.state import MODES, ACEState, Mode, RouterUpdate, Turn
from ace_graph.base.errors import InvalidMessage, InvalidMode, unknown
from ace_graph.base.off_loop import pieces, run_off_loop

_ACT = re.compile(
    r"\b(calculate|compute|work out|look up|look it up|search|google|browse|find online|latest news"
    r"|what (do|did) you (know|remember|learn) about me|what have you (learned|remembered))\b",
    re.IGNORECASE,
)
_EXPLORE = re.compile(
    r"\b(plans?|planning|strateg(?:y|ies|ize|ise)|steps?|options?|alternatives?|approaches|brainstorm"
    r"|trade-?offs?|pros and cons|compare|design|roadmap|outline)\b",
    re.IGNORECASE,
)
_GENERIC_TOOL_WORDS = frozenset(
    {
        *(
            "and",
            "ask",
            "call",
            "check",
            "data",
            "fetch",
            "find",
            "for",
            "from",
            "get",
            "info",
            "list",
            "make",
        ),
        *("query", "read", "run", "search", "show", "the", "tool", "tools", "use", "with"),
    }
)
"""Words in a tool's name that say nothing of what it is about."""


async def router(state: ACEState, run: Run) -> RouterUpdate:
    """Load the memory, choose the mode, mint the turn.

    Raises InvalidMode, InvalidMessage; DailyTokensUsed where the learner has none left; a StoreError when the
    memory can't be read and `on_memory_error` is `fail`.
    """
    question = last_question(state["messages"])
    if question is None or not (question.text.strip() or not isinstance(question.content, str)):
        raise InvalidMessage("there is no question: the last user message must have text or an attachment")
    forced = state.get("mode")
    if forced:
        mode = _checked(forced)
    elif run.resources.mode_router is None:
        names = await run.resources.callers_tool_names()
        mode = await run_off_loop(len(question.text), choose_mode, question.text, names)
    else:
        answer = run.resources.mode_router(question.text)
        mode = _checked(await answer if inspect.isawaitable(answer) else answer)
    logger.info("[ACE Graph] received: mode=%s question=%s", mode, log_text(run.resources, question.text))
    memory = await load_memory(run)
    if run.learner_id is not None and memory.snapshot is not None and run.listener is None:
        await run.resources.daily_tokens.check(run.learner_id)  # a server did so before it took the message
    turn: Turn = {
        "turn_id": run.new_turn_id(),
        "step": run.step,
        "learner_id": run.learner_id,
        "question": question.text,
        "question_id": question.id or "",
        "additional_context": bounded_context(state.get("additional_context") or ""),
        "mode": mode,
        "started_at": run.resources.clock().isoformat(),
    }
    if run.listener is not None:
        run.listener.choose_mode(mode)
    return {
        "mode": mode,
        "memory": memory,
        "turn": turn,
        "attempt": None,
        "result": None,
        "learning": None,
        "usage": {},
    }


def choose_mode(question: str, tool_names: Iterable[str] = ()) -> Mode:
    """Return the mode for a question: react to act, tot to explore, else cot.

    `tool_names` are the caller's tools: a question that names what one of them is about goes to react.
    """
    parts = list(pieces(question))
    named = {
        word
        for name in tool_names
        for word in re.findall(r"[^\W_]+", name.casefold())
        if word not in _GENERIC_TOOL_WORDS and len(word) > 2
    }
    if any(_ACT.search(part) for part in parts) or (
        named and any(not named.isdisjoint(re.findall(r"\w+", part.casefold())) for part in parts)
    ):
        return "react"
    return "tot" if any(_EXPLORE.search(part) for part in parts) else "cot"


def _checked(mode: str) -> Mode:
    for known in MODES:
        if mode == known:
            return known
    raise InvalidMode(unknown("mode", mode, MODES))
