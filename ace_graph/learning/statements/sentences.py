"""Splits a message into sentences, with quotations masked, for the rules of statements and feedback.

A message is untrusted text of any length. It is split by characters (lines, quotation marks, ends of
sentences), and a rule looks at one sentence, of which it reads the first 2,000 characters. The work is linear
in the message's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ace_graph.base.text import clean_line

READ_CHARS = 2_000
"""A rule concerns the beginning of a sentence: of a longer one, this many characters are read."""

MASK = "\x00"
"""Stands for a quoted character: a cleaned text has no control characters, so no rule matches it."""

_CLOSING = {
    '"': '"',
    "“": "”",
    "„": "“”",
    "«": "»",
    "»": "«",
    "`": "`",
    "'": "'",
    "‘": "’",
    "「": "」",
    "『": "』",
}
_IN_WORDS = frozenset("'‘")
"""Marks that close with an apostrophe: they quote between the edges of words only."""
_OPENING = re.compile("[" + "".join(_CLOSING) + "]")
_END = re.compile(r"(?<=[.!?;])\s(?!(?:Klasse|Schuljahr)\b)|(?<=[。！？])")
"""A German ordinal ("7. Klasse") ends no sentence."""
_APOSTROPHE = re.compile(r"(?<=\w)’(?=\w)")
_NO_WORDS = MASK + " .!?;,:-…"
_QUESTION = ("?", "？")
_BEHIND_QUESTION = "\"'”’»」) \t"


class Sentence(NamedTuple):
    """The beginning of one sentence, as one clean line.

    `masked` is as long as `text`, with MASK for every quoted character, and with plain apostrophes in words.
    `asks`: the sentence ends in a question mark. `cut`: it is longer than what was read of it.
    """

    text: str
    masked: str
    asks: bool = False
    cut: bool = False


def sentences(message: str) -> Iterator[Sentence]:
    """Yield the sentences of `message` in order, without those that are quoted whole or hold no word.

    A line that begins with ">" is a quotation. No quotation goes beyond its line, and no sentence ends
    inside one.
    """
    for line in message.splitlines():
        if not line or line.lstrip()[:1] in ("", ">"):
            continue
        masked = _masked(line)
        begin = 0
        for end in (*(match.end() for match in _END.finditer(masked)), len(masked)):
            found = _sentence(line[begin:end], masked[begin:end])
            begin = end
            if found is not None:
                yield found


def skip(word: re.Pattern[str], text: str, position: int = 0) -> int:
    """Return the position behind all that `word` matches, one match after the other, from `position` on."""
    match = word.match(text, position)
    while match is not None and match.end() > position:
        position = match.end()
        match = word.match(text, position)
    return position


def _sentence(text: str, masked: str) -> Sentence | None:
    """The sentence that a part of a line is, None where it says nothing of its own."""
    hidden = masked.strip()
    if not hidden.strip(_NO_WORDS):
        return None
    body = text.strip()
    cleaned, shown = _cleaned(body[:READ_CHARS], hidden[:READ_CHARS])
    asks = body.rstrip(_BEHIND_QUESTION).endswith(_QUESTION)
    return Sentence(cleaned, _APOSTROPHE.sub("'", shown), asks, len(body) > READ_CHARS)


def _cleaned(text: str, masked: str) -> tuple[str, str]:
    """The text as one clean line, and its mask of the same length."""
    if MASK not in masked:
        line = clean_line(text)
        return line, line
    kept, hidden = list[str](), list[str]()
    for char, mask in zip(text, masked, strict=False):
        clean = char if char.isprintable() else clean_line(char) or " "
        if clean != " " or (kept and kept[-1] != " "):
            kept.append(clean)
            hidden.append(MASK if mask == MASK else clean)
    line = "".join(kept).rstrip()
    return line, "".join(hidden)[: len(line)]


def _masked(line: str) -> str:
    """Return the line with MASK for every character of a quotation, its marks included."""
    opening = _OPENING.search(line)
    quoted = (mark in line and any(map(line.__contains__, closing)) for mark, closing in _CLOSING.items())
    if opening is None or not any(quoted):
        return line
    parts, closing, begin = list[str](), _Positions(line), 0
    while opening is not None:
        start = opening.start()
        end = _quotation_end(line, start, closing)
        if end is not None:
            parts += [line[begin:start], MASK * (end - start)]
            begin = end
        opening = _OPENING.search(line, end or start + 1)
    return "".join((*parts, line[begin:]))


def _quotation_end(line: str, start: int, closing: _Positions) -> int | None:
    """Where the quotation ends that the mark at `start` begins, None where it begins none."""
    mark = line[start]
    found = [at for char in _CLOSING[mark] if (at := closing.after(char, start)) is not None]
    if not found:
        return None
    end = min(found) + 1
    before, after = line[max(0, start - 1) : start], line[end : end + 1]
    stands_apart = end - start > 2 and not before.isalnum() and not after.isalnum()
    return end if stands_apart or mark not in _IN_WORDS else None


class _Positions:
    """The next place of a character in a line. Asked for growing positions, it reads the line once."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._next: dict[str, int] = {}

    def after(self, char: str, position: int) -> int | None:
        """Return the first place of `char` behind `position`, None where there is none."""
        known = self._next.get(char, 0)
        if 0 <= known <= position:
            known = self._next[char] = self._line.find(char, position + 1)
        return known if known > position else None
