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
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple, cast

from langchain_core.messages import AIMessage, ToolCall
from langchain_core.utils.json_schema import dereference_refs
from pydantic import JsonValue

from ace_graph.agent.models.local import JsonSchema, LocalModel, ModelCall
from ace_graph.agent.models.reply import find_json_object
from ace_graph.agent.offline_tutor.parser import Compute, Problem, find_problem, unanswered
from ace_graph.agent.offline_tutor.preferences import (
    find_restatement,
    format_as,
    read_preferences,
    why_no_form,
)
from ace_graph.agent.offline_tutor.prompt_reader import Prompt, read_prompt, statements
from ace_graph.agent.offline_tutor.small_talk import (
    checked_calculation,
    defend_answer,
    is_asked_about,
    is_statement,
    leaves_problem,
    memory_changes,
    reply_without_problem,
)
from ace_graph.agent.offline_tutor.solver import WorkedSolution, asked_number, draw, explain_number, solve
from ace_graph.agent.offline_tutor.teaching import caution_for, followed_advice, reply_text, teaching
from ace_graph.memory.arithmetic import NoValue, as_program, parse_result
from ace_graph.memory.languages.forms import form_wished

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


# From a prompt to an answer in words: the solution, presented as this learner wants it.


_MAX_CAUTIONS = 2
_GOES_ON = re.compile(
    r"\b(?:it|that|this|again|draw|pictures?|explain|sure|shorter|why|how come|steps?|the same)\b",
    re.IGNORECASE,
)
_GOES_ON_WORDS = 12
_LOST = re.compile(
    r"\b(?:don'?t|do not|didn'?t|can'?t|cannot|not) (?:really |quite )?(?:get|getting|understand|follow)\b"
    r"|\b(?:differently|(?:an)?other (?:way|words)|simpler)\b|^\W*(?:but )?why\W*$",
    re.IGNORECASE,
)
_STEP = re.compile(r"\bstep (\d{1,2})\b", re.IGNORECASE)


class Answer(NamedTuple):
    """What the learner reads, the working behind it, and the ids of the items that were followed."""

    text: str
    working: str
    used: tuple[str, ...]


def problem_of(prompt: Prompt) -> Problem | None:
    """Return the problem that the question poses, or the earlier one that it goes on about."""
    question = prompt.question
    problem = find_problem(question) or find_problem(checked_calculation(prompt.blocks))
    if problem is not None:
        return problem
    lost = _LOST.search(question) is not None
    wish = any(form_wished(item.text) for item in statements(question))
    if len(question.split()) > _GOES_ON_WORDS or not (lost or wish or _GOES_ON.search(question)):
        return None
    if leaves_problem(question) and asked_number(question) is None and not lost:
        return None
    for earlier in prompt.earlier_questions:
        found = find_problem(earlier)
        if found is not None or (earlier.rstrip().endswith("?") and not _GOES_ON.search(earlier)):
            return found  # the problem; or a question of another kind, which is what this is about
    return None


def answer(prompt: Prompt) -> Answer:
    """Return the answer to `prompt`. Every question has one; some say that the tutor can not help."""
    problem = problem_of(prompt)
    if problem is None:
        return _Writer(prompt).without_problem()
    try:
        solution = solve(problem)
    except NoValue as reason:
        return _Writer(prompt).without_value(str(reason))
    return _Writer(prompt).solved(solution)


