"""How a learner says something about themselves in English, by the rules of the table `statement_rules`.

A rule matches how a clause begins. `STATEMENTS` are what a learner asks the assistant to keep (a name, a
wish, "remember that ..."). `PLAIN_FACTS` are harmless facts that are kept when mentioned in passing, one
value each (age, school year, home). `FACT` is kept only beside one of these in the same message, `STYLE`
beside one in the same sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ace_graph.learning.statements.forms import is_sensitive
from ace_graph.memory.bullet import MemoryType
from ace_graph.memory.languages.tables import FIRST, raw_table

_TABLE = cast("Mapping[str, Any]", raw_table(FIRST, "statement_rules"))  # Any: texts, and tables of rules
_OTHER_TEXT = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True)
class StatementRule:
    """A clause that begins with `pattern` is kept in `section`, from there to its end.

    With `fact` only what comes after the pattern is kept. Of a `slot` there is one value at a time.
    """

    pattern: re.Pattern[str]
    section: str
    memory_type: MemoryType
    slot: str | None = None
    fact: bool = False


def _text(written: str | Sequence[str]) -> str:
    whole = written if isinstance(written, str) else "".join(written)
    return _OTHER_TEXT.sub(lambda other: _text(_TABLE[other[1]]), whole)


def _compiled(written: str | Sequence[str]) -> re.Pattern[str]:
    return re.compile(_text(written), re.IGNORECASE)


def pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of this name."""
    return _compiled(_TABLE[name])


def texts(name: str) -> str:
    """Return the text of this name."""
    return _text(_TABLE[name])


def _rule(name: str) -> StatementRule:
    rule: dict[str, Any] = dict(_TABLE["rules"][name])
    return StatementRule(_compiled(rule.pop("pattern")), **rule)


DENIALS = tuple((_compiled(denial["pattern"]), str(denial["affirmed"])) for denial in _TABLE["denials"])
"""How a clause begins that denies something, and how one begins that says it."""
FILLER = pattern("filler")
"""What may stand before any statement or request."""
LEAD = pattern("lead")
"""How every rule here, and every request to forget, begins."""
NEGATED = pattern("negated")
STATEMENTS = (
    *map(
        _rule, ("name", "persona", "language", "native_language", "misconception", "preference", "remember")
    ),
)
LIKES = _rule("likes")
"""What somebody likes, and not "I like this one"."""
NAMED = _rule("named")
"""A name that is told by its capital letter alone: "I'm Tom"."""
PLAIN_FACTS = (*map(_rule, ("age", "grade", "home")), NAMED, LIKES)
FACT = _rule("fact")
"""A plain clause about the learner. In passing it is not kept: it may be about health, belief, origin."""
BESIDE = _rule("beside")
"""What else a learner tells of themselves in a sentence with a name, a home: "and my test is on Friday"."""
STYLE = _rule("style")
"""A wish on how to answer, as it stands behind another one: "answer in German and keep it short"."""


Found = tuple[StatementRule, re.Match[str]]
"""A rule, and how a clause begins by it."""


def rule_of(clause: str, position: int = 0) -> Found | None:
    """Return the first rule that the clause at `position` begins with, and the match."""
    for rule in (*STATEMENTS, *PLAIN_FACTS):
        match = rule.pattern.match(clause, position)
        if match is not None and not (rule is NAMED and is_sensitive(match[0], FIRST)):  # "I'm Muslim"
            return rule, match
    return None
