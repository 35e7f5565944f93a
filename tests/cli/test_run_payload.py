"""What `ace-graph run` understands, and what it tells back."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from ace_graph.agent import Learning
from ace_graph.base import UsageError
from ace_graph.cli import parse_request
from ace_graph.learning import ace_delta

QUESTION: JsonValue = [{"role": "user", "content": "What is 2+2?"}]


def _read(**fields: JsonValue) -> dict[str, object]:
    request = parse_request(json.dumps({"messages": QUESTION, **fields}).encode())
    return request.context.model_dump(exclude_defaults=True)


def _learning(**changed: object) -> Learning:
    nothing: Learning = {
        "turn_id": "t", "version": 1, "added": [], "updated": [], "tagged": [], "merged": [],
        "superseded": [], "removed": [], "quarantined": [], "rejected": [], "pending": None,
        "feedback": None, "skipped": None, "error": None, "unsaved": None, "replay": None,
        "learned_into": None, "curator_replies": [],
    }  # fmt: skip
    return {**nothing, **changed}  # type: ignore[typeddict-item]  # pyright: ignore  # a test's shorthand


def test_without_a_scratch_the_learner_is_local() -> None:
    assert _read() == {"learner_id": "local"}
    assert _read(scratch={"learner_id": None}) == {"learner_id": "local"}


def test_additional_context_is_an_input_of_its_own() -> None:
    asked = {"messages": QUESTION, "additional_context": "a table"}
    assert parse_request(json.dumps(asked).encode()).input.get("additional_context") == "a table"
    assert "additional_context" not in parse_request(json.dumps({"messages": QUESTION}).encode()).input


def test_scratch_accepts_the_fields_of_the_context() -> None:
    scratch: JsonValue = {
        "learner_id": "ada",
        "topic": "fractions",
        "ground_truth": "4",
        "ace_online_learning": False,
        "k": 3,
        "temperature": 0.5,
        "window_size": 2,
        "tool_names": ["calculator"],
    }
    assert _read(scratch=scratch) == {
        "learner_id": "ada",
        "topic": "fractions",
        "ground_truth": "4",
        "learning": "off",
        "k": 3,
        "temperature": 0.5,
        "window_size": 2,
        "tool_names": ("calculator",),
    }


def test_a_thread_is_the_conversation_unless_one_is_named() -> None:
    assert _read(thread_id="t-1")["conversation_id"] == "t-1"
    assert _read(thread_id="t-1", scratch={"conversation_id": "c"})["conversation_id"] == "c"


def test_the_scratch_of_an_answer_may_be_sent_back() -> None:
    scratch: JsonValue = {
        "ace_delta": {"num_new_bullets": 1},
        "_ace_memory_loaded": True,
        "learning_error": "x",
    }
    assert _read(scratch=scratch) == {"learner_id": "local"}


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "stdin is empty"),
        (b" \n", "stdin is empty"),
        (b"{", "not valid JSON"),
        (b"\xff\xfe", "UTF-8"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[]", "JSON list"),
        (b"{}", "messages"),
        (b'{"messages": []}', "messages"),
        (b'{"messages": [{"role": "user"}]}', "messages.0.content"),
        (b'{"messages": [{"role": "user", "content": null}]}', "messages.0.content"),
        (b'{"messages": [{"role": "judge", "content": "x"}]}', "messages.0.role"),
        (b'{"messages": "hello"}', "messages"),
    ],
)
def test_what_can_not_be_read_is_explained(raw: bytes, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        parse_request(raw)


@pytest.mark.parametrize(
    ("scratch", "why"),
    [
        ({"learner_id": 7}, "learner_id"),
        ({"learner_id": ""}, "learner_id"),
        ({"learner_id": "x" * 257}, "learner_id"),
        ({"temperature": 9}, "temperature"),
        ({"ace_online_learning": "no"}, "ace_online_learning"),
    ],
    ids=str,
)
def test_a_wrong_scratch_names_its_field(scratch: JsonValue, why: str) -> None:
    with pytest.raises(UsageError, match=f"scratch.{why}"):
        _read(scratch=scratch)


def test_a_scratch_that_is_misspelled_is_told_what_may_be_meant() -> None:
    with pytest.raises(UsageError) as raised:
        _read(scratch={"temprature": 1})
    assert str(raised.value) == "scratch: the context has no field temprature: did you mean temperature?"


@pytest.mark.parametrize(
    ("learning", "counts"),
    [
        ({}, (0, 0, 0)),
        ({"added": ["a", "b"]}, (2, 0, 0)),
        ({"updated": ["a"], "tagged": ["a", "c"]}, (0, 2, 0)),
        ({"added": ["a"], "tagged": ["a"]}, (1, 0, 0)),
        ({"merged": [{"kept": "a", "gone": "b"}]}, (0, 1, 1)),
        ({"added": ["b"], "superseded": [{"kept": "b", "gone": "a"}]}, (1, 0, 1)),
        ({"added": ["a", "b"], "superseded": [{"kept": "b", "gone": "a"}]}, (1, 0, 0)),
        ({"updated": ["a"], "removed": ["a", "b"]}, (0, 0, 2)),
        ({"tagged": ["base:0123"]}, (0, 0, 0)),
        ({"quarantined": ["a"]}, (0, 1, 0)),
    ],
    ids=str,
)
def test_a_delta_counts_bullets_not_operations(
    learning: dict[str, object], counts: tuple[int, int, int]
) -> None:
    names = ("num_new_bullets", "num_updates", "num_removals")
    assert ace_delta(_learning(**learning)) == dict(zip(names, counts, strict=True))
