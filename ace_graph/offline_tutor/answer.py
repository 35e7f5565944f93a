"""From a prompt to an answer in words: the solution, presented as this learner wants it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from ace_graph.arithmetic import NoValue
from ace_graph.offline_tutor.advice import caution_for, explain_idea, followed_advice, method_for
from ace_graph.offline_tutor.memory_changes import checked_calculation, defend_answer, read_memory_changes
from ace_graph.offline_tutor.number_forms import find_restatement, format_as
from ace_graph.offline_tutor.parser import Problem, find_problem, unanswered
from ace_graph.offline_tutor.pictures import draw
from ace_graph.offline_tutor.preferences import read_preferences
from ace_graph.offline_tutor.prompt_reader import Prompt, statements
from ace_graph.offline_tutor.small_talk import is_approval, is_statement, reply_without_problem
from ace_graph.offline_tutor.solver import WorkedSolution, solve
from ace_graph.offline_tutor.why import asked_number, explain_number
from ace_graph.tools.calculator import parse_result

__all__ = ["Answer", "answer", "problem_of"]

_CLOSE = Fraction(1, 10**9)
_MAX_CAUTIONS = 2
_GOES_ON = re.compile(
    r"\b(?:it|that|this|again|draw|picture|explain|sure|shorter|why|how come|steps?|the same)\b",
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
    if len(question.split()) > _GOES_ON_WORDS or not (lost or _GOES_ON.search(question)):
        return None
    other = is_statement(question) or is_approval(question) or explain_idea(question) is not None
    if other and asked_number(question) is None and not lost:
        return None  # a wish for the future, praise, or a question about the idea: not about that problem
    for earlier in prompt.earlier_questions:
        found = find_problem(earlier)
        if found is not None or (earlier.rstrip().endswith("?") and not _GOES_ON.search(earlier)):
            return found  # the problem; or a question of another kind, which is what this is about
    return None


def answer(prompt: Prompt) -> Answer:
    """Return the answer to `prompt`. Every question has one; some say that the tutor can not help."""
    writer, problem = _Writer(prompt), problem_of(prompt)
    if problem is None:
        return writer.without_problem()
    try:
        solution = solve(problem)
    except NoValue as reason:
        return writer.without_value(str(reason))
    follows_up = find_problem(prompt.question) is None
    number = asked_number(prompt.question) if follows_up else None
    origin = explain_number(solution, number) if number is not None else None
    if origin is not None:
        return writer.origin(origin, f"{number} in {solution.question}")
    return writer.solved(solution, follows_up=follows_up)


class _Writer:
    """Writes one answer for this learner, and notes the ids of the items that it follows."""

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        self._wishes = read_preferences(
            (*prompt.items, *statements(prompt.question)), prompt.blocks.get("voice", "")
        )
        self._used: list[str] = []

    def without_problem(self) -> Answer:
        """The answer to a message without a problem: what was checked, stored or forgotten, or small talk."""
        changes = read_memory_changes(self._prompt.blocks)
        text = " ".join((*defend_answer(self._prompt.blocks), *changes.sentences))
        if not text:
            text, ids = reply_without_problem(self._prompt, self._wishes)
            self._used += ids
        greeting = [] if changes.forgot else self._greeting()
        return self._answer(
            [*greeting, text, *self._language()], "There is nothing to calculate in this message."
        )

    def without_value(self, reason: str) -> Answer:
        """The answer to a problem that has no value here; the calculator may have found one."""
        calculated = self._prompt.calculated
        if calculated is not None and not calculated.startswith("Error"):
            text = f"I used the calculator for this. The answer is {calculated.strip()}."
        else:
            text = f"{reason[0].upper()}{reason[1:]}."
        return self._answer([*self._greeting(), text], reason)

    def origin(self, explained: str, working: str) -> Answer:
        """The answer to a question about one number of an earlier solution."""
        return self._answer([*self._greeting(), explained, *self._language(), *self._farewell()], working)

    def solved(self, solution: WorkedSolution, *, follows_up: bool) -> Answer:
        """The answer to a problem; `follows_up` is whether an earlier message posed it."""
        wishes, prompt, changes = self._wishes, self._prompt, read_memory_changes(self._prompt.blocks)
        checked = _compare_with_calculator(prompt.calculated, solution)
        cautions = self._cautions(solution)
        steps = () if wishes.short else solution.steps
        self._used += wishes.source_of("short" if wishes.short else "steps")
        again = _other_words(prompt.question, solution) if follows_up else []
        picture = draw(solution) if wishes.pictures or again else None
        if picture is not None and wishes.pictures:
            self._used += wishes.source_of("pictures")
        self._used += followed_advice(prompt.items, solution)
        result, correction = self._result(solution, follows_up=follows_up)
        left_open = unanswered(prompt.question)
        lines = [
            *self._greeting(),
            *(changes.sentences if is_statement(prompt.question) else changes.beside),
            *defend_answer(prompt.blocks),
            *correction,
            *again,
            *cautions,
            *(f"{number}. {step}" for number, step in enumerate(steps, 1)),
            *([picture] if picture is not None else ()),
            *(() if wishes.short else checked),
            *self._language(),
            " ".join([f"The answer is {result}.", *self._farewell()]),
            *([left_open] if left_open is not None else ()),
        ]
        return self._answer(lines, f"{solution.kind}: {solution.question} = {solution.answer}.")

    def _answer(self, lines: Sequence[str], working: str) -> Answer:
        return Answer("\n".join(lines), working, tuple(dict.fromkeys(self._used)))

    def _greeting(self) -> list[str]:
        """Stands before the first answer of a conversation, and where the learner has just given a name."""
        name, voice = self._wishes.name, self._wishes.voice
        named_now = name is not None and not self._wishes.source_of("name")
        if (name is None and voice is None) or (self._prompt.earlier_questions and not named_now):
            return []
        self._used += self._wishes.source_of("name")
        if voice is None:
            return [f"{name}, here you are."]
        self._used += self._wishes.source_of("voice")
        return [voice.opening.format(name=name or voice.friend)]

    def _farewell(self) -> list[str]:
        return [self._wishes.voice.closing] if self._wishes.voice is not None else []

    def _language(self) -> list[str]:
        language = self._wishes.language
        return [f"(I can only write English, not {language}.)"] if language else []

    def _cautions(self, solution: WorkedSolution) -> list[str]:
        cautions: list[str] = []
        for item in self._wishes.misconceptions:
            caution = caution_for(item, solution)
            if caution is None or len(cautions) == _MAX_CAUTIONS:
                continue
            if caution not in cautions:
                cautions.append(caution)
            if item.id is not None:
                self._used.append(item.id)
        return cautions

    def _result(self, solution: WorkedSolution, *, follows_up: bool) -> tuple[str, list[str]]:
        """The result in the form that is wanted, and a line where the learner corrected that form."""
        if solution.symbol is None:  # a comparison, or a conversion, which names its form itself
            return solution.answer, []
        corrected = find_restatement(self._prompt.question, solution.value) if follows_up else None
        if corrected is not None and corrected.written != solution.answer:
            if format_as(solution.value, corrected.form) is None:
                return solution.answer, []
            line = f"You are right, {solution.answer} should be written {corrected.written} here."
            return corrected.written, [line]
        form = self._wishes.form
        wanted = format_as(solution.value, form) if form is not None else None
        if wanted is None:
            return solution.answer, []
        self._used += self._wishes.source_of("form")
        return wanted, []


def _other_words(question: str, solution: WorkedSolution) -> list[str]:
    """What to say before the steps to a learner who did not follow them; no line for others."""
    if not _LOST.search(question):
        return []
    step = _STEP.search(question)
    at = int(step[1]) if step is not None else 0
    asked = [f"Step {at} says: {solution.steps[at - 1]}"] if 0 < at <= len(solution.steps) else []
    method = method_for(solution.kind)
    return [*asked, f"In other words: {method}" if method else "Let us look at it once more, slowly."]


def _compare_with_calculator(calculated: str | None, solution: WorkedSolution) -> list[str]:
    """What to say about the calculator's result, no line when it was not called."""
    if calculated is None:
        return []
    text = calculated.strip()
    if text.startswith("Error"):
        return ["The calculator could not help here, so this is my own working."]
    value = parse_result(text)
    if value is None or abs(value - solution.value) > _CLOSE * (1 + abs(solution.value)):
        return [f"The calculator says {text[:80]}, which differs from my own working; check the question."]
    return [f"The calculator agrees: {solution.question} = {solution.answer}."]
