"""The router's rules, word by word."""

from __future__ import annotations

import pytest

from ace_graph.nodes import choose_mode


@pytest.mark.parametrize(
    ("question", "mode"),
    [
        ("plain greeting", "cot"),
        ("What is 2+2?", "cot"),
        ("steps to bake a cake", "tot"),
        ("a strategy", "tot"),
        ("plan the options", "tot"),
        ("please calculate 12*5", "react"),
        ("calculate 12*5", "react"),
        ("the community", "cot"),
        ("summer is hot", "cot"),
        ("I need an explanation", "cot"),
        ("ok thanks", "cot"),
        ("The plane landed", "cot"),
        ("search the web for otters", "react"),
        ("What do you remember about me?", "react"),
    ],
)
def test_whole_words_choose_the_mode(question: str, mode: str) -> None:
    assert choose_mode(question) == mode


def test_a_question_about_a_callers_tool_goes_to_react() -> None:
    tools = ["get_weather", "search_the_list"]
    assert choose_mode("How is the weather?", tools) == "react"
    assert choose_mode("Show me the list of kings", tools) == "cot"


@pytest.mark.parametrize("before", range(16_300, 16_420, 7))
def test_a_phrase_is_found_wherever_a_long_question_is_cut(before: int) -> None:
    assert choose_mode("x " * (before // 2) + "what have you learned about me" + " x" * 20_000) == "react"
    assert choose_mode("x" * before + "plan" + "x" * 20_000) == "cot"
