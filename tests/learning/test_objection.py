"""An objection to an answer that can be checked: when the answer stands, and when nothing is known of it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from ace_graph.learning import (
    JudgedTurn,
    ObjectionCheck,
    check_objection,
    find_doubted_turn,
    find_judged_turn,
    read_feedback,
)
from ace_graph.memory import Access, EvidenceSource, RecentTurn, Vote, answer_hash

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
        ("What is 7 x 8?", "56", "no its 54"),
        ("What is 7 x 8?", "56", "That's wrong, it's fifty-four"),
        ("1/2 + 1/3", "5/6", "wrong, it is two fifths"),
        ("What is one half plus one quarter?", "3/4", "no, it's 1/2"),
        ("What is 7 x 8?", "7 × 8 = 56.\nThe answer is 56.", "That's wrong, it's 56"),
        ("What is 3/2 + 1/4?", "The answer is 7/4.", "No, it should be 7/4"),
        ("Was ist 7 x 8?", "7 × 8 = 56, nicht 54.", "Nein, es ist 54."),
        ("Combien font 7 x 8 ?", "C'est 56, et non 54.", "C'est faux, c'est 54."),
        ("7 x 8 等于多少？", "答案是56，不是54。", "不对，应该是54。"),
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
    bare = _check("What is 7 x 8?", "54", "That's wrong")
    assert bare is not None
    assert (bare.right, bare.value) == (False, "56")


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        ("What is 3/2 + 1/4?", "7/4", "No, it should be 1.75"),
        ("What is 7/8 + 1/2?", "11/8", "That's wrong, it should be 1 3/8."),
        ("What is 7 x 8?", "56", "That's wrong, it should be a product"),
        ("What is 7 x 8?", "54", "that's wrong, it's 55"),
        ("What is 3/2 + 1/4?", "As a mixed number that is 1 3/4.\nThe answer is 7/4.", "No, it's 1 3/4"),
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
    undecided: Mapping[EvidenceSource, Vote] = {"ground_truth": Vote("unknown", ()), **PASSED}
    assert _check("Who?", "He.", "that's wrong", undecided) == check, "a check without a verdict is none"


def test_approval_is_no_objection() -> None:
    assert _check("What is 7 x 8?", "56", "that's right") is None


def _said_in_turn(*texts: str) -> tuple[list[BaseMessage], Access]:
    """A conversation, the learner first, and the access part that knows its last answer."""
    messages: list[BaseMessage] = [
        AIMessage(text) if n % 2 else HumanMessage(text) for n, text in enumerate(texts)
    ]
    turn = RecentTurn(turn_id="t", answer_hash=answer_hash(texts[-2]))
    return messages, Access(1, recent_turns=(turn,))


@pytest.mark.parametrize(
    "between",
    [
        ("That's wrong, it's 54", "7 × 8 = 56, not 54."),
        ("That's wrong, it's 54", "It is 56.", "No, its 54!! my teacher said so", "It is 56 all the same."),
        ("are you sure?", "Yes: 56."),
    ],
)
def test_an_objection_after_others_is_checked_again(between: tuple[str, ...]) -> None:
    judged = find_judged_turn(
        *_said_in_turn("What is 7 x 8?", "56", *between, "that is still wrong, it's 54")
    )
    assert judged is not None
    check = check_objection(judged, NOBODY)
    assert check == ObjectionCheck(True, "calculator", "7 × 8", "56", "54")


@pytest.mark.parametrize("between", ["Who was Napoleon?", "That's wrong. Who was Napoleon?", "I like tea."])
def test_an_objection_to_another_answer_is_not_checked(between: str) -> None:
    judged = find_judged_turn(*_said_in_turn("What is 7 x 8?", "56", between, "An emperor.", "that's wrong"))
    assert judged is not None
    assert check_objection(judged, NOBODY) is None


@pytest.mark.parametrize(
    "doubt", ["are you sure?", "Really?", "hm, is that right?", "Are you sure about that??"]
)
def test_a_doubt_is_checked_and_judges_nothing(doubt: str) -> None:
    said = _said_in_turn("What is 7 x 8?", "56", doubt)
    assert find_judged_turn(*said) is None
    doubted = find_doubted_turn(*said)
    assert doubted is not None
    assert check_objection(doubted, NOBODY) == ObjectionCheck(True, "calculator", "7 × 8", "56")


@pytest.mark.parametrize("other", ["are you a robot?", "Is that right-angled?", "sure", "What is right?"])
def test_another_question_doubts_nothing(other: str) -> None:
    assert find_doubted_turn(*_said_in_turn("What is 7 x 8?", "56", other)) is None
