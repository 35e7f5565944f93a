"""Reads standing instructions: "from now on ...", "always ... when I ask about ...".

Such a sentence is kept whole, as a wish of the learner, with its condition apart, and nothing of the question
beside it. It needs a mark (the table `standing` of its language) or a condition on what is asked, and in
front a verb: without these it may be about this question alone. The work is linear in the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from ace_graph.learning.statements.sentences import MASK, Sentence
from ace_graph.memory.bullet import MAX_CONTEXT_CHARS
from ace_graph.memory.imperatives import is_imperative
from ace_graph.memory.languages.conditions import phrases_of
from ace_graph.memory.languages.detection import spoken_language
from ace_graph.memory.languages.forms import any_of
from ace_graph.memory.languages.tables import FIRST, SPACELESS, languages, words

_COMMAS = re.compile(r"[,，、;:] ?")
_EDGES = " .!?;,:。！？，、"
_FIRST_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_SURE = frozenset(("do", "don't", "dont", "be", "never", "always", "only", "keep", "give", "let", "make"))
"""How an English instruction begins by words that the forms of verbs don't tell."""
_LEADS = 4
"""So many politenesses and marks may stand before an instruction."""


class StandingInstruction(NamedTuple):
    """The words of an instruction that holds for later answers, and when it does; None: always."""

    words: str
    condition: str | None


class _Part(NamedTuple):
    """A part of a sentence between two commas."""

    begin: int
    end: int


def standing_instruction(sentence: Sentence) -> StandingInstruction | None:
    """Return the standing instruction that a sentence is, None where it is none for sure."""
    masked = sentence.masked.lower()
    if sentence.cut or len(masked) != len(sentence.text):
        return None
    language = spoken_language(masked)
    if language not in languages("standing"):
        return None
    condition = _condition(masked, language)
    rest = masked if condition is None else f"{masked[: condition.begin]} {masked[condition.end :]}"
    marked = _holds(rest, language, "marks")
    main, polite, opened = _main(_without(rest, language, "marks"), language)
    if not main or not (marked or opened or condition is not None) or (sentence.asks and not polite):
        return None
    if not _instructs(main, language, polite=polite):
        return None
    told = None if condition is None else sentence.text[condition.begin : condition.end].strip(_EDGES)
    return StandingInstruction(
        sentence.text.strip(_EDGES), None if told is None else told[:MAX_CONTEXT_CHARS]
    )


def _condition(masked: str, language: str) -> _Part | None:
    """Return the part of a sentence that says when it holds: what is asked, or how it is answered."""
    asking = frozenset(phrases_of(language, "asking"))
    found: _Part | None = None
    for begin, end in _parts(masked):
        for opening in _phrase(language, "when").finditer(masked, begin, end):
            said = masked[opening.end() : end]
            if language in SPACELESS:
                asks = any(word in said for word in asking)
            else:
                asks = not asking.isdisjoint(_FIRST_WORD.findall(said))
            if asks:
                found = _Part(opening.start(), end)  # the last one: "in bullet points when I ask for ..."
        if found is not None:
            return found
    return None


def _parts(masked: str) -> Sequence[_Part]:
    ends = [match.start() for match in _COMMAS.finditer(masked)]
    begins = [0, *(match.end() for match in _COMMAS.finditer(masked))]
    return [_Part(begin, end) for begin, end in zip(begins, [*ends, len(masked)], strict=True)]


def _main(rest: str, language: str) -> tuple[str, bool, bool]:
    """Return the rest without politeness in front, whether there was any, and whether "always" opens it."""
    main, polite, opened = rest.strip(_EDGES), False, False
    for _ in range(_LEADS):
        before = main
        for name in ("polite", "opening"):
            found = _phrase(language, name).match(main)
            if found is not None:
                polite, opened = polite or name == "polite", opened or name == "opening"
                main = main[found.end() :].strip(_EDGES)
        if main == before:
            break
    return main, polite, opened


def _instructs(main: str, language: str, *, polite: bool) -> bool:
    """Whether the words tell what to do, or what is wanted."""
    if MASK in main[:1]:
        return False
    if _phrase(language, "wants").match(main) is not None:
        return True
    if is_imperative(main):
        behind = main.split()[1:2]  # "sagt er nein" is none
        return not any(frozenset(behind) & words(language, "persons", name) for name in ("own", "others"))
    first = _FIRST_WORD.match(main)
    known = first is not None and first[0].replace("’", "'") in _SURE and " " in main
    return known or (polite and main != "" and language in (FIRST, *SPACELESS))


def _holds(text: str, language: str, name: str) -> bool:
    return _phrase(language, name).search(text) is not None


def _without(text: str, language: str, name: str) -> str:
    return _phrase(language, name).sub(" ", text)


@cache
def _phrase(language: str, name: str) -> re.Pattern[str]:
    """Return the pattern of the phrases of a text; of a text without any nothing matches."""
    listed = any_of(phrases_of(language, name))
    before, after = ("", "") if language in SPACELESS else (r"(?<!\w)", r"(?!\w)")
    return re.compile(f"{before}(?:{listed}){after}")


def patterns() -> Iterator[re.Pattern[str]]:
    """Yield every pattern that is made of the tables."""
    for language in languages("standing"):
        yield from (_phrase(language, name) for name in ("marks", "opening", "when", "polite", "wants"))
