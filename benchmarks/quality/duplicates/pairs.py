"""The labelled pairs, their categories, and the split into a part to tune on and a part to look at once."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Literal, get_args

__all__ = ["APART", "PAIRS", "PARAPHRASE", "SAME", "Origin", "Pair", "Part", "part_of", "read", "write"]

PAIRS = Path(__file__).parent / "pairs.tsv"

SAME = ("format", "order", "filler", "typo")
"""Pairs of these categories say the same and should merge."""

APART = ("number", "unit", "negation", "antonym", "direction", "subject")
"""Pairs of these categories say something else and must never merge."""

PARAPHRASE = "paraphrase"
"""Pairs that say the same in free words; reported apart."""

Part = Literal["tuning", "held-out"]
Origin = Literal["seed", "written"]


@dataclass(frozen=True)
class Pair:
    """Two texts. `rival` says whether they contradict: 'yes', 'no', or '-' where it may be seen either way.

    `seed` is the hash of the hand-written text that the pair was made from; a seed is in one part only.
    """

    part: Part
    category: str
    rival: Literal["yes", "no", "-"]
    origin: Origin
    seed: str
    a: str
    b: str

    @property
    def same(self) -> bool:
        """Whether the two say the same."""
        return self.category in SAME or self.category == PARAPHRASE


def seed_of(text: str) -> str:
    """Return the name of a seed: a hash of its text."""
    return sha256(text.encode()).hexdigest()[:12]


def part_of(text: str) -> Part:
    """Return the part of a seed, or of anything else that must not be in both, by its hash alone."""
    return "tuning" if int(seed_of(text), 16) % 2 else "held-out"


def read(path: Path = PAIRS) -> list[Pair]:
    """Return all pairs. Raises ValueError for a line that is none."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, dialect="excel-tab", quoting=csv.QUOTE_NONE))
    return [_pair(row) for row in rows]


def write(pairs: Iterable[Pair], path: Path = PAIRS) -> None:
    """Write the pairs, one a line, under a line of names."""
    lines = ["\t".join(field.name for field in fields(Pair)), *("\t".join(astuple(pair)) for pair in pairs)]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def _pair(row: dict[str, str]) -> Pair:
    pair = Pair(**row)  # type: ignore[arg-type]  # the texts are checked in the next lines
    known = (*SAME, *APART, PARAPHRASE)
    texts_of_the_row = pair.part in get_args(Part) and pair.origin in get_args(Origin)
    if not texts_of_the_row or pair.category not in known or pair.rival not in ("yes", "no", "-"):
        raise ValueError(f"not a pair: {row}")
    return pair
