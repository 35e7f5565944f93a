"""An objection to an answer that can be checked: "that's wrong, it's 54" about 7 x 8 = 56.

A calculation is worked out again; a check that judged the answer when it was given (ground truth, a tool, the
host's evaluator) counts as it stands. An answer that the check found right is defended: the objection is no
evidence against it. What is corrected is often the form (7/4 and 1.75), and that is no objection. What
objects to a defended answer is checked again, and so is a doubt ("are you sure?").
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ace_graph.evidence import matches_ground_truth
from ace_graph.learning.calculations import calculation_in, value_of
from ace_graph.learning.feedback import JudgedTurn
from ace_graph.learning.feedback_forms import other_value
from ace_graph.memory.evidence import Evidence, EvidenceSource
from ace_graph.memory.playbook import Vote
from ace_graph.numerals import Numeral, numerals
from ace_graph.prompts import Prompts, data_block
from ace_graph.spelled_numbers import normalize

__all__ = ["ObjectionCheck", "check_objection", "corrects_form", "told_check"]

_STRONGER: tuple[EvidenceSource, ...] = ("ground_truth", "tool", "evaluator")


@dataclass(frozen=True)
class ObjectionCheck:
    """What was checked, by whom, and whether the answer was right; `value` is the right one, if known."""

    right: bool
    by: str
    asked: str = ""
    value: str = ""
    claimed: str = ""

    @property
    def evidence(self) -> Evidence | None:
        """The calculation as evidence for the answer; of an earlier check the vote is there already."""
        if not self.asked or not self.right:
            return None
        return Evidence(source="tool", verdict="success", text=f"{self.asked} = {self.value}", by=self.by)


def check_objection(earlier: JudgedTurn, votes: Mapping[EvidenceSource, Vote]) -> ObjectionCheck | None:
    """Return the check of the answer that `earlier` objects to; None where nothing is known of it.

    `votes` are those on that turn, by source.
    """
    feedback = earlier.feedback
    claimed = _number(feedback.correction) if feedback.correction else None
    if feedback.verdict not in ("failure", "unknown") or (feedback.correction and claimed is None):
        return None
    asked = next(filter(None, map(calculation_in, (earlier.question, *earlier.asked_before))), None)
    value = value_of(asked) if asked is not None else None
    if asked is None or value is None:
        return None if corrects_form(earlier) else _earlier_check(votes)
    right = matches_ground_truth(other_value().sub("", earlier.answer), str(value))
    if corrects_form(earlier):
        return None
    if claimed is not None and claimed.value == value and right:
        return ObjectionCheck(right, "calculator", asked, str(value))
    if claimed is not None and claimed.value != value and not right:  # neither value is the right one
        return None
    return ObjectionCheck(right, "calculator", asked, str(value), feedback.correction or "")


def corrects_form(earlier: JudgedTurn) -> bool:
    """Whether the value given instead is that of the answer, written in another form (1 1/3 for 4/3)."""
    correction = earlier.feedback.correction
    claimed = _number(correction) if correction else None
    if claimed is None or _as_written(claimed, earlier.answer):
        return False
    return matches_ground_truth(other_value().sub("", earlier.answer), str(claimed.value))


def told_check(check: ObjectionCheck | None, prompts: Prompts) -> str:
    """Return the part of the solver's prompt that says what was checked, '' where nothing was."""
    if check is None:
        return ""
    check_fields = {
        "answer_before": "right" if check.right else "wrong",
        "by": check.by,
        "calculation": check.asked,
        "value": check.value,
        "learner_says": check.claimed,
    }
    line = json.dumps({name: text for name, text in check_fields.items() if text}, ensure_ascii=False)
    return prompts.render("objection", check=data_block("check", line))


def _earlier_check(votes: Mapping[EvidenceSource, Vote]) -> ObjectionCheck | None:
    """The check that judged the answer when it was given, if the answer passed the strongest there was."""
    source: EvidenceSource | None = next(
        (s for s in _STRONGER if s in votes and votes[s].verdict != "unknown"), None
    )
    if source is None or votes[source].verdict != "success":
        return None
    return ObjectionCheck(right=True, by=source)


def _number(text: str) -> Numeral | None:
    """The number that a correction begins with, in digits or in words, or the only one in it."""
    spelled = normalize(text)
    for written in (text, spelled if spelled.lstrip("- ")[:1].isdecimal() else ""):
        found = numerals(written)
        if len(found) == 1 or (found and written.lstrip("-− ").startswith(found[0].written.lstrip("-")[0])):
            return found[0]
    return None


def _as_written(claimed: Numeral, answer: str) -> bool:
    """Whether the answer gives the value in that form already, where it gives it last."""
    given = [each.written for each in numerals(answer) if each.value == claimed.value]
    return bool(given) and given[-1] == claimed.written
