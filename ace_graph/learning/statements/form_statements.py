"""Reads statements and requests to forget in other languages than English, by the forms of their tables.

As in English only the beginning of a clause counts, and a question, a quotation, a supposition and what
somebody else says store nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from ace_graph.learning.statements.forms import (
    REQUESTS,
    SLOTS,
    Form,
    FormKind,
    as_sentence,
    asks_to_take_back,
    form_of,
    holds_word,
    instead,
    is_private_wish,
    is_sensitive,
    is_sensitive_place,
    request_at_end,
    slot_stated,
    slots_named,
    states_sensitive,
    tells_more,
    verb_second,
)
from ace_graph.learning.statements.sentences import Sentence
from ace_graph.learning.statements.speaker import (
    A_QUESTION,
    HANDED_OVER,
    NOT_THEMSELVES,
    SOMEBODY_ELSE,
    Stretch,
    asks_at,
    asks_not_to_keep,
    clauses_of,
    doubt,
    goes_on,
    own_sentences,
)
from ace_graph.learning.statements.statement import (
    Own,
    SensitiveFacts,
    Statement,
    forgotten,
    is_part,
    keep,
    part_only,
    sensitive_statement,
)
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.delta.operations import Remove
from ace_graph.memory.languages.detection import spoken_language
from ace_graph.memory.languages.forms import any_of
from ace_graph.memory.languages.tables import FIRST, SPACELESS, languages, phrases
from ace_graph.memory.search.tokenize import terms

# Finds which kept statement a learner denies ("Ich wohne nicht mehr in Paris"), in languages with tables.
#
# A clause without its words of denial is what is denied. Only a statement that says exactly that is meant:
# the same words, or the same value of a name, an age, a home. English has its rules in explicit.py.


def claim_denied(clause: str, language: str) -> str | None:
    """Return what a clause denies, as if it were said; None where it denies nothing."""
    words = clause.replace("’", "'")
    replaced = _replaced(language)
    claim = _denying(language).sub(lambda found: replaced[found[0].casefold()], words)
    return " ".join(claim.split()) if claim != words else None


def is_denied_at_edge(words: str, language: str) -> bool:
    """Whether words begin or end with a denial, so that a request with them asks for the contrary."""
    said = words.casefold().split()
    edges = () if language in SPACELESS else (*said[:1], *said[-1:])
    return not _replaced(language).keys().isdisjoint(edges)


def denied_statement(claim: str, language: str, own: Own) -> Bullet | None:
    """Return the learner's statement that says the claim, None for none."""
    stemmer = FIRST if language in SPACELESS else language
    said, slot = frozenset(terms(claim, stemmer)), slot_stated(claim, language)
    value = said - _form_terms(language, slot) if slot is not None else frozenset[str]()
    for bullet, _ in own.bullets:
        content = own.words(bullet)
        if claim_denied(content, language) is not None or not said:
            continue
        known = frozenset(terms(content, stemmer))
        if slot is not None and slot == bullet.slot and value and value <= known:
            return bullet
        if said == known or (language in SPACELESS and said <= known):
            return bullet
    return None


def denial_patterns() -> list[re.Pattern[str]]:
    """Return every pattern that is made of the tables."""
    return [_denying(language) for language in languages("statements") if language != FIRST]


@cache
def _replaced(language: str) -> Mapping[str, str]:
    """What is said in place of each phrase of denial, nothing for most."""
    pairs = (line.partition("=") for line in phrases(language, "statements", "denials"))
    return MappingProxyType({phrase.casefold(): said for phrase, _, said in pairs})


@cache
def _denying(language: str) -> re.Pattern[str]:
    listed = any_of(_replaced(language))
    edge = "" if language in SPACELESS else r"\b"
    return re.compile(f"{edge}(?:{listed}){edge}", re.IGNORECASE)


@cache
def _form_terms(language: str, slot: str) -> frozenset[str]:
    """The words by which a value is stated, which say nothing of the value itself."""
    stemmer = FIRST if language in SPACELESS else language
    return frozenset(terms(" ".join(phrases(language, "statements", slot)), stemmer))


_SHORT_CHARS = 20
_MARKS = " .,;:!?。！？，；：…"


def form_statements(text: str, own: Own, source: str, sensitive: SensitiveFacts) -> Iterator[Statement]:
    """Yield the statements and requests of a message, in order."""
    if asks_not_to_keep(text):
        return
    reader = _Reader(own, source, sensitive)
    for sentence in own_sentences(text):
        language = spoken_language(sentence.masked)
        if language != FIRST and not sentence.cut and not asks_to_take_back(sentence.masked):
            yield from reader.read(sentence, language)


class _Clause(NamedTuple):
    sentence: Sentence
    place: Stretch
    language: str

    @property
    def words(self) -> str:
        return self.sentence.text[self.place.start : self.place.end]

    @property
    def masked(self) -> str:
        return self.sentence.masked[self.place.start : self.place.end]

    def doubt(self, *, sensitive: bool = False) -> str | None:
        """Return why it is no fact that the learner states of themselves, None where it is one."""
        return doubt(self.sentence, self.place, self.language, sensitive=sensitive)

    def without_lead(self) -> _Clause:
        """Return it without the "I mean" before what it states ("ich meine ich heiße Mara")."""
        said = instead(self.language).match(self.masked)
        if said is None or form_of(self.masked[said.end() :], self.language) is None:
            return self
        return self._replace(place=self.place._replace(start=self.place.start + said.end()))


