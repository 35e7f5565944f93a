"""Gathering the evidence on an answer: the ground truth, tools marked as checks, the host's evaluator.

`memory.evidence` decides which source wins. `to_json` and `from_json` are the form in the graph's state.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, cast

from ace_graph.base.off_loop import run_off_loop
from ace_graph.memory.evidence import Evidence
from ace_graph.memory.numbers import numerals, parse_number
from ace_graph.memory.search.tokenize import normal_form

if TYPE_CHECKING:
    from ace_graph.agent.runtime import Run
    from ace_graph.agent.state import Attempt, EvidenceJSON

logger = logging.getLogger("ace_graph")
_PARTS = re.compile(r"\w+|[^\w\s]")
_BEFORE = " \"'`*_(["
_AFTER = " \"'`*_.!)]"
Form = Literal["any", "same"]
"""In which form an answer may give a number: any that has its value, or only the one of the right answer."""


async def gather_evidence(question: str, attempt: Attempt, run: Run) -> list[Evidence]:
    """Return the evidence on this answer, the strongest source first.

    An evaluator that fails gives no evidence; the failure is logged. Evidence of an evaluator whose source is
    the ground truth replaces the comparison here: the evaluator knows what counts as equal.
    """
    found: list[Evidence] = []
    answer = attempt["answer"].removesuffix(attempt.get("asked", ""))
    truth = run.context.ground_truth
    judged: Evidence | None = None
    if run.resources.evaluator is not None:
        try:
            opinion = run.resources.evaluator(question, answer, run.context)
            judged = await opinion if inspect.isawaitable(opinion) else opinion
        except Exception:
            logger.exception("[ACE Critic] the evaluator failed, so it gives no evidence")
    compared = judged is not None and judged.source == "ground_truth"
    if truth is not None and not compared:
        matches = await run_off_loop(len(answer) + len(truth), matches_ground_truth, answer, truth)
        found.append(
            Evidence(
                source="ground_truth",
                verdict="success" if matches else "failure",
                score=float(matches),
                text=f"the answer {'matches' if matches else 'differs from'} the ground truth",
                by="ground truth",
            )
        )
    found.extend(from_json(attempt["tool_evidence"]))
    if judged is None:
        return found
    return [judged, *found] if compared else [*found, judged]


def matches_ground_truth(answer: str, truth: str, form: Form = "any") -> bool:
    """Whether an answer gives the true value.

    Equal texts (case, spacing, Unicode form and outer punctuation aside) match. A numeric truth is compared
    as an exact value with the last number of the answer, in whatever form it is written: "so it is 11/8."
    matches "1 3/8" and "1.375". With the form "same" the number must also be written as the truth is. An
    answer whose last line or sentence ends with it matches a truth in words.
    """
    given, true = _folded(answer), _folded(truth)
    if given == true:
        return True
    if not true:
        return False
    number = parse_number(_bare(truth))
    if number is None:
        return given.endswith(true) and given[-len(true) - 1] in " :"
    last = next(reversed(numerals(answer)), None)
    if last is None or last.value != number:
        return False
    return form == "any" or last.written == numerals(truth)[-1].written


def quotes_truth(text: str, truth: str) -> bool:
    """Whether a text contains the true value, in words or as a number of the same value."""
    true = _folded(truth)
    if not true:
        return False
    number = parse_number(_bare(truth))
    if number is not None and any(given.value == number for given in numerals(text)):
        return True
    return _apart(true) in _apart(_folded(text))


def _apart(text: str) -> str:
    """Return the words and marks of a text, one a line, so that a search in it finds whole words only."""
    return "\n" + "".join(f"{part.group()}\n" for part in _PARTS.finditer(text))


def _folded(text: str) -> str:
    return _bare(normal_form("NFKC", text).casefold())


def _bare(text: str) -> str:
    return " ".join(text.split()).lstrip(_BEFORE).rstrip(_AFTER)


def to_json(evidence: Iterable[Evidence]) -> list[EvidenceJSON]:
    """Return the evidence as plain JSON for the state."""
    return [cast("EvidenceJSON", each.model_dump()) for each in evidence]


def from_json(items: Iterable[EvidenceJSON]) -> list[Evidence]:
    """Return the evidence in a state's plain JSON."""
    return [Evidence.model_validate(item) for item in items]
