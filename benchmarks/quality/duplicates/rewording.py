"""The changes that rules make to a text: format, fillers and typos; another amount, another unit.

Which change a text gets depends on its own hash, so the set is the same on every machine. Fillers are split
like the seeds: a text of one part only gets fillers of that part, so that the held-out part holds wordings
that nothing was tuned on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from hashlib import sha256

from benchmarks.quality.duplicates.pairs import Part, part_of

__all__ = ["disguised", "fillers", "formats", "lower_first", "numbers", "typos", "units"]

_COMMANDS = """
Always {} | Remember to {} | Please {} | {}, please | Make sure to {} | Make sure you {} | You should {}
You should always {} | It is important to {} | It is essential to {} | Don't forget to {} | Be sure to {}
Try to {} | Be careful to {} | Simply {} | Just {} | Carefully {} | Always carefully {} | You need to {}
You must {} | We should {} | One should {} | It is best to {} | It helps to {} | It pays to {}
It is a good idea to {} | It is good practice to {} | It is worth taking the time to {}
It is advisable to {} | It is recommended to {} | It is crucial to {} | It is vital to {} | Aim to {}
Take care to {} | Be certain to {} | You ought to {} | You will want to {} | You may want to {}
Never forget to {} | Strive to {} | It makes sense to {} | The best thing is to {} | Learners should {}
"""
_STATEMENTS = """
Note that {} | Remember that {} | Keep in mind that {} | Remember: {} | Note: {} | Important: {} | Tip: {}
Basically, {} | In general, {} | Generally, {} | As a rule, {} | Of course, {} | Obviously, {} | In fact, {}
Actually, {} | Well, {} | So {} | {}, of course | {}, by the way | By the way, {} | Bear in mind that {}
It is important to know that {} | Be aware that {} | Generally speaking, {} | For the record, {}
Pro tip: {} | Lesson learned: {} | Key insight: {} | Reminder: {} | Rule of thumb: {} | As always, {}
Clearly, {} | In short, {} | To be clear, {} | It is worth noting that {} | Please note that {}
As a reminder, {} | First of all, {} | In other words, {} | Keep this in mind: {} | From now on, {}
"""
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")
_SMALL_NUMBER = re.compile(r"(?<![\w.,:/-])(?:[2-9]|1[01])(?= [a-z]{3,})")
_AMOUNT = re.compile(r"(?<![\w.,:/-])[2-9][0-9]{0,2}(?= (?:[a-z%]|$))")
_UNITS = """seconds minutes hours days weeks months years
grams kilograms milligrams ounces pounds
litres millilitres gallons
kilobytes megabytes gigabytes
dollars euros pounds
metres yards kilometres miles
Celsius Fahrenheit"""
_PLAIN_WORD = re.compile(r"(?<![\w'’-])[^\W\d_A-Z]{6,}(?![\w'’-])")
_NEIGHBOURS = dict(zip("abcdefghijklmnopqrstuvwxyz", "snvfrghjokljnbipwtdyicexzy", strict=True))


def formats(text: str) -> list[str]:
    """Return two versions of a text that differ in letters' case, marks, layout or spelling of numbers."""
    bare = text.rstrip(".")
    first, _, rest = text.partition(" ")
    ways: list[str] = [
        text.upper(),
        text.lower(),
        bare,
        f"- {text}",
        f"* {bare}",
        f'"{bare}"',
        f"**{first}** {rest}",
        f"{bare}!",
        f"({bare})",
        f"  {'  '.join(text.split())} ",
        f"{lower_first(bare)} ...",
        f"• {bare};",
    ]
    respelt = [
        text.replace("n't", "n’t"),
        text.replace("Do not", "Don't").replace("do not", "don't"),
        _SMALL_NUMBER.sub(lambda match: _NUMBERS[int(match.group())], text),
        text.replace(" %", "%"),
    ]
    found = [way for way in respelt if way != text]
    start = _draw(text, "format", len(ways))
    found.extend(ways[(start + 5 * step) % len(ways)] for step in range(2))
    return [way for way in dict.fromkeys(found) if way != text][:2]


