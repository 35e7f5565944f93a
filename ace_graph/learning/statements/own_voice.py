"""Yields the sentences that a learner says themselves: not code, quotations, or text that was handed over.

Left out are blocks of code, a quotation of several lines, what follows a line that ends with a colon
("Translate this:") up to the next empty line, and everything after a sentence about a text to work on ("write
a story about ..."). In doubt a sentence is left out: a statement that is missed can be said again. Linear in
the message's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ace_graph.languages.detection import spoken_language
from ace_graph.languages.tables import FIRST, SPACELESS, phrases, words
from ace_graph.learning.statements.sentences import Sentence, sentences

__all__ = ["asks_not_to_keep", "own_sentences"]

_FENCE = ("```", "~~~")
_COLON = (":", "：")
_WORD = re.compile(r"\w+")
_CLOSING = {"“": "”", "„": "“”", "«": "»", "「": "」", "『": "』"}
_PLAIN_MARK = re.compile(r'(?<!\d)"')


def own_sentences(message: str) -> Iterator[Sentence]:
    """Yield the learner's own sentences in order, with quotations in a line masked."""
    for line, introduced in _own_lines(message):
        for sentence in sentences(line):
            if not introduced:
                yield sentence
            if _names_material(sentence.masked):
                return


def asks_not_to_keep(message: str) -> bool:
    """Whether the message asks that nothing of it is kept."""
    folded = " ".join(message.replace("’", "'").casefold().split()) + "."
    wishes = (
        phrase
        for each in dict.fromkeys((spoken_language(message), FIRST))
        for phrase in phrases(each, "persons", "not_kept")
    )
    return any(wish in folded for wish in wishes)


def _own_lines(message: str) -> Iterator[tuple[str, bool]]:
    """The lines outside of code and of quotations, each with whether a colon has introduced it."""
    fenced, introduced, begun, closing = False, False, False, ""
    for line in message.splitlines():
        bare = line.strip()
        if bare.startswith(_FENCE):
            fenced = not fenced
        elif closing:
            closing = "" if any(mark in line for mark in closing) else closing
        elif not bare:
            introduced = introduced and not begun
        elif not fenced:
            before, closing = _before_quotation(line)
            yield before, introduced
            begun = introduced
            if bare.endswith(_COLON):
                introduced, begun = True, False


def _before_quotation(line: str) -> tuple[str, str]:
    """What stands before a quotation that the line opens and does not close, and the marks that close it."""
    for mark, closing in _CLOSING.items():
        opened = line.rfind(mark)
        if opened >= 0 and not any(line.find(each, opened + 1) >= 0 for each in closing):
            before = line[:opened]
            if mark not in closing or before.count(mark) % 2 == 0:
                return before, closing
    marks = [match.start() for match in _PLAIN_MARK.finditer(line)]
    return (line[: marks[-1]], '"') if len(marks) % 2 else (line, "")


def _names_material(masked: str) -> bool:
    language = spoken_language(masked)
    named = words(language, "persons", "material")
    if language in SPACELESS:
        return any(word in masked for word in named)
    return not named.isdisjoint(_WORD.findall(masked.casefold()))
