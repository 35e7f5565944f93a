"""The informative words of the text that a bullet came from: searches use them, prompts never show them.

A fact is often asked for by a word that only its turn had. Kept are content words that the bullet's own text
lacks, no stop words, no long numbers, nothing that looks like an address, a path or a key, and no word of a
sentence that is refused. Where a text has more words than a bullet keeps, those of the sentences that share
the most words with the bullet come first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import groupby

from ace_graph.memory.search.tokenize import content_words, is_spaceless, language_of, terms

MAX_SOURCE_WORDS = 32
MAX_WORD_CHARS = 30
MAX_DIGITS = 4
"""A longer number is hardly what somebody asks for, and may be an account or a telephone."""

_READ_CHARS = 8_000
"""So much of a text is read, of a longer one the sentences that look most like the bullet."""
_LIKE_CHARS = 5
"""Words that begin with the same letters look alike."""
_GUESS_CHARS = 2_000
"""From so much of a text its language is guessed."""
_SENTENCE_CHARS = 400
"""A longer sentence is read in parts."""
_KEY_CHARS = 12
_KEY_DIGITS = 3
_GROUPED_DIGITS = 7
"""Numbers side by side with so many digits together are hardly numbers to ask for."""

_END = re.compile(r"(?<=[.!?])\s+|[\r\n]+|(?<=[。！？])")
_DIGIT = re.compile(r"\d")
_FORBIDDEN = re.compile(r"[@/\\=<>{}\[\]]|www\.")


def source_words(text: str, own: str, refused: Callable[[str], bool] = lambda _: False) -> tuple[str, ...]:
    """Return at most 32 words of `text` that searches for `own`, the bullet's text, don't find yet.

    `refused` says of a passage whether none of its words may be kept. Takes time in proportion to the length
    of the text; `refused` reads the whole text if it is short, else the sentences that words are taken from.
    """
    language = language_of(text[:_GUESS_CHARS])
    known = {*terms(own), *terms(own, language)}
    sentences = _nearest(tuple(_sentences(text)), content_words(own, language))
    words = [_words_of(sentence, language) for sentence in sentences]
    order = sorted(range(len(sentences)), key=lambda at: -len(known & words[at].keys()))
    whole = len(text) <= _GUESS_CHARS and not refused(text)
    found: dict[str, str] = {}
    for at in order:
        new = {term: word for term, word in words[at].items() if term not in known and term not in found}
        if new and (whole or not _is_refused(sentences, at, refused)):
            found.update(new)
        if len(found) >= MAX_SOURCE_WORDS:
            break
    return tuple(dict.fromkeys(found.values()))[:MAX_SOURCE_WORDS]


def kept_words(words: Iterable[str]) -> tuple[str, ...]:
    """Return those of `words` that are shaped as source words are, each once, at most 32."""
    found = dict.fromkeys(word.casefold() for word in words if _is_plain(word) and len(word.split()) == 1)
    return tuple(word for word in found if _is_word(word))[:MAX_SOURCE_WORDS]


def words_besides(words: Iterable[str], text: str) -> tuple[str, ...]:
    """Return the words by which searches don't find a bullet of this text, each once, at most 32."""
    known, language = _known_terms(text)
    found = dict.fromkeys(word for word in words if not known.issuperset(terms(word, language)))
    return tuple(found)[:MAX_SOURCE_WORDS]


@lru_cache(maxsize=8)
def _known_terms(text: str) -> tuple[frozenset[str], str]:
    language = language_of(text)
    return frozenset(terms(text, language)), language


def _sentences(text: str) -> Iterator[str]:
    for sentence in _END.split(text):
        line = " ".join(sentence.split())
        begin = 0
        while len(line) - begin > _SENTENCE_CHARS:
            end = line.rfind(" ", begin, begin + _SENTENCE_CHARS) + 1 or begin + _SENTENCE_CHARS
            yield line[begin:end].strip()
            begin = end
        if begin < len(line):
            yield line[begin:]


def _nearest(sentences: tuple[str, ...], own: Mapping[str, str]) -> tuple[str, ...]:
    """Return the sentences, in order, if they are few; else those that look most like the bullet's text."""
    if sum(map(len, sentences)) <= _READ_CHARS:
        return sentences
    looks = {(term if is_spaceless(word) else word)[:_LIKE_CHARS] for term, word in own.items()}
    folded = [sentence.casefold() for sentence in sentences]
    order = sorted(range(len(sentences)), key=lambda at: -sum(look in folded[at] for look in looks))
    chosen: set[int] = set()
    left = _READ_CHARS
    for at in order:
        left -= len(sentences[at])
        if left < 0:
            break
        chosen.add(at)
    return tuple(sentence for at, sentence in enumerate(sentences) if at in chosen)


def _words_of(sentence: str, language: str) -> dict[str, str]:
    """Return term -> word of what may be kept of a sentence."""
    plain = " ".join(_plain_parts(sentence))
    found = content_words(plain, language)
    return {term: word for term, own in found.items() if _is_word(word := term if is_spaceless(own) else own)}


def _plain_parts(sentence: str) -> Iterator[str]:
    """Yield the parts between spaces that may be read; of numbers side by side, none of a long row."""
    for numeric, group in groupby(sentence.split(), key=_is_numeric):
        parts = tuple(group)
        if not numeric or _digits("".join(parts)) < _GROUPED_DIGITS:
            yield from (part for part in parts if _is_plain(part))


def _is_refused(sentences: tuple[str, ...], at: int, refused: Callable[[str], bool]) -> bool:
    """Whether a sentence is refused, by itself or together with one beside it that is not refused alone."""
    if refused(sentences[at]):
        return True
    for first in (at - 1, at):
        pair = sentences[max(0, first) : first + 2]
        if len(pair) == 2 and refused(" ".join(pair)):
            other = pair[0] if first < at else pair[1]
            if not refused(other):
                return True
    return False


def _is_plain(part: str) -> bool:
    """Whether a part between spaces is no address, path or key, and holds no long number."""
    if _FORBIDDEN.search(part) is not None:
        return False
    digits = _digits(part)
    if digits == 0:
        return True
    letters = sum(map(str.isalpha, part))
    is_key = letters > 0 and (digits >= _KEY_DIGITS or len(part) >= _KEY_CHARS)
    return digits <= MAX_DIGITS and not is_key


def _is_word(word: str) -> bool:
    return len(word) <= MAX_WORD_CHARS and (len(word) > 1 or not word.isascii() or word.isdigit())


def _is_numeric(part: str) -> bool:
    return _DIGIT.search(part) is not None and not any(map(str.isalpha, part))


def _digits(part: str) -> int:
    return len(_DIGIT.findall(part))
