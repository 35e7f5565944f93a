"""Every module of the screening that makes patterns of data lists them, so that they can be checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from string import ascii_lowercase

import pytest

from ace_graph.memory.languages import languages, raw_table
from ace_graph.memory.screening import Rule, agent_orders, patterns_of, read_rules, rules_in, secrets
from ace_graph.memory.screening import rules as links
from ace_graph.memory.screening.screen import screen

INSTRUCTIONS = [
    rule for language in languages("agent_orders") for rule in rules_in(raw_table(language, "agent_orders"))
]


@pytest.mark.parametrize(
    ("listed", "rules"),
    [
        (links.link_patterns, read_rules("links.toml")),
        (secrets.password_patterns, read_rules("passwords.toml")),
        (agent_orders.patterns, INSTRUCTIONS),
        (secrets.secret_patterns, (*read_rules("secrets.toml"), *read_rules("secrets.toml", "loose"))),
    ],
    ids=["links", "passwords", "instructions", "secrets"],
)
def test_the_patterns_of_every_rule_are_listed(
    listed: Callable[[], Iterator[re.Pattern[str]]], rules: tuple[Rule, ...]
) -> None:
    found = list(listed())
    assert len(rules) > 1
    assert [each.text for each in rules] == [each.pattern.pattern for each in rules]
    assert set(patterns_of(rules)) <= set(found)
    assert {each.pattern for each in rules} <= set(found)
    assert {each.unless_before for each in rules if each.before} <= set(found)
    assert {each.unless_after for each in rules if each.after} <= set(found)


def test_the_patterns_of_joined_words_and_parameters_are_listed() -> None:
    begun, plainest = agent_orders.joined_word_patterns()
    assert begun.search("ignoreyour")
    assert plainest.search("ignoreallpreviousinstructions")
    assert not plainest.search("ignorecase")
    assert any(each.search("api_key=x") and not each.search("page=x") for each in secrets.secret_patterns())


def _spelled(letters: str) -> str:
    return " ".join(letters)


@pytest.mark.parametrize(
    ("letters", "why"),
    [
        (ascii_lowercase, None),
        ("abcdefghixmtqkzwp", None),
        ("abcdefghxmtqkzwpu", "with its letters set apart"),
        ("abcdefgxmtqkzwpuv", "with its letters set apart"),
        ("abcdefgxmtqkzwp", None),
        ("zyxwvutsrqponmlkj", "with its letters set apart"),
        ("cdefgabcdefgabcdefg", None),
        ("qwerqwerqwerqwerqwer", None),
    ],
)
def test_letters_set_apart_are_an_alphabet_where_half_of_them_ascend(letters: str, why: str | None) -> None:
    found = screen(_spelled(letters))
    assert (found is None) is (why is None)
    assert why is None or why in str(found)
