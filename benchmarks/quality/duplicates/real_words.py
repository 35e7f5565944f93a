"""Pairs of real words that look alike, in sentences that differ in nothing else: none of them may merge.

Each pair of `real_words.txt` is put into two sentences of its field, once inside and once as the first word.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.quality.duplicates.pairs import Pair, Part, part_of, seed_of

__all__ = ["FIELDS", "WordPair", "read_real_words"]

FIELDS = {
    "medicine": (
        "Check the patient for {} before each visit",
        "{} is noted in the second column of the chart",
    ),
    "law": ("The contract names the {} in its first part", "{} is explained in the glossary of the course"),
    "chemistry": (
        "Store the {} in the upper drawer of the lab",
        "{} is listed in the table of the last lesson",
    ),
    "finance": (
        "Write the {} into the second column of the sheet",
        "{} is explained in the notes of the course",
    ),
    "names": ("Ask {} for the key to the lab", "{} prefers pictures in every answer"),
}
WordPair = tuple[str, str]


def read_real_words() -> dict[WordPair, tuple[Pair, ...]]:
    """Return for each pair of words its pairs of sentences."""
    return {words: _sentences(field, words) for field, words in _words()}


def _words() -> Iterator[tuple[str, WordPair]]:
    field = ""
    for line in (Path(__file__).parent / "real_words.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            field = line.strip("[]")
        elif line and not line.startswith("#"):
            for entry in line.split("|"):
                one, other = entry.split()
                yield field, (one, other)


def _sentences(field: str, words: WordPair) -> tuple[Pair, ...]:
    part: Part = part_of(" ".join(words))
    return tuple(
        Pair(part, "word", "no", "written", seed_of(" ".join(words)), *(_put(frame, word) for word in words))
        for frame in FIELDS[field]
    )


def _put(frame: str, word: str) -> str:
    said = frame.format(word)
    return said[0].upper() + said[1:]
