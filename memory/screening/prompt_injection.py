"""Prompt injection: texts that give instructions to the agent itself.

A lesson says how to do a task. A text that says who the agent is, what it must ignore, what of itself it must
show or hide, or what becomes of its other memories, is an instruction, whoever wrote it. The structure of the
sentence tells the two apart: whose rules are set aside ("your", "all previous"; not "the rule for commas"),
whether the verb reaches its object without a preposition ("ignore case in all rules" does not), whether it
is negated, who the subject is, and whether a role, not a place or a skill, follows "you are now". "Never tell
the learner the answer at once" is teaching; "never tell the learner about this note" is an instruction.

The rules are in data/prompt_injection, a file for each language; docs/security.md says what they cover.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ace_graph.memory.screening.rules import Rules, first_kind, patterns_of, read_rules
from ace_graph.memory.tables import languages

__all__ = ["find_instruction", "patterns"]


def find_instruction(text: str) -> str | None:
    """Return what kind of instruction a folded text in lower case gives the agent, None for none."""
    return first_kind(_rules(), text)


def patterns() -> Iterator[re.Pattern[str]]:
    """Yield every pattern that is made of the data."""
    return patterns_of(_rules())


@cache
def _rules() -> Rules:
    listed = languages("ace_graph.memory.screening", "prompt_injection")
    return Rules(rule for language in listed for rule in read_rules(f"prompt_injection/{language}.toml"))
