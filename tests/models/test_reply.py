"""Reading replies: the end they came to, and the JSON in them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, ToolCall
from pydantic import JsonValue

from ace_graph.agent.models import find_json_object, finish_problem

objects = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=6,
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ({}, None),
        ({"finish_reason": "STOP"}, None),
        ({"finish_reason": "stop"}, None),
        ({"finish_reason": "STOPSTOP"}, None),
        ({"stop_reason": "end_turn"}, None),
        ({"finish_reason": "tool_calls"}, None),
        ({"finish_reason": "MAX_TOKENS"}, "token limit"),
        ({"finish_reason": "FinishReason.MAX_TOKENS"}, "token limit"),
        ({"finish_reason": "length"}, "token limit"),
        ({"stop_reason": "max_tokens"}, "token limit"),
        ({"done_reason": "length"}, "token limit"),
        ({"finish_reason": "SAFETY"}, "safety filter"),
        ({"finish_reason": "content_filter"}, "safety filter"),
        ({"prompt_feedback": {"block_reason": "OTHER"}}, "OTHER"),
        ({"finish_reason": "MALFORMED_FUNCTION_CALL"}, "MALFORMED_FUNCTION_CALL"),
    ],
)
def test_the_end_of_a_reply_is_recognised(metadata: dict[str, object], problem: str | None) -> None:
    found = finish_problem(AIMessage("some text", response_metadata=metadata))
    assert (found is None) if problem is None else (problem in str(found))


def test_an_empty_reply_is_a_problem_and_one_that_calls_a_tool_is_not() -> None:
    call = ToolCall(name="calculator", args={}, id="1")
    assert "empty" in str(finish_problem(AIMessage(" \n")))
    assert "empty" in str(finish_problem(AIMessage([{"type": "thinking", "thinking": "hm"}])))
    assert finish_problem(AIMessage("", tool_calls=[call])) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('Sure! {"a": 1} and {"b": 2}', {"a": 1}),
        ('in {braces} first, then {"a": "}"}', {"a": "}"}),
        ("[1, 2]", None),
        ('[{"a": 1}]', {"a": 1}),
        ("no object", None),
        ("{", None),
        ('{"a": {"b": 1}, "c": [', None),
        ('{"a": {"b": 1}, c: 1}', None),
        ("{" * 5000, None),
    ],
)
def test_the_first_whole_object_is_found(text: str, found: dict[str, JsonValue] | None) -> None:
    assert find_json_object(text) == found


@settings(max_examples=60, deadline=None)
@given(objects, st.sampled_from(["", "Here:\n", "```json\n"]), st.sampled_from(["", "\n```", " done."]))
def test_an_object_survives_whatever_stands_around_it(
    value: dict[str, JsonValue], before: str, after: str
) -> None:
    assert find_json_object(f"{before}{json.dumps(value)}{after}") == value


@settings(max_examples=60, deadline=None)
@given(objects, st.data())
def test_a_cut_object_is_never_found_in_part(value: dict[str, JsonValue], data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    assert find_json_object(cut) is None
