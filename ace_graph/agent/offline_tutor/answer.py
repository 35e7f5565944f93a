"""From a prompt to an answer in words: the solution, presented as this learner wants it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ace_graph.agent.offline_tutor.parser import Problem, find_problem, unanswered
from ace_graph.agent.offline_tutor.preferences import (
    find_restatement,
    format_as,
    read_preferences,
    why_no_form,
)
from ace_graph.agent.offline_tutor.prompt_reader import Prompt, statements
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
from ace_graph.agent.tools.calculator import parse_result
from ace_graph.memory.arithmetic import NoValue
from ace_graph.memory.languages.forms import form_wished

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
