"""Thirty lessons that fit any question, and thirty that have a subject."""

from __future__ import annotations

import pytest

from ace_graph.learning import is_platitude

PLATITUDES = """
Check the result of questions like this in a second way; an earlier answer was wrong.
Always double-check your work.
Be careful.
Think step by step before answering.
Read the question carefully before you answer.
Verify the answer before giving it.
Make sure the answer is correct.
Provide clear and accurate information.
Avoid making the same mistake again.
Always verify facts before responding.
Understand the user's question fully before responding.
Give complete and helpful answers.
When corrected by the user, accept the correction and learn from it.
Pay attention to details.
It is important to be accurate.
Ask for clarification when the question is unclear.
Explain your reasoning clearly.
Take your time and work carefully.
Review your answer for errors before you finish.
If the user says the answer is wrong, check it again.
With questions like this, mind what went wrong before: that's wrong.
With questions like this, keep what worked before: that's right.
The previous answer was incorrect and should be improved.
Ensure correctness and completeness in every response.
Use the right approach for each problem.
Learn from mistakes and feedback.
Consider all relevant information before answering.
Listen to the learner and respond to their needs.
Don't guess; say so when you do not know.
Break complex problems into smaller steps and solve each one.
"""
LESSONS = """
Rewrite both fractions with their smallest common denominator, then add the tops only.
In fraction addition, give a result above one as a mixed number.
This learner wants pictures with every fraction.
Give the unit with every result.
7 x 8 is 56, not 54.
Napoleon was Emperor of the French from 1804 to 1814.
Use metric units for this learner.
Run the tests after every change of a file.
List the directory before you read a file in it.
The learner confuses numerator and denominator.
Answer in German.
Keep answers under three sentences.
Explain with an everyday example such as pizza.
Convert percentages to decimals before multiplying.
pH below 7 is acidic.
Check integrals by differentiating the result.
Check a division by multiplying back.
In Python, ranges exclude their end.
Use commit hooks only after asking.
When a date is ambiguous, ask for day and month.
Mitochondria make ATP.
Show every step in long division.
The API needs a trailing slash.
Read the error log first when a build fails.
A photon has no mass.
Ask which currency is meant before converting prices.
The capital of Australia is Canberra.
Round only at the end of a calculation.
Draw a number line when numbers are negative.
Sam prefers short answers.
Don't use jargon.
Multiply before you add.
Solve for x before substituting.
"""


@pytest.mark.parametrize("text", PLATITUDES.strip().splitlines())
def test_a_lesson_without_a_subject_is_a_platitude(text: str) -> None:
    assert is_platitude(text)


@pytest.mark.parametrize("text", LESSONS.strip().splitlines())
def test_a_lesson_with_a_subject_is_none(text: str) -> None:
    assert not is_platitude(text)


def test_both_lists_are_long_enough() -> None:
    assert len(PLATITUDES.strip().splitlines()) >= 30
    assert len(LESSONS.strip().splitlines()) >= 30


@pytest.mark.parametrize("text", ["", "...", "Tarkista tulos.", "2", "先画图"])
def test_no_word_is_a_platitude_and_another_language_is_none(text: str) -> None:
    assert is_platitude(text) == (text in ("", "..."))
