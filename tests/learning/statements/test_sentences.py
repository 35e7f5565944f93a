"""A message as sentences: where they end, what counts as quoted, and how much of a long one is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.learning import read_feedback
from ace_graph.learning.statements import MASK, READ_CHARS
from ace_graph.learning.statements.sentences import sentences
from ace_graph.memory import Playbook
from ace_graph.memory.delta import Add
from tests.learning.statements.operations import explicit_operations


def _own_words(message: str) -> list[str]:
    return [s.masked.replace(MASK, "") for s in sentences(message)]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("One. Two!  Three? Four; five", ["One.", "Two!", "Three?", "Four;", "five"]),
        ("My teacher is Mr. Holt. He is nice.", ["My teacher is Mr. Holt.", "He is nice."]),
        ("Mon prof est M. Petit. Et toi ?", ["Mon prof est M. Petit.", "Et toi ?"]),
        ("Der Test ist am 12. Mai. Hilf mir.", ["Der Test ist am 12. Mai.", "Hilf mir."]),
        ("I am 12. My name is Max.", ["I am 12.", "My name is Max."]),
        ("Version 3.5 is\u2028here", ["Version 3.5 is", "here"]),
        ("First\r\nsecond\n\n\nthird", ["First", "second", "third"]),
        ("so\tmany\u00a0 \u200bspaces", ["so many spaces"]),
        ("> quoted\n  > quoted too\nmine", ["mine"]),
        ('She said "It is late. Call me Tom." to me.', ["She said  to me."]),
        ("„Nenn mich Tom.“ sagte er", [" sagte er"]),
        ("«un» “two” `three` 'four' 「five」 six", ["     six"]),
        ("I don't mind, it's Tom's 'own' book", ["I don't mind, it's Tom's  book"]),
        ('an inch is 1" wide', ['an inch is 1" wide']),
        ("say '' or 'x' twice", ["say '' or  twice"]),
        ('a "quotation\nends" with its line', ['a "quotation', 'ends" with its line']),
        ('"Only quoted."  ...  !', []),
        ("", []),
    ],
)
def test_sentences_are_split_and_quotations_masked(message: str, expected: list[str]) -> None:
    assert _own_words(message) == expected


@given(st.text(alphabet="aI \t\n.?\"'“”„«»>\x00\u200b\u2028’-é", max_size=60))
def test_a_mask_is_as_long_as_its_text(message: str) -> None:
    for sentence in sentences(message):
        assert len(sentence.text) == len(sentence.masked)
        assert all(b in (MASK, a) for a, b in zip(sentence.text, sentence.masked, strict=True))
        assert sentence.text == sentence.text.strip()
        assert "\n" not in sentence.text


def test_of_a_long_sentence_the_beginning_and_the_last_mark_are_read() -> None:
    [long] = sentences("word " * READ_CHARS + "?")
    assert len(long.text) <= READ_CHARS
    assert long.cut
    assert long.asks
    [short] = sentences("x" * READ_CHARS)
    assert not short.cut


def test_a_statement_inside_a_quotation_of_two_sentences_is_not_kept() -> None:
    said = 'My friend wrote "I am tired. Call me Tom. I prefer pictures." yesterday.'
    assert explicit_operations(said, Playbook(), "t") == []


def test_a_statement_far_behind_in_a_long_message_is_kept() -> None:
    said = "word. " * 5_000 + "\t" * 5_000 + "“a" * 5_000 + "\nCall me Sam."
    [kept] = explicit_operations(said, Playbook(), "t")
    assert isinstance(kept, Add)
    assert kept.slot == "name"


def test_a_quoted_value_can_be_the_correction() -> None:
    feedback = read_feedback('That\'s wrong, it should be "5/6".', "1/2 + 1/3 = 2/5.")
    assert feedback is not None
    assert feedback.correction == "5/6"


def test_the_correction_ends_with_its_sentence() -> None:
    feedback = read_feedback("No, it's 5/6! It is easy to see.", "1/2 + 1/3 = 2/5.")
    assert feedback is not None
    assert feedback.correction == "5/6"
