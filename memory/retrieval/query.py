"""A question as retrieval reads it: its terms with their weights, as a whole and sentence by sentence.

A term weighs the more, the fewer bullets have it, and the rarer its word is in everyday speech: "time" and
"morning" say little about a subject, even where few bullets hold them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf, log10
from types import MappingProxyType

from ace_graph.memory.classify import infer_topic
from ace_graph.memory.languages.detection import script_language
from ace_graph.memory.search.index import Index, idf, topic_term
from ace_graph.memory.search.tokenize import chat_terms, content_words, language_of, terms
from ace_graph.memory.search.word_list import per_million
from ace_graph.memory.use_stamps import QuestionTerms

_GATE = 0.2
"""The share of the question's terms, by weight, that a bullet must cover, be it by one term."""
_TOGETHER = 0.26
"""The share, of the terms that occur in the playbook, for a bullet that covers two terms or more."""
_UNKNOWN = 0.4
"""The factor for terms that no bullet has. Above 0, or a question with new terms would match anything."""
_FULL_QUESTION = 5
"""Terms up to which a bullet must cover the shares above; for a longer question they get smaller."""
_NUMBER_WEIGHT = 0.5
"""The factor for numbers, which hardly say what a question is about."""
_COMMON, _RARE = 3_000.0, 0.1
"""Words of a million that are said so often have the least weight, and that are said so rarely the whole."""
_CHAT = 0.5
_EVERYDAY = 0.5
"""A word of a factor no greater says little of a subject."""
_LEAST = 0.2
"""The factor for the commonest words."""
_EXPANDED = 32
"""So many of a question's terms are looked for in compounds."""
_SENTENCES = 40
"""How many sentences of a message are matched on their own."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+|(?<=[。！？])")


@dataclass(frozen=True)
class QueryPart:
    """A question, or a sentence of it: the weights of its terms and their sum.

    `known` is that sum with less for the terms that no bullet has. `alone` is what a bullet must cover of it
    by one term, `together` by two or more, to open the gate.
    """

    weights: Mapping[str, float]
    total: float
    known: float
    alone: float
    together: float


@dataclass(frozen=True)
class Query:
    """The question as a whole, then its sentences where there are several; the term of its topic, if any.

    `everyday` are the terms that say little of a subject, `compounding` those that are looked for in
    compounds. `often_asked` are those that weigh less because this learner asks them often. `words` holds
    the word of each term.
    """

    parts: tuple[QueryPart, ...]
    topic: str | None = None
    everyday: frozenset[str] = frozenset()
    compounding: frozenset[str] = frozenset()
    often_asked: frozenset[str] = frozenset()
    words: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def weights(self) -> Mapping[str, float]:
        """The weights of all terms."""
        return self.parts[0].weights

    @property
    def total(self) -> float:
        """The sum of the weights, without the topic's."""
        return self.parts[0].total


def parse_question(
    question: str, topic: str | None, indexes: Sequence[tuple[Index, bool]], asked: QuestionTerms
) -> Query:
    """Return what the question asks of a bullet; `asked` are the terms of the learner's questions before.

    Where the question itself is about `topic`, its bullets cover that much of it, whatever their words.
    """
    bullets = sum(len(index) for index, _ in indexes)
    language = language_of(question)
    words = content_words(question, language)
    sentences = _sentences(question, language)
    weights: dict[str, float] = {}
    unknown, everyday, often = set[str](), set[str](), set[str]()
    for term in chain.from_iterable(sentences):
        if term not in weights:
            frequency = sum(index.frequency(term) for index, _ in indexes)
            own = _own_weight(term, words.get(term, term), language)
            specificity = asked.specificity(term, frequency / (bullets + 1))
            own *= max(_LEAST, specificity)
            weights[term] = idf(frequency, bullets) * own
            if not frequency:
                unknown.add(term)
            if own <= _EVERYDAY:
                everyday.add(term)
            if specificity < 1.0:
                often.add(term)
    parts = [_part(weights, unknown, whole=True)]
    if len(sentences) > 1:
        parts += [
            _part({term: weights[term] for term in sentence}, unknown, whole=False)
            for sentence in sentences[:_SENTENCES]
        ]
    read = (frozenset(everyday), _compounding(weights, language), frozenset(often), words)
    if not weights or topic is None or infer_topic(question) != topic.casefold():
        return Query(tuple(parts), None, *read)
    # On top of the total: a bullet without a topic must not cover less of the question for it.
    weights[topic_term(topic)] = idf(0, bullets)
    return Query(tuple(parts), topic_term(topic), *read)


def _compounding(weights: Mapping[str, float], language: str) -> frozenset[str]:
    """Return the weightiest terms that may be in compounds, or be compounds. English writes those apart."""
    heaviest = sorted(weights, key=lambda term: (-weights[term], term))[:_EXPANDED]
    return frozenset(t for t in heaviest if (script_language(t[0]) or language) != "english")


def languages_of(question: str) -> set[str]:
    """Return the languages whose word lists a question is read with."""
    scripts = {script_language(char) for char in set(question) if not char.isascii()}
    return {language for language in (*scripts, language_of(question)) if language is not None}


def _own_weight(term: str, word: str, language: str) -> float:
    """Return the weight of a term of itself: less for a number and for a word of everyday speech."""
    if term[0].isdigit():
        return _NUMBER_WEIGHT
    if term in chat_terms(script_language(word[0]) or language):
        return _CHAT
    said = per_million(word, script_language(word[0]) or language)
    if said <= _RARE:
        return 1.0
    rarity = log10(_COMMON / said) / log10(_COMMON / _RARE)
    return _LEAST + (1 - _LEAST) * max(0.0, rarity)


def _part(weights: Mapping[str, float], unknown: set[str], *, whole: bool) -> QueryPart:
    total = sum(weights.values())
    expected = min(1.0, (_FULL_QUESTION / len(weights)) ** 0.5) if weights else 1.0
    strange = sum(weight for term, weight in weights.items() if term in unknown)
    known = total - (1 - _UNKNOWN) * strange
    alone = _GATE * expected * total if whole else inf
    return QueryPart(weights, total, known, alone, _TOGETHER * expected * known)


def _sentences(question: str, language: str) -> list[dict[str, None]]:
    """Return the terms of each sentence, each once; one of a single term belongs to the one before it."""
    found: list[dict[str, None]] = []
    for piece in _SENTENCE_END.split(question):
        if not any(map(str.isalnum, piece)):
            continue
        own = dict.fromkeys(terms(piece, language))
        if found and (len(own) < 2 or len(found[-1]) < 2):
            found[-1].update(own)
        elif own:
            found.append(own)
    return found
