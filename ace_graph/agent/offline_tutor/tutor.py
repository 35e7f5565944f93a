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
from itertools import islice

from langchain_core.messages import AIMessage, ToolCall

from ace_graph.agent.models.local import LocalModel, ModelCall
from ace_graph.agent.offline_tutor.answer import answer, problem_of
from ace_graph.agent.offline_tutor.parser import Compute, find_problem
from ace_graph.agent.offline_tutor.prompt_reader import Prompt, read_prompt
from ace_graph.agent.offline_tutor.reflect import fill, reflect
from ace_graph.agent.offline_tutor.teaching import teaching
from ace_graph.memory.arithmetic import as_program

_FORM_TAG = re.compile(r"<(?=\s*+(?:/\s*+)?(?:scratch|final|used)\b)", re.IGNORECASE)
_CALCULATOR = "calculator"
_COUNT = re.compile(r"exactly (\d+)", re.IGNORECASE)
_NUMBERED = re.compile(r"^[^\S\n]*(\d+)\s*[:.)]", re.MULTILINE)
_MAX_THOUGHTS = 10
_DEFAULT_COUNT = 3
_CHECK = "Check the result in another way, number {number}."
_GOOD_SIGNS = ("common denominator", "common form", "exactly", "greatest common divisor", "same denominator")


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
                return AIMessage(_expand(prompt))
            case "score":
                return AIMessage(_score(prompt))
            case "reflect":
                lessons = [lesson._asdict() for lesson in reflect(prompt)]
                return AIMessage(json.dumps({"lessons": lessons}, ensure_ascii=False))
            case "answer":
                return _call_calculator(prompt, call) or AIMessage(_answer_in_form(prompt))


def _answer_in_form(prompt: Prompt) -> str:
    given = answer(prompt)
    if not prompt.wants_tags:
        return given.text
    working, text = (_FORM_TAG.sub("< ", part) for part in (given.working, given.text))  # quoted tags
    return f"<scratch>{working}</scratch>\n<final>{text}</final>\n<used>{', '.join(given.used)}</used>"


def _call_calculator(prompt: Prompt, call: ModelCall) -> AIMessage | None:
    """Ask the calculator, once per question, when it is there and there is something to calculate."""
    callable_now = _CALCULATOR in call.tool_names and not prompt.tool_called
    problem = problem_of(prompt) if callable_now else None
    if not isinstance(problem, Compute):
        return None
    expression = as_program(problem.tree)
    call_id = f"call_{hashlib.sha256(expression.encode()).hexdigest()[:12]}"
    request = ToolCall(name=_CALCULATOR, args={"expression": expression}, id=call_id)
    return AIMessage("", tool_calls=[request])


def _expand(prompt: Prompt) -> str:
    """Return as many thoughts as the prompt asks for, none of which is on the path already."""
    number = _COUNT.search(prompt.instructions)
    count = max(1, min(int(number[1]), _MAX_THOUGHTS)) if number is not None else _DEFAULT_COUNT
    path = prompt.blocks.get("path", "")
    problem = type(find_problem(prompt.blocks.get("question") or prompt.question)).__name__
    checks = (_CHECK.format(number=number) for number in range(1, 100))
    fresh = (thought for thought in (*teaching().thoughts[problem], *checks) if thought not in path)
    return "\n".join(f"<thought>{thought}</thought>" for thought in islice(fresh, count))


def _score(prompt: Prompt) -> str:
    """Return one line `number: score` for each numbered line of thought, between 0 and 1."""
    _, *numbered = _NUMBERED.split(prompt.blocks.get("thoughts", ""))
    thoughts = zip(numbered[::2], numbered[1::2], strict=True)
    signs = ((number, sum(sign in thought for sign in _GOOD_SIGNS)) for number, thought in thoughts)
    return "\n".join(f"{number}: {0.4 + 0.2 * min(found, 2):.2f}" for number, found in signs)
