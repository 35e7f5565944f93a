"""What a short text claims, as far as rules can tell.

A claim keeps the content words by their roots and in their order, the numbers with their units, what is
negated, and what each direction word (from, before, than ...) is bound to. Fillers, articles and auxiliary
verbs are dropped. Two texts that say the same have equal claims; `guards` compares them.

The tables are mostly English. Other languages are parsed word by word, so that there any word that only one
text has keeps two texts apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cache, lru_cache
from itertools import product
from types import MappingProxyType
from typing import Literal, NamedTuple

from ace_graph.base.tables import groups, pairs, word_sets
from ace_graph.memory.languages.tables import table_of_all
from ace_graph.memory.search.tokenize import fold, language_of

# The words that decide whether two texts make the same claim: word sets, numbers, units, roots.
#
# The words are in the tables `claims` of the languages, the numbers in data/numbers.toml. Roots and numbers
# are English.


_PACKAGE = "ace_graph.memory.similarity"


@dataclass(frozen=True)
class Lexicon:
    """The word sets of the tables `claims`, which say what each of them is for."""

    articles: frozenset[str]
    fillers: frozenset[str]
    negations: frozenset[str]
    seldom: frozenset[str]
    directions: frozenset[str]
    subordinate: frozenset[str]
    sequence: frozenset[str]
    copulas: frozenset[str]
    forms_of_be: frozenset[str]
    places: frozenset[str]
    labels: frozenset[str]
    amounts: frozenset[str]
    joining: frozenset[str]
    determiners: frozenset[str]
    opening: frozenset[str]
    light: frozenset[str]
    sufficing: frozenset[str]
    obliging: frozenset[str]
    permitting: frozenset[str]
    wishing: frozenset[str]
    ordering: frozenset[str]
    """Roots, unlike the words in the files."""
    particles: Mapping[str, str]
    """Roots by their opposites: down -> up."""


@cache
def lexicon() -> Lexicon:
    """Return the word sets of all languages."""
    tables = dict(table_of_all("claims"))
    particles = pairs(tables.pop("particles"))
    ordering = frozenset(map(root, tables.pop("ordering").split()))
    sets = {name: frozenset(text.split()) for name, text in tables.items()}
    return Lexicon(**sets, ordering=ordering, particles=particles)


def number_of(word: str) -> str | None:
    """Return the number that a case-folded word names, in digits, else None."""
    return _numbers().get(word)


@cache
def _numbers() -> Mapping[str, str]:
    return pairs(word_sets(_PACKAGE, "numbers.toml")["numbers"])


def unit_of(word: str) -> str | None:
    """Return the unit that a case-folded word names, in one spelling and singular, else None."""
    units = _units()
    return units.get(word) or units.get(word.removesuffix("s")) or units.get(word.removesuffix("es"))


@cache
def _units() -> Mapping[str, str]:
    table = word_sets(_PACKAGE, "numbers.toml")["units"]
    return MappingProxyType({name: group[0] for group in groups(table) for name in group})


def scale_of(unit: str) -> tuple[int, str] | None:
    """Return how many of the smallest unit of its kind a unit is, and that unit; None where it has none."""
    return _scales().get(unit)


@cache
def _scales() -> Mapping[str, tuple[int, str]]:
    table = word_sets(_PACKAGE, "numbers.toml")["scales"]
    return MappingProxyType({unit: (int(many), base) for unit, base, many in groups(table)})


@lru_cache(maxsize=32_768)
def root(word: str) -> str:
    """Return a case-folded English word without its inflection (plural, -ed, -ing), other words as they are.

    Weaker than a stemmer on purpose: experience and experiment, or useful and useless, stay apart.
    """
    if len(word) <= 3 or not word.isascii() or not word.isalpha():
        return word.removesuffix("s") if len(word) == 3 and word.isalpha() and word.isascii() else word
    stripped = _without_suffix(word)
    if stripped.endswith("e") and len(stripped) > 3:
        stripped = stripped[:-1]
    if len(stripped) > 3 and stripped[-1] == stripped[-2] and stripped[-1] not in "aeiou":
        stripped = stripped[:-1]
    return f"{stripped[:-1]}i" if stripped.endswith("y") and len(stripped) > 3 else stripped


def forms_of_one_word(x: str, y: str) -> bool:
    """Whether two words of one root are forms of one word: plan and planning, not plan and plane."""
    if x == y or x.endswith(_VERBAL) or y.endswith(_VERBAL) or unit_of(x) is not None:
        return True
    return not _bases(x).isdisjoint(_bases(y))


def _bases(word: str) -> set[str]:
    """Return a word and what it may be the plural or the third person of."""
    found = {word, word.removesuffix("s")}
    if word.endswith(_SIBILANT):
        found.add(word[:-2])
    if word.endswith("ies"):
        found.add(f"{word[:-3]}y")
    return found


_VERBAL = ("ing", "ings", "ed")
_SIBILANT = ("ses", "xes", "zes", "ches", "shes", "oes")


def _without_suffix(word: str) -> str:
    if word.endswith(("ss", "us", "is", "eed", "ous")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    for suffix in ("ings", "ing", "ed", "es", "s"):
        rest = word.removesuffix(suffix)
        if rest != word and len(rest) >= 3 and any(vowel in rest for vowel in "aeiouy"):
            return rest
    return word


# A text as normalized tokens: turns of phrase that mean one thing are put into one word.
#
# "Do not forget to check", "make sure to check" and "check" come out the same; "instead of" and "rather
# than" as one word; "don't", "no longer" and "fails to" as "not". Marks of emphasis and of a list are no
# symbols. For English; the phrases are in data/phrases.toml.


_LETTERS = r"\x80-\xa2\xa4\xa6-\u20ab\u20ad-\U0010ffff"
"""All beyond ASCII but the signs of currencies: what is no letter was taken out before."""
_TOKEN = re.compile(
    r"(?P<number>(?:(?<![\w.)])-)?(?:(?<![\w.])\.)?[0-9]+(?:[.,:/][0-9]+)*(?:st|nd|rd|th)?(?![A-Za-z0-9]))"
    r"|(?P<measure>[0-9]+(?:\.[0-9]+)?)(?=[A-Za-z]{1,3}\b)"
    rf"|(?P<word>[A-Za-z0-9{_LETTERS}]+(?:'[A-Za-z{_LETTERS}]+)*)"
    r"|(?P<symbol>==|!=|<=|>=|=>|->|\*\*|&&|\|\||[=<>+*/^%$€£¥#@&|~\\]|(?<=[\w)] )-(?= [\w(]))"
    r"|(?P<pause>[,;:](?!\S))"
)
_SYMBOLS = str.maketrans(
    {"≤": "<=", "≥": ">=", "≠": "!=", "→": "->", "⇒": "=>", "×": "*", "÷": "/", "−": "-", "–": "-", "—": " "}
)
_NORMALIZE_CURRENCIES = re.compile("[€£¥]")
_DEGREES = re.compile(r"(?<!\s)\s*°\s?([CF]?)\b", re.IGNORECASE)
_SCALES = {"": " degrees ", "c": " degrees celsius", "f": " degrees fahrenheit"}
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*]{1,200})(?<=[^\s*])\1(?![\w*])")
_LISTED = re.compile(r"\s*[-*•·+]\s+(?=[^\W\d])")
_CONTRACTED = re.compile(r"(?<=[a-z])'(?:re|ll|ve|d|m)$")


class Token(NamedTuple):
    """`kind` is number, measure, word, symbol or pause; `word` is the text case-folded."""

    kind: str
    text: str
    word: str


class PhraseTable:
    """Phrases, and the words that are read instead. Of several that begin at a word the longest counts."""

    def __init__(self, meanings: Mapping[tuple[str, ...], tuple[str, ...]]) -> None:
        self._meanings = meanings
        lengths: dict[str, set[int]] = {}
        for phrase in meanings:
            lengths.setdefault(phrase[0], set()).add(len(phrase))
        self._lengths = {word: tuple(sorted(each, reverse=True)) for word, each in lengths.items()}

    def at(self, words: Sequence[str], place: int) -> tuple[int, tuple[str, ...]]:
        """Return how many words the phrase at a place has, 0 for none, and what is read instead."""
        for length in self._lengths.get(words[place], ()):
            phrase = tuple(words[place : place + length])
            meaning = self._meanings.get(phrase)
            if meaning is not None:
                return len(phrase), meaning
        return 0, ()


@dataclass(frozen=True)
class Phrases:
    """The tables of data/phrases.toml, ready for use; `synonyms` maps a word to what is read instead."""

    meanings: PhraseTable
    synonyms: Mapping[str, str]
    before_verbs: frozenset[str]
    after_once: frozenset[str]


@cache
def phrases() -> Phrases:
    """Return the phrases of the table."""
    tables = word_sets("ace_graph.memory.similarity", "phrases.toml")
    meanings: dict[tuple[str, ...], tuple[str, ...]] = dict.fromkeys(_empty_phrases(tables), ())
    for entry in groups(tables["meanings"]):
        split = entry.index(">")
        meanings[tuple(entry[:split])] = tuple(entry[split + 1 :])
    return Phrases(
        meanings=PhraseTable(meanings),
        synonyms=pairs(tables["synonyms"]),
        before_verbs=frozenset(tables["before_verbs"].split()),
        after_once=frozenset(tables["after_once"].split()),
    )


def _empty_phrases(tables: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the phrases that mean nothing; those like "it is important to" have three parts."""
    yield from map(tuple, groups(tables["empty"]))
    yield from ((word, ",") for word in tables["stances"].split())
    yield from ((*heading, ":") for heading in groups(tables["headings"]))
    parts = (groups(tables[name]) for name in ("advised_starts", "advised", "advised_tails"))
    yield from ((*start, *advised, *tail) for start, advised, tail in product(*parts))


