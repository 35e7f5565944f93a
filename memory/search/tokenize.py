"""The tokenizer: a text as content terms, the same for a bullet and for a question.

Words are case-folded, in Unicode's compatibility form, without stop words, stemmed by language and
stripped of accents. Numbers stay whole (1/2, 3.14, 50%; 1,000 is 1000). Scripts without spaces (Chinese,
Japanese, Korean, Thai, Lao, Khmer, Burmese) give overlapping pairs of characters. A name in camel case
gives itself and its parts.

The language is settled by the script, or for Latin letters guessed from stop words, with English as the
default. A stemmer of PyStemmer must not be shared by threads; making one costs less than a look-up, so
each word that is not in the cache gets its own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator
from functools import cache, lru_cache
from importlib import import_module
from itertools import chain
from typing import Literal, Protocol, cast

from ace_graph.memory.languages.detection import guess_language, script_language, tells_of_another
from ace_graph.memory.languages.tables import (
    FIRST,
    SPACELESS,
    chat_words,
    function_pairs,
    languages,
    stop_words,
)

# Unicode's normal forms of a text of any length, in linear time.
#
# Normalising sorts the combining marks after a letter, which takes quadratic time in a long run of marks,
# in one call that holds the interpreter. So a long text is normalised in pieces. They are cut before a
# character that joins with none before it; a run of more marks than any script has is cut inside.


Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
_PIECE_CHARS, _SHORT_PIECE_CHARS = 1_000, 100
_MAX_MARKS = 64


def normal_form(form: Form, text: str) -> str:
    """Return `text` in a normal form of Unicode."""
    if text.isascii():
        return text
    return "".join(unicodedata.normalize(form, piece) for piece in _pieces(text))


def is_within(limit: int, text: str) -> bool:
    """Whether a text has at most so many characters in NFKC, in which one becomes up to 18.

    Of a longer one not much more than the limit is normalised.
    """
    if text.isascii():
        return len(text) <= limit
    count = 0
    for piece in _pieces(text, _SHORT_PIECE_CHARS):
        count += len(unicodedata.normalize("NFKC", piece))
        if count > limit:
            return False
    return True


def _pieces(text: str, length: int = _PIECE_CHARS) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = _cut(text, start + length)
        yield text[start:end]
        start = end


def _cut(text: str, at: int) -> int:
    """Return the first place from `at` on before which a text can be cut."""
    places = range(at, min(at + _MAX_MARKS, len(text)))
    return next((place for place in places if _never_joins(text[place])), at)


def _never_joins(char: str) -> bool:
    """Whether it joins with no character before it: no mark, no later part of a Korean syllable."""
    return char.isascii() or (unicodedata.category(char)[0] != "M" and not "\u1160" <= char <= "\u11ff")


# After fold() every digit is ASCII, and what is not ASCII is a letter or a mark. A set is said by what of
# ASCII is not in it: a set of all that is beyond ASCII takes milliseconds to compile.
_LETTER, _LETTER_OR_DIGIT = r"[^\x00-@\[-`{-\x7f]", r"[^\x00-/:-@\[-`{-\x7f]"
_TOKEN = re.compile(
    r"[0-9]+(?:[.,/][0-9]+)*(?:%|(?:st|nd|rd|th)(?![A-Za-z0-9]))?"
    rf"|{_LETTER}{_LETTER_OR_DIGIT}*(?:'{_LETTER}+)*(?:(?:\+\+|#)(?![A-Za-z0-9]))?"
)
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?%?")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
_VULGAR_FRACTION = re.compile(r"(?<=[0-9])(?=[¼-¾⅐-⅞])")
_SUPERSCRIPT = re.compile(r"(?=(?<![²³¹⁰⁴-⁹])[²³¹⁰⁴-⁹])")
_SPACELESS = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff"
    r"\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_CACHED_CHARS = 64
"""What is longer without a space is hardly a word that occurs again, so its terms are not cached."""
_CACHED_WORDS = 16_384
"""In each language."""
_CLITICS = frozenset({"s", "ll", "ve", "re", "d", "m"})


class _Stemmer(Protocol):
    def stemWord(self, word: str, /) -> str: ...


def terms(text: str, language: str | None = None) -> tuple[str, ...]:
    """Return the content terms of `text` in their order, repeated as often as they occur.

    `language` is one of PyStemmer's names; by default it is guessed from the text.
    """
    if language is None:
        return language_and_terms(text)[1]
    return _read(fold(text).split(), _known_terms(language))


def language_and_terms(text: str) -> tuple[str, tuple[str, ...]]:
    """Return what `language_of` and `terms` return, from one reading of the text."""
    words, known = fold(text).split(), _known_terms(FIRST)
    found = _read(words, known)
    if known.others.isdisjoint(words):
        return FIRST, found
    language = _guess(chain.from_iterable(map(_TOKEN.findall, words)))
    return language, found if language == FIRST else _read(words, _known_terms(language))


def content_words(text: str, language: str | None = None) -> dict[str, str]:
    """Return term -> the word of `text` that it came from, so that a word can be kept and found again."""
    found = tokens(text)
    known = _known_terms(language or _guess(found))
    return {term: token.casefold() for token in found for term in known[token]}


def language_of(text: str) -> str:
    """Return the language whose stemmer the Latin words of `text` get."""
    return _guess(tokens(text))


def tokens(text: str) -> list[str]:
    """Return the words and numbers of `text` as they stand, folded but with their case."""
    return _TOKEN.findall(fold(text))


def is_spaceless(word: str) -> bool:
    """Whether `word` holds characters of a script that puts no spaces between words."""
    return not word.isascii() and _SPACELESS.search(word) is not None


def count_spaceless(text: str) -> int:
    """Return how many characters of `text` are of a script that puts no spaces between words."""
    return 0 if text.isascii() else sum(map(len, _SPACELESS.findall(text)))


def fold(text: str) -> str:
    """Return `text` in compatibility form: ASCII digits and apostrophes, other punctuation as spaces.

    ASCII text is returned as it is. A space separates a vulgar fraction or a superscript from the number
    before it.
    """
    if text.isascii():
        return text
    separated = _SUPERSCRIPT.sub("^", _VULGAR_FRACTION.sub(" ", text))
    return "".join(map(_fold_char, normal_form("NFKC", separated)))


@lru_cache(maxsize=4096)
def _fold_char(char: str) -> str:
    if char.isascii():
        return char
    if char in "\u2019\u02bc":
        return "'"
    if char == "\u2044":
        return "/"
    category = unicodedata.category(char)
    if category == "Nd":
        return str(unicodedata.decimal(char))
    if category == "Cf":
        return ""
    return " " if category[0] in "PSZC" else char


def _guess(found: Iterable[str]) -> str:
    return guess_language(list(map(str.casefold, found)))


class _KnownTerms(dict[str, tuple[str, ...]]):
    """The terms of words in one language; a word is what stands between two spaces, with its marks.

    A look-up in a dictionary costs less than the pattern of a token, and an index is built of thousands.
    `others` are words with a token that is a stop word of other languages only.
    """

    def __init__(self, language: str) -> None:
        self._language = language
        self.others: set[str] = set()
        self.full = False

    def __missing__(self, word: str) -> tuple[str, ...]:
        found = _TOKEN.findall(word)
        if tells_of_another(map(str.casefold, found)):
            self.others.add(word)
        new = tuple(term for token in found for term in _new_terms(token, self._language))
        if len(word) <= _CACHED_CHARS:
            self[word] = new
        self.full = max(len(self), len(self.others)) >= _CACHED_WORDS
        return new


@cache
def _latest_terms(language: str) -> list[_KnownTerms]:
    return [_KnownTerms(language)]


def _known_terms(language: str) -> _KnownTerms:
    """Return what is known in a language. Once it is full, the next text begins anew."""
    latest = _latest_terms(language)
    if latest[0].full:
        latest[0] = _KnownTerms(language)
    return latest[0]


def _read(words: Iterable[str], known: _KnownTerms) -> tuple[str, ...]:
    return tuple(chain.from_iterable(map(known.__getitem__, words)))


def _new_terms(token: str, language: str) -> tuple[str, ...]:
    if token[0].isdigit():
        return (token.replace(",", "") if _GROUPED.fullmatch(token) else token,)
    parts = _HUMP.findall(token) if not token.islower() and token.isascii() else ()
    whole = _word_terms(token.casefold(), language)
    if len(parts) < 2 or "'" in token:
        return whole
    return whole + tuple(term for part in parts for term in _word_terms(part.casefold(), language))


def _word_terms(word: str, language: str) -> tuple[str, ...]:
    base = _without_clitics(word) if "'" in word else word
    language = (script_language(base[0]) if base else None) or language
    if not base or base in stop_words(language) or base in stop_words("english"):
        return ()
    if is_spaceless(base):
        return _pairs(base, language)
    stem = _without_accents(_stemmers()(language).stemWord(base))
    return (stem,) if stem else ()


def _without_clitics(word: str) -> str:
    """Return the word that carries the content: don't -> '', student's -> student, l'heure -> heure."""
    head, *rest = word.split("'")
    if head.endswith("n") and rest == ["t"]:
        return ""
    if len(rest) == 1 and rest[0] in _CLITICS:
        return head
    if len(rest) == 1 and len(head) <= 2:
        return rest[0]
    return head + "".join(rest)


