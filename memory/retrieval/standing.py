"""Standing instructions and wishes: which of them are in the prompt of this question, and which wait.

One without a condition is in every prompt, the newest up to a number. One with a condition ("when I ask about
dependencies", its `context`) is there where the question has a word of it, or is like it by meaning. A
condition on the sort of answer ("when you compare things") can't be told by words: the instruction is shown,
and says itself when it holds. What waits is found by words like any other bullet, not by a little likeness.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.languages.conditions import words_without_topic
from ace_graph.memory.languages.tables import SPACELESS
from ace_graph.memory.search.tokenize import language_of, terms

SECTION = "preferences"
ALIKE = 0.5
"""How like a question is by meaning (0 to 1) for a condition to hold."""
_WORD = re.compile(r"\w+")


def is_instruction(bullet: Bullet) -> bool:
    """Whether a bullet is a wish that this module decides about: not pinned, and no value of the profile."""
    return bullet.section == SECTION and not bullet.pinned and bullet.slot is None


def waiting(
    bullets: Iterable[Bullet], asked: Collection[str], similar: Mapping[str, float], most: int
) -> dict[str, str]:
    """Return the instructions that are not in every prompt, with the condition that does not hold.

    "" stands for one that is older than the `most` newest. `asked` are the question's terms, `similar` says
    by id how like it a bullet is.
    """
    found, shown = dict[str, str](), list[Bullet]()
    for bullet in filter(is_instruction, bullets):
        if bullet.context and not (holds(bullet.context, asked) or similar.get(bullet.id, 0.0) >= ALIKE):
            found[bullet.id] = bullet.context
        else:
            shown.append(bullet)
    shown.sort(key=lambda bullet: (bullet.updated_at, bullet.id), reverse=True)
    return found | dict.fromkeys((bullet.id for bullet in shown[most:]), "")


def holds(condition: str, asked: Collection[str]) -> bool:
    """Whether a question with these terms has a word of what the condition is about, if of anything."""
    topic = _topic(condition)
    return not topic or not topic.isdisjoint(asked)


@lru_cache(1_024)
def _topic(condition: str) -> frozenset[str]:
    """Return the terms that say what somebody asks about, none for a sort of answer."""
    said, plain = condition.lower(), words_without_topic()
    if language_of(condition) in SPACELESS:
        for word in sorted(plain, key=len, reverse=True):
            said = said.replace(word, " ")
        return frozenset(terms(said))
    return frozenset(terms(" ".join(word for word in _WORD.findall(said) if word not in plain)))
