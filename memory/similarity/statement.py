"""What an English sentence says, in one form for all ways to say it: who does what, and when.

The passive is put into the active, a condition or a phrase from the front to the end, a noun made of a verb
("a check of the answer") into the verb, and every word into the one that stands for its synonyms. Nothing is
ever left out for that, and the words keep their order otherwise, so that two sentences have one form only if
they say the same of the same things.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from ace_graph.memory.similarity.active_voice import active
from ace_graph.memory.similarity.lexicon import forms_of_one_word, root
from ace_graph.memory.similarity.parts import Part, is_manner, parts_of
from ace_graph.memory.similarity.vocabulary import base_of, grammar, phrase_at

__all__ = ["Statement", "say_the_same", "statement_of"]

_BETWEEN = re.compile(r"(?<=[.!?])\s+")
_DUTIES = frozenset({"must", "should", "necessary", "needed"})
_MOST_SENTENCES = 5
_MOST_FRONTED = 3
_GENERIC = "~"
"""Stands for somebody who is not named."""

_Form = tuple[object, ...]


@dataclass(frozen=True)
class Statement:
    """`form` is equal for two sentences that say the same; `words` maps its keys to the words of the text.

    `instruction` says that its first sentence is nobody's duty in particular, so that it tells what to do.
    """

    form: _Form
    instruction: bool
    words: Mapping[str, str]


@lru_cache(maxsize=4_096)
def statement_of(text: str) -> Statement | None:
    """Return what a text of few sentences says, None where the rules are not sure to understand one."""
    sentences = _BETWEEN.split(text.strip(), maxsplit=_MOST_SENTENCES)
    if len(sentences) > _MOST_SENTENCES:
        return None
    parts = [parts_of(sentence) for sentence in sentences]
    forms = [_form(each, main=True) if each else None for each in parts]
    if None in forms:
        return None
    known = [part for each in parts for part in each or ()]
    duty = forms[0] is not None and forms[0][0] == "" and any(part.word in _DUTIES for part in parts[0] or ())
    return Statement(tuple(forms), duty, MappingProxyType({part.key: part.word for part in known}))


def say_the_same(a: str, b: str) -> bool:
    """Whether two English sentences say the same in other words, for certain."""
    first, second = statement_of(a), statement_of(b)
    if first is None or second is None or first.form != second.form:
        return False
    return all(
        _same_word(word, second.words[key]) for key, word in first.words.items() if key in second.words
    )


def _same_word(x: str, y: str) -> bool:
    """Whether two words of one key are forms of one word, or listed as synonyms."""
    first, second = base_of(x), base_of(y)
    return root(first) != root(second) or forms_of_one_word(first, second)


def _form(parts: Sequence[Part], *, main: bool) -> _Form | None:
    """Return the form of a clause with all that depends on it; what stood in front goes to the end."""
    fronted, rest = _with_antecedent(*_split_fronted(list(parts)))
    place = next((n for n, part in enumerate(rest) if n and part.kind == "sub"), len(rest))
    place = _with_amount(rest, place)
    clause = active(_without_comma(rest[:place]), main=main and not fronted)
    if clause is None:
        return None
    dependent = [rest[place:]] if place < len(rest) else []
    joined = [each for each in (*dependent, *fronted) if _joins(each)]
    phrases = [phrase for each in fronted if not _joins(each) for phrase in _phrases(each)]
    clauses = [_dependent(each) for each in joined]
    if None in clauses:
        return None
    head, chunks, adverbs = _chunks(clause.parts)
    said_by_nobody = (_GENERIC,) if clause.generic and main else ()
    return (clause.mode, (*said_by_nobody, *head), (*chunks, *phrases), tuple(clauses), adverbs)


def _split_fronted(parts: list[Part]) -> tuple[list[list[Part]], list[Part]]:
    """Return what stands in front of the clause, each up to its comma, and the clause."""
    fronted = list[list[Part]]()
    while len(fronted) < _MOST_FRONTED:
        comma = next((n for n, part in enumerate(parts) if part.kind == "comma"), 0)
        if not comma or comma + 1 == len(parts) or not _may_be_fronted(parts[:comma]):
            break
        fronted.append(parts[:comma])
        parts = parts[comma + 1 :]
        parts = parts[parts[0].word == "then" :] or parts
    return fronted, parts


def _with_antecedent(fronted: list[list[Part]], rest: list[Part]) -> tuple[list[list[Part]], list[Part]]:
    """Return "metals expand when they are heated" for "when metals are heated, they expand"."""
    if not rest or rest[0].word not in ("they", "it") or len(fronted) != 1 or not _joins(fronted[0]):
        return fronted, rest
    clause = fronted[0]
    start = next(n for n, part in enumerate(clause) if part.kind == "sub") + 1
    end = next((n for n, part in enumerate(clause) if part.kind in ("be", "prep", "modal", "not")), start)
    if end <= start or clause[end].kind != "be":
        return fronted, rest
    return [[*clause[:start], rest[0], *clause[end:]]], [*clause[start:end], *rest[1:]]


def _joins(parts: Sequence[Part]) -> bool:
    return any(part.kind == "sub" for part in parts)


def _may_be_fronted(parts: Sequence[Part]) -> bool:
    first = parts[0]
    measured = first.kind == "amount" and any(part.kind in ("sub", "prep") for part in parts[1:2])
    return first.kind in ("sub", "prep") or measured or (len(parts) == 1 and _is_adverb(first))


def _with_amount(parts: Sequence[Part], place: int) -> int:
    """Return the place where a joined clause begins: at the "two hours" of "two hours before"."""
    if not 1 < place < len(parts) or parts[place - 2].kind == "prep":
        return place
    before = parts[place - 1]
    return place - 1 if before.kind == "amount" and " " in before.key else place


def _without_comma(parts: Sequence[Part]) -> list[Part]:
    """Return the parts without a last comma, and without those before "and" and "or"."""
    kept = list[Part]()
    for place, part in enumerate(parts):
        behind = parts[place + 1] if place + 1 < len(parts) else None
        if part.kind != "comma" or (behind is not None and behind.kind != "mark"):
            kept.append(part)
    return kept


def _dependent(parts: Sequence[Part]) -> _Form | None:
    """Return the form of a clause behind "if", "before" and the like."""
    place = next(n for n, part in enumerate(parts) if part.kind == "sub")
    form = _form(parts[place + 1 :], main=False) if place + 1 < len(parts) else None
    return None if form is None else (*(part.key for part in parts[: place + 1]), form)


def _phrases(parts: Sequence[Part]) -> _Form:
    """Return the phrases that stand in front of a clause."""
    head, chunks, adverbs = _chunks(parts)
    return (*((head,) if head else ()), *chunks, *adverbs)


def _chunks(parts: Sequence[Part]) -> tuple[tuple[str, ...], tuple[_Form, ...], tuple[str, ...]]:
    """Return the keys up to the first preposition, those from each one to the next, and a lone adverb."""
    parts, adverbs = _without_adverb(list(parts))
    found: list[list[str]] = [[]]
    for part in parts:
        if part.kind == "prep":
            found.append([])
        if part.kind != "det":
            found[-1].append(part.key)
    head, *chunks = (_joined_phrases(keys) for keys in found)
    return _particle_behind_verb(head), tuple(chunks), adverbs


def _without_adverb(parts: list[Part]) -> tuple[list[Part], tuple[str, ...]]:
    """Return the parts without their only adverb, which may stand anywhere, and this adverb."""
    places = [n for n, part in enumerate(parts) if _is_adverb(part) and _stands_alone(parts, n)]
    if len(places) != 1 or any(part.kind == "mark" for part in parts):
        return parts, ()
    adverb = parts[places[0]].key
    return [part for n, part in enumerate(parts) if n != places[0]], (adverb,)


def _is_adverb(part: Part) -> bool:
    return is_manner(part) or part.word == "first"


def _stands_alone(parts: Sequence[Part], place: int) -> bool:
    """Whether an adverb qualifies the clause: "first" at an end of it, others before no adjective."""
    behind = parts[place + 1] if place + 1 < len(parts) else None
    at_end = behind is None or behind.kind in ("prep", "comma")
    if parts[place].word == "first":
        return place == 0 or (at_end and parts[place - 1].kind not in ("det", "prep"))
    return at_end or parts[place - 1].kind not in ("det", "be", "prep")


def _joined_phrases(keys: Sequence[str]) -> tuple[str, ...]:
    found, place = list[str](), 0
    while place < len(keys):
        length, meaning = phrase_at(grammar().synonyms, keys, place)
        found.extend(meaning or (keys[place],))
        place += length or 1
    return tuple(found)


def _particle_behind_verb(head: tuple[str, ...]) -> tuple[str, ...]:
    """Return "switch off the gas" for "switch the gas off"."""
    verb = 1 if head[:1] == ("not",) else 0
    if len(head) > verb + 2 and head[-1] in grammar().particles:
        return _joined_phrases((*head[: verb + 1], head[-1], *head[verb + 1 : -1]))
    return head