def _pairs(word: str, language: str) -> tuple[str, ...]:
    found: list[str] = []
    rest = _SPACELESS.sub(" ", word).split()
    without_content = function_pairs()
    for run in _SPACELESS.findall(word):
        pairs = [run[i : i + 2] for i in range(len(run) - 1)] or [run]
        found.extend(pair for pair in pairs if pair not in without_content)
    for other in rest:
        found.extend(_word_terms(other, language))
    return tuple(found)


@cache
def _stemmers() -> Callable[[str], _Stemmer]:
    # PyStemmer ships no types; this is the one method that is used.
    return cast("Callable[[str], _Stemmer]", import_module("Stemmer").Stemmer)


def _without_accents(word: str) -> str:
    if word.isascii() or script_language(word[0]) is not None:
        return word
    kept = [char for char in normal_form("NFKD", word) if not unicodedata.combining(char)]
    return normal_form("NFC", "".join(kept))


# The terms of chat: politeness and small talk around a question, which carry no subject.
#
# They are the chat words of the languages' tables as the tokenizer reads them, so they can be compared with
# the terms of a question.


@cache
def chat_terms(language: str) -> frozenset[str]:
    """Return the terms of chat in a question whose language is, after `language_of`, this one.

    Terms of languages without spaces between words are among them, because `language_of` names none of these.
    """
    pairs = (word for each in languages("chat") if each in SPACELESS for word in chat_words(each))
    found = {term for word in pairs for term in terms(word, FIRST)}
    return frozenset(found.union(term for word in chat_words(language) for term in terms(word, language)))


