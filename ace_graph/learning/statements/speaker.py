"""Decides whether a stretch of a sentence is a fact that the learner states about themselves.

It looks at the words for persons of the sentence's language (ace_graph/languages): the learner has to be
named first, not somebody else, and nothing may make the statement a question, a supposition or a report. The
words are read once. `clause_around` returns the whole clauses around the stretch, so that what is kept says
what was said: of "I don't have a dog" never "have a dog".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from ace_graph.learning.statements.forms import form_of, states_sensitive
from ace_graph.learning.statements.sentences import MASK, Sentence
from ace_graph.memory.languages.tables import SPACELESS, phrases, table, words

_WORD = re.compile(r"\w+")
_BREAK = re.compile(r"[,;，；、](?!\d)|：|: | [-–—] ")
_EDGES = " ,;.!?:，；、。！？：…-–—¡"
_INVERTED = "¿"
_ROLES = ("own", "mine", "others", "relatives", "reports", "supposing")

A_QUESTION = "it is asked, not said"
SUPPOSED = "it is supposed, not said"
SOMEBODY_ELSE = "it is about somebody else"
NOT_THEMSELVES = "it does not say that it is about the learner"
REPORTED = "it reports what somebody says or thinks"
HANDED_OVER = "it is a text that was handed over, not said"


class Stretch(NamedTuple):
    """A part of a sentence, from `start` to `end`."""

    start: int
    end: int


class _Mark(NamedTuple):
    start: int
    end: int
    role: str


def clause_around(sentence: Sentence, quoted: Stretch, language: str) -> Stretch:
    """Return the clauses that the stretch lies in, from the first one's start to the last one's end."""
    touched = [
        each
        for each in clauses_of(sentence.masked, language)
        if each.start < quoted.end and quoted.start < each.end
    ]
    return Stretch(touched[0].start, touched[-1].end) if touched else quoted


def clauses_of(masked: str, language: str) -> list[Stretch]:
    """Return the clauses of a sentence: parted by commas, or by a joint before a word for the speaker."""
    cuts = [(each.start(), each.end()) for each in _BREAK.finditer(masked)]
    cuts += _joints(masked, language)
    found, begin = list[Stretch](), 0
    for start, end in (*sorted(cuts), (len(masked), len(masked))):
        found += _trimmed(masked, begin, start)
        begin = max(begin, end)
    return found


def doubt(sentence: Sentence, clause: Stretch, language: str, *, sensitive: bool) -> str | None:
    """Return why the clause is no fact that the learner states about themselves, None where it is one."""
    masked = sentence.masked
    if _is_question(sentence, clause, language):
        return A_QUESTION
    if MASK in masked[clause.start : clause.end]:
        return HANDED_OVER
    marks = _marks(masked, language)
    if any(each.role == "supposing" for each in marks):
        return SUPPOSED
    if _reported(marks, clause):
        return REPORTED
    inside = [each for each in marks if clause.start <= each.start < clause.end]
    return _about_whom(inside, masked, sensitive=sensitive)


def _about_whom(marks: Sequence[_Mark], masked: str, *, sensitive: bool) -> str | None:
    persons = [each for each in marks if each.role in ("own", "mine", "others")]
    others = [each for each in persons if each.role == "others"]
    if not persons:
        return NOT_THEMSELVES
    first = persons[0]
    if first.role == "others" or (first.role == "mine" and others):
        return SOMEBODY_ELSE
    if any(each.role == "relatives" for each in marks) and (others or sensitive):
        return SOMEBODY_ELSE
    if others and (sensitive or any(each.role == "reports" for each in marks)):
        return SOMEBODY_ELSE
    if others and not masked[first.end : others[0].start].strip(" 的の"):
        return SOMEBODY_ELSE  # "我朋友" is "my friend"
    return None


def _reported(marks: Sequence[_Mark], clause: Stretch) -> bool:
    """Whether a verb of speech or thought of somebody else stands before the clause's end."""
    for at, each in enumerate(marks):
        if each.role == "reports" and each.start < clause.end:
            own = at > 0 and marks[at - 1].role == "own"
            if not own:
                return True
    return False


def _is_question(sentence: Sentence, clause: Stretch, language: str) -> bool:
    masked = sentence.masked
    said = masked[clause.start : clause.end]
    if _INVERTED in masked[: clause.end]:
        return True
    if _begins_question(said, language) and not goes_on(masked, clause, language):
        return True
    if language in SPACELESS and said.endswith(tuple(words(language, "persons", "question_ends"))):
        return True
    if not sentence.asks:
        return False
    rest = masked[clause.end :].lstrip(_EDGES)
    if rest.startswith(_INVERTED):
        return False
    if language in SPACELESS:
        return not _begins_question(rest, language)
    begin = [word[0] for word in islice(_WORD.finditer(rest), 3)]  # "and you can ...?"
    return not any(_begins_question(word, language) for word in begin)


