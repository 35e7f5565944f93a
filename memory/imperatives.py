"""Whether a text tells what to do, by the form of its words: no verb needs to be known beforehand.

In most languages an imperative opens its sentence, its ending shows that the word list has other forms of
the same verb, and no other word of its clause is a verb. German and Dutch also put an infinitive at the end,
and Japanese ends with a verb. English shows it by what stands behind: an article ("restart the server"), or
no verb at all ("pin versions"). The forms are in the table `imperatives` of each language.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache

from ace_graph.base.tables import groups
from ace_graph.memory.languages.detection import likely_languages
from ace_graph.memory.languages.tables import FIRST, SPACELESS, table
from ace_graph.memory.search.word_list import per_million
from ace_graph.memory.search.written_language import written_language
from ace_graph.memory.similarity.claim import normalized_tokens

_MAX_CHARS = 600
"""Of a longer sentence only the beginning is read."""
_LEADS = 8
_CONDITION = 30
"""At most so many words stand before an imperative, and in a condition before its comma."""
_SENTENCE_ENDS = (". ", "! ", "; ", ": ", "。", "！")
_SHORTEST = 3
"""The shortest word that its ending may show to be a verb."""
_MORE_OF_A_NOUN = 0.12
_VERB_BEHIND_PLURAL = 0.5
"""How often an English word is a verb, in proportion to another one (water boils, but prune branches)."""
_OFTEN_A_VERB = 0.25
_LIKE_ITS_BASE = 0.8
"""A word in -s that is met as often as without it is no plural: depends, expires."""
_NONE = "-"


@dataclass(frozen=True)
class _Grammar:
    """The table of a language, which says what each text is for."""

    language: str
    endings: tuple[tuple[str, tuple[str, ...]], ...]
    finite_endings: tuple[tuple[str, tuple[str, ...]], ...]
    sure: tuple[str, ...]
    last: tuple[str, ...]
    plural: tuple[str, ...]
    participles: tuple[str, ...]
    adjective: tuple[str, ...]
    before_nouns: tuple[str, ...]
    separable: tuple[str, ...]
    polite: tuple[str, ...]
    prefixes: tuple[str, ...]
    starts: tuple[str, ...]
    ends: tuple[str, ...]
    inside: tuple[str, ...]
    irregular: tuple[str, ...]
    nouns: tuple[str, ...]
    leads: tuple[str, ...]
    addressed: tuple[str, ...]
    duties: tuple[str, ...]
    conditions: tuple[str, ...]
    objects: tuple[str, ...]
    clitics: tuple[str, ...]
    owned: tuple[str, ...]
    finite: tuple[str, ...]
    joints: tuple[str, ...]


def is_imperative(text: str, language: str | None = None) -> bool:
    """Whether the first sentence of a text is an imperative, possibly behind "always" or "before ..., ".

    `language` is that of the text, where the caller knows it from more than this. Takes time linear in the
    length of the text.
    """
    sentence = _first_sentence(text)
    if sentence.endswith(("?", "？")):
        return False
    likely = likely_languages(sentence)
    if likely[0] in SPACELESS:
        return any(_is_marked(sentence, _grammar(language)) for language in likely[:1])
    words = list(_words(sentence, _grammar(language or likely[0]).clitics))
    written = language or written_language([word for word in words if word.isalpha()], likely)
    grammar = _grammar(written)
    return _opens_with_verb(words, grammar) or _ends_with_verb(words, grammar)


def _first_sentence(text: str) -> str:
    start = text[:_MAX_CHARS].strip(" -*\t\n\"'`“„«")
    ends = (place for mark in _SENTENCE_ENDS if (place := start.find(mark)) > 0)
    return start[: min(ends, default=len(start))].strip()


def _is_marked(sentence: str, grammar: _Grammar) -> bool:
    """Whether a sentence without spaces has a mark of an instruction, and no mark of a statement."""
    said = sentence.rstrip("。！.! ")
    clause = said.replace("，", "、").rpartition("、")[2]
    if said.startswith(grammar.starts) or clause.startswith(grammar.starts) or said.endswith(grammar.ends):
        return True
    if any(mark in said for mark in grammar.inside):
        return True
    if any(mark in clause for mark in grammar.finite):
        return False
    acts = any(mark in clause for mark in grammar.objects) or not grammar.objects
    return acts and (not grammar.last or clause.endswith(grammar.last))


def _words(sentence: str, clitics: Collection[str]) -> Iterator[str]:
    """The words of a sentence and its commas; l' apart from eau, and donne apart from -moi.

    Of another word with hyphens its last part.
    """
    parted = ((word, word.rpartition("-")) for word in sentence.split())
    last_parts = " ".join(
        f"{head} {tail}" if head and tail.rstrip(",.!;:") in clitics else tail or word
        for word, (head, _, tail) in parted
    )
    for token in normalized_tokens(last_parts):
        head, mark, tail = token.word.partition("'")
        if mark and len(tail) > 1:
            yield from (f"{head}'", tail)
        elif token.kind != "symbol":
            yield token.word


def _opens_with_verb(words: Sequence[str], grammar: _Grammar) -> bool:
    """Whether an imperative opens the sentence, behind what may stand in front."""
    place = 0
    for _ in range(_LEADS):
        behind = _behind_condition(words, place, grammar)
        place = _behind_lead(words, place, grammar) if behind == place else behind
        if _is_imperative_clause(words[place:], grammar, led=place > 0):
            return True
        if _behind_condition(words, place, grammar) == place:
            return False
    return False


def _behind_lead(words: Sequence[str], place: int, grammar: _Grammar) -> int:
    while place + 1 < len(words):
        addressed = words[place] in grammar.addressed and words[place + 1] in grammar.duties
        if not (addressed or words[place] in grammar.leads or words[place] in (",", ":")):
            break
        place += 1 + addressed
    return place


def _behind_condition(words: Sequence[str], place: int, grammar: _Grammar) -> int:
    """Return the place behind "before a release," and the like, else the same place."""
    if place >= len(words) or not (words[place] in grammar.conditions or words[place].isdigit()):
        return place
    window = words[place : place + _CONDITION]
    return place + window.index(",") + 1 if "," in window else place


def _is_imperative_clause(words: Sequence[str], grammar: _Grammar, *, led: bool) -> bool:
    if not words or len(words[0]) < 2 or (len(words) == 1 and not led):
        return False
    verb, behind = words[0], words[1] if len(words) > 1 else ""
    if verb in grammar.finite or behind in grammar.owned or verb in grammar.nouns:
        return False
    polite = grammar.polite and behind == grammar.polite[-1] and verb.endswith(grammar.polite[:-1])
    if behind in grammar.objects or behind in grammar.clitics or polite:
        return bool(polite) or _is_verb(verb, grammar) or _is_unlisted(verb, grammar)
    if not _is_verb(verb, grammar) or (behind not in grammar.leads and _is_adjective(verb, grammar)):
        return False
    return not any(_finite_in(_clause(words, grammar), grammar))


def _clause(words: Sequence[str], grammar: _Grammar) -> list[str]:
    """The words up to the first that opens another clause."""
    found = [words[0]]
    for word in words[1:]:
        if word == "," or word in grammar.joints:
            break
        found.append(word)
    return found


def _ends_with_verb(words: Sequence[str], grammar: _Grammar) -> bool:
    """Whether an infinitive ends a sentence that has no other verb: "den Server neu starten".

    It looks like the verb of a plural, but for one that would be split in two there.
    """
    verb = words[-1] if len(words) > 1 else ""
    if not grammar.last or not verb.endswith(grammar.last) or not _is_word(verb, grammar):
        return False
    if words[-2] in grammar.before_nouns:
        return False
    plural = words[0] in grammar.objects or words[0].endswith(grammar.plural)
    unsplit = verb.startswith(grammar.separable)
    return (unsplit or not plural) and not any(_finite_in(words, grammar))


def _finite_in(clause: Sequence[str], grammar: _Grammar) -> Iterator[bool]:
    """Whether each word behind the first is the verb of a statement."""
    for place in range(1, len(clause)):
        word = clause[place]
        if word in grammar.finite:
            yield clause[place - 1] != "to"
        elif grammar.finite_endings:
            yield not word.startswith(grammar.participles) and _has_forms(
                word, grammar.finite_endings, grammar
            )
        elif grammar.language == FIRST:
            yield _is_english_verb_of(clause, place, grammar)


def _is_english_verb_of(clause: Sequence[str], place: int, grammar: _Grammar) -> bool:
    """Whether a word is the verb to the noun before it: water boils, cache entries expire, times doubled."""
    word, first = clause[place], _verbness(clause[0], grammar)
    if word.endswith("s") and not word.endswith(("ss", "us")):
        base = _singular(word, grammar)
        often = _verbness(base, grammar) if base else 0.0
        hardly_plural = often > _OFTEN_A_VERB and per_million(word, FIRST) > _LIKE_ITS_BASE * per_million(
            base, FIRST
        )
        return hardly_plural or first < _MORE_OF_A_NOUN * often
    plural, at_end = _is_plural(clause[place - 1], grammar), place + 1 == len(clause)
    if word.endswith("ed"):
        if clause[0] in grammar.irregular:
            return plural and not at_end and clause[place + 1] in grammar.conditions
        return place > 1 and (
            at_end or (plural and clause[place + 1] in (*grammar.conditions, *grammar.objects))
        )
    often = _verbness(word, grammar) if plural and place > 1 and _is_verb(word, grammar) else 0.0
    return often > _OFTEN_A_VERB and first < _VERB_BEHIND_PLURAL * often


def _singular(word: str, grammar: _Grammar) -> str:
    """The verb in -s without its ending, empty where it is none."""
    bases = (word[:-1], word.removesuffix("es"), f"{word.removesuffix('ies')}y")
    return next((base for base in bases if base != word and _is_verb(base, grammar)), "")


def _is_plural(word: str, grammar: _Grammar) -> bool:
    return word.endswith("s") and not word.endswith("ss") and _is_word(word[:-1], grammar)


def _verbness(word: str, grammar: _Grammar) -> float:
    """How often an English word is met as a participle, in proportion to its plain forms."""
    ing, ed = (max(per_million(f"{stem}{end}", FIRST) for stem in _stems(word)) for end in ("ing", "ed"))
    participles = 3 * ing if word in grammar.irregular else ing + ed
    plain = per_million(word, FIRST) + per_million(f"{word}s", FIRST)
    return participles / plain if plain else 1.0


def _stems(word: str) -> tuple[str, ...]:
    """A word as endings are put behind it: drop, dropp-; cache, cach-; vary, vari-; maak, mak-."""
    found = [word, f"{word}{word[-1:]}"]
    if word.endswith("e"):
        found.append(word[:-1])
    if word.endswith("y"):
        found.append(f"{word[:-1]}i")
    if len(word) > _SHORTEST and word[-2] == word[-3]:
        found.append(word[:-2] + word[-1])
    return tuple(found)


def _is_verb(word: str, grammar: _Grammar) -> bool:
    if word in grammar.irregular:
        return True
    if len(word) < _SHORTEST or not word.isalpha() or word in grammar.objects:
        return False
    if word.endswith(grammar.sure):
        return True
    return _has_forms(word, grammar.endings, grammar)


def _is_adjective(word: str, grammar: _Grammar) -> bool:
    stem = word.removesuffix(grammar.adjective[0]) if grammar.adjective else word
    return stem != word and all(_is_word(f"{stem}{ending}", grammar) for ending in grammar.adjective)


def _has_forms(word: str, endings: Iterable[tuple[str, tuple[str, ...]]], grammar: _Grammar) -> bool:
    """Whether the word list has all forms that one of the endings asks for."""
    for ending, others in endings:
        if word.endswith(ending) and len(word) >= len(ending) + 2:
            stems = _stems(word.removesuffix(ending))
            if all(any(_is_word(f"{stem}{other}", grammar) for stem in stems) for other in others):
                return True
    return False


def _is_word(word: str, grammar: _Grammar) -> bool:
    if per_million(word, grammar.language):
        return True
    rests = (word.removeprefix(prefix) for prefix in grammar.prefixes if word.startswith(prefix))
    return any(len(rest) > _SHORTEST and per_million(rest, grammar.language) for rest in rests)


def _is_unlisted(word: str, grammar: _Grammar) -> bool:
    """Whether a word is in no list, so that only its place tells what it is: "refactor the parser"."""
    listed = (grammar.leads, grammar.conditions, grammar.joints, grammar.owned, grammar.objects)
    known = any(word in each for each in listed)
    return word.isalpha() and not known and not _is_word(word, grammar) and not word.endswith("s")


@cache
def _grammar(language: str) -> _Grammar:
    texts = table(language, "imperatives")
    endings, finite_endings = (
        tuple(
            (each[0].strip(_NONE), tuple(form.strip(_NONE) for form in each[1:]))
            for each in groups(texts.get(name, ""))
        )
        for name in ("endings", "finite_endings")
    )
    named = [each.name for each in fields(_Grammar)][3:]
    words = {name: tuple(texts.get(name, "").split()) for name in named}
    return _Grammar(language, endings, finite_endings, **words)
