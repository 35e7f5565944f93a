"""The second simulated world: eight words of chat around one or two of three words of the subject.

A skill is an action on an object at a place, one word each. A lesson names all three, a question one or two
of them, so most of what the learner writes is about something else. Nothing of this is in the wording of the
first world. Of the eight words, two or three are in no list of stop words (lunch, boss, trouble, weird), and
lessons hold some of them now and then, too.

Every list of `chat_words.toml` but that of values is split by a hash of its entries (`part_of`): half of the
words and phrases are for tuning, the others are held out. A phrase of chat in one part may share a word with
a phrase in the other, as people do.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from random import Random

from benchmarks.quality.duplicates.pairs import Part, part_of
from benchmarks.quality.wording import Wording

__all__ = ["chat_phrases", "chat_wording"]

WORDS = Path(__file__).parent / "chat_words.toml"
CHAT_WORDS = 8


@cache
def chat_phrases(part: Part) -> tuple[tuple[str, ...], ...]:
    """Return the openers, middles and closers of chat of one part."""
    return tuple(_half(_lines(name), part) for name in ("openers", "middles", "closers"))


@cache
def chat_wording(part: Part) -> Wording:
    """Return the second world's words of one part."""
    return Wording(
        actions=tuple((action,) for action in _half(_lists()["actions"].split(), part)),
        objects=_half(_lists()["objects"].split(), part),
        contexts=tuple((place,) for place in _half(_lists()["places"].split(), part)),
        values=_lines("values"),
        lessons=_half(_lines("lessons"), part),
        useless=_half(_lines("useless"), part),
        ask=partial(_ask, part),
        chat=frozenset(word for phrases in chat_phrases(part) for said in phrases for word in said.split()),
    )


@cache
def _lists() -> dict[str, str]:
    return tomllib.loads(WORDS.read_text("utf-8"))


def _lines(name: str) -> tuple[str, ...]:
    return tuple(_lists()[name].strip().splitlines())


def _ask(part: Part, words: Mapping[str, str], chance: Random) -> str:
    """Return eight words of chat around one or two of the words of the subject."""
    asked = chance.sample(sorted(words.values()), chance.choice((1, 2)))
    openers, middles, closers = chat_phrases(part)
    opener = chance.choice(openers)
    said = (opener, chance.choice(middles), *chance.sample(closers, len(closers)))
    chat = " ".join(said).split()[:CHAT_WORDS]
    place = len(opener.split()) if chance.random() < 0.5 else len(chat)
    return " ".join((*chat[:place], *asked, *chat[place:]))


def _half(entries: Iterable[str], part: Part) -> tuple[str, ...]:
    return tuple(entry for entry in entries if part_of(entry) == part)
