"""The wording of a text as a row of tokens, with turns of phrase that mean one thing put into one word.

"Do not forget to check", "make sure to check" and "check" come out the same; "instead of" and "rather
than" as one word; "don't", "no longer" and "fails to" as "not". Marks of emphasis and of a list are no
symbols. For English.

Turns of phrase that mean one thing: what leads up to a claim and adds nothing to it, and what stands for
one word ("rather than" for "instead", "no longer" for "not"). For English.

Does not: know which words carry content.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import product
from types import MappingProxyType
from typing import NamedTuple

from ace_graph.memory.search.tokenize import fold

__all__ = ["Token", "leads_to_verb", "lengths_from", "normalized_tokens", "phrases", "spelling_of"]


_Phrase = tuple[tuple[str, ...], tuple[str, ...]]

_EMPTY = """
keep in mind | bear in mind | keep this in mind | make sure | makes sure | making sure | make certain
be sure | be certain | be careful to | be mindful | be aware | take care to | take care that
take the time to | see to it that | do not forget | don't forget | never forget | do not neglect to
try to | try and | aim to | strive to | seek to | endeavor to | endeavour to | go ahead and | want to
may want to | might want to | the best thing is to | the best way is to | the trick is to | the key is to
the rule is to | it never hurts to | it doesn't hurt to | it does not hurt to | it pays to | it pays off to
it helps to | it makes sense to | it is worth | it's worth | it is worth taking the time to
it's worth taking the time to | it is worth noting that | it is worth knowing that
it is worth remembering that
it's worth noting that | it's worth knowing that | it's worth remembering that | worth taking the time to
worth noting that | worth knowing that | worth remembering that | you will want to | you'll want to
we will want to | you would want to | take into account that | people should | one should
students should | learners should | users should | everybody should | you would do well to
in general | as a rule | as a rule of thumb | as a general rule | rule of thumb | in practice | of course
at all times | as well | to be sure | good practice | best practice | a good idea | if possible
where possible | whenever possible | wherever possible | when possible | for sure | as always | as usual
so that | by the way | in other words | in fact | in short | in brief | in summary | in conclusion
in any case | in any event | from now on | from here on | for the record | for what it's worth
first of all | first and foremost | above all | after all | all in all | at the end of the day
at its core | in addition | on top of that | to be clear | to be precise | to sum up | to summarize
to put it simply | simply put
put simply | needless to say | it goes without saying that | as a reminder | as a matter of fact
as a matter of course | as a general principle | as far as i know | in my view | in my opinion
in my experience | from experience | from my experience | without fail | without exception
no matter what | under all circumstances | in every case | in all cases | once and for all
generally speaking | broadly speaking | strictly speaking | practically speaking | technically speaking
"""
"""Phrases that add nothing to a claim."""

_STANCES = """
honestly frankly apparently personally ideally naturally evidently presumably arguably ultimately surely
undoubtedly absolutely truly crucially notably fundamentally importantly practically
technically traditionally admittedly hopefully basically
also additionally moreover furthermore besides likewise incidentally anyway
"""
"""Words that say how something is meant, or that it is one more point, where a pause follows them."""

_HEADINGS = """
tip | pro tip | hint | note | lesson | lesson learned | lessons learned | key lesson | insight | key insight
takeaway | key takeaway | reminder | friendly reminder | quick reminder | key point | advice | good to know
remember this | rule | general rule | golden rule | basic rule | observation | warning | caution | attention
summary | conclusion | best practice | fact | key fact | learning | main point | heads up | one thing
guideline | recommendation | principle | key | bottom line | fun fact | fyi
"""
"""What may stand before a colon as the kind of remark that follows."""

_ADVISED = """
important essential best better recommended useful helpful necessary crucial vital critical advisable
imperative wise smart sensible prudent key good worthwhile mandatory paramount
"""
"""Adjectives of "it is ... to", which only leads on to what is to be done."""

_ADVISED_TAILS = """
to | that | that you | for you to | to always | to know that | to note that | to remember that
to keep in mind that | to remember to | to understand that | to realize that | to mention that
"""

_MEANINGS = """
instead of > instead | rather than > instead | in place of > instead | fail to > not
fails to > not | failed to > not | failing to > not | no longer > not | not any more > not
not any longer > not | under no circumstances > not | on no account > not | anything but > not
no need to > not need | refrain from > not | refrains from > not | in order to > to | so as to > to
prior to > before | ahead of > before | no one > nobody | e mail > email | as soon as > when
no more than > at most | not more than > at most | at the most > at most | a maximum of > at most
no longer than > at most | not longer than > at most
no less than > at least | not less than > at least | no fewer than > at least | not fewer than > at least
at the very least > at least | a minimum of > at least
a quarter of an hour > 15 minutes | quarter of an hour > 15 minutes | a quarter hour > 15 minutes
three quarters of an hour > 45 minutes | an hour and a half > 90 minutes | one and a half hours > 90 minutes
half an hour > 30 minutes | a half hour > 30 minutes | half a day > 12 hours | half a dozen > 6
no later than > at latest | not later than > at latest | at the latest > at latest
"""

_WORDS = """
avoids avoid | avoiding avoid | avoided avoid | whenever when | each all | every all | everyone all | dont not
quick fast | quickly fast | rapid fast | rapidly fast | firstly first
doesnt not | cant not | cannot not | wont not | isnt not | shouldnt not
"""

_VERB_FOLLOWS = """
important essential best recommended useful helpful good idea sure certain remember forget need needs needed
have has had ought want necessary
"""


@lru_cache(maxsize=1)
def phrases() -> Mapping[tuple[str, ...], tuple[str, ...]]:
    """Return the words of each phrase, and those that it means."""
    return MappingProxyType(dict((*_empty(), *_with_meaning())))


@lru_cache(maxsize=1)
def lengths_from() -> Mapping[str, tuple[int, ...]]:
    """Return by the first word of a phrase how many words such phrases have, the longest first."""
    found: dict[str, set[int]] = {}
    for phrase in phrases():
        found.setdefault(phrase[0], set()).add(len(phrase))
    return MappingProxyType({word: tuple(sorted(lengths, reverse=True)) for word, lengths in found.items()})


@lru_cache(maxsize=1)
def spelling_of() -> Mapping[str, str]:
    """Return single words and the one that is read instead."""
    return MappingProxyType({entry.split()[0]: entry.split()[1] for entry in _entries(_WORDS)})


def leads_to_verb(word: str) -> bool:
    """Whether a "to" after this word only leads on to the verb."""
    return word in _verb_follows()


@lru_cache(maxsize=1)
def _verb_follows() -> frozenset[str]:
    return frozenset(_VERB_FOLLOWS.split())


def _empty() -> list[_Phrase]:
    entries = [
        *_entries(_EMPTY),
        *(f"{word} ," for word in _STANCES.split()),
        *(f"{heading} :" for heading in _entries(_HEADINGS)),
        *(
            f"{start} {adjective} {tail}"
            for start, adjective, tail in product(
                ("it is", "it's", "it is always", "it is also", "it is very", "it is a"),
                (*_ADVISED.split(), "good idea", "good practice", "must"),
                _entries(_ADVISED_TAILS),
            )
        ),
    ]
    return [(tuple(entry.split()), ()) for entry in entries]


def _with_meaning() -> list[_Phrase]:
    pairs = (entry.partition(">") for entry in _entries(_MEANINGS))
    return [(tuple(phrase.split()), tuple(meaning.split())) for phrase, _, meaning in pairs]


def _entries(table: str) -> list[str]:
    return [entry.strip() for entry in table.strip().replace("\n", "|").split("|")]


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
_CURRENCIES = re.compile("[€£¥]")
_DEGREES = re.compile(r"(?<!\s)\s*°\s?([CF]?)\b", re.IGNORECASE)
_SCALES = {"": " degrees ", "c": " degrees celsius", "f": " degrees fahrenheit"}
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*]{1,200})(?<=[^\s*])\1(?![\w*])")
_LISTED = re.compile(r"\s*[-*•·+]\s+(?=[^\W\d])")
_CONTRACTED = re.compile(r"(?<=[a-z])'(?:re|ll|ve|d|m)$")


_CLAUSE_WORDS = """
the you it they we i he she your its their this that these those there all both done finished
"""
_AFTER_ONCE = frozenset(_CLAUSE_WORDS.split())
"""What shows that "once" opens a clause (once the water boils) and counts nothing (once a day)."""


class Token(NamedTuple):
    """`kind` is number, measure, word, symbol or pause; `word` is the text case-folded."""

    kind: str
    text: str
    word: str


def normalized_tokens(text: str) -> list[Token]:
    """Return the tokens of `text` in their order, turns of phrase replaced."""
    found = [
        Token(match.lastgroup or "", match.group(), match.group().casefold())
        for match in _TOKEN.finditer(_plain(text))
    ]
    starts, words = lengths_from(), spelling_of()
    row: list[Token] = []
    place = 0
    while place < len(found):
        token = found[place]
        place += 1
        length, meaning = _phrase(found, place - 1) if token.word in starts else (0, ())
        if length:
            row.extend(Token("number" if word.isdecimal() else "word", word, word) for word in meaning)
            place += length - 1
        elif token.word == "once" and place < len(found) and found[place].word in _AFTER_ONCE:
            row.append(Token("word", "when", "when"))
        elif token.word in words:
            row.append(Token("word", words[token.word], words[token.word]))
        elif token.word.endswith("n't"):
            row.append(Token("word", "not", "not"))
        elif token.word != "to" or place < 2 or not leads_to_verb(found[place - 2].word):
            row.append(_expanded(token) if "'" in token.word else token)
    return row


def _plain(text: str) -> str:
    """Return the text without marks of layout, its punctuation in ASCII, currencies as they are."""
    if "*" in text:
        text = _EMPHASIS.sub(r"\2", text)
    listed = _LISTED.match(text)
    if listed:
        text = text[listed.end() :]
    if text.isascii():
        return text
    text = _DEGREES.sub(lambda match: _SCALES[match[1].casefold()], text.translate(_SYMBOLS))
    parts = _CURRENCIES.split(text)
    signs = _CURRENCIES.findall(text)
    return "".join(fold(part) + sign for part, sign in zip(parts, [*signs, ""], strict=True))


def _expanded(token: Token) -> Token:
    """Return they're as they, we'll as we."""
    word = _CONTRACTED.sub("", token.word)
    return token if word == token.word else Token(token.kind, token.text[: len(word)], word)


def _phrase(found: list[Token], place: int) -> tuple[int, tuple[str, ...]]:
    """Return how many tokens the phrase at this place takes, 0 where there is none, and what it means."""
    table = phrases()
    for length in lengths_from()[found[place].word]:
        meaning = table.get(tuple(token.word for token in found[place : place + length]))
        if meaning is not None:
            return length, meaning
    return 0, ()