def _begins_question(text: str, language: str) -> bool:
    asking = words(language, "persons", "questions")
    if language in SPACELESS:
        return text.startswith(tuple(asking))
    first = _WORD.match(text.lstrip(_EDGES))
    return first is not None and first[0].casefold() in asking


def asks_at(text: str, language: str) -> bool:
    """Whether a text begins with a question of its own: "what is ...", "how do I ...", not "how you do it".

    Its verb stands before the person, not last as in "how old I am".
    """
    if language in SPACELESS:
        return _begins_question(text, language)
    said = _WORD.findall(text.casefold())
    first, second, third = (*said[:3], "", "", "")[:3]
    asking = words(language, "persons", "questions")
    persons = words(language, "persons", "own") | words(language, "persons", "others")
    if first not in asking or second in persons:
        return False
    return second in asking or (third in persons and said[-1] not in asking)


def goes_on(masked: str, clause: Stretch, language: str) -> bool:
    """Whether a clause states something of the learner, whom alone the sentence has named before it."""
    said = masked[clause.start : clause.end]
    if form_of(said, language, shortened=True) is None and not states_sensitive(
        said, language, shortened=True
    ):
        return False
    before = {each.role for each in _marks(masked[: clause.start], language)}
    return "others" not in before and not before.isdisjoint(("own", "mine"))


def holds_word(text: str, language: str, name: str) -> bool:
    """Whether a text holds a word of the table of persons under `name`."""
    wanted = words(language, "persons", name)
    if language in SPACELESS:
        return any(word in text for word in wanted)
    return any(word.casefold() in wanted for word in _WORD.findall(text))


def names_somebody(text: str, language: str) -> bool:
    """Whether a text names a person other than the speaker."""
    return any(each.role == "others" for each in _marks(text, language))


def _joints(masked: str, language: str) -> Iterator[tuple[int, int]]:
    """The places between statements where a joint stands before a word for the speaker, or a question."""
    if language in SPACELESS:
        return
    joints, asking = words(language, "persons", "joints"), words(language, "persons", "questions")
    held = "joint_ends" in table(language, "persons")
    ends = words(language, "persons", "joint_ends") if held else frozenset[str]()
    speaker = words(language, "persons", "own") | words(language, "persons", "mine")
    begin: int | None = None
    for word in _WORD.finditer(masked):
        if word[0].casefold() in joints:
            begin = word.start() if begin is None else begin
        if begin is not None and word[0].casefold() in joints | ends:
            continue
        if begin is not None:
            rest = Stretch(word.start(), len(masked))
            said = [each[0].casefold() for each in islice(_WORD.finditer(masked, word.start()), 2)]
            asks = len(said) > 1 and asking.issuperset(said)  # "and what is ..."
            if said[0] in speaker or asks or _wishes_at(masked, rest, language):
                yield begin, word.start()
        begin = None


def _wishes_at(masked: str, rest: Stretch, language: str) -> bool:
    """Whether a clause begins that speaks of the learner, or of the answers, without naming anyone."""
    form = form_of(masked[rest.start :], language)
    return (form is not None and form.kind == "wishes") or goes_on(masked, rest, language)


def _trimmed(masked: str, start: int, end: int) -> Iterator[Stretch]:
    piece = masked[start:end]
    left = len(piece) - len(piece.lstrip(_EDGES))
    right = len(piece.rstrip(_EDGES))
    if right > left:
        yield Stretch(start + left, start + right)


def _marks(masked: str, language: str) -> list[_Mark]:
    """The words for persons, and those that make a doubt, in their order."""
    if language in SPACELESS:
        return _marks_anywhere(masked, language)
    roles, found = _roles(language), list[_Mark]()
    excused, before = phrases(language, "persons", "no_person"), ""
    for word in _WORD.finditer(masked):
        said = word[0].casefold()
        role = roles.get(said)
        if role == "others" and (f"{before} {said}" in excused or _begins_excused(masked, word, excused)):
            role = None
        if role is not None:
            found.append(_Mark(word.start(), word.end(), role))
        before = said
    return found


def _begins_excused(masked: str, word: re.Match[str], excused: Sequence[str]) -> bool:
    return any(masked[word.start() : word.start() + len(each)].casefold() == each for each in excused)


def _marks_anywhere(masked: str, language: str) -> list[_Mark]:
    found = list[_Mark]()
    text = masked
    for phrase in phrases(language, "persons", "no_person"):
        text = text.replace(phrase, MASK * len(phrase))
    for word, role in _roles(language).items():
        at = text.find(word)
        while at >= 0:
            found.append(_Mark(at, at + len(word), role))
            at = text.find(word, at + len(word))
    return sorted(found)


@cache
def _roles(language: str) -> dict[str, str]:
    return {word: role for role in reversed(_ROLES) for word in words(language, "persons", role)}