@lru_cache(maxsize=64)  # what a text claims, says and orders is read one after the other
def normalized_tokens(text: str) -> tuple[Token, ...]:
    """Return the tokens of `text` in their order, turns of phrase replaced."""
    found = [
        Token(match.lastgroup or "", match.group(), match.group().casefold())
        for match in _TOKEN.finditer(_plain(text))
    ]
    table = phrases()
    words = [token.word for token in found]
    tokens: list[Token] = []
    place = 0
    while place < len(found):
        token, word = found[place], words[place]
        length, meaning = table.meanings.at(words, place)
        if length:
            tokens.extend(Token("number" if word.isdecimal() else "word", word, word) for word in meaning)
            place += length
            continue
        place += 1
        if word == "once" and place < len(found) and words[place] in table.after_once:
            tokens.append(Token("word", "when", "when"))
        elif (synonym := table.synonyms.get(word)) is not None:
            tokens.append(Token("word", synonym, synonym))
        elif word.endswith("n't"):
            tokens.append(Token("word", "not", "not"))
        elif word != "to" or place < 2 or words[place - 2] not in table.before_verbs:
            # The token without a contracted verb: they for they're, we for we'll
            bare = _CONTRACTED.sub("", word) if "'" in word else word
            tokens.append(token if bare == word else Token(token.kind, token.text[: len(bare)], bare))
    return tuple(tokens)


