"""Reads statements and requests to forget in other languages than English, by the forms of their tables.

As in English only the beginning of a clause counts, and a question, a quotation, a supposition and what
somebody else says store nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from ace_graph.languages.detection import spoken_language
from ace_graph.languages.tables import FIRST
from ace_graph.learning.statements.forget_requests import Own
from ace_graph.learning.statements.form_denials import claim_denied, denied_statement, is_denied_at_edge
from ace_graph.learning.statements.forms import (
    SLOTS,
    FormKind,
    form_of,
    is_sensitive_place,
    request_at_end,
    slots_named,
    states_sensitive,
)
from ace_graph.learning.statements.own_voice import asks_not_to_keep, own_sentences
from ace_graph.learning.statements.sentences import Sentence
from ace_graph.learning.statements.speaker import (
    A_QUESTION,
    HANDED_OVER,
    NOT_THEMSELVES,
    Stretch,
    clauses_of,
    doubt,
    goes_on,
    holds_word,
)
from ace_graph.learning.statements.statement import (
    NOT_KNOWN,
    SensitiveFacts,
    Statement,
    keep,
    sensitive_statement,
)
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.delta.operations import Remove

__all__ = ["form_statements"]

_PLACES = ("home", "age", "grade")
_SHORT_CHARS = 20
_MARKS = " .,;:!?。！？，；：…"


def form_statements(text: str, own: Own, source: str, sensitive: SensitiveFacts) -> Iterator[Statement]:
    """Yield the statements and requests of a message, in order."""
    if asks_not_to_keep(text):
        return
    for sentence in own_sentences(text):
        language = spoken_language(sentence.masked)
        if language != FIRST and not sentence.cut:
            yield from _read(sentence, language, own, source, sensitive)


def _read(
    sentence: Sentence, language: str, own: Own, source: str, sensitive: SensitiveFacts
) -> Iterator[Statement]:
    for clause in clauses_of(sentence.masked, language):
        request = form_of(sentence.masked[clause.start :], language)
        if request is not None and request.kind in ("remember", "forget"):
            rest = sentence.text[clause.start + request.begin :].strip(_MARKS)
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
            yield from _stated(sentence, clause, language, own, source, sensitive)


def _denied(sentence: Sentence, clause: Stretch, language: str, own: Own) -> Statement | None:
    """The statement that a clause denies of the learner, to be forgotten; None for none."""
    claim = claim_denied(sentence.masked[clause.start : clause.end], language)
    if claim is None:
        return None
    why = doubt(sentence, clause, language, sensitive=False)
    meant = denied_statement(claim, language, own) if _may_deny(why, own) else None
    if meant is None or (why is not None and meant.slot is None):
        return None
    return Statement("forget", meant.content.partition(": ")[2], Remove(bullet_id=meant.id))


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
        yield Statement("keep", words, keep(words, "profile", "semantic", slot, source))
        return
    if is_denied_at_edge(words, language):
        return  # "vergiss meinen Namen nicht"
    of_learner = holds_word(words, language, "own") or holds_word(words, language, "mine")
    for said, meant in _meant(words, language, own):
        if meant is not None:
            known = meant.content.partition(": ")[2]
            yield Statement("forget", known, Remove(bullet_id=meant.id))
        elif of_learner:
            yield Statement("forget", said, why=NOT_KNOWN)


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


def _stated(
    sentence: Sentence, clause: Stretch, language: str, own: Own, source: str, sensitive: SensitiveFacts
) -> Iterator[Statement]:
    masked = sentence.masked[clause.start : clause.end]
    words = sentence.text[clause.start : clause.end]
    shortened = goes_on(sentence.masked, clause, language)
    form = form_of(masked, language, shortened=shortened)
    private = states_sensitive(masked, language, shortened=shortened) or (
        form is not None and form.kind in _PLACES and is_sensitive_place(masked, form.value, language)
    )
    why = doubt(sentence, clause, language, sensitive=private)
    if why is not None and (why != NOT_THEMSELVES or form is None):
        return
    if private:
        yield sensitive_statement(words, source, "keep" if own.says(words) else sensitive)
    elif form is not None and form.kind == "wishes":
        yield Statement("keep", words, keep(words, "preferences", "episodic", None, source))
    elif form is not None:
        yield Statement("keep", words, keep(words, "profile", "semantic", form.kind, source))
