"""LongMemEval (arXiv 2410.10813, MIT): questions, each with a history of sessions of its own.

A file is a list of instances (`longmemeval_s.json` ...): `question_id`, `question_type`, `question`, and the
history as `haystack_session_ids`, `haystack_dates` and `haystack_sessions`, lists of turns (`role`,
`content`, in sessions with evidence `has_answer`); `answer_session_ids` are the sessions that answer it.

As in the authors' own evaluation of retrieval the turns of the user are what is searched, sessions are what
is ranked, here by their best line, and questions whose answer only the assistant said are left out; a
question to abstain from (its id ends with `_abs`) has no evidence and counts by the share that is shown any
line. any@k and all@k: one or all of the sessions are among the first k; NDCG@10 by the authors' formula.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log2
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.public.reading import read_json
from benchmarks.public.systems import Line, Part, Question, Shown
from benchmarks.table import Table

TITLE = "LongMemEval"
LICENCE = "MIT (xiaowu0162/LongMemEval, arXiv 2410.10813)"
TOP = 50
"""Lines that the others are asked for: several may be of one session."""
ABSTAINS = "abstention"
MOST_CHARS = 2_000


def read(path: Path) -> list[Part]:
    """Return an instance as a part each. Raises ValueError for a file of another shape."""
    try:
        parts = [_part(instance) for instance in read_json(path)]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is no LongMemEval file: a list of question_id, question, haystack_session_ids, "
            f"haystack_sessions, answer_session_ids ({error!r})"
        ) from error
    if not any(part.lines for part in parts):
        raise ValueError(f"{path} has no turns of a user: is it a file of LongMemEval?")
    return parts


def _part(held: Mapping[str, Any]) -> Part:  # Any: the file of another's making
    lines, answering = list[Line](), set[str]()
    sessions = zip(held["haystack_session_ids"], held["haystack_sessions"], strict=True)
    for session, turns in sessions:
        said = [turn for turn in turns if turn["role"] == "user"]
        for number, turn in enumerate(said, 1):
            if text := turn["content"].strip()[:MOST_CHARS]:
                lines.append(Line(text, session, turn=f"{session}.{number}", conversation=session))
        marked = any("has_answer" in turn for turn in turns)
        if session in held["answer_session_ids"] and (
            not marked or any(turn.get("has_answer") for turn in said)
        ):
            answering.add(session)
    name = str(held["question_id"])
    abstains = name.endswith("_abs")
    kind = ABSTAINS if abstains else str(held["question_type"])
    evidence = frozenset[str]() if abstains else frozenset(answering)
    return Part(name, lines, [Question(held["question"], kind, evidence)])


def ranked_sessions(part: Part, shown: Shown) -> list[str]:
    """Return the sessions of the lines that are shown, best first, each once."""
    keys = (part.lines[place].key for entry in shown.entries for place in entry.places)
    return list(dict.fromkeys(keys))


def ndcg(ranked: Sequence[str], evidence: Iterable[str], first: int = 10) -> float:
    """Return the normalised gain of the first sessions, in the form that the authors use."""
    wanted = set(evidence)
    ideal = _gain([True] * min(first, len(wanted)))
    return _gain([session in wanted for session in ranked[:first]]) / ideal if ideal else 0.0


def _gain(relevant: Sequence[bool]) -> float:
    return sum(one / (log2(place) if place > 1 else 1.0) for place, one in enumerate(relevant, 1))


def tables(parts: Sequence[Part], shown: Mapping[str, Sequence[Sequence[Shown]]]) -> list[Table]:
    """Return the table of all questions, and all@10 by type."""
    questions = [part.questions[0] for part in parts]
    kinds = sorted({question.kind for question in questions if question.evidence})
    all_rows, by_kind = list[list[str]](), list[list[str]]()
    for name, of_parts in shown.items():
        asked = [
            (question, ranked_sessions(part, one[0]), one[0])
            for part, question, one in zip(parts, questions, of_parts, strict=True)
        ]
        counted = [(question, ranked) for question, ranked, _ in asked if question.evidence]
        tokens = [one.tokens for question, _, one in asked if question.evidence]
        nothing = [bool(one.entries) for question, _, one in asked if question.kind == ABSTAINS]
        all_rows.append(
            [
                name,
                *(f"{figure:.3f}" for figure in _figures(counted)),
                f"{mean(tokens):.0f}" if tokens else "-",
                f"{mean(nothing):.2f}" if nothing else "-",
            ]
        )
        by_kind.append(
            [name, *(f"{_figures([one for one in counted if one[0].kind == kind])[3]:.3f}" for kind in kinds)]
        )
    left_out = sum(question.kind != ABSTAINS and not question.evidence for question in questions)
    note = f"{left_out} questions whose answer no turn of the user holds are left out."
    columns = ("any@5", "all@5", "any@10", "all@10", "NDCG@10", "tokens", "abstention: any line")
    return [
        Table(TITLE, ("system", *columns), all_rows, note),
        Table(f"{TITLE} by type, all@10", ("system", *kinds), by_kind),
    ]


def _figures(asked: Sequence[tuple[Question, Sequence[str]]]) -> list[float]:
    """Return any@5, all@5, any@10, all@10 and NDCG@10."""
    if not asked:
        return [float("nan")] * 5
    found = list[float]()
    for first in (5, 10):
        found.append(mean(bool(question.evidence & set(ranked[:first])) for question, ranked in asked))
        found.append(mean(question.evidence <= set(ranked[:first]) for question, ranked in asked))
    return [*found, mean(ndcg(ranked, question.evidence) for question, ranked in asked)]
