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
from ace_graph.models.local import JsonSchema, LocalModel, ModelCall
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

    It streams, takes tools (and calls one named `calculator`), takes schemas, and counts tokens as words.
    """

    @property
    def _llm_type(self) -> str:
        return "offline-tutor"

    def reply(self, call: ModelCall) -> AIMessage:
        """Return the reply to `call`; see the module."""
        prompt = read_prompt(call.messages)
        if call.schema is not None:
            return AIMessage(json.dumps(fill(call.schema, reflect(prompt.everything)), ensure_ascii=False))
        match prompt.task:
            case "expand":
                return AIMessage(expand(prompt))
            case "score":
                return AIMessage(score(prompt))
            case "reflect":
                return AIMessage(_as_json(prompt))
            case "answer":
                asked = _calculator_call(prompt, call)
                return asked if asked is not None else AIMessage(_formed(prompt))


def _formed(prompt: Prompt) -> str:
    given = answer(prompt)
    if not prompt.wants_tags:
        return given.text
    return (
        f"<scratch>{_harmless(given.working)}</scratch>\n"
        f"<final>{_harmless(given.text)}</final>\n"
        f"<used>{', '.join(given.used)}</used>"
    )


def _harmless(text: str) -> str:
    """Quoted words must neither begin nor end a part of the form."""
    return _FORM_TAG.sub("< ", text)


def _as_json(prompt: Prompt) -> str:
    lessons = [{"content": lesson.content, "topic": lesson.topic} for lesson in reflect(prompt.everything)]
    return json.dumps({"lessons": lessons}, ensure_ascii=False)


def _calculator_call(prompt: Prompt, call: ModelCall) -> AIMessage | None:
    """Ask the calculator, once per question, when it is there and there is something to calculate."""
    tool = next((tool for tool in map(_function, call.tools) if tool.get("name") == _CALCULATOR), None)
    problem = problem_of(prompt)
    if tool is None or prompt.tool_called or not isinstance(problem, Compute):
        return None
    expression = as_program(problem.tree)
    name = hashlib.sha256(expression.encode()).hexdigest()[:12]
    arguments = {_argument(tool): expression}
    return AIMessage("", tool_calls=[ToolCall(name=_CALCULATOR, args=arguments, id=f"call_{name}")])


def _function(tool: JsonSchema) -> JsonSchema:
    function = tool.get("function")
    return function if isinstance(function, dict) else {}


def _argument(function: JsonSchema) -> str:
    """The name of the tool's first argument."""
    parameters = function.get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    return next(iter(properties), "expression") if isinstance(properties, dict) else "expression"