def fillers(text: str, part: Part, *, command: bool) -> list[str]:
    """Return two versions with words around the text that add nothing; a `command` begins with its verb."""
    frames = [frame for frame in _frames(_STATEMENTS) if part_of(frame) == part]
    commands = [frame for frame in _frames(_COMMANDS) if part_of(frame) == part]
    if command:
        frames = [frame for frame in frames if not frame.endswith("that {}")]
    chosen = [frames[_draw(text, "statement", len(frames))]]
    others = commands if command else frames
    chosen.append(others[_draw(text, "command", len(others))])
    return [_framed(text, frame) for frame in dict.fromkeys(chosen)]


def disguised(text: str, part: Part) -> str:
    """Return a text with a filler or a typo, so that it differs in more than what it claims."""
    frames = [f for f in _frames(_STATEMENTS) if part_of(f) == part and not f.endswith("that {}")]
    mistyped = typos(text)
    if mistyped and _draw(text, "disguise", 2):
        return mistyped[0]
    return _framed(text, frames[_draw(text, "framed", len(frames))])


def numbers(text: str) -> list[str]:
    """Return the text with another amount, by a rule: one more, and ten times as much."""
    match = _AMOUNT.search(text)
    if match is None:
        return []
    value = int(match.group())
    return [f"{text[: match.start()]}{changed}{text[match.end() :]}" for changed in (value + 1, 10 * value)]


def units(text: str) -> list[str]:
    """Return the text with another unit of the same kind, by a table."""
    found = list[str]()
    for group in _UNITS.splitlines():
        names = group.split()
        place = next((n for n, name in enumerate(names) if re.search(rf"\b{name}\b", text)), None)
        if place is not None:
            other = names[(place + 1 + _draw(text, "unit", len(names) - 1)) % len(names)]
            found.append(re.sub(rf"\b{names[place]}\b", other, text, count=1))
    return found


def _framed(text: str, frame: str) -> str:
    framed = f"{frame.format(lower_first(text.rstrip('.')))}."
    return framed[0].upper() + framed[1:]


def typos(text: str) -> list[str]:
    """Return the text with one typo in a longer word, and with two where it is long."""
    words = list(_PLAIN_WORD.finditer(text))
    if not words:
        return []
    first = words[_draw(text, "typo", len(words))]
    found = [_with_typo(text, first)]
    others = [word for word in words if word.group() != first.group()]
    if len(text.split()) >= 9 and others:
        second = others[_draw(text, "typos", len(others))]
        later, earlier = sorted((first, second), key=lambda match: match.start(), reverse=True)
        found.append(_with_typo(_with_typo(text, later), earlier))
    return found


def lower_first(text: str) -> str:
    """Return a text with a small first letter, names and abbreviations aside."""
    first = text.split()[0]
    kept = not first[1:].islower() and len(first) > 1
    return text if kept or first in _NAMES else text[0].lower() + text[1:]


_NAMES = frozenset({"Python", "Terraform", "French", "Spanish", "American", "Insulin", "Vitamin", "Tipping"})


def _with_typo(text: str, match: re.Match[str]) -> str:
    word = match.group()
    place = 1 + _draw(word, "place", len(word) - 3)
    ways: Sequence[Callable[[], str]] = (
        lambda: word[:place] + word[place + 1 :],
        lambda: word[:place] + word[place] + word[place:],
        lambda: word[:place] + word[place + 1] + word[place] + word[place + 2 :],
        lambda: word[:place] + _NEIGHBOURS.get(word[place], "x") + word[place + 1 :],
    )
    way = _draw(word, "way", len(ways))
    slipped = next(slip for step in range(len(ways)) if (slip := ways[(way + step) % len(ways)]()) != word)
    return text[: match.start()] + slipped + text[match.end() :]


def _frames(table: str) -> list[str]:
    return [frame.strip() for frame in table.strip().replace("\n", "|").split("|")]


def _draw(text: str, purpose: str, sides: int) -> int:
    return int.from_bytes(sha256(f"{purpose}:{text}".encode()).digest()[:6]) % sides
