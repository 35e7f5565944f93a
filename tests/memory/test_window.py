"""The reflection window: whole interactions, never an orphan, never more than asked for."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from ace_graph.base import UsageError
from ace_graph.memory import adaptive_size, interactions, select_window, truncate_tool_results, window_metrics
from tests.plugins.sizes import HEAVY

Message = dict[str, Any]  # the shape of a chat message in JSON


def turn(number: int, command: str = "ls", result: str = "ok") -> list[AnyMessage]:
    call = {"name": "run_command", "args": {"command": command}, "id": f"c{number}"}
    return [
        HumanMessage(f"Query {number}"),
        AIMessage(f"Answer {number}", tool_calls=[call]),
        ToolMessage(result, tool_call_id=f"c{number}"),
    ]


def history(turns: int) -> list[AnyMessage]:
    return [message for number in range(1, turns + 1) for message in turn(number)]


def queries(messages: list[AnyMessage]) -> list[str]:
    return [message.text for message in messages if isinstance(message, HumanMessage)]


@pytest.mark.parametrize(("size", "messages"), [(None, 30), (5, 15), (3, 9), (0, 0), (11, 30)])
def test_the_window_counts_interactions(size: int | None, messages: int) -> None:
    assert len(select_window(history(10), size)) == messages


def test_the_newest_interactions_are_kept_and_five_is_the_default() -> None:
    expected = [f"Query {number}" for number in range(6, 11)]
    assert queries(select_window(history(10), 5)) == queries(select_window(history(10))) == expected


@pytest.mark.parametrize("turns", [10, 50, 100])
def test_the_window_has_one_size_whatever_the_history(turns: int) -> None:
    assert len(select_window(history(turns), 5)) == 15


def test_dicts_and_messages_are_treated_alike() -> None:
    roles = {"human": "user", "ai": "assistant", "tool": "tool"}
    dicts: list[Message] = [
        {"role": roles[m.type], "content": m.text, "tool_call_id": getattr(m, "tool_call_id", None)}
        | ({"tool_calls": m.tool_calls} if isinstance(m, AIMessage) else {})
        for m in history(10)
    ]
    assert [m["content"] for m in select_window(dicts, 3)] == [m.text for m in select_window(history(10), 3)]


def test_messages_before_the_first_question_are_left_out() -> None:
    messages = [SystemMessage("be kind"), AIMessage("hello"), *history(2), SystemMessage("be brief")]
    assert select_window(messages, 5) == select_window(messages, None) == history(2)


def test_a_result_without_its_call_is_left_out() -> None:
    orphan = ToolMessage("lost", tool_call_id="gone")
    assert select_window([HumanMessage("a"), orphan, AIMessage("b")], 1) == [
        HumanMessage("a"),
        AIMessage("b"),
    ]


def test_a_negative_size_is_a_wrong_call() -> None:
    with pytest.raises(UsageError, match="0 or more"):
        select_window(history(1), -1)


def with_old_command() -> list[AnyMessage]:
    return [*turn(1, "pytest -q tests/unit"), *(m for number in range(2, 10) for m in turn(number))]


def test_an_older_interaction_that_the_question_names_is_recalled() -> None:
    window = select_window(with_old_command(), 3, question="run the same pytest command as before")
    assert queries(window) == ["Query 1", "Query 8", "Query 9"]


def test_the_current_question_in_the_history_is_not_what_it_refers_to() -> None:
    question = "run the same pytest command as before"
    window = select_window([*with_old_command(), HumanMessage(question)], 3, question=question)
    assert queries(window) == ["Query 1", "Query 9", question]


def test_of_two_that_a_question_refers_to_the_later_one_counts() -> None:
    question = "the same pytest command as before"
    messages = [*with_old_command(), *turn(10, "pytest -q tests/unit"), HumanMessage(question)]
    assert queries(select_window(messages, 3, question=question)) == ["Query 9", "Query 10", question]


@pytest.mark.parametrize(
    "question", ["run the pytest command", "the same zebra as before", "as before", "what next?", ""]
)
def test_nothing_is_recalled_without_a_matching_reference(question: str) -> None:
    assert queries(select_window(with_old_command(), 3, question=question)) == [
        "Query 7",
        "Query 8",
        "Query 9",
    ]


def test_a_reference_to_what_the_window_holds_changes_nothing() -> None:
    messages = [*with_old_command(), *turn(10, "pytest -q tests/unit")]
    window = select_window(messages, 3, question="the same pytest command as before")
    assert queries(window) == ["Query 8", "Query 9", "Query 10"]


def test_an_interaction_is_recalled_by_the_name_of_its_tool() -> None:
    call = {"name": "web_search", "args": {"q": "rivers"}, "id": "s"}
    found = [
        HumanMessage("Query 0"),
        AIMessage("Found.", tool_calls=[call]),
        ToolMessage("x", tool_call_id="s"),
    ]
    window = select_window([*found, *history(9)], 3, question="the same web search as before")
    assert queries(window) == ["Query 0", "Query 8", "Query 9"]


def test_a_window_of_one_keeps_the_latest() -> None:
    assert queries(select_window(with_old_command(), 1, question="same pytest command as before")) == [
        "Query 9"
    ]


@pytest.mark.parametrize(
    ("question", "size"),
    [
        ("run tests", 3),
        ("please refactor the whole auth module now", 7),
        ("Implement the parser for the new format", 7),
        ("Design a schema for the new store", 7),
        ("one two three four five", 5),
        ("refactor auth", 3),
        ("请帮我看看这个函数为什么返回错误的结果", 5),
        ("请帮我看看", 3),
        ("请帮我看看这个函", 5),
        ("", 3),
    ],
)
def test_the_adaptive_size(question: str, size: int) -> None:
    assert adaptive_size(question) == size


def test_the_adaptive_size_is_clamped() -> None:
    assert adaptive_size("please refactor the whole module now", base=9, maximum=10) == 10
    assert adaptive_size("run tests", base=4, minimum=3) == 3
    assert adaptive_size("run tests", base=20, maximum=10) == 10


def test_a_long_tool_result_is_cut_and_the_original_is_not() -> None:
    messages = turn(1, result="x" * 5_000)
    cut = truncate_tool_results(messages)
    assert cut[2].text == "x" * 2_000 + "... (truncated)"
    assert messages[2].text == "x" * 5_000
    assert cut[:2] == messages[:2]
    assert isinstance(cut[2], ToolMessage)
    assert cut[2].tool_call_id == "c1"


def test_a_result_of_the_limit_or_under_is_the_same_object() -> None:
    messages = turn(1, result="x" * 2_000)
    assert all(a is b for a, b in zip(truncate_tool_results(messages), messages, strict=True))


def test_an_answer_is_not_cut() -> None:
    assert truncate_tool_results([AIMessage("x" * 5_000)])[0].text == "x" * 5_000


def test_a_result_in_a_dict_is_cut_too() -> None:
    message: Message = {"role": "tool", "content": "x" * 3_000, "tool_call_id": "c"}
    (cut,) = truncate_tool_results([message])
    assert cut == {**message, "content": "x" * 2_000 + "... (truncated)"}
    assert len(message["content"]) == 3_000


def test_text_parts_are_cut_at_the_limit_and_images_stay() -> None:
    image = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}
    parts = [
        {"type": "text", "text": "a" * 8},
        image,
        {"type": "text", "text": "b" * 8},
        {"type": "text", "text": "c"},
    ]
    message: Message = {"role": "tool", "content": deepcopy(parts)}
    (cut,) = truncate_tool_results([message], limit=10)
    assert cut["content"] == [parts[0], image, {"type": "text", "text": "bb... (truncated)"}]
    assert message["content"] == parts


def test_the_metrics_count_what_the_window_left_out() -> None:
    before = history(10)
    after = select_window(before, 3)
    metrics = window_metrics(before, after, count_tokens=len)
    assert (metrics.messages_before, metrics.messages_after) == (30, 9)
    assert (metrics.interactions_before, metrics.interactions_after) == (10, 3)
    assert metrics.tokens_before > metrics.tokens_after == sum(len(message.text) for message in after)
    assert metrics.queries == ("Query 8", "Query 9", "Query 10")


ROLES = st.sampled_from(["user", "user", "assistant", "call", "result", "early", "stray", "system"])


def messages_of(roles: list[str]) -> list[Message]:
    built: list[Message] = []
    for number, role in enumerate(roles):
        if role == "call":
            built.append({"role": "assistant", "content": f"m{number}", "tool_calls": [{"id": f"c{number}"}]})
        elif role == "early":  # the result of a call that comes after it, if that is what comes next
            built.append({"role": "tool", "content": f"m{number}", "tool_call_id": f"c{number + 1}"})
        elif role in ("result", "stray"):
            calls = (
                [call["id"] for m in built for call in m.get("tool_calls", [])] if role == "result" else []
            )
            built.append(
                {"role": "tool", "content": f"m{number}", "tool_call_id": calls[-1] if calls else "none"}
            )
        else:
            built.append({"role": role, "content": f"m{number}"})
    return built


@given(st.lists(ROLES, max_size=25), st.one_of(st.none(), st.integers(0, 8)), st.booleans())
@settings(max_examples=150 if HEAVY else 40)
def test_the_laws_of_the_window(roles: list[str], size: int | None, refers: bool) -> None:
    messages = messages_of(roles)
    frozen = deepcopy(messages)
    question = "the same m1 m2 m3 m4 m5 as before" if refers else None
    window = select_window(messages, size, question=question)
    users = [message for message in window if message["role"] == "user"]
    called = [
        [call["id"] for m in window[:place] for call in m.get("tool_calls", [])]
        for place in range(len(window))
    ]
    places = [next(place for place, m in enumerate(messages) if m is message) for message in window]
    assert messages == frozen
    assert window == [] or window[0]["role"] == "user"
    assert size is None or len(users) <= size
    assert len(users) == min(len(interactions(messages)), len(messages) if size is None else size)
    assert all(
        m["tool_call_id"] in before for m, before in zip(window, called, strict=True) if m["role"] == "tool"
    )
    assert places == sorted(places)
    assert select_window(window, size) == window
