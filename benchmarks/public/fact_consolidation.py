"""FactConsolidation of MemoryAgentBench (arXiv 2507.05257, MIT by its dataset card): facts that contradict.

A file is `{"context", "questions", "answers"}`: a numbered list of facts, of which a later one may contradict
an earlier one, questions, and for each the answers of which any counts. The facts are remembered in their
order.

`found`: a line that is shown holds an answer; `first`: the first line does, as its current value. `outdated`:
a value that a later fact of that subject and relation replaced is shown as if it were true; it is looked for
where the question asks for one fact. More than 14 lines or 400 tokens find nothing.

The set's rule is that every relation holds one value, which the policy of our store says (`one_value`).
Reworded, each fact keeps its words or gets others (`rewordings.toml`), and the questions stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from benchmarks.public.reading import read_json
from benchmarks.public.rewording import reworded
from benchmarks.public.systems import Line, Part, Question, Shown
from benchmarks.table import Table

TITLE = "FactConsolidation"
LICENCE = "MIT by its dataset card (MemoryAgentBench, arXiv 2507.05257)"
TOP = 10
MOST_LINES, MOST_TOKENS = 14, 400
_FACT = re.compile(r"^\d+\. (.+)$", re.MULTILINE)
_EARLIER = re.compile(r" \((?:said [\d-]+; )?(?:before|earlier|said earlier): [^)]*\)\Z")


@dataclass(frozen=True)
class Judged:
    """What was shown for one question."""

    found: bool
    first: bool
    outdated: bool
    lines: int
    tokens: int


@dataclass(frozen=True)
class ToldPart(Part):
    """A part whose facts may be told in other words; `published` are theirs."""

    published: Sequence[str] = ()


def read(path: Path, seed: int | None = None) -> list[Part]:
    """Return the facts and questions of a published file, with a seed in other words.

    Raises ValueError for a file of another shape.
    """
    try:
        held = read_json(path)
        facts = [match.group(1) for match in _FACT.finditer(held["context"])]
        questions = [
            Question(question, "fact", answers=tuple(answers))
            for question, answers in zip(held["questions"], held["answers"], strict=True)
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is no FactConsolidation file: context, questions, answers") from error
    if not facts or not questions:
        raise ValueError(f"{path} has no facts, or no questions: is it a part of FactConsolidation?")
    told = facts if seed is None else reworded(facts, seed)
    lines = [Line(fact, str(number)) for number, fact in enumerate(told)]
    return [ToldPart(path.stem, lines, questions, one_value=True, published=facts)]


def tables(parts: Sequence[Part], shown: Mapping[str, Sequence[Sequence[Shown]]]) -> list[Table]:
    """Return one table: a row for each file and system."""
    columns = ("file", "system", "found", "first", "outdated as true", "lines", "tokens")
    rows = list[list[str]]()
    for number, part in enumerate(parts):
        for name, of_parts in shown.items():
            judged = judge(part, of_parts[number])
            shares = (
                mean(one.found for one in judged),
                mean(one.first for one in judged),
                mean(one.outdated for one in judged),
            )
            counts = (mean(one.lines for one in judged), mean(one.tokens for one in judged))
            rows.append([part.name, name, *(f"{s:.2f}" for s in shares), *(f"{c:.1f}" for c in counts)])
    return [Table(TITLE, columns, rows)]


def judge(part: Part, shown: Sequence[Shown]) -> list[Judged]:
    """Return what the questions of a part found in what was shown for them."""
    told = [line.text for line in part.lines]
    published = part.published if isinstance(part, ToldPart) else told
    pairs = zip(part.questions, shown, strict=True)
    return [_judged(question, one, told, published) for question, one in pairs]


def _judged(question: Question, shown: Shown, told: Sequence[str], published: Sequence[str]) -> Judged:
    fits = len(shown.entries) <= MOST_LINES and shown.tokens <= MOST_TOKENS
    current = [_EARLIER.sub("", entry.text) for entry in shown.entries]
    replaced = {told[place].casefold() for place in _replaced(question, published)}
    return Judged(
        found=fits and any(_holds(text, question.answers) for text in current),
        first=fits and bool(current) and _holds(current[0], question.answers),
        outdated=any(text.casefold() in replaced for text in current),
        lines=len(shown.entries),
        tokens=shown.tokens,
    )


def _holds(text: str, answers: Iterable[str]) -> bool:
    return any(answer.casefold() in text.casefold() for answer in answers)


def _replaced(question: Question, facts: Sequence[str]) -> Iterable[int]:
    """Yield where the facts are that the answer's fact replaced: the same but for the answer at the end."""
    answers, asked = question.answers, set(re.findall(r"\w+", question.text.casefold()))
    right = [
        (len(asked & set(re.findall(r"\w+", fact.casefold()))), place)
        for place, fact in enumerate(facts)
        if _holds(fact, answers)
    ]
    if not right:
        return
    place = max(right)[1]
    fact = facts[place].casefold()
    answer = max((one.casefold() for one in answers if one.casefold() in fact), key=len)
    if not fact.rstrip(".").endswith(answer):
        return
    before = fact.rstrip(".")[: -len(answer)]
    for at, earlier in enumerate(facts[:place]):
        if earlier.casefold().startswith(before) and not _holds(earlier, answers):
            yield at
