"""No regular expression of the package takes more than linear time, by its construction.

A pattern that a text cut to a fixed length is matched with may stand in BOUNDED, with that length.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from itertools import product
from typing import cast

import pytest

from dev.regexes.backtracking import Use, slow_text
from dev.regexes.found import Found, modules_of, patterns_of
from tests.packaging.repository import ROOT

PATTERN_KEYS = {"pattern", "unless_before", "unless_after", "beside", "unless_beside"}

BOUNDED = {
    "ace_graph.memory.arithmetic:LEARNER": 300,
    "ace_graph.memory.arithmetic:_LEARNER_TOKEN": 300,
    "ace_graph.memory.classify:pattern": 4_000,
    "ace_graph.memory.similarity.claim:_TOKEN": 4_000,
    "ace_graph.agent.offline_tutor.parser:_CONVERT": 2_000,
    "ace_graph.agent.offline_tutor.parser:_GOES_ON": 2_000,
    "ace_graph.agent.offline_tutor.parser:_EACH": 2_000,
    "ace_graph.agent.offline_tutor.parser:_PAIR": 2_000,
    "ace_graph.agent.offline_tutor.parser:_VERBS": 2_000,
}
"""Where a pattern is, and how many characters it is shown at most: bullets and the tutor's questions."""

MADE_AT_IMPORT = {
    "ace_graph.learning.statements.forms:_text(written)",
    "ace_graph.agent.offline_tutor.small_talk:text",
    "ace_graph.agent.offline_tutor.preferences:f\"\\\\b(?:{'|'.join(alternatives)})\\\\b\"",
}
"""Put together in a function that runs when its module is imported, and found in the module then."""

MADE_FROM_DATA = {
    "ace_graph.learning.statements.explicit:f'{edge}(?:{listed}){edge}'",
    "ace_graph.learning.feedback:f'{edge}(?:{listed}){edge}'",
    "ace_graph.learning.statements.explicit:f'{before}(?:{listed}){after}'",
    "ace_graph.learning.calculations:f'¿?(?:{before})'",
    "ace_graph.learning.feedback:f'{before}(?:{any_of(denying)}){number}'",
    "ace_graph.learning.feedback:f'(?:{listed}){edge}{marks}'",
    "ace_graph.memory.screening.rules:self.text",
    "ace_graph.memory.screening.rules:f'(?:{self.before})$'",
    "ace_graph.memory.screening.rules:self.after",
    "ace_graph.memory.screening.rules:self.beside_text",
    "ace_graph.memory.screening.rules:self.unless_beside_text",
    "ace_graph.memory.languages.forms:f'(?:{forms or _NOTHING}){after}'",
    "ace_graph.memory.languages.forms:f'(?:{before}{_JOINT})?{said}{tail}'",
    "ace_graph.memory.screening.secrets:f\"(?i)({'|'.join(names.split())})=[^&]*\"",
}
"""Compiled when a data file is first used; `patterns()` of the module that uses it returns them."""

MADE_OF_WORDS = 3
"""Patterns that are made of lists of words in data files: two of joined words, one of secret parameters."""

TABLES = {"ace_graph.memory.classify:pattern": ("_TOPICS", "_FRACTION_TOPICS")}
"""Tables of texts that are compiled when they are first used."""


def test_every_pattern_is_linear() -> None:
    complaints = dict[str, str]()
    for module in modules_of("ace_graph"):
        for found in patterns_of(module):
            complaints.update(_complaints(found))
    found_slow, listed = complaints.keys(), BOUNDED.keys()
    assert not found_slow - listed, "\n".join(complaints[place] for place in found_slow - listed)
    assert not listed - found_slow, "a pattern that is linear needs no bound"


def test_every_pattern_of_the_data_files_is_checked() -> None:
    """No rule of a file escapes: each of its patterns is among those that the modules return."""
    found = (each for module in modules_of("ace_graph.memory.screening") for each in patterns_of(module))
    shown = sum(each.name == "patterns()" for each in found)
    written = 0
    for path in (ROOT / "memory").rglob("data/**/*.toml"):
        if path.name == "statement_rules.toml":  # of statements
            continue
        tables = tomllib.loads(path.read_text("utf-8")).values()
        rules = [rule for table in tables if isinstance(table, list) for rule in cast("list[object]", table)]
        written += sum(len(PATTERN_KEYS & cast("dict[str, str]", rule).keys()) for rule in rules)
    assert written > 100
    assert shown == written + MADE_OF_WORDS