def _plain(text: str) -> str:
    """Return the text without layout marks and with ASCII punctuation; signs of currencies stay."""
    if "*" in text:
        text = _EMPHASIS.sub(r"\2", text)
    listed = _LISTED.match(text)
    if listed:
        text = text[listed.end() :]
    if text.isascii():
        return text
    text = _DEGREES.sub(lambda match: _SCALES[match[1].casefold()], text.translate(_SYMBOLS))
    parts = _NORMALIZE_CURRENCIES.split(text)
    signs = _NORMALIZE_CURRENCIES.findall(text)
    return "".join(fold(part) + sign for part, sign in zip(parts, [*signs, ""], strict=True))


_CURRENCIES = frozenset("$€£¥")
_PLAIN_NUMBER = re.compile(r"[0-9]{1,30}(?:\.[0-9]{1,30}|/0*[1-9][0-9]{0,29})?")
Mode = Literal["duty", "choice", "unreal"]
_PERSONS = MappingProxyType({"he": "he", "him": "he", "she": "she", "her": "she"})
_OWNERS = MappingProxyType({"my": "we", "our": "we", "his": "they", "her": "they", "their": "they"})
_NUMBER_MARK = "#"
_ORDINAL = ("st", "nd", "rd")


@dataclass(frozen=True)
class Quantity:
    """A number of a text. `label` is what names it or conditions it, where it is no amount (error 404).

    `after` is the token before it.
    """

    value: str
    unit: str
    label: str
    after: str

    @property
    def amount(self) -> tuple[str, str]:
        """The number in the smallest unit of its kind: half an hour and 30 minutes are 1,800 seconds."""
        scale = scale_of(self.unit)
        if scale is None or not _PLAIN_NUMBER.fullmatch(self.value):
            return self.value, self.unit
        return str(Fraction(self.value) * scale[0]), scale[1]


