"""Prompt injection: texts that give instructions to the agent itself.

A lesson says how to do a task. A text that says who the agent is, what it must ignore, what of itself it must
show or hide, or what becomes of its other memories, is an instruction, whoever wrote it. The structure of the
sentence tells the two apart: whose rules are set aside ("your", "all previous"; not "the rule for commas"),
whether the verb reaches its object without a preposition ("ignore case in all rules" does not), whether it
is negated, who the subject is, and whether a role, not a place or a skill, follows "you are now". "Never tell
the learner the answer at once" is teaching; "never tell the learner about this note" is an instruction.

The rules are the tables `orders` of the languages; docs/security.md says what they cover.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ace_graph.languages.tables import languages, raw_table
from ace_graph.memory.screening.rules import Rules, first_kind, patterns_of, rules_in

__all__ = ["find_instruction", "patterns"]


def find_instruction(text: str) -> str | None:
    """Return what kind of instruction a folded text in lower case gives the agent, None for none."""
    return first_kind(_rules(), text)


def patterns() -> Iterator[re.Pattern[str]]:
    """Yield every pattern that is made of the data."""
    return patterns_of(_rules())


@cache
def _rules() -> Rules:
    tables = (raw_table(language, "orders") for language in languages("orders"))
    return Rules(rule for each in tables for rule in rules_in(each))
