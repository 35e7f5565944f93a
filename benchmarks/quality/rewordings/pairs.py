"""Rewordings of a sentence, and near misses of it: the same words but for what makes it another claim.

A file of `data` has one block a sentence: the sentence, then lines `kind: change`, written by hand. A change
is `old > new`, put into the sentence once, or a whole sentence. Small letters are rewordings, capitals near
misses (`REWORDINGS`, `NEAR_MISSES`). The hash of a sentence says which half its block is of (`part_of`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.quality.duplicates.pairs import Pair, Part, part_of, seed_of

__all__ = ["DATA", "NEAR_MISSES", "REWORDINGS", "Block", "disguised", "read_blocks", "read_half"]

DATA = Path(__file__).parent / "data"

REWORDINGS = {"v": "voice", "c": "clause order", "s": "synonyms", "n": "nominalisation", "f": "free"}
"""Kinds of pairs that say the same and should merge."""

NEAR_MISSES = {
    "E": "entity",
    "N": "number",
    "U": "unit",
    "G": "negation",
    "D": "direction",
    "O": "order",
    "S": "scope",
    "Q": "quantifier",
    "M": "modality",
}
"""Kinds of pairs that must never merge. `direction` is all that is turned round: who does what to whom, from
where to where, cause and effect, more and less."""


@dataclass(frozen=True)
class Block:
    """A sentence, its rewordings and its near misses, each with its kind."""

    sentence: str
    rewordings: tuple[tuple[str, str], ...]
    near_misses: tuple[tuple[str, str], ...]

    @property
    def part(self) -> Part:
        """The half that it is of."""
        return part_of(self.sentence)

    def pairs(self) -> Iterator[Pair]:
        """Yield the sentence with each rewording and each near miss."""
        for kind, text in self.rewordings:
            yield Pair(self.part, kind, "no", "written", seed_of(self.sentence), self.sentence, text)
        for kind, text in self.near_misses:
            yield Pair(self.part, kind, "-", "written", seed_of(self.sentence), self.sentence, text)


def read_half(part: Part, folder: Path = DATA) -> list[Block]:
    """Return the blocks of one half."""
    return [block for block in read_blocks(folder) if block.part == part]


def read_blocks(folder: Path = DATA) -> list[Block]:
    """Return all blocks. Raises ValueError for a line that is no change of its sentence."""
    return [
        _block(text)
        for file in sorted(folder.glob("*.txt"))
        for text in file.read_text("utf-8").strip().split("\n\n")
    ]


def disguised(block: Block) -> Iterator[Pair]:
    """Yield each near miss with a rewording in place of the sentence: another claim, in other words, too."""
    for place, (kind, text) in enumerate(block.near_misses):
        _, said = block.rewordings[place % len(block.rewordings)]
        yield Pair(block.part, kind, "-", "written", seed_of(block.sentence), said, text)


def _block(text: str) -> Block:
    sentence, *lines = text.splitlines()
    rewordings, near_misses = list[tuple[str, str]](), list[tuple[str, str]]()
    for line in lines:
        kind, _, change = line.partition(": ")
        if kind in REWORDINGS:
            rewordings.append((REWORDINGS[kind], _changed(sentence, change)))
        elif kind in NEAR_MISSES:
            near_misses.append((NEAR_MISSES[kind], _changed(sentence, change)))
        else:
            raise ValueError(
                f"{line!r} below {sentence!r}: begin with one of v c s n f or {' '.join(NEAR_MISSES)}"
            )
    return Block(sentence, tuple(rewordings), tuple(near_misses))


def _changed(sentence: str, change: str) -> str:
    old, arrow, new = change.partition(" > ")
    if not arrow:
        return change
    if sentence.count(old) != 1:
        raise ValueError(f"{old!r} must be in {sentence!r} once")
    changed = sentence.replace(old, new)
    return changed[0].upper() + changed[1:]