# Compounds: words of which one is part of the other, as "teig" of "sauerteig", "лес" of "лесной".
#
# A part has three letters or more at the beginning or the end of the whole, four or more inside. Scripts
# without spaces between words have none: their terms are pairs of characters.


_SHORT, _MOST = 3, 8
_LONGEST = 40
"""A longer word is hardly one."""


def vocabulary(words: Iterable[str]) -> str:
    """Return the words between line breaks, so that all that hold a part are found in one pass."""
    return "\n".join(["", *filter(str.isalpha, words), ""])


def compounds(word: str, known: Container[str], text: str) -> list[str]:
    """Return the known words that hold `word` or are held by it, at most eight: the nearest in length first.

    `text` is their `vocabulary`. Takes time in proportion to that, at the speed of a search in a string.
    """
    if not _SHORT <= len(word) <= _LONGEST or not word.isalpha() or is_spaceless(word):
        return []
    found = {part for part in _parts(word) if part in known}
    found.update(_wholes(word, text))
    found.discard(word)
    return sorted(found, key=lambda other: (abs(len(other) - len(word)), other))[:_MOST]


def _parts(word: str) -> Iterator[str]:
    length = len(word)
    for size in range(_SHORT, length):
        yield word[:size]
        yield word[-size:]
        if size > _SHORT:
            yield from (word[at : at + size] for at in range(1, length - size))


def _wholes(word: str, text: str) -> Iterator[str]:
    for wanted in (word,) if len(word) > _SHORT else (f"\n{word}", f"{word}\n"):
        at = text.find(wanted)
        while at >= 0:
            start = text.rfind("\n", 0, at + 1) + 1
            end = text.find("\n", at + len(wanted) - 1)
            yield text[start:end]
            at = text.find(wanted, end)


# An estimate of a text's tokens without a model's tokenizer.
#
# Where exact numbers matter, pass the model's own counter (`count_tokens`) instead.


# Up to four letters, two capitals, a digit, a mark, a run of line breaks, a run of further spaces.
_PIECE = re.compile(r"[A-Z]?[a-z]{1,4}|[A-Z]{1,2}|[!-@\[-`{-~]|\n+|(?<=\s)[ \t\r\f\v]+")
_TOKEN_COUNT_CACHED_CHARS = 1_024
_CACHED_TEXTS = 16_384
"""More than the bullets that the questions to a large playbook come close to."""


def estimate_tokens(text: str) -> int:
    """Return an estimate of the tokens of `text`, meant to be too high rather than too low.

    Counted are: every four letters of a word begun (two, where they are capitals), every digit, every mark
    of punctuation, every run of line breaks, every indentation; and outside ASCII one less than the bytes of
    the character in UTF-8, so 2 for a Chinese, Japanese, Korean or Thai character and 1 for a Cyrillic one.

    Why that is enough: byte-pair and unigram tokenizers with vocabularies of 100,000 and more know the
    usual English words whole, with the space before them; here longer words count twice or more. They join
    digits by three at most, or not at all, and they join punctuation; here every digit and mark counts. Names
    in code are cut at a change of case and at an underscore, which is counted too. A Chinese character costs
    them 0.7 to 1.5 on average. Measured with the vocabularies cl100k and o200k on 318 English playbook
    bullets, 360 questions of two benchmarks, Python and JavaScript files and Markdown, the true count is 0.5
    to 0.81 of this one, on Chinese, Japanese and Korean 0.3 to 0.66, on a German sentence 0.96. For long
    random strings (base64) it falls below the truth: 1.4.
    """
    return _cached(text) if len(text) <= _TOKEN_COUNT_CACHED_CHARS else _count(text)


@lru_cache(maxsize=_CACHED_TEXTS)
def _cached(text: str) -> int:
    return _count(text)


def _count(text: str) -> int:
    pieces = len(_PIECE.findall(text))
    if text.isascii():
        return pieces
    return pieces + len(text.encode("utf-8", "surrogatepass")) - len(text)
