"""A model that gets a kind of question right once a lesson about it is in its prompt, and writes that lesson.

Does not: hold a test.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from langchain_core.messages import AIMessage
from pydantic import PrivateAttr

from ace_graph.agent.models import LocalModel, ModelCall
from ace_graph.base import Settings
from ace_graph.training import AdaptationOptions, Sample

KINDS = ("current ratio", "gross margin", "asset turnover")
_QUESTION = re.compile(r"What is the ([a-z ]+) of firm (\d+)\?")


def samples(count: int) -> list[Sample]:
    """Questions of all kinds in turn; the answer is the firm's number with two decimals."""
    return [
        Sample(f"line {n + 1}", f"What is the {KINDS[n % len(KINDS)]} of firm {n}?", f"{n}.00")
        for n in range(count)
    ]


def lesson_for(kind: str) -> str:
    return f"State the {kind} of a firm with two decimals"


class Apprentice(LocalModel):
    """Answers "3.00" with the lesson and "3" without; `spoil` may give another reply, or raise."""

    _calls: list[ModelCall] = PrivateAttr(default_factory=list[ModelCall])
    _spoil: Callable[[ModelCall, int], str | None] | None = PrivateAttr()

    def __init__(self, spoil: Callable[[ModelCall, int], str | None] | None = None) -> None:
        super().__init__()
        self._spoil = spoil

    @property
    def calls(self) -> list[ModelCall]:
        return list(self._calls)

    def calls_of(self, role: str) -> list[ModelCall]:
        return [call for call in self._calls if call.role == role]

    def reply(self, call: ModelCall) -> AIMessage:
        self._calls.append(call)
        spoiled = self._spoil(call, len(self._calls)) if self._spoil is not None else None
        return AIMessage(spoiled if spoiled is not None else _reply(call))

    @property
    def _llm_type(self) -> str:
        return "apprentice"


def question_of(call: ModelCall) -> tuple[str, str]:
    """The kind and the firm of the question that a call is about: transcripts of others stand before it."""
    found = _QUESTION.findall(call.prompt)
    assert found, call.prompt
    return found[-1][0], found[-1][1]


def _reply(call: ModelCall) -> str:
    kind, firm = question_of(call)
    if call.role == "reflector":
        return json.dumps({"reasoning": "r", "lessons": [{"content": lesson_for(kind), "section": "ratios"}]})
    if lesson_for(kind) not in call.prompt:
        return f"<final>{firm}</final>"
    used = re.findall(rf"\[([\w:-]+)\] \[[^\]]*\] {lesson_for(kind)}", call.prompt)
    return f"<final>{firm}.00</final><used>{', '.join(used)}</used>"


def exact(sample: Sample, answer: str) -> bool:
    """An environment: the answer is the target, letter by letter."""
    return answer == sample.target


def options(model: LocalModel, **more: object) -> AdaptationOptions:
    """Options with this model and settings that no environment changes."""
    given: dict[str, object] = {"model": model, "settings": Settings(), **more}
    return AdaptationOptions(**given)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # a test's shorthand
