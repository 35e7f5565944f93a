"""LoCoMo (arXiv 2402.17753, CC BY-NC 4.0): very long conversations of two people, and what they observe.

A file is a list of conversations, `locomo10.json`. Of each, `conversation` has the sessions with their turns
(`dia_id`, `speaker`, `text`), `observation` the lines that were extracted from them with the turns that they
cite, and `qa` the questions with `evidence`, the turns that answer them, and a `category`: 1 several facts,
2 time, 3 with knowledge of the world, 4 one fact, 5 what nobody said.

The observations are remembered, each with its turn. R@10 is the mean share of the observations that cite the
evidence of a question among the first ten lines that are shown; questions whose evidence no observation cites
are left out and counted. Then each conversation is asked 30 questions of the others, which should show
nothing.

The published key has errors. `--corrections` takes files of the audit by dial481/locomo-audit (`errors.json`,
or `errors_conv_0.json` ...; CC BY-NC 4.0, too): a list of `question_id`, `question`, `correct_evidence`. The
corrected evidence takes the place of that of the key; a question that has none then is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any, cast

from benchmarks.public.reading import read_json
from benchmarks.public.systems import Line, Part, Question, Shown
from benchmarks.table import Table

TITLE = "LoCoMo"
LICENCE = "CC BY-NC 4.0 (snap-research/locomo, arXiv 2402.17753)"
TOP = 10
CATEGORIES = ("1", "2", "3", "4")
UNANSWERABLE = "5"
FOREIGN = "of others"
FOREIGN_QUESTIONS = 30
_TURN = re.compile(r"D:?(\d+):0*(\d+)")
_SESSION = re.compile(r"session_(\d+)")
_QUESTION_ID = re.compile(r"locomo_(\d+)_qa\d+")

Corrections = Mapping[tuple[int, str], frozenset[str]]
"""The evidence of a question, by the number of its conversation and its words."""


def read(path: Path, corrections: Corrections | None = None) -> list[Part]:
    """Return the conversations of a published file. Raises ValueError for a file of another shape."""
    try:
        held = [_part(place, one) for place, one in enumerate(read_json(path))]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is no LoCoMo file: a list of sample_id, conversation, observation, qa ({error!r})"
        ) from error
    if not any(part.lines and part.questions for part in held):
        raise ValueError(f"{path} has no observations, or no questions: is it locomo10.json?")
    if corrections:
        held = _corrected(held, corrections)
    return [replace(part, questions=(*part.questions, *_of_others(part, held))) for part in held]


def read_corrections(paths: Sequence[Path]) -> Corrections:
    """Return the corrected evidence in files of the audit. Raises ValueError for a file of another shape."""
    found = dict[tuple[int, str], frozenset[str]]()
    for path in paths:
        try:
            found |= dict(_correction(one) for one in read_json(path))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path} has no corrections of LoCoMo: a list of question_id, question, correct_evidence "
                f"({error!r})"
            ) from error
    return found


def _correction(held: Mapping[str, Any]) -> tuple[tuple[int, str], frozenset[str]]:  # Any: as in `_part`
    match = _QUESTION_ID.fullmatch(held["question_id"])
    if match is None:
        raise ValueError(f"{held['question_id']!r} is no id like locomo_0_qa1")
    return (int(match[1]), held["question"]), _turns(held["correct_evidence"])


def _part(place: int, held: Any) -> Part:  # Any: the file of another's making
    turns = dict[str, str]()
    for name, session in held["conversation"].items():
        if _SESSION.fullmatch(name):
            for turn in session:
                turns[_key(turn["dia_id"])] = f"{turn['speaker']}: {turn['text']}"
    lines = list[Line]()
    for name, speakers in held["observation"].items():
        session = _SESSION.match(name)
        for observed in speakers.values():
            for text, cited in observed:
                keys = sorted(_turns(cited))
                said = "\n".join(turns[key] for key in keys if key in turns)
                number = session[1] if session else name
                lines.append(Line(text, " ".join(keys), said or None, keys[0] if keys else None, number))
    questions = [
        Question(one["question"], str(one["category"]), _turns(one.get("evidence") or ()))
        for one in held["qa"]
    ]
    return Part(str(held.get("sample_id", place)), lines, questions)


def _turns(cited: object) -> frozenset[str]:
    """Return the turns that a citation names: `D1:3`, several in one text, or a list of such."""
    if isinstance(cited, str):
        return frozenset(f"D{session}:{turn}" for session, turn in _TURN.findall(cited))
    if isinstance(cited, list | tuple):
        items = cast("Sequence[object]", cited)
        return frozenset[str]().union(*(_turns(item) for item in items))
    raise ValueError(f"{cited!r} cites no turn")


def _key(turn: str) -> str:
    return next(iter(_turns(turn)), turn)


def _corrected(parts: Sequence[Part], corrections: Corrections) -> list[Part]:
    found, used = list[Part](), set[tuple[int, str]]()
    for place, part in enumerate(parts):
        questions = list[Question]()
        for question in part.questions:
            evidence = corrections.get((place, question.text))
            if evidence is not None:
                used.add((place, question.text))
            if evidence != frozenset():
                questions.append(question if evidence is None else replace(question, evidence=evidence))
        found.append(replace(part, questions=questions))
    if not used:
        raise ValueError("no question of the file is among the corrections: do both belong together?")
    return found


def _of_others(part: Part, parts: Sequence[Part]) -> Iterator[Question]:
    """Yield questions of the other conversations, evenly drawn."""
    others = [
        question
        for other in parts
        if other is not part
        for question in other.questions
        if question.kind in CATEGORIES
    ]
    step = max(1, len(others) // FOREIGN_QUESTIONS)
    for question in others[::step][:FOREIGN_QUESTIONS]:
        yield Question(question.text, FOREIGN)


def relevant(part: Part, question: Question) -> frozenset[int]:
    """Return the places of the observations that cite the evidence of a question."""
    return frozenset(
        place for place, line in enumerate(part.lines) if question.evidence.intersection(line.key.split())
    )


def tables(parts: Sequence[Part], shown: Mapping[str, Sequence[Sequence[Shown]]]) -> list[Table]:
    """Return one table: a row for each system."""
    columns = (
        "system",
        "R@10",
        *(f"category {one}" for one in CATEGORIES),
        "tokens",
        "of others: any line",
        "tokens",
        "category 5: any line",
    )
    wanted = [[relevant(part, question) for question in part.questions] for part in parts]
    rows = [[name, *_figures(list(_asked(parts, wanted, of_parts)))] for name, of_parts in shown.items()]
    asked = [
        bool(places)
        for part, of_part in zip(parts, wanted, strict=True)
        for question, places in zip(part.questions, of_part, strict=True)
        if question.kind in CATEGORIES
    ]
    note = f"{sum(asked)} questions; of {len(asked) - sum(asked)} more no observation cites the evidence."
    return [Table(TITLE, columns, rows, note)]


_Asked = tuple[Question, frozenset[int], Shown]


def _asked(
    parts: Sequence[Part], wanted: Sequence[Sequence[frozenset[int]]], shown: Sequence[Sequence[Shown]]
) -> Iterator[_Asked]:
    for part, places, of_part in zip(parts, wanted, shown, strict=True):
        yield from zip(part.questions, places, of_part, strict=True)


def _figures(asked: Sequence[_Asked]) -> list[str]:
    found = [one for one in asked if one[0].kind in CATEGORIES and one[1]]
    others = [one for one in asked if one[0].kind == FOREIGN]
    return [
        _recall(found),
        *(_recall([one for one in found if one[0].kind == category]) for category in CATEGORIES),
        _mean([one[2].tokens for one in found], "{:.0f}"),
        _any_line(others),
        _mean([one[2].tokens for one in others], "{:.0f}"),
        _any_line([one for one in asked if one[0].kind == UNANSWERABLE]),
    ]


def _recall(asked: Sequence[_Asked]) -> str:
    return _mean([len(places & shown.places(10)) / len(places) for _, places, shown in asked], "{:.3f}")


def _any_line(asked: Sequence[_Asked]) -> str:
    return _mean([bool(shown.entries) for _, _, shown in asked], "{:.2f}")


def _mean(values: Sequence[float], form: str) -> str:
    return form.format(mean(values)) if values else "-"
