"""From a prompt to an answer in words: the solution, presented as this learner wants it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from ace_graph.arithmetic import NoValue
from ace_graph.offline_tutor.advice import caution_for, explain_idea, followed_advice
from ace_graph.offline_tutor.memory_changes import NOTHING_KEPT, defend_answer, read_memory_changes
from ace_graph.offline_tutor.number_forms import find_restatement, format_as
from ace_graph.offline_tutor.parser import Problem, find_problem, unanswered
from ace_graph.offline_tutor.pictures import draw
from ace_graph.offline_tutor.preferences import Preferences, read_preferences
from ace_graph.offline_tutor.prompt_reader import Prompt, block, statements
from ace_graph.offline_tutor.small_talk import (
    CANNOT,
    asks_about_memory,
    asks_for_name,
    is_approval,
    is_statement,
    recall,
    small_talk,
)
from ace_graph.offline_tutor.solver import WorkedSolution, solve
from ace_graph.offline_tutor.why import asked_number, explain_number
from ace_graph.tools.calculator import parse_result

__all__ = ["Answer", "answer", "problem_of"]

_CLOSE = Fraction(1, 10**9)
_MAX_CAUTIONS = 2
_GOES_ON = re.compile(
    r"\b(?:it|that|this|again|draw|picture|explain|shorter|why|how come|steps?|the same)\b", re.IGNORECASE
)
_GOES_ON_WORDS = 12


@dataclass(frozen=True, slots=True)
class Answer:
    """What the learner reads, the working behind it, and the ids of the items that were followed."""

    text: str
    working: str
    used: tuple[str, ...] = ()


def problem_of(prompt: Prompt) -> Problem | None:
    """Return the problem that the question poses, or the earlier one that it goes on about."""
    problem = find_problem(prompt.question)
    if problem is not None:
        return problem
    if len(prompt.question.split()) > _GOES_ON_WORDS or not _GOES_ON.search(prompt.question):
        return None
    said = prompt.question
    other = is_statement(said) or is_approval(said) or explain_idea(said) is not None
    if other and asked_number(said) is None:
        return None  # a wish for the future, praise, or a question about the idea: not about that problem
    for earlier in prompt.earlier_questions:
        found = find_problem(earlier)
        if found is not None or (earlier.rstrip().endswith("?") and not _GOES_ON.search(earlier)):
            return found  # the problem; or a question of another kind, which is what this is about
    return None


def answer(prompt: Prompt) -> Answer:
    """Return the answer to `prompt`. Every question has one; some say that the tutor can not help."""
    preferences = read_preferences(
        (*prompt.items, *statements(prompt.question)), block(prompt.system, "voice")
    )
    problem = problem_of(prompt)
    if problem is None:
        return _without_problem(prompt, preferences)
    try:
        solution = solve(problem)
    except NoValue as reason:
        return _refused(str(reason), prompt, preferences)
    why = None if find_problem(prompt.question) else _why(solution, prompt, preferences)
    return why or _solved(solution, prompt, preferences)


def _why(solution: WorkedSolution, prompt: Prompt, preferences: Preferences) -> Answer | None:
    """The answer to a question about one number of an earlier solution, where it is that."""
    number = asked_number(prompt.question)
    explained = explain_number(solution, number) if number is not None else None
    if explained is None:
        return None
    used = _Citations(preferences, prompt)
    lines = [*used.opening(), explained, *_language(preferences), *used.closing()]
    return Answer("\n".join(lines), f"{number} in {solution.question}", used.ids())


def _solved(solution: WorkedSolution, prompt: Prompt, preferences: Preferences) -> Answer:
    used = _Citations(preferences, prompt)
    checked = _compare_with_calculator(prompt.calculated, solution)
    cautions = _cautions(solution, preferences, used)
    steps = [] if preferences.short else list(solution.steps)
    used.cite_preference("short" if preferences.short else "steps")
    picture = draw(solution) if preferences.pictures else None
    if picture is not None:
        used.cite_preference("pictures")
    used.cite(*followed_advice(prompt.items, solution))
    result, correction = _result(solution, prompt, preferences, used)
    lines = [
        *used.opening(),
        *read_memory_changes(prompt.system).beside,
        *_lines(defend_answer(prompt.system), correction),
        *cautions,
        *(f"{number}. {step}" for number, step in enumerate(steps, 1)),
        *_lines(picture, None if preferences.short else checked),
        *_language(preferences),
        " ".join(["The answer is", f"{result}.", *used.closing()]),
        *_lines(unanswered(prompt.question)),
    ]
    return Answer("\n".join(lines), _working(solution, preferences, checked), used.ids())


def _lines(*texts: str | None) -> list[str]:
    return [text for text in texts if text is not None]


def _compare_with_calculator(calculated: str | None, solution: WorkedSolution) -> str | None:
    """What to say about the calculator's result, None when it was not called."""
    if calculated is None:
        return None
    text = calculated.strip()
    if text.startswith("Error"):
        return "The calculator could not help here, so this is my own working."
    value = parse_result(text)
    if value is None or abs(value - solution.value) > _CLOSE * (1 + abs(solution.value)):
        return f"The calculator says {text[:80]}, which differs from my own working; check the question."
    return f"The calculator agrees: {solution.question} = {solution.answer}."


