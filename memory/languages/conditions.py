"""When a standing instruction holds: "when I ask about dependencies", read by the tables `standing`.

The words of its condition must be in the question. A condition on the sort of answer alone ("when you compare
things") can't be told by words, so it counts as one that holds: the instruction says it, and who answers sees
whether it does.
"""

from __future__ import annotations

from functools import cache

from ace_graph.memory.languages.tables import languages, listed, table

_TABLE = "standing"


@cache
def phrases_of(language: str, name: str) -> tuple[str, ...]:
    """Return the phrases of a text of the table, the longest first; none where the language lacks it."""
    if language not in languages(_TABLE):
        return ()
    return tuple(sorted(listed(table(language, _TABLE).get(name, "")), key=len, reverse=True))


@cache
def words_without_topic() -> frozenset[str]:
    """Return the words of conditions in all languages that say nothing of what is asked about."""
    names = ("when", "ever", "about", "topic", "asking", "making", "raised", "kinds")
    found = (phrase for each in languages(_TABLE) for name in names for phrase in phrases_of(each, name))
    return frozenset(word for phrase in found for word in phrase.replace(",", " ").split())