@dataclass(frozen=True)
class Claim:
    """What one text claims. Words are roots, in the order of the text.

    `subject` is how many of the words belong to the subject for certain: those before the copula (is,
    means, =) where the text is `copular`, else the first one behind a leading article; and all that says
    when the rest holds, before a colon or behind "for", "when" or "if" before a comma. `subject_numbers`
    counts the numbers before the copula. `persons` are "he" and "she" in their order, `owners` tells whose
    things are named: those of "we" (my, our) or of "they" (his, her, their). `exact` are roots
    that a typo can't explain: names, acronyms, codes; `opening` is the root of a capitalised first word,
    which may be a name or not. `particles` are words left out that have an opposite (up, in, better), and
    "then"; `modes` whether something is a "duty", a "choice", or "unreal", as what should have been done
    is. `first` tells where "first" stands as an adverb: at the opening, where it leads up to the claim, or
    in it. `clauses` says that a comma or a conjunction joins parts which may change places. `pauses`,
    `lists` and `prepositions` say how many words come before each comma or colon, before each "and" and
    "or", and before each preposition. Similarity is measured on `key` and `bag`: all that counts, in
    alphabetical order and as a set; a text of fillers counts as one word. `language` is what the tokenizer
    guesses.
    """

    language: str
    words: tuple[str, ...]
    surfaces: Mapping[str, str]
    persons: tuple[str, ...]
    owners: frozenset[str]
    exact: frozenset[str]
    opening: str
    numbers: tuple[Quantity, ...]
    negated: tuple[str, ...]
    bound: tuple[tuple[str, str], ...]
    symbols: tuple[str, ...]
    particles: frozenset[str]
    modes: frozenset[Mode]
    first: Literal["", "opening", "inside"]
    copular: bool
    subject: int
    subject_numbers: int
    clauses: bool
    pauses: tuple[int, ...]
    lists: tuple[int, ...]
    prepositions: frozenset[int]
    key: str
    bag: frozenset[str]


@lru_cache(maxsize=4_096)
def parse_claim(text: str) -> Claim:
    """Return the claim of a text."""
    parser = _Parser()
    for token in normalized_tokens(text):
        parser.take(token)
    return parser.claim(text, clauses="," in text or ";" in text or parser.joined)


