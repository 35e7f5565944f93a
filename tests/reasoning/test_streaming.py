"""The reply's parser: only the final answer's text is ever shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.agent.reasoning import AnswerParser, ParsedAnswer, parse_answer


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Answer: 5", "5"),
        ("Final answer: 5", "5"),
        ("<final>z</final>", "z"),
        ("<final>a\nb\nc</final>", "a\nb\nc"),
        ("The Answer - maybe 7", "The Answer - maybe 7"),
        ("Answer-key is below", "Answer-key is below"),
        ("the final answer is 3", "the final answer is 3"),
        ("", ""),
        ("<scratch>only working</scratch>", ""),
        ("<scratch>5*5</scratch><final>25</final><used>fil-00001</used>", "25"),
        ("<scratch>say <final>no</final></scratch><final>yes</final>", "yes"),
        ("<final>cut in the middle", "cut in the middle"),
        ("plain prose, answer - included", "plain prose, answer - included"),
        ("42 <used>a-1</used>", "42"),
    ],
)
def test_the_answer_is_what_the_learner_should_read(reply: str, answer: str) -> None:
    assert parse_answer(reply).answer == answer
    assert _streamed(list(reply)) == answer


def test_scratchpad_and_citations_are_taken_apart() -> None:
    parsed = parse_answer("<scratch>5*5</scratch><final>25</final><used>[fil-00001], x-2</used>")
    assert parsed.reasoning == "5*5"
    assert parsed.used == ("fil-00001", "x-2")


def test_text_is_shown_as_soon_as_it_comes() -> None:
    parser = AnswerParser()
    assert parser.feed("<scratch>hm</scratch><final>one") == "one"
    assert parser.feed(" two</fin") == " two"
    assert parser.feed("al><used>x</used>") == ""
    assert parser.finish()[0] == ""


def test_a_reply_without_tags_is_shown_as_it_comes() -> None:
    parser = AnswerParser()
    assert [parser.feed(word) for word in ("Half", " of 10", " is 5.<u")] == ["Half", " of 10", " is 5."]
    assert parser.feed("sed>x-1</used>") == ""
    assert parser.finish() == ("", ParsedAnswer("Half of 10 is 5.", "", ("x-1",)))


def test_where_tools_may_be_called_plain_text_waits_for_the_end() -> None:
    parser = AnswerParser(plain=False)
    assert parser.feed("Let me look that up. ") == ""
    assert parser.feed("<final>It is 5.") == "It is 5."
    assert parser.finish()[1].answer == "It is 5."


@pytest.mark.parametrize(
    "reply",
    [
        "<think>Half of ten?</think>\n\nIt is 5.",
        "<thinking>Half of ten?</thinking><final>It is 5.</final>",
        "<scratch>Half of ten?<final>It is 5.</final>",
        "<SCRATCH>Half of ten?</SCRATCH>Answer: It is 5.",
    ],
)
def test_no_scratchpad_is_shown(reply: str) -> None:
    parser = AnswerParser()
    shown = "".join(map(parser.feed, reply))
    rest, parsed = parser.finish()
    assert shown + rest == "It is 5."
    assert parsed.reasoning == "Half of ten?"


def test_what_stands_before_a_final_answer_was_shown_and_stays() -> None:
    assert _streamed(list("Half of 10: <final>5</final>")) == "Half of 10: 5"
    assert parse_answer("Half of 10: <final>5</final>").answer == "5"


_pieces = st.lists(
    st.sampled_from(
        [
            "<scratch>",
            "</scratch>",
            "<final>",
            "</final>",
            "<used>",
            "</used>",
            "<think>",
            "answer",
            ":",
            "a",
            " ",
            "\n",
            "<",
            "x-1",
            "fin",
        ]
    ),
    max_size=14,
)


@given(pieces=_pieces, cut=st.integers(1, 7))
def test_however_the_reply_is_cut_into_chunks_the_same_is_shown(pieces: list[str], cut: int) -> None:
    reply = "".join(pieces)
    chunks = [reply[i : i + cut] for i in range(0, len(reply), cut)]
    assert _streamed(chunks) == _streamed([reply])


@given(pieces=_pieces, plain=st.booleans())
def test_what_was_shown_is_exactly_the_answer(pieces: list[str], plain: bool) -> None:
    parser = AnswerParser(plain=plain)
    shown = "".join(parser.feed(piece) for piece in pieces)
    rest, parsed = parser.finish()
    assert shown + rest == parsed.answer


def _streamed(chunks: list[str]) -> str:
    parser = AnswerParser()
    shown = "".join(parser.feed(chunk) for chunk in chunks)
    return shown + parser.finish()[0]
