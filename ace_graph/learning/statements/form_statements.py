"""Reads statements and requests to forget in other languages than English, by the forms of their tables.

As in English only the beginning of a clause counts, and a question, a quotation, a supposition and what
somebody else says store nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from ace_graph.learning.statements.forms import (
    SLOTS,
    Form,
    FormKind,
    as_sentence,
    asks_to_take_back,
    form_of,
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
    holds_word,
    own_sentences,
)
from ace_graph.learning.statements.statement import (
    NOT_KNOWN,
    Own,
    SensitiveFacts,
    Statement,
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
    for bullet, _ in own.bullets():
        content = bullet.content.partition(": ")[2]
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
    for sentence in own_sentences(text):
        language = spoken_language(sentence.masked)
        if language != FIRST and not sentence.cut and not asks_to_take_back(sentence.masked):
            yield from _read(sentence, language, own, source, sensitive)


def _read(
    sentence: Sentence, language: str, own: Own, source: str, sensitive: SensitiveFacts
) -> Iterator[Statement]:
    said = [_meant_by(sentence, each, language) for each in clauses_of(sentence.masked, language)]
    joined = len(said) > 1 and any(
        slot_stated(sentence.masked[each.start : each.end], language) is not None for each in said
    )
    for clause in said:
        request = form_of(sentence.masked[clause.start :], language)
        if request is not None and request.kind in ("remember", "forget"):
            end = len(sentence.text)
            if request.kind == "remember":
                end = _end_of_request(sentence, clause.start + request.begin, said, language)
            asked = sentence.text[clause.start : end]
            rest = asked[request.begin :]
            if request.kind == "remember":
                rest = as_sentence(asked, request.begin, language)
            rest = rest.strip(_MARKS)
            if doubt(sentence, clause, language, sensitive=False) not in (A_QUESTION, HANDED_OVER):
                yield from _requested(request.kind, rest, language, own, source)
            return
        last = request_at_end(sentence.masked[clause.start : clause.end], language)
        if last is not None and doubt(sentence, clause, language, sensitive=False) is None:
            rest = sentence.text[clause.start : clause.start + len(last[1])]
            yield from _requested(last[0], rest, language, own, source)
            return
        denied = _denied(sentence, clause, language, own)
        if denied is not None:
            yield denied
        else:
            stated = list(_stated(sentence, clause, language, own, source, sensitive))
            more = _more(sentence, clause, language, own, source, sensitive) if joined and not stated else ()
            yield from (*stated, *more)


def _meant_by(sentence: Sentence, clause: Stretch, language: str) -> Stretch:
    """The clause, without the "I mean" before what it states ("ich meine ich heiße Mara")."""
    masked = sentence.masked[clause.start : clause.end]
    said = instead(language).match(masked)
    states = said is not None and form_of(masked[said.end() :], language) is not None
    return clause._replace(start=clause.start + said.end()) if said is not None and states else clause


def _end_of_request(sentence: Sentence, begin: int, said: Sequence[Stretch], language: str) -> int:
    """Where what is to be remembered from `begin` on ends: at a question that follows it, if one does."""
    behind = (each for each in said if each.start > begin)
    asked = (each for each in behind if asks_at(sentence.masked[each.start :], language))
    return next((each.start for each in asked), len(sentence.text))


def _more(
    sentence: Sentence, clause: Stretch, language: str, own: Own, source: str, sensitive: SensitiveFacts
) -> Iterator[Statement]:
    """What a clause tells beside a value that the same sentence states."""
    words = sentence.text[clause.start : clause.end]
    if not tells_more(sentence.masked[clause.start : clause.end], language):
        return
    private = is_sensitive(words, language)
    why = doubt(sentence, clause, language, sensitive=private)
    if not sentence.asks and (why is None or (why == SOMEBODY_ELSE and not private)):
        if private:
            yield sensitive_statement(words, source, "keep" if own.says(words) else sensitive)
        else:
            yield Statement("keep", words, keep(words, "profile", "semantic", None, source), asked=False)


def _denied(sentence: Sentence, clause: Stretch, language: str, own: Own) -> Statement | None:
    """The statement that a clause denies of the learner, to be forgotten; None for none."""
    claim = claim_denied(sentence.masked[clause.start : clause.end], language)
    if claim is None:
        return None
    why = doubt(sentence, clause, language, sensitive=False)
    meant = denied_statement(claim, language, own) if _may_deny(why, own) else None
    if meant is None or (why is not None and meant.slot is None):
        return None
    known = meant.content.partition(": ")[2]
    if is_part(claim, known, meant.slot):
        return part_only(sentence.text[clause.start : clause.end], known)
    return Statement("forget", known, Remove(bullet_id=meant.id))


def _may_deny(why: str | None, own: Own) -> bool:
    return why in (None, NOT_THEMSELVES) and own.may_deny()


def _requested(kind: FormKind, words: str, language: str, own: Own, source: str) -> Iterator[Statement]:
    if not words:
        return
    if kind == "remember":
        inner = form_of(words, language)
        if inner is None and _names_a_value_only(words, language):
            return
        slot = inner.kind if inner is not None and inner.kind in SLOTS else None
        kept = keep(words, "profile", "semantic", slot, source)
        yield Statement("keep", words, kept, asked=slot is not None)
        return
    if is_denied_at_edge(words, language):
        return  # "vergiss meinen Namen nicht"
    of_learner = holds_word(words, language, "own") or holds_word(words, language, "mine")
    for said, meant in _meant(words, language, own):
        known = meant.content.partition(": ")[2] if meant is not None else ""
        if (
            meant is not None
            and meant.slot not in slots_named(said, language)
            and is_part(said, known, meant.slot)
        ):
            yield part_only(said, known)
        elif meant is not None:
            yield Statement("forget", known, Remove(bullet_id=meant.id), request=said)
        elif of_learner:
            yield Statement("forget", said, why=NOT_KNOWN, request=said)


def _names_a_value_only(words: str, language: str) -> bool:
    """Whether somebody is asked to remember "my name", without a word of what it is."""
    pointing = holds_word(words, language, "mine") and slots_named(words, language)
    return bool(pointing) and len(words) <= _SHORT_CHARS


def _meant(words: str, language: str, own: Own) -> list[tuple[str, Bullet | None]]:
    """The statements that a request means by their words, else by the values that it names ("mein Alter")."""
    meant = own.meant(words)
    if any(bullet is not None for _, bullet in meant) or not holds_word(words, language, "mine"):
        return meant
    named = [(words, own.in_slot(slot)) for slot in slots_named(words, language)]
    return [each for each in named if each[1] is not None] or meant


def _is_private(form: Form, clause: str, language: str) -> bool:
    """Whether what a form states in passing tells something sensitive of the learner."""
    match form.kind:
        case "home" | "age" | "grade":
            return is_sensitive_place(clause, form.value, language)
        case "wishes":
            return is_private_wish(clause, form.value, language)
        case "liked":
            return is_sensitive(clause, language)
        case _:
            return False


def _stated(
    sentence: Sentence, clause: Stretch, language: str, own: Own, source: str, sensitive: SensitiveFacts
) -> Iterator[Statement]:
    masked = sentence.masked[clause.start : clause.end]
    words = sentence.text[clause.start : clause.end]
    shortened = goes_on(sentence.masked, clause, language)
    form = form_of(masked, language, shortened=shortened)
    private = states_sensitive(masked, language, shortened=shortened) or (
        form is not None and _is_private(form, masked, language)
    )
    why = doubt(sentence, clause, language, sensitive=private)
    if why is not None and (why != NOT_THEMSELVES or (form is None and not shortened)):
        return
    if private:
        words = verb_second(words, language) or words
        yield sensitive_statement(words, source, "keep" if own.says(words) else sensitive)
    elif form is not None and form.kind == "wishes":
        yield Statement("keep", words, keep(words, "preferences", "episodic", None, source))
    elif form is not None:
        slot = form.kind if form.kind in SLOTS else None
        yield Statement("keep", words, keep(words, "profile", "semantic", slot, source))