class _Parser:
    """Mutable only inside one call of `parse_claim`."""

    def __init__(self) -> None:
        self.joined = False
        self._lexicon = lexicon()
        self._opposed = frozenset(self._lexicon.particles.values())
        self._words: list[str] = []
        self._surfaces: dict[str, str] = {}
        self._exact: set[str] = set()
        self._persons: list[str] = []
        self._owners: set[str] = set()
        self._opening = ""
        self._numbers: list[Quantity] = []
        self._bound: list[tuple[str, str]] = []
        self._symbols: list[str] = []
        self._waiting: list[str] = []
        self._subject = 0
        self._subject_numbers = 0
        self._pauses: list[int] = []
        self._lists: list[int] = []
        self._prepositions: set[int] = set()
        self._particles: set[str] = set()
        self._modes: set[Mode] = set()
        self._adverb: Literal["", "opening", "inside"] = ""
        self._subordinate = False
        self._copula = False
        self._article = False
        self._range = 0
        self._started = False
        self._opened = False
        self._headed = False
        self._scope = 0
        self._first = True
        self._last = ""
        self._before = ""

    def take(self, token: Token) -> None:
        if token.kind == "pause":
            self._take_pause(token.text)
            return
        self._opened = self._opened or (not self._started and token.word in self._lexicon.opening)
        self._started = True
        if token.kind == "word":
            self._take_word(token.text, token.word.removesuffix("'s"))
        elif token.kind == "symbol":
            self._take_symbol(token.text)
        else:
            self._take_number(canonical_number(token.text))
        self._first = self._first and token.word in self._lexicon.fillers
        self._last = token.word

    def _take_pause(self, mark: str) -> None:
        if (mark == ":" and not self._headed) or (mark == "," and self._opened and not self._pauses):
            self._scope = len(self._words)
        self._headed = self._headed or mark == ":"
        self._pauses.append(len(self._words))
        self._subordinate = False

    def _take_word(self, token: str, word: str) -> None:
        if word in self._lexicon.places or word in self._lexicon.directions:
            self._prepositions.add(len(self._words))
        number = number_of(word)
        if word == "first" and self._before != "number" and self._last not in self._lexicon.determiners:
            self._adverb = "opening" if self._first else "inside"
        elif number is not None and not (number.endswith(_ORDINAL) and self._before == "number"):
            self._take_number(number)
        elif word in self._lexicon.negations:
            self._waiting.append("not")
        elif word in self._lexicon.seldom:
            self._waiting.append("seldom")
        elif word == "or":
            self._lists.append(len(self._words))
            self._bound.append((word, ""))  # A or B is B or A
            self._before = word
        elif word in self._lexicon.directions:
            self.joined = self.joined or word in self._lexicon.joining
            self._subordinate = self._subordinate or word in self._lexicon.subordinate
            self._waiting.append(word)
            self._before = word
        elif word in self._lexicon.copulas:
            self._take_copula()
        elif word in self._lexicon.articles or word in self._lexicon.fillers:
            if word == "and":
                self._lists.append(len(self._words))
            if word == "then" or word in self._opposed:
                self._particles.add(word)
            if word in _PERSONS:
                self._persons.append(_PERSONS[word])
            if word in _OWNERS:
                self._owners.add(_OWNERS[word])
            if word in self._lexicon.obliging:
                self._modes.add("duty")
            elif word in self._lexicon.permitting:
                self._modes.add("choice")
            elif word == "have" and self._last in self._lexicon.wishing:
                self._modes.add("unreal")
            self._article = self._article or (self._first and word in ("a", "an", "the"))
            self._before = word if word in self._lexicon.places else self._before
        else:
            self._take_content(word, token)

    def _take_content(self, word: str, token: str) -> None:
        unit = unit_of(word)
        if unit is not None and self._numbers and self._before == "number" and not self._numbers[-1].unit:
            for place in range(len(self._numbers) - self._range, len(self._numbers)):
                self._numbers[place] = replace(self._numbers[place], unit=unit)
            self._before = word
            return
        key = unit or root(word)
        if (not self._first and token[0].isupper()) or not word.isalpha():
            self._exact.add(key)
        elif token[0].isupper():
            self._opening = self._opening or key
        self._words.append(key)
        self._surfaces.setdefault(key, word)
        self._bind(key)
        self._before = word

    def _take_number(self, value: str) -> None:
        unit = ""
        if self._symbols and self._symbols[-1] in _CURRENCIES and self._before == "currency":
            unit = unit_of(self._symbols.pop()) or ""
        self._range = self._range + 1 if self._before == "number" else 1
        # Whether the word before a number makes it a name or a condition: error 404, W-2, for 5
        sets, before = self._lexicon, self._before
        amount = before == "of" and bool(self._words) and self._surfaces.get(self._words[-1]) in sets.amounts
        named = before in sets.labels or before in sets.places or len(before) == 1
        label = self._before if (named and not amount) else ""
        self._numbers.append(Quantity(value, unit, label, self._last))
        self._bind(f"{_NUMBER_MARK}{len(self._numbers) - 1}")
        self._before = "number"

    def _take_symbol(self, symbol: str) -> None:
        if symbol == "%" and self._before == "number" and self._numbers:
            self._numbers[-1] = replace(self._numbers[-1], unit="%")
            return
        if symbol == "=":
            self._take_copula()
        self._symbols.append(symbol)
        if symbol in ("-", "/", "<", ">", "<=", ">=", "->", "=>"):
            self._waiting.append(symbol)
        self._before = "currency" if symbol in _CURRENCIES else symbol

    def _take_copula(self) -> None:
        if not self._copula and not self._subordinate and (self._words or self._numbers):
            self._copula = True
            self._subject, self._subject_numbers = len(self._words), len(self._numbers)
        self._before = "is"

    def _bind(self, target: str) -> None:
        self._bound.extend((direction, target) for direction in self._waiting)
        self._waiting.clear()

    def _named(self, target: str) -> str:
        """Return what a direction is bound to: a word, or the amount of the number that stands there."""
        if not target.startswith(_NUMBER_MARK):
            return target
        return self._numbers[int(target[1:])].amount[0]

    def claim(self, text: str, *, clauses: bool) -> Claim:
        self._bind("")
        bound = [(direction, self._named(target)) for direction, target in self._bound]
        counted = [*self._words, *("".join(number.amount) for number in self._numbers)]
        counted.extend(direction for direction, _ in bound)
        return Claim(
            language=language_of(text),
            words=tuple(self._words),
            surfaces=self._surfaces,
            persons=tuple(self._persons),
            owners=frozenset(self._owners),
            exact=frozenset(self._exact),
            opening=self._opening,
            numbers=tuple(self._numbers),
            negated=tuple(sorted(_negated(bound))),
            bound=tuple(pair for pair in bound if pair[0] != "not"),
            symbols=tuple(sorted(self._symbols)),
            particles=frozenset(self._particles),
            modes=frozenset(self._modes),
            first=self._adverb,
            copular=self._copula,
            subject=max(self._subject if self._copula else int(self._article), self._scope),
            subject_numbers=self._subject_numbers,
            clauses=clauses,
            pauses=tuple(self._pauses),
            lists=tuple(self._lists),
            prepositions=frozenset(self._prepositions),
            key=" ".join(sorted(counted)) or text.casefold(),
            bag=frozenset(counted or (text.casefold(),)),
        )


def canonical_number(number: str) -> str:
    """Return a number in one spelling: 1,000 is 1000, 3.0 is 3, -0.50 is -0.5; 1/2 and 10:30 as they are."""
    if number[-1].isalpha():
        return number.casefold()
    plain = (
        number.replace(",", "")
        if re.fullmatch(r"-?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?", number)
        else number
    )
    try:
        return format(Decimal(plain).normalize(), "f")
    except InvalidOperation:
        return plain


def _negated(bound: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield what is negated, and what is said to be seldom."""
    for direction, target in bound:
        if direction == "not":
            yield target
        elif direction == "seldom":
            yield f"{direction} {target}"
