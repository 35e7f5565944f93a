"""Rules of the screening: read from TOML tables, and matched with what excuses a match.

A rule has words of which a text must hold one, a pattern, and what excuses a match. All of them are folded as
the readings of a text are (`folded`), so that a file may be written with accents. A pattern is
compiled when a text first holds one of the words.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain
from typing import cast

from ace_graph.base.tables import read_toml
from ace_graph.memory.search.tokenize import normal_form

# Undoing disguises: a text as its readers may take it.
#
# `folded` gives plain letters: compatibility forms, accents, joiners and other invisible characters undone,
# and every letter that is a Latin one by its Unicode name (dotless, small capital, squared, with a stroke).
# `readings` goes on from there: look-alikes of other scripts, words joined by dots, underscores or
# capitals, letters set apart, digits for letters, Base64.
#
# All of it takes linear time.


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
_LETTERS_AND_DIGITS = re.compile(r"(?=[a-z]{0,63}[0-9@$|])[a-z0-9@$|]{3,64}")
_LIKE_LETTERS = "0134578@$|"
_AS_LETTERS = str.maketrans(_LIKE_LETTERS, "oieastbasi")


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
    if any(map(text.__contains__, _LIKE_LETTERS)):
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


_PACKAGE = "ace_graph.memory.screening"
_CONTEXT = 60
_SENTENCE_END = re.compile(r"[.!?](?=\s)")
_PART = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class Rule:
    """What kind of danger it is, what a text must hold one of, and the texts of the patterns.

    Of `also` a text must hold one, too: words of what stands beside, so that few texts are matched.
    `before` is looked for at the end of what stands before a match, `after` at the start of what follows it:
    either excuses the match. `beside` must stand in the same sentence, in whatever order, and `unless_beside`
    must not: so a rule names what a sentence speaks of, not how it says it. "" stands for no pattern.
    """

    kind: str
    needs: tuple[str, ...]
    text: str
    before: str = ""
    after: str = ""
    beside_text: str = ""
    unless_beside_text: str = ""
    also: tuple[str, ...] = ()

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What the rule looks for."""
        return re.compile(self.text)

    @cached_property
    def unless_before(self) -> re.Pattern[str] | None:
        """What excuses a match that it stands before."""
        return re.compile(rf"(?:{self.before})$") if self.before else None

    @cached_property
    def unless_after(self) -> re.Pattern[str] | None:
        """What excuses a match that it follows."""
        return re.compile(self.after) if self.after else None

    @cached_property
    def beside(self) -> re.Pattern[str] | None:
        """What must stand in the same sentence."""
        return re.compile(self.beside_text) if self.beside_text else None

    @cached_property
    def unless_beside(self) -> re.Pattern[str] | None:
        """What must not stand in the same sentence."""
        return re.compile(self.unless_beside_text) if self.unless_beside_text else None

    def matches(self, text: str) -> bool:
        """Whether a short text that holds one of the words meets the rule somewhere without an excuse."""
        if self.beside is None and self.unless_beside is None:
            return self._found(text)
        return any(
            _holds_one(each, self.needs) and self._found(each) and self._suits(each)
            for each in _sentences(text)
        )

    def find(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches in a text, excused ones too."""
        return self.pattern.finditer(text) if self._applies(text) else iter(())

    def _found(self, text: str) -> bool:
        if not self.before and not self.after:
            return self.pattern.search(text) is not None
        return any(not self._excused(each) for each in self.pattern.finditer(text))

    def _suits(self, sentence: str) -> bool:
        named = self.beside is None or self.beside.search(sentence) is not None
        return named and not (self.unless_beside and self.unless_beside.search(sentence))

    def _applies(self, text: str) -> bool:
        return _holds_one(text, self.needs) and _holds_one(text, self.also)

    def _excused(self, match: re.Match[str]) -> bool:
        before = match.string[max(0, match.start() - _CONTEXT) : match.start()]
        after = match.string[match.end() : match.end() + _CONTEXT]
        return bool(
            (self.unless_before and self.unless_before.search(before))
            or (self.unless_after and self.unless_after.match(after))
        )


class Rules(tuple[Rule, ...]):
    """Rules in their order. Each word is looked for once in a text, however many rules need it."""

    @cached_property
    def _by_word(self) -> dict[str, tuple[int, ...]]:
        """The numbers of the rules that need a word; those which need none stand under ""."""
        numbers = dict[str, list[int]]()
        for n, rule in enumerate(self):
            for word in rule.needs or ("",):
                numbers.setdefault(word, []).append(n)
        return {word: tuple(of) for word, of in numbers.items()}

    @cached_property
    def _needed(self) -> _HeldWords:
        return _HeldWords(self._by_word)

    @cached_property
    def _also(self) -> _HeldWords:
        return _HeldWords(word for rule in self for word in rule.also)

    def applying(self, text: str) -> Iterator[Rule]:
        """Yield the rules of which a text holds one of the words, in order."""
        found = sorted({n for word in ("", *self._needed.of(text)) for n in self._by_word.get(word, ())})
        if not found:
            return
        beside = self._also.of(text)
        yield from (
            rule for rule in map(self.__getitem__, found) if not rule.also or beside.intersection(rule.also)
        )


_START, _CACHED_CHARS, _CACHED_PARTS = 3, 64, 16_384


class _HeldWords(dict[str, tuple[str, ...]]):
    """The words that a part of a text without spaces holds, by that part; forgets all when it is full.

    Texts consist of the same parts for the most. Of others only the words are looked for whose first three
    letters stand in it.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._by_start = dict[str, list[str]]()
        self._short = list[str]()
        for word in filter(None, dict.fromkeys(words)):
            (self._short if len(word) < _START else self._by_start.setdefault(word[:_START], [])).append(word)

    def __missing__(self, part: str) -> tuple[str, ...]:
        starts = {part[at : at + _START] for at in range(len(part) - _START + 1)}
        near = (word for start in self._by_start.keys() & starts for word in self._by_start[start])
        found = tuple(word for word in (*self._short, *near) if word in part)
        if len(part) <= _CACHED_CHARS:
            if len(self) >= _CACHED_PARTS:
                self.clear()
            self[part] = found
        return found

    def of(self, text: str) -> set[str]:
        """Return the words that a text holds."""
        return set(chain.from_iterable(map(self.__getitem__, text.split())))


def _holds_one(text: str, words: tuple[str, ...]) -> bool:
    """Whether a text holds one of the words, or there are none."""
    return not words or any(word in text for word in words)


@lru_cache(maxsize=64)
def _sentences(text: str) -> tuple[str, ...]:
    return tuple(_SENTENCE_END.split(text))


@cache
def read_rules(path: str, table: str = "rule") -> Rules:
    """Return the rules of a file in data: the entries of `[[rule]]`, or of another table."""
    return rules_in(read_toml(_PACKAGE, path), table)


def rules_in(data: Mapping[str, object], table: str = "rule") -> Rules:
    """Return the rules of a table: the entries of `[[rule]]`, or of another name."""
    parts: dict[str, str] = {}
    for name, text in cast("Mapping[str, str]", data.get("parts", {})).items():
        parts[name] = _expanded(text, parts)
    return Rules(_rule(entry, parts) for entry in cast("Sequence[Mapping[str, str]]", data.get(table, ())))


def first_kind(rules: Rules, text: str) -> str | None:
    """Return the kind of the first rule that `text` meets, None where it meets none."""
    return next((each.kind for each in rules.applying(text) if each.matches(text)), None)


def patterns_of(rules: Iterable[Rule]) -> Iterator[re.Pattern[str]]:
    """Yield every pattern of the rules."""
    for each in rules:
        yield each.pattern
        excuses = (each.unless_before, each.unless_after)
        yield from filter(None, (*excuses, each.beside, each.unless_beside))


def _rule(entry: Mapping[str, str], parts: Mapping[str, str]) -> Rule:
    def pattern(name: str) -> str:
        return folded(_expanded(entry.get(name, ""), parts))

    needs, also = (tuple(folded(entry.get(name, "")).split()) for name in ("needs", "also"))
    return Rule(
        entry["kind"],
        needs,
        pattern("pattern"),
        before=pattern("unless_before"),
        after=pattern("unless_after"),
        beside_text=pattern("beside"),
        unless_beside_text=pattern("unless_beside"),
        also=also,
    )


def _expanded(text: str, parts: Mapping[str, str]) -> str:
    """Return a text as one line, with the parts that it names."""
    joined = "".join(map(str.strip, text.splitlines())) if "\n" in text else text
    return _PART.sub(lambda part: parts[part[1]], joined)


# Which texts hold a link: an address with its scheme, a Markdown link, or a name that browsers open.
#
# A bare name is a link where it stands like a name. Endings that are also names of attributes (`data.info`,
# `window.top`, `event.click`) need more: a path, a hyphen in the name, or somebody who is sent there. An
# e-mail address is no link, and neither is the name of a file. The rules are in data/links.toml.


def has_link(text: str) -> bool:
    """Whether `text`, which is folded and in lower case, holds a link."""
    return first_kind(read_rules("links.toml"), text) is not None


def link_patterns() -> Iterator[re.Pattern[str]]:
    """Yield every pattern that is made of the data."""
    return patterns_of(read_rules("links.toml"))
