"""What a sentence says about an answer, in the languages whose tables have forms of feedback.

A form concerns the beginning of a sentence, and its end or the end of its clause: "das ist richtig schwer" is
no praise. A praise that something is objected to in the same sentence ("..., aber ...") is none either.
English has its rules in feedback.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from ace_graph.languages.forms import any_of, form_pattern, form_wished
from ace_graph.languages.tables import FIRST, SPACELESS, languages, phrases, words
from ace_graph.learning.statements.sentences import skip
from ace_graph.memory.evidence import Verdict

__all__ = ["asks_if_right", "correction_in", "objects", "other_value", "patterns", "verdict_of"]

_FILE = "feedback"
_ENDS = r"[.,!;:…。！，；：、]|$| [-–—] "
_BREAK = re.compile(r"[,;:](?!\d) ?|[，；：。、]|\. | [-–—] ")
_BEHIND = r"[ .!?。！？]{0,5}"
_NUMBER = re.compile(r"[-−]?\d[\d.,/ ]{0,20}%?")
_MARKS = " \"'`“”«»「」.!;,。！，"
_READ_CHARS = 300


class _Forms(NamedTuple):
    lead: re.Pattern[str]
    no: re.Pattern[str]
    thanks: re.Pattern[str]
    wrong: re.Pattern[str]
    should_be: re.Pattern[str]
    value: re.Pattern[str]
    again: re.Pattern[str]
    right: re.Pattern[str]
    doubt: re.Pattern[str]
    objection: re.Pattern[str]


def verdict_of(sentence: str, language: str, *, answers_a_question: bool) -> Verdict | None:
    """Return what a sentence in a language says about the answer before it, None for nothing.

    A "no" before a value judges only where the answer had asked nothing.
    """
    forms, said = _forms(language), sentence.replace("’", "'")
    if form_wished(said) is not None:
        return None
    if language in SPACELESS and said.rstrip(_MARKS).endswith(
        tuple(words(language, "persons", "question_ends"))
    ):
        return None
    begin = skip(forms.lead, said, said.startswith("¡"))
    after_no = skip(forms.no, said, begin)
    if any(forms.wrong.match(said, at) or _says_value(said, at, language) for at in (begin, after_no)):
        return "failure"
    if after_no > begin and not answers_a_question and _gives_value(said, after_no, language):
        return "failure"
    if forms.again.match(said, begin):
        return "partial"
    praise = forms.right.match(said, skip(forms.lead, said, skip(forms.thanks, said, begin)))
    return "success" if praise is not None and not objects(said[praise.end() :], language) else None


def objects(rest: str, language: str) -> bool:
    """Whether the rest of a sentence takes something back: "but", "except"."""
    return _objection(language).search(rest[:_READ_CHARS]) is not None


def correction_in(text: str, masked: str, language: str) -> str | None:
    """Return the value that a sentence says is right, None for none; `masked` hides what is quoted."""
    forms, said = _forms(language), masked[:_READ_CHARS].replace("’", "'")
    starts = [0, *(found.end() for found in _BREAK.finditer(said))]
    for start, end in zip(starts, [*starts[1:], len(said)], strict=True):
        at = skip(forms.no, said, skip(forms.lead, said, start))
        found = forms.value.match(said, at)
        judged = any(form.match(said, at) for form in (forms.wrong, forms.right, forms.again))
        if found is not None and not judged and found.end() < end:
            value = _without_tails(text[found.end() : end], language)
            if value:
                return value
        bare = _without_tails(text[at:end], language)
        if _NUMBER.fullmatch(bare):
            return bare
    return None


def asks_if_right(message: str, language: str) -> bool:
    """Whether a short message only asks if the answer before it is right."""
    forms, said = _forms(language), message.replace("’", "'")
    start = skip(forms.lead, said, said.startswith("¿"))
    return forms.doubt.fullmatch(said, start + said.startswith("¿", start)) is not None


@cache
def other_value() -> re.Pattern[str]:
    """Return the pattern of what an answer says of a value that is not right: "56, not 54"."""
    denying = (line for language in languages(_FILE) for line in phrases(language, _FILE, "not_this"))
    before, number = r"[,，]? ?(?<![^\W\d_])", r" ?-?[\d.,/]{1,40}(?<=\d)"
    return re.compile(f"{before}(?:{any_of(denying)}){number}", re.IGNORECASE)


def patterns() -> Iterator[re.Pattern[str]]:
    """Yield every pattern that is made of the tables."""
    yield other_value()
    yield _objection(FIRST)
    for language in languages(_FILE):
        if language != FIRST:
            yield from _forms(language)


def _says_value(said: str, at: int, language: str) -> bool:
    """Whether a sentence says what should stand there; "正确答案是什么" asks for it."""
    found = _forms(language).should_be.match(said, at)
    asking = tuple(words(language, "persons", "questions")) if language in SPACELESS else ()
    return found is not None and not (asking and said.startswith(asking, found.end()))


def _gives_value(said: str, at: int, language: str) -> bool:
    if _forms(language).value.match(said, at):
        return True
    clause = _BREAK.split(said[at:_READ_CHARS], maxsplit=1)[0]
    return _NUMBER.fullmatch(_without_tails(clause, language)) is not None


def _without_tails(value: str, language: str) -> str:
    tails, kept = _tails(language), value.strip(_MARKS)
    ending = next((tail for tail in tails if kept.endswith(tail)), None)
    while ending is not None and len(ending) < len(kept):
        kept = kept.removesuffix(ending).strip(_MARKS)
        ending = next((tail for tail in tails if kept.endswith(tail)), None)
    return kept


@cache
def _tails(language: str) -> tuple[str, ...]:
    space = "" if language in SPACELESS else " "
    return tuple(f"{space}{tail}" for tail in phrases(language, _FILE, "tails"))


@cache
def _forms(language: str) -> _Forms:
    signs = {
        "@": f"(?:{_alternatives(language, 'that')})",
        "~": f"(?:(?:{any_of(words(language, _FILE, 'very'))}){_space(language)}){{0,3}}",
    }

    def pattern(name: str, after: str = "") -> re.Pattern[str]:
        return form_pattern(phrases(language, _FILE, name), signs=signs, after=after)

    end = _end(language)
    return _Forms(
        lead=_before(language, "lead"),
        no=_before(language, "no"),
        thanks=_before(language, "thanks"),
        wrong=pattern("wrong", end),
        should_be=pattern("should_be"),
        value=pattern("value"),
        again=pattern("again", end),
        right=pattern("right", end),
        doubt=pattern("doubt", _BEHIND),
        objection=_objection(language),
    )


@cache
def _objection(language: str) -> re.Pattern[str]:
    listed = any_of(words(language, _FILE, "but"))
    edge = "" if language in SPACELESS else r"\b"
    return re.compile(f"{edge}(?:{listed}){edge}", re.IGNORECASE)


def _alternatives(language: str, name: str) -> str:
    return form_pattern(phrases(language, _FILE, name)).pattern


def _before(language: str, name: str) -> re.Pattern[str]:
    listed = any_of(phrases(language, _FILE, name))
    edge = "" if language in SPACELESS else r"\b"
    alone = name != "no" or not _denies_within(language)
    marks = "[ ,.!…。！，、-]{0,5}" if alone else " ?[,.!…。！，、-][ ,.!…-]{0,3}"
    return re.compile(f"(?:{listed}){edge}{marks}", re.IGNORECASE)


def _denies_within(language: str) -> bool:
    """Whether a language says "no" and "not" in one word: "no, es 5" is no "no es 5"."""
    denying = {line.partition("=")[0] for line in phrases(language, "statements", "denials")}
    return language in SPACELESS or not denying.isdisjoint(phrases(language, _FILE, "no"))


def _end(language: str) -> str:
    """The pattern of what follows a judgement: the end of its clause, or a word that goes on about it."""
    joining = words(language, _FILE, "but") | words(language, _FILE, "because")
    listed = any_of((*joining, *phrases(language, _FILE, "thanks")))
    edge = "" if language in SPACELESS else r"\b"
    return rf"(?= ?(?:{_ENDS}|(?:{listed}){edge}))"


def _space(language: str) -> str:
    return "" if language in SPACELESS else " "
