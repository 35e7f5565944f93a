"""English words as keys: every form of a word has one key, and so has every word of the same meaning.

The words are in data/rewordings.toml. A key is the root of the word that stands for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType

from ace_graph.memory.similarity.lexicon import lexicon, root
from ace_graph.tables import groups, pairs, word_sets

__all__ = ["Grammar", "base_of", "grammar", "key_of", "phrase_at", "verb_of"]

_Phrases = Mapping[str, tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]]


@dataclass(frozen=True)
class Grammar:
    """The word sets of the table, which says what each of them is for.

    `modals` maps a modal verb to the one that stands for all; `meanings` and `synonyms` map the first word
    of a phrase to such phrases, the longest first, and to what is read instead.
    """

    light: frozenset[str]
    participles: frozenset[str]
    subordinate: frozenset[str]
    prepositions: frozenset[str]
    no_agents: frozenset[str]
    nobody: frozenset[str]
    empty: frozenset[str]
    counts: frozenset[str]
    intransitive: frozenset[str]
    no_adverbs: frozenset[str]
    particles: frozenset[str]
    giving: frozenset[str]
    modals: Mapping[str, str]
    meanings: _Phrases
    synonyms: _Phrases


@cache
def grammar() -> Grammar:
    """Return the table, ready for use."""
    sets = {name: frozenset(text.split()) for name, text in _table().items()}
    modals = {word: group[0] for group in groups(_table()["modals"]) for word in group}
    irregular = {form for group in groups(_table()["irregular"]) for form in group[1:]}
    fillers = lexicon().fillers - sets["kept"] - modals.keys() - {"need", "needs"}
    return Grammar(
        light=frozenset(map(key_of, sets["light"])),
        participles=frozenset(irregular | sets["participles"]),
        subordinate=sets["subordinate"],
        prepositions=sets["prepositions"],
        no_agents=sets["no_agents"],
        nobody=sets["nobody"],
        empty=sets["empty"] | fillers,
        counts=sets["counts"],
        intransitive=frozenset(map(key_of, sets["intransitive"])),
        no_adverbs=sets["no_adverbs"],
        particles=sets["particles"],
        giving=frozenset(map(key_of, sets["giving"])),
        modals=MappingProxyType(modals),
        meanings=_by_first_word(_meanings()),
        synonyms=_by_first_word(_synonymous_phrases()),
    )


@lru_cache(maxsize=32_768)
def key_of(word: str) -> str:
    """Return the key of a case-folded word."""
    key = root(base_of(word))
    return _synonyms().get(key, key)


def base_of(word: str) -> str:
    """Return a case-folded word, the verb for a form of it that its endings don't show (paid, wrote)."""
    return _verbs_by_form().get(word, word)


def verb_of(word: str) -> str | None:
    """Return the key of the verb that a noun is made of (payment, paying), None where it is made of none."""
    verb = _verbs_by_noun().get(word) or _verbs_by_noun().get(word.removesuffix("s"))
    if verb is None and word.endswith("ing") and len(word) >= len("using"):
        verb = word
    return None if verb is None else key_of(verb)


def phrase_at(found: _Phrases, words: Sequence[str], place: int) -> tuple[int, tuple[str, ...]]:
    """Return how many words the phrase at a place has, 0 where there is none, and what is read instead."""
    for phrase, meaning in found.get(words[place], ()):
        if tuple(words[place : place + len(phrase)]) == phrase:
            return len(phrase), meaning
    return 0, ()


def _meanings() -> Iterable[tuple[tuple[str, ...], tuple[str, ...]]]:
    for entry in groups(_table()["meanings"]):
        yield tuple(entry[0].split("_")), tuple(entry[2:])


def _synonymous_phrases() -> Iterable[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the phrases in keys of their words, as they are looked up behind `key_of`."""
    for group in groups(_table()["synonyms"]):
        for phrase in group:
            if "_" in phrase:
                yield tuple(map(key_of, phrase.split("_"))), (key_of(group[0]),)


def _by_first_word(found: Iterable[tuple[tuple[str, ...], tuple[str, ...]]]) -> _Phrases:
    by_word: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {}
    for phrase, meaning in found:
        by_word.setdefault(phrase[0], []).append((phrase, meaning))
    return MappingProxyType(
        {word: tuple(sorted(each, key=lambda one: -len(one[0]))) for word, each in by_word.items()}
    )


@cache
def _synonyms() -> Mapping[str, str]:
    found = dict[str, str]()
    for group in groups(_table()["synonyms"]):
        for word in group:
            if "_" not in word:
                found.setdefault(root(word), root(group[0]))
    return MappingProxyType(found)


@cache
def _verbs_by_form() -> Mapping[str, str]:
    return MappingProxyType({form: group[0] for group in groups(_table()["irregular"]) for form in group[1:]})


@cache
def _verbs_by_noun() -> Mapping[str, str]:
    return pairs(_table()["nouns"])


@cache
def _table() -> Mapping[str, str]:
    return word_sets("ace_graph.memory.similarity", "rewordings.toml")
