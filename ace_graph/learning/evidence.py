"""Gathering evidence about one turn: ground truth, checks, the host's evaluator.

Does not: weigh it (memory.evidence does) or move counters (memory.resolve does).
"""

from __future__ import annotations

import inspect
import logging
import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from ace_graph.memory.evidence import Evidence
from ace_graph.off_loop import read_text
from ace_graph.run import Run
from ace_graph.state import Attempt, EvidenceJSON

__all__ = [
    "gather_evidence",
    "matches_ground_truth",
    "parse_number",
    "quotes_truth",
    "to_evidence",
    "to_json",
]

logger = logging.getLogger("ace_graph")

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:\s*/\s*\d+)?%?(?![\w])")
_EDGES = re.compile(r"^[\s\"'`*_(\[]+|[\s\"'`*_.!)\]]+$")


async def gather_evidence(question: str, attempt: Attempt, run: Run) -> list[Evidence]:
    """Return every judgement there is of this answer, the strongest source first.

    An evaluator that fails gives no evidence; the failure is logged. One that compares with the ground truth
    itself takes the place of the comparison here: it knows what counts as equal.
    """
    found: list[Evidence] = []
    truth = run.context.ground_truth
    judged = await _evaluate(question, attempt["answer"], run)
    compared = judged is not None and judged.source == "ground_truth"
    if truth is not None and not compared:
        answer = attempt["answer"]
        met = await read_text(len(answer) + len(truth), matches_ground_truth, answer, truth)
        found.append(
            Evidence(
                source="ground_truth",
                verdict="success" if met else "failure",
                score=float(met),
                text="the answer matches the ground truth"
                if met
                else "the answer differs from the ground truth",
                by="ground truth",
            )
        )
    found.extend(to_evidence(item) for item in attempt["tool_evidence"])
    if judged is None:
        return found
    return [judged, *found] if compared else [*found, judged]


async def _evaluate(question: str, answer: str, run: Run) -> Evidence | None:
    evaluator = run.resources.evaluator
    if evaluator is None:
        return None
    try:
        verdict = evaluator(question, answer, run.context)
        return await verdict if inspect.isawaitable(verdict) else verdict
    except Exception:
        logger.exception("[ACE Critic] the evaluator failed, so it gives no evidence")
        return None


def matches_ground_truth(answer: str, truth: str) -> bool:
    """Whether an answer gives the true value.

    Equal texts (case, spacing, Unicode form and outer punctuation aside) match. A numeric truth is
    compared as a number with the last number of the answer: "so it is 5/6." meets "5/6" and "10/12". A
    truth in words is met by an answer whose last line or sentence ends with it.
    """
    said, true = _folded(answer), _folded(truth)
    if said == true:
        return True
    if not true:
        return False
    number = parse_number(true)
    if number is not None:
        numbers = _NUMBER.findall(answer)
        return bool(numbers) and parse_number(numbers[-1]) == number
    return bool(re.search(rf"(?:^|[\s:]){re.escape(true)}$", said))


def quotes_truth(text: str, truth: str) -> bool:
    """Whether a text holds the true value, in words or as a number of the same value."""
    true = _folded(truth)
    if not true:
        return False
    number = parse_number(true)
    if number is not None and any(parse_number(said) == number for said in _NUMBER.findall(text)):
        return True
    return bool(re.search(rf"(?<!\w){re.escape(true)}(?!\w)", _folded(text)))


def parse_number(text: str) -> Fraction | None:
    """Return the exact value of "1,200", "0.5", "5/6" or "50%"; None where the text is no number."""
    plain = text.strip().replace(",", "")
    scale = Fraction(1, 100) if plain.endswith("%") else Fraction(1)
    top, _, bottom = plain.rstrip("%").partition("/")
    try:
        value = Fraction(Decimal(top.strip()))
        return scale * (value / Fraction(Decimal(bottom.strip())) if bottom else value)
    except (ArithmeticError, ValueError):
        return None


def _folded(text: str) -> str:
    line = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return _EDGES.sub("", line)


def to_json(evidence: Sequence[Evidence]) -> list[EvidenceJSON]:
    """Return the judgements as plain JSON for the state."""
    return [
        {"source": e.source, "verdict": e.verdict, "score": e.score, "text": e.text, "by": e.by}
        for e in evidence
    ]


def to_evidence(item: EvidenceJSON) -> Evidence:
    """Return the judgement in a state's plain JSON."""
    return Evidence.model_validate(item)
