"""No regular expression of the package takes more than linear time, by its construction.

A pattern that a text cut to a fixed length is matched with may stand in BOUNDED, with that length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from dev.regexes.backtracking import Use, slow_text
from dev.regexes.found import Found, modules_of, patterns_of

BOUNDED: dict[str, int] = {}
"""Where a pattern is, and how many characters it is shown at most."""

NOT_YET = (
    "ace_graph.learning.evidence",
    "ace_graph.learning.explicit",
    "ace_graph.learning.feedback",
    "ace_graph.memory.formats",
    "ace_graph.memory.screen",
    "ace_graph.memory.taxonomy",
    "ace_graph.memory.text",
    "ace_graph.memory.wording",
    "ace_graph.models",
    "ace_graph.offline_tutor",
    "ace_graph.prompts",
    "ace_graph.reasoning",
    "ace_graph.tools",
)


def test_every_pattern_is_linear() -> None:
    complaints = list[str]()
    for module in modules_of("ace_graph"):
        for found in patterns_of(module):
            if found.place not in BOUNDED and not found.module.startswith(NOT_YET):
                complaints += _complaints(found)
    assert not complaints, "\n".join(complaints)


def _complaints(found: Found) -> Iterator[str]:
    if found.text is None:
        yield f"{found.place}: compile it at the top of the module, or do without"
        return
    for use in found.uses:
        shown = slow_text(found.text, found.flags, use)
        if shown is not None:
            yield f"{found.place} takes more than linear time on repeated {shown!r}"


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