class _Writer:
    """Writes one answer for this learner, and notes the ids of the items that it follows."""

    def __init__(self, prompt: Prompt) -> None:
        said = (*prompt.items, *statements(prompt.question))
        self._prompt = prompt
        self._wishes = read_preferences(said, prompt.blocks.get("voice", ""))
        self._used: list[str] = []
        voice, language = self._wishes.voice, self._wishes.language
        self._farewell = [voice.closing] if voice is not None else []
        self._language = (
            [f"(I can only write English, not {language}.)"]
            if language and (not prompt.earlier_questions or not self._wishes.source_of("language"))
            else []
        )

    def without_problem(self) -> Answer:
        """The answer to a message without a problem: what was checked, stored or forgotten, or small talk."""
        changes = memory_changes(self._prompt.blocks)
        text = " ".join((*defend_answer(self._prompt.blocks), *changes.values()))
        if not text and is_asked_about(self._prompt.blocks):
            text = reply_text("asked")
        elif not text:
            text, ids = reply_without_problem(self._prompt, self._wishes)
            self._used += ids
        return self._answer(
            [*self._welcome(changes), text, *self._language], "There is nothing to calculate in this message."
        )

    def without_value(self, reason: str) -> Answer:
        """The answer to a problem that has no value here; the calculator may have found one."""
        text, calculated = f"{reason[0].upper()}{reason[1:]}.", self._prompt.calculated
        if calculated is not None and not calculated.startswith("Error"):
            text = f"I used the calculator for this. The answer is {calculated.strip()}."
        return self._answer([*self._greeting(), text], reason)

    def solved(self, solution: WorkedSolution) -> Answer:
        """The answer to a problem, which this message or an earlier one posed."""
        prompt, question = self._prompt, self._prompt.question
        follows_up = find_problem(question) is None
        number = asked_number(question) if follows_up else None
        origin = explain_number(solution, number) if number is not None else None
        if origin is not None:
            lines = [*self._greeting(), origin, *self._language, *self._farewell]
            return self._answer(lines, f"{number} in {solution.question}")
        changes = memory_changes(prompt.blocks)
        if not is_statement(question):
            changes.pop("kept", None)
        again = _in_other_words(question, solution) if follows_up else []
        result, correction = self._result(solution, follows_up=follows_up)
        left_open = unanswered(question)
        short = self._wishes.short
        self._used += followed_advice(prompt.items, solution)
        self._used += self._wishes.source_of("short" if short else "steps")
        lines = [
            *self._greeting(),
            *changes.values(),
            *defend_answer(prompt.blocks),
            *correction,
            *again,
            *self._cautions(solution),
            *(f"{n}. {step}" for n, step in enumerate([] if short else solution.steps, 1)),
            *self._picture(solution, anyway=bool(again)),
            *_compare_with_calculator(None if self._wishes.short else prompt.calculated, solution),
            *self._language,
            " ".join([f"The answer is {result}.", *self._farewell]),
            *([left_open] if left_open is not None else []),
        ]
        return self._answer(lines, f"{solution.kind}: {solution.question} = {solution.answer}.")

    def _answer(self, lines: Sequence[str], working: str) -> Answer:
        return Answer("\n".join(lines), working, tuple(dict.fromkeys(self._used)))

    @property
    def _named_now(self) -> bool:
        return self._wishes.name is not None and not self._wishes.source_of("name")

    def _welcome(self, changes: Mapping[str, str]) -> list[str]:
        """Stands before what is no solution: a hello to who has just given a name, or the voice's own."""
        if changes.keys() & {"forgotten", "not_forgotten"} or (
            "not_kept" in changes and "kept" not in changes
        ):
            return []
        if self._wishes.voice is not None:
            return self._greeting()
        return [f"Hello, {self._wishes.name}!"] if self._named_now else []

    def _greeting(self) -> list[str]:
        """Stands before the first answer of a conversation, and where the learner has just given a name."""
        name, voice = self._wishes.name, self._wishes.voice
        if (name is None and voice is None) or (self._prompt.earlier_questions and not self._named_now):
            return []
        self._used += self._wishes.source_of("name")
        if voice is None:
            return [f"{name}, here you are."]
        self._used += self._wishes.source_of("voice")
        return [voice.opening.format(name=name or voice.friend)]

    def _cautions(self, solution: WorkedSolution) -> list[str]:
        cautions: dict[str, None] = {}
        for item in self._wishes.misconceptions:
            caution = caution_for(item, solution)
            if caution is not None and len(cautions) < _MAX_CAUTIONS:
                cautions[caution] = None
                self._used += [item.id] if item.id is not None else []
        return list(cautions)

    def _picture(self, solution: WorkedSolution, *, anyway: bool) -> list[str]:
        picture = draw(solution) if self._wishes.pictures or anyway else None
        if picture is None:
            return []
        self._used += self._wishes.source_of("pictures") if self._wishes.pictures else ()
        return [picture]

    def _result(self, solution: WorkedSolution, *, follows_up: bool) -> tuple[str, list[str]]:
        """The result in the form that is wanted, and a line about that form where there is one to say."""
        form, wished_now = self._wishes.form, not self._wishes.source_of("form")
        if self._wishes.unknown_form:
            return solution.answer, [reply_text("no_form")]
        if solution.symbol is None:  # a comparison, or a conversion, which names its form itself
            return solution.answer, []
        corrected = find_restatement(self._prompt.question, solution.value) if follows_up else None
        if (
            corrected is not None
            and corrected.written != solution.answer
            and format_as(solution.value, corrected.form)
        ):
            line = f"You are right, {solution.answer} should be written {corrected.written} here."
            return corrected.written, [line]
        wanted = format_as(solution.value, form) if form is not None else None
        if wanted is None:
            why = why_no_form(solution.value, form, wished_now=wished_now)
            return solution.answer, [why] if why is not None else []
        self._used += self._wishes.source_of("form")
        return wanted, []


def _in_other_words(question: str, solution: WorkedSolution) -> list[str]:
    """What to say before the steps to a learner who did not follow them; no line for others."""
    if not _LOST.search(question):
        return []
    step, method = _STEP.search(question), teaching().methods.get(solution.kind)
    at = int(step[1]) if step is not None else 0
    asked = [f"Step {at} says: {solution.steps[at - 1]}"] if 0 < at <= len(solution.steps) else []
    return [*asked, f"In other words: {method}" if method else "Let us look at it once more, slowly."]