def _result(
    solution: WorkedSolution, prompt: Prompt, preferences: Preferences, used: _Citations
) -> tuple[str, str | None]:
    """The result in the form that is wanted, and what to say where the learner corrected that form."""
    if solution.symbol is None:  # a comparison, or a conversion, which names its form itself
        return solution.answer, None
    corrected = None if find_problem(prompt.question) else find_restatement(prompt.question, solution.value)
    if corrected is not None and corrected.written != solution.answer:
        if format_as(solution.value, corrected.form) is None:
            return solution.answer, None
        said = f"You are right, {solution.answer} should be written {corrected.written} here."
        return corrected.written, said
    wanted = format_as(solution.value, preferences.form) if preferences.form is not None else None
    if wanted is None:
        return solution.answer, None
    used.cite_preference("form")
    return wanted, None


def _refused(reason: str, prompt: Prompt, preferences: Preferences) -> Answer:
    used = _Citations(preferences, prompt)
    calculated = prompt.calculated
    if calculated is not None and not calculated.startswith("Error"):
        said = f"I used the calculator for this. The answer is {calculated.strip()}."
    else:
        said = f"{reason[0].upper()}{reason[1:]}."
    return Answer("\n".join([*used.opening(), said]), reason, used.ids())


def _without_problem(prompt: Prompt, preferences: Preferences) -> Answer:
    used, changes = _Citations(preferences, prompt), read_memory_changes(prompt.system)
    text = " ".join(changes.sentences) or _reply_without_problem(prompt, preferences.name, used)
    opening = [] if changes.forgot else used.opening()
    lines = [*opening, text, *_language(preferences)]
    return Answer("\n".join(lines), "There is nothing to calculate in this message.", used.ids())


def _reply_without_problem(prompt: Prompt, name: str | None, used: _Citations) -> str:
    question = prompt.question.strip()
    if not question:
        return "There is no question in that message. Ask me something like 1/2 + 1/3."
    if asks_for_name(question):
        used.cite_preference("name")
        return f"You are called {name}." if name is not None else "You have not told me your name yet."
    idea = explain_idea(question)
    statement = is_statement(question)
    recalled = None if statement and not asks_about_memory(question) else recall(question, prompt.items)
    if recalled is not None and (idea is None or recalled.sure):
        used.cite(*recalled.ids)
        return recalled.text
    if asks_about_memory(question):
        return "I have been told nothing about you yet."
    known = small_talk(question) or idea
    if known is not None:
        return known
    if statement:
        return NOTHING_KEPT
    return f"I can't look at pictures. {CANNOT}" if prompt.has_picture else CANNOT


def _cautions(solution: WorkedSolution, preferences: Preferences, used: _Citations) -> list[str]:
    said: list[str] = []
    for item in preferences.misconceptions:
        caution = caution_for(item, solution)
        if caution is None or len(said) == _MAX_CAUTIONS:
            continue
        if caution not in said:
            said.append(caution)
        if item.id is not None:
            used.cite(item.id)
    return said


def _language(preferences: Preferences) -> list[str]:
    return [f"(I can only write English, not {preferences.language}.)"] if preferences.language else []


def _working(solution: WorkedSolution, preferences: Preferences, checked: str | None) -> str:
    known = {
        "pictures": preferences.pictures,
        "a short answer": preferences.short,
        "a voice": preferences.voice,
    }
    wanted = ", ".join(name for name, wish in known.items() if wish)
    asked = f" Wanted: {wanted}." if wanted else ""
    return f"{solution.kind}: {solution.question} = {solution.answer}.{asked} {checked or ''}".strip()


class _Citations:
    """The greeting and farewell of this learner, and the ids of what was followed.

    A greeting stands before the first answer of a conversation, and where the learner has just given a name.
    """

    def __init__(self, preferences: Preferences, prompt: Prompt) -> None:
        self._wishes = preferences
        named_now = preferences.name is not None and preferences.sources.get("name") is None
        self._opens = not prompt.earlier_questions or named_now
        self._ids: list[str] = []

    def cite(self, *ids: str) -> None:
        self._ids.extend(ids)

    def cite_preference(self, wish: str) -> None:
        source = self._wishes.sources.get(wish)
        if source is not None:
            self._ids.append(source)

    def opening(self) -> list[str]:
        name, voice = self._wishes.name, self._wishes.voice
        if not self._opens:
            return []
        if name is not None:
            self.cite_preference("name")
        if voice is not None:
            self.cite_preference("voice")
            return [voice.greet(name)]
        return [f"{name}, here you are."] if name is not None else []

    def closing(self) -> list[str]:
        return [self._wishes.voice.closing] if self._wishes.voice is not None else []

    def ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._ids))
