"""The offline tutor: a chat model made of rules, for a machine without a key and without a network.

It replies in the form that the project's prompts ask for (<scratch>, <final>, <used>; <thought> items;
scores; lessons as JSON), and in plain words where no form is asked for. The same messages always give the
same reply.

It does not pretend to be a language model: what its rules do not cover, it says so.
"""

from __future__ import annotations

import hashlib
import json
import re

from langchain_core.messages import AIMessage, ToolCall

from ace_graph.arithmetic import as_program
from ace_graph.models.local import LocalModel, ModelCall
from ace_graph.offline_tutor.advice import teaching
from ace_graph.offline_tutor.answer import answer, problem_of
from ace_graph.offline_tutor.parser import Compute
from ace_graph.offline_tutor.prompt_reader import Prompt, read_prompt
from ace_graph.offline_tutor.reflect import fill, reflect
from ace_graph.offline_tutor.thoughts import expand, score

__all__ = ["OfflineTutor"]

_FORM_TAG = re.compile(r"<(?=\s*+(?:/\s*+)?(?:scratch|final|used)\b)", re.IGNORECASE)
_CALCULATOR = "calculator"


class OfflineTutor(LocalModel):
    """A deterministic, rule-based `BaseChatModel` that knows arithmetic and fractions.

    It streams, takes tools (and calls the project's `calculator`), takes schemas, and counts tokens as words.
    """

    def model_post_init(self, context: object, /) -> None:
        super().model_post_init(context)
        teaching()  # no turn reads the file on an event loop

    @property
    def _llm_type(self) -> str:
        return "offline-tutor"

    def reply(self, call: ModelCall) -> AIMessage:
        """Return the reply to `call`; see the module."""
        prompt = read_prompt(call.messages)
        if call.schema is not None:
            return AIMessage(json.dumps(fill(call.schema, reflect(prompt)), ensure_ascii=False))
        match prompt.task:
            case "expand":
                return AIMessage(expand(prompt))
            case "score":
                return AIMessage(score(prompt))
            case "reflect":
                lessons = [lesson._asdict() for lesson in reflect(prompt)]
                return AIMessage(json.dumps({"lessons": lessons}, ensure_ascii=False))
            case "answer":
                return _call_calculator(prompt, call) or AIMessage(_answer_in_form(prompt))


def _answer_in_form(prompt: Prompt) -> str:
    given = answer(prompt)
    if not prompt.wants_tags:
        return given.text
    working, text = (
        _FORM_TAG.sub("< ", part) for part in (given.working, given.text)
    )  # no quoted tag counts
    return f"<scratch>{working}</scratch>\n<final>{text}</final>\n<used>{', '.join(given.used)}</used>"


def _call_calculator(prompt: Prompt, call: ModelCall) -> AIMessage | None:
    """Ask the calculator, once per question, when it is there and there is something to calculate."""
    if _CALCULATOR not in call.tool_names or prompt.tool_called:
        return None
    problem = problem_of(prompt)
    if not isinstance(problem, Compute):
        return None
    expression = as_program(problem.tree)
    call_id = f"call_{hashlib.sha256(expression.encode()).hexdigest()[:12]}"
    request = ToolCall(name=_CALCULATOR, args={"expression": expression}, id=call_id)
    return AIMessage("", tool_calls=[request])
