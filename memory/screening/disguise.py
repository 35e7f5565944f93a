"""Undoing disguises: a text as its readers may take it.

`folded` gives plain letters: compatibility forms, accents, joiners and other invisible characters undone, and
every letter that is a Latin one by its Unicode name (dotless, small capital, squared, with a stroke).
`readings` goes on from there: look-alikes of other scripts, words joined by dots, underscores or capitals,
letters set apart, digits for letters, Base64.

All of it takes linear time.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from ace_graph.memory.search.normal_form import normal_form

__all__ = ["as_latin", "folded", "joined", "letters_apart", "readings"]

_LATIN_NAME = re.compile(
    r"(?:LATIN |NEGATIVE |SQUARED |CIRCLED |CROSSED |REGIONAL INDICATOR |MODIFIER )+"
    r"(?:SYMBOL |SMALL |CAPITAL |LETTER |SCRIPT |DOTLESS |TURNED |OPEN |LONG )+([A-Z])(?: WITH .+)?"
)
_UNNAMED = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ɑ": "a", "ɛ": "e", "ð": "d", "þ": "th", "ı": "i"})
_STOPS = frozenset("。｡․‧∙⋅．")
"""What browsers or readers treat as a dot."""
_CYRILLIC, _CYRILLIC_AS_LATIN = "авекмнорстухіјѕԁһӏԛԝ", "abekmhopctyxijsdhlqw"
_GREEK, _GREEK_AS_LATIN = "αβεηικνορτυχωγμ", "abeniknoptuxwyu"
_OTHERS, _OTHERS_AS_LATIN = "\u0585\u057d\u0570\u0578\u0581\u0584\u2c9f\ua4f3\ua4ee", "ouhngqooe"
_TO_LATIN = str.maketrans(
    _CYRILLIC + "и" + _GREEK + _OTHERS, _CYRILLIC_AS_LATIN + "u" + _GREEK_AS_LATIN + _OTHERS_AS_LATIN
)
_TO_CYRILLIC = str.maketrans("abekmhopctyxnurg", "авекмнорстухпигд")
_WORD = re.compile(r"\w{1,64}")
_SEPARATOR = re.compile(r"(?<=[^\W_])[._\-/|~*+•:,;=]{1,3}(?=[^\W_])")
_CAMEL = re.compile(r"(?<=[^\W\d_])(?=[A-Z][a-z])")
_HAN_APART = re.compile(
    r"(?<=[\u3040-\u30ff\u3400-\u9fff])[\s._\-/|~*+•,;]{1,3}(?=[\u3040-\u30ff\u3400-\u9fff])"
)
_APART = re.compile(r"(?<![^\W_])[^\W\d_](?:[ ._*\-|/]{1,2}[^\W\d_](?![^\W_])){7,400}")
_ENCODED = re.compile(r"(?<![\w+/])[A-Za-z0-9+/]{24,}={0,2}(?![\w+/])")
_LETTERS_AND_DIGITS = re.compile(r"[a-z0-9@$|]{3,64}")
_AS_LETTERS = str.maketrans("0134578@$|", "oieastbasi")


def folded(text: str) -> str:
    """Return `text` in plain letters of its own script, upper and lower case kept."""
    if text.isascii():
        return text
    return "".join(ch if ch.isascii() else _plain(ch) for ch in normal_form("NFKD", text))


def as_latin(text: str) -> str:
    """Return a folded text with the letters of other scripts that look like Latin ones as those."""
    return text if text.isascii() else "".join(ch if ch.isascii() else _latin_look_alike(ch) for ch in text)


def joined(text: str) -> str:
    """Return the letters and digits of a text alone, as words without anything between them."""
    return "".join(filter(str.isalnum, text))


def letters_apart(text: str) -> Iterator[str]:
    """Yield the runs of eight or more letters that something stands between, as words."""
    for run in _APART.finditer(text):
        yield joined(run.group())


def readings(text: str) -> Iterator[str]:
    """Yield a folded text in lower case as readers may take it, each reading once."""
    latin = as_latin(text)
    seen = dict.fromkeys((latin.casefold(), _spread(latin).casefold()))
    if not text.isascii():
        native = _HAN_APART.sub("", _cyrillic(text.casefold()))
        seen |= dict.fromkeys((native, _spread(native)))
    seen |= dict.fromkeys([_LETTERS_AND_DIGITS.sub(_digits_as_letters, reading) for reading in seen])
    for encoded in _ENCODED.findall(latin):
        if (decoded := _decoded(encoded)) is not None:
            seen[folded(decoded).casefold()] = None
    yield from seen


def _spread(text: str) -> str:
    """The words of `ignore.all_rules` and `IgnoreAllRules` with spaces between them."""
    return _CAMEL.sub(" ", _SEPARATOR.sub(" ", text))


@lru_cache(maxsize=4_096)
def _plain(char: str) -> str:
    """A character as plain letters: '' for marks and what is invisible."""
    if char in _STOPS:
        return "."
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return ""
    known = char.translate(_UNNAMED)
    if known != char:
        return known
    name = _LATIN_NAME.fullmatch(unicodedata.name(char, ""))
    if name is None:
        return char
    return name[1] if char.isupper() or not char.isalpha() else name[1].lower()


@lru_cache(maxsize=4_096)
def _latin_look_alike(char: str) -> str:
    latin = char.casefold().translate(_TO_LATIN)
    return latin.upper() if char.isupper() else latin


def _cyrillic(text: str) -> str:
    """Latin letters inside of Cyrillic words as the Cyrillic ones that they look like."""
    return _WORD.sub(lambda word: word[0].translate(_TO_CYRILLIC) if _is_mixed(word[0]) else word[0], text)


def _is_mixed(word: str) -> bool:
    return (
        not word.isascii() and any("а" <= ch <= "я" for ch in word) and any("a" <= ch <= "z" for ch in word)
    )


def _digits_as_letters(word: re.Match[str]) -> str:
    text = word[0]
    letters = sum("a" <= ch <= "z" for ch in text)
    return text.translate(_AS_LETTERS) if 0 < letters < len(text) else text


def _decoded(encoded: str) -> str | None:
    """The text that is hidden in Base64, None where it is no text."""
    try:
        text = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    return text if text.isprintable() else None