@dataclass(frozen=True)
class _Reader:
    own: Own
    source: str
    sensitive: SensitiveFacts

    def read(self, sentence: Sentence, language: str) -> Iterator[Statement]:
        """Yield what the clauses of one sentence say."""
        places = clauses_of(sentence.masked, language)
        said = [_Clause(sentence, each, language).without_lead() for each in places]
        joined = len(said) > 1 and any(slot_stated(each.masked, language) is not None for each in said)
        for clause in said:
            request = form_of(sentence.masked[clause.place.start :], language)
            if request is not None and request.kind in REQUESTS:
                if clause.doubt() not in (A_QUESTION, HANDED_OVER):
                    yield from self._requested(
                        request.kind, _requested_words(request, clause, said), language
                    )
                return
            last = request_at_end(clause.masked, language)
            if last is not None and clause.doubt() is None:
                yield from self._requested(last[0], clause.words[: len(last[1])], language)
                return
            denied = self._denied(clause)
            if denied is not None:
                yield denied
            elif (stated := self._stated(clause) or (self._more(clause) if joined else None)) is not None:
                yield stated

    def _requested(self, kind: FormKind, words: str, language: str) -> Iterator[Statement]:
        if not words:
            return
        if kind == "remember":
            inner = form_of(words, language)
            pointing = holds_word(words, language, "mine") and slots_named(words, language)
            if inner is None and pointing and len(words) <= _SHORT_CHARS:
                return  # "my name", without a word of what it is
            slot = inner.kind if inner is not None and inner.kind in SLOTS else None
            kept = keep(words, "profile", "semantic", slot, self.source)
            yield Statement("keep", words, kept, asked=slot is not None)
        elif not is_denied_at_edge(words, language):  # "vergiss meinen Namen nicht"
            mine = holds_word(words, language, "mine")
            meant = self.own.meant(words)
            if mine and not any(bullet is not None for _, bullet in meant):  # by a value ("mein Alter")
                named = [(words, self.own.in_slot(slot)) for slot in slots_named(words, language)]
                meant = [each for each in named if each[1] is not None] or meant
            told = mine or holds_word(words, language, "own")
            yield from forgotten(meant, self.own, told=told, named=lambda said: slots_named(said, language))

    def _denied(self, clause: _Clause) -> Statement | None:
        """The statement that a clause denies of the learner, to be forgotten; None for none."""
        claim = claim_denied(clause.masked, clause.language)
        why = clause.doubt() if claim is not None else None
        if claim is None or why not in (None, NOT_THEMSELVES) or not self.own.may_deny():
            return None
        meant = denied_statement(claim, clause.language, self.own)
        if meant is None or (why is not None and meant.slot is None):
            return None
        known = self.own.words(meant)
        if is_part(claim, known, meant.slot):
            return part_only(clause.words, known)
        return Statement("forget", known, Remove(bullet_id=meant.id))

    def _stated(self, clause: _Clause) -> Statement | None:
        shortened = goes_on(clause.sentence.masked, clause.place, clause.language)
        form = form_of(clause.masked, clause.language, shortened=shortened)
        private = states_sensitive(clause.masked, clause.language, shortened=shortened) or (
            form is not None and _is_private(form, clause.masked, clause.language)
        )
        why = clause.doubt(sensitive=private)
        if why is not None and (why != NOT_THEMSELVES or (form is None and not shortened)):
            return None
        words = clause.words
        if private:
            return self._private(verb_second(words, clause.language) or words)
        if form is None:
            return None
        if form.kind == "wishes":
            return Statement("keep", words, keep(words, "preferences", "episodic", None, self.source))
        slot = form.kind if form.kind in SLOTS else None
        return Statement("keep", words, keep(words, "profile", "semantic", slot, self.source))

    def _more(self, clause: _Clause) -> Statement | None:
        """What a clause tells beside a value that the same sentence states."""
        words = clause.words
        if clause.sentence.asks or not tells_more(clause.masked, clause.language):
            return None
        private = is_sensitive(words, clause.language)
        why = clause.doubt(sensitive=private)
        if why is not None and (why != SOMEBODY_ELSE or private):
            return None
        if private:
            return self._private(words)
        return Statement("keep", words, keep(words, "profile", "semantic", None, self.source), asked=False)

    def _private(self, words: str) -> Statement:
        return sensitive_statement(words, self.source, "keep" if self.own.says(words) else self.sensitive)


def _requested_words(request: Form, clause: _Clause, said: Sequence[_Clause]) -> str:
    """What is to be remembered or forgotten; what is to be remembered ends at a question that follows it."""
    text, start = clause.sentence.text, clause.place.start
    if request.kind == "forget":
        return text[start + request.begin :].strip(_MARKS)
    behind = (each.place.start for each in said if each.place.start > start + request.begin)
    asked = (at for at in behind if asks_at(clause.sentence.masked[at:], clause.language))
    return as_sentence(text[start : next(asked, len(text))], request.begin, clause.language).strip(_MARKS)


def _is_private(form: Form, clause: str, language: str) -> bool:
    match form.kind:
        case "home" | "age" | "grade":
            return is_sensitive_place(clause, form.value, language)
        case "wishes":
            return is_private_wish(clause, form.value, language)
        case "liked":
            return is_sensitive(clause, language)
        case _:
            return False
