"""An objection to an answer that can be checked: when the answer stands, and when nothing is known of it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ace_graph.learning.feedback import JudgedTurn, read_feedback
from ace_graph.learning.objection import ObjectionCheck, check_objection
from ace_graph.memory.evidence import EvidenceSource
from ace_graph.memory.playbook import Vote
from ace_graph.memory.turn import RecentTurn

NOBODY: Mapping[EvidenceSource, Vote] = {}
PASSED: Mapping[EvidenceSource, Vote] = {"evaluator": Vote("success", ())}


def _check(
    question: str, answer: str, said: str, votes: Mapping[EvidenceSource, Vote] = NOBODY
) -> ObjectionCheck | None:
    feedback = read_feedback(said, answer)
    assert feedback is not None
    turn = RecentTurn(turn_id="t", answer_hash="h")
    return check_objection(JudgedTurn(turn, question, answer, feedback), votes)


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        ("What is 7 x 8?", "56", "That's wrong, it's 54"),
        ("What is 7 x 8?", "7 × 8 = 56.\nThe answer is 56.", "that's not right"),
        ("Call me Sam. What's 7 times 8?", "Sam, it is 56.", "No, it should be 54."),
        ("1/2 + 1/3", "It is 5/6.", "wrong, it is 2/5"),
        ("How much is 10 divided by 4?", "2.5", "that's wrong, the answer is 2"),
        ("please calculate (2 + 3) * 1.5", "The answer is 7.5", "That is wrong. It is 1 3/8."),
        ("2^10 = ?", "1,024", "no, it's 1000 I think"),
        ("What is 7 x 8?", "56", "That's wrong, it's 54, I have 2 of them"),
    ],
)
def test_a_calculation_is_worked_out_again_and_the_answer_stands(
    question: str, answer: str, said: str
) -> None:
    check = _check(question, answer, said)
    assert check is not None
    assert check.right
    assert check.evidence is not None
    assert (check.evidence.source, check.evidence.verdict) == ("tool", "success")


def test_a_wrong_answer_is_conceded() -> None:
    check = _check("What is 7 x 8?", "54", "That's wrong, it's 56")
    assert check is not None
    assert not check.right
    assert check.value == "56"
    assert check.evidence is None, "the learner's word is the evidence"


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        ("What is 3/2 + 1/4?", "7/4", "No, it should be 1.75"),
        ("What is 7/8 + 1/2?", "11/8", "That's wrong, it should be 1 3/8."),
        ("What is 7 x 8?", "56", "That's wrong, it should be a product"),
        ("What is 7 x 8?", "54", "that's wrong, it's 55"),
        ("Who was Napoleon?", "I don't know", "That's wrong"),
        ("I have 7 x 8 tiles and lose 2. How many?", "56", "That's wrong, it is 54"),
        ("What is 1/2 ÷ 1/3?", "1/6", "that's wrong, it is 3/2"),
        ("What is 7 x 8? What is 2 + 2?", "56 and 4", "that's wrong"),
        ("What is 50% of 8?", "4", "that's wrong, it's 5"),
        ("What is 5?", "5", "that's wrong"),
    ],
)
def test_an_uncheckable_objection_is_left_to_the_learner(question: str, answer: str, said: str) -> None:
    assert _check(question, answer, said) is None


def test_what_an_earlier_check_passed_stands() -> None:
    check = _check("Who was Napoleon?", "An emperor.", "that's wrong", PASSED)
    assert check == ObjectionCheck(right=True, by="evaluator")
    assert check is not None
    assert check.evidence is None, "that vote is there already"
    assert _check("How many?", "7/4", "no, it should be 1.75", PASSED) is None, "the form is corrected"
    assert _check("Who?", "He.", "no, it should be friendlier", PASSED) is None
    failed: Mapping[EvidenceSource, Vote] = {"ground_truth": Vote("failure", ()), **PASSED}
    assert _check("Who?", "He.", "that's wrong", failed) is None, "the strongest check failed"


def test_approval_is_no_objection() -> None:
    assert _check("What is 7 x 8?", "56", "that's right") is None