def test_a_rule_of_a_data_file_that_backtracks_is_refused() -> None:
    slow = Found("ace_graph.memory.screening.rules", "patterns()", r"\s+x", 0, frozenset({"search"}))
    assert dict(_complaints(slow))


def _complaints(found: Found) -> Iterator[tuple[str, str]]:
    texts = [found.text] if found.text is not None else list(_of_tables(found))
    if not texts and _unquoted(found.place) not in map(_unquoted, MADE_AT_IMPORT | MADE_FROM_DATA):
        yield found.place, f"{found.place}: compile it at the top of the module, or do without"
    for text, use in product(texts, found.uses):
        shown = slow_text(text, found.flags, use)
        if shown is not None:
            yield found.place, f"{found.place} takes more than linear time on repeated {shown!r}"


def _unquoted(place: str) -> str:
    """The place without quotes, which Python versions write in different ways."""
    return place.translate(dict.fromkeys(map(ord, "'\"\\")))


def _of_tables(found: Found) -> Iterator[str]:
    for name in TABLES.get(found.place, ()):
        table: dict[str, str] = getattr(import_module(found.module), name)
        yield from table.values()


QUADRATIC: list[tuple[str, int, Use]] = [
    (r"\s+x", 0, "search"),
    (r"\s++x", 0, "search"),
    (r"“[^”\n]*”", 0, "search"),
    (r"^\s*>", re.MULTILINE, "search"),
    (r"foo.*bar", 0, "search"),
    (r"(?=.*a)", 0, "search"),
    (r"x(?=[a-z]*\d)", 0, "search"),
    (r"\d+\d+x", 0, "match"),
    (r"\s*,?\s*x", 0, "match"),
    (r"\w*(?:\w|x)*", 0, "fullmatch"),
    (r"(?:a?){300,}", 0, "fullmatch"),
    (r"[ab]*(?=c)", 0, "search"),
    (r"a(?:[ab]*c)?", 0, "search"),
    (r"[0-9]+(?:[.,][0-9]+)*(?![A-Za-z0-9])", 0, "search"),
]
EXPONENTIAL: list[tuple[str, int, Use]] = [
    (r"(a+)+b", 0, "match"),
    (r"(a*)*b", 0, "match"),
    (r"(a|a)*b", 0, "match"),
    (r"(?:a|aa)+$", 0, "search"),
    (r"(?:\w+\s?)*!", 0, "match"),
]
LINEAR: list[tuple[str, int, Use]] = [
    (r'"[^"\n]*"', 0, "search"),
    (r"^[ \t]*>", re.MULTILINE, "search"),
    (r"foo.*", 0, "search"),
    (r"foo.*$", re.MULTILINE, "search"),
    (r"[A-Z]+(?![a-z])", 0, "search"),
    (r"(?<![0-9.,])[0-9]+(?:[.,][0-9]+)*(?![A-Za-z0-9])", 0, "search"),
    (r"(?<=://)[^/:]+:[^/]+(?=@)", 0, "search"),
    (r"(?<!\w)\d+(?!\w)", 0, "search"),
    (r"\w+\b", 0, "search"),
    (r"(?:ab+)*", 0, "search"),
    (r"\d+(?:,\d+)*", 0, "search"),
    (r"<a>.*?(?:</a>|\Z)", re.DOTALL, "search"),
    (r"\bx.{0,40}y", 0, "search"),
    (r"\A\s*x", 0, "search"),
    (r"\s+x", 0, "match"),
    (r"a*b*", 0, "fullmatch"),
    (r"(.*\S)\s*$", 0, "match"),
    (r"(?>\s*)\s?x", 0, "match"),
]


@pytest.mark.parametrize(("pattern", "flags", "use"), [*QUADRATIC, *EXPONENTIAL])
def test_a_pattern_that_backtracks_is_found(pattern: str, flags: int, use: Use) -> None:
    assert slow_text(pattern, flags, use)


@pytest.mark.parametrize(("pattern", "flags", "use"), LINEAR)
def test_a_linear_pattern_is_accepted(pattern: str, flags: int, use: Use) -> None:
    assert slow_text(pattern, flags, use) is None