def _compare_with_calculator(calculated: str | None, solution: WorkedSolution) -> list[str]:
    if calculated is None:
        return []
    text = calculated.strip()
    if text.startswith("Error"):
        return ["The calculator could not help here, so this is my own working."]
    if parse_result(text) != solution.value:
        return [f"The calculator says {text[:80]}, which differs from my own working; check the question."]
    return [f"The calculator agrees: {solution.question} = {solution.answer}."]


# The tutor as a reflector: at most one lesson, from the evidence, as an object of the schema asked for.


_MOST_CHARS = 320
_MAX_WORDS = 11  # a lesson with twelve consecutive words of the conversation counts as a copy


class TutorLesson(NamedTuple):
    """A reusable sentence, and the topic it is about."""

    content: str
    topic: str


class _Judgement(NamedTuple):
    source: str
    failed: bool
    text: str


def reflect(prompt: Prompt) -> list[TutorLesson]:
    """Return at most one lesson, from the `<evidence>` block of a reflector's prompt."""
    lines = prompt.blocks.get("evidence", "").splitlines()
    judged = next((judgement for line in lines if (judgement := _read(line)) is not None), None)
    if judged is None:
        return []
    problem = find_problem(prompt.blocks.get("question", ""))
    try:
        solution = solve(problem) if problem is not None else None
    except NoValue:
        solution = None
    content = _form_lesson(judged, solution, prompt) or _lesson(judged, solution)
    return [TutorLesson(content, solution.kind if solution else "conversation")] if content else []


def _form_lesson(judged: _Judgement, solution: WorkedSolution | None, prompt: Prompt) -> str | None:
    """A lesson about the form of results, where the right value is ours in another form."""
    if solution is None or not judged.failed:
        return None
    right = prompt.blocks.get("ground_truth", "") if judged.source == "ground_truth" else ""
    if judged.source == "learner":
        _, corrected, value = judged.text[-_MOST_CHARS:].partition("(corrected value: ")
        right = value[:-1] if corrected and value.endswith(")") else ""
    found = find_restatement(right, solution.value)
    if found is None or found.written == solution.answer:
        return None
    return f"In {solution.kind.replace('_', ' ')}, {teaching().forms[found.form]}."


def _lesson(judged: _Judgement, solution: WorkedSolution | None) -> str | None:
    if judged.source in ("ground_truth", "learner"):  # they say that, not why
        return teaching().methods.get(solution.kind) if solution is not None and not judged.failed else None
    topic = solution.kind.replace("_", " ") if solution is not None else "questions like this"
    reason = " ".join(judged.text.split()[:_MAX_WORDS]).rstrip(".!,;")
    advice = "mind what went wrong" if judged.failed else "keep what worked"
    return f"With {topic}, {advice} before: {reason}."


def _read(line: str) -> _Judgement | None:
    found = find_json_object(line) or {}
    verdict, text = found.get("verdict"), found.get("text")
    if verdict not in ("success", "failure") or not isinstance(text, str) or not text:
        return None
    return _Judgement(str(found.get("source")), verdict == "failure", text)


def fill(schema: JsonSchema, lessons: Sequence[TutorLesson]) -> JsonSchema:
    """Return an object for `schema`: `lessons` in its list of that name, the emptiest value elsewhere."""
    wanted = dereference_refs(schema)
    match wanted:
        case {"properties": {"lessons": {"items": {"properties": dict()} as item}}}:
            common: JsonSchema = {"section": "strategies", "memory_type": "procedural"}
            filled: list[JsonValue] = [_object(item, common | lesson._asdict()) for lesson in lessons]
        case _:
            filled = [lesson.content for lesson in lessons]
    return _object(wanted, {"lessons": filled})


def _object(schema: JsonSchema, values: JsonSchema) -> JsonSchema:
    """An object with `values`, where the schema has a place for them, and all that is required."""
    required = cast("list[str]", schema.get("required") or [])
    return {
        name: values[name] if name in values else _emptiest(part)
        for name, part in cast("JsonSchema", schema.get("properties") or {}).items()
        if name in values or name in required
    }


def _emptiest(schema: JsonValue) -> JsonValue:
    match schema:
        case {"default": value} | {"const": value} | {"enum": [value, *_]}:
            return value
        case {"anyOf": [first, *others]} | {"oneOf": [first, *others]}:
            return None if {"type": "null"} in (first, *others) else _emptiest(first)
        case {"type": "object"}:
            return _object(cast("JsonSchema", schema), {})
        case {"type": "string", **limits}:
            return "-" * cast("int", limits.get("minLength", 0))
        case {"type": "integer" | "number", **limits}:
            return cast("int | float", limits.get("minimum", 0))
        case {"type": "boolean"}:
            return False
        case {"type": "array"}:
            return []
        case _:
            return None
