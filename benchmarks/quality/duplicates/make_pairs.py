"""Make pairs.tsv of the seeds and of the written pairs: `python -m benchmarks.quality.duplicates.make_pairs`.

A seed file has one block a bullet: its text, then lines `kind: change`. A change is `old > new`, put into
the text once, or a whole sentence. Kinds: o order, f format, p paraphrase, n number, u unit, g negation,
a antonym, d direction, s subject. A `!` behind the kind says that the two don't contradict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

from benchmarks.quality.duplicates.pairs import APART, PARAPHRASE, SAME, Origin, Pair, part_of, seed_of, write
from benchmarks.quality.duplicates.rewording import disguised, fillers, formats, numbers, typos, units

__all__ = ["make_pairs"]

HERE = Path(__file__).parent
KINDS = {
    "o": "order",
    "f": "format",
    "p": "paraphrase",
    "n": "number",
    "u": "unit",
    "g": "negation",
    "a": "antonym",
    "d": "direction",
    "s": "subject",
}
_COMMAND = re.compile(r"^(?:Do not|Don't|Never|Avoid)\b")
_SECTION = re.compile(r"\[(\w+)(!?)\]")


def make_pairs() -> list[Pair]:
    """Return all pairs, sorted, each once. Raises ValueError for a change that doesn't fit its text."""
    found = [pair for file in sorted((HERE / "seeds").glob("*.txt")) for pair in _of_seeds(file)]
    found.extend(_written((HERE / "written.txt").read_text("utf-8")))
    order = (*SAME, *APART, PARAPHRASE)
    unique = {(pair.a, pair.b): pair for pair in found}.values()
    return sorted(unique, key=lambda pair: (pair.part, order.index(pair.category), pair.a, pair.b))


def _of_seeds(file: Path) -> Iterator[Pair]:
    for block in file.read_text("utf-8").strip().split("\n\n"):
        text, *lines = block.splitlines()
        part, command, apart = part_of(text), False, list[Pair]()
        for line in lines:
            kind, _, change = line.strip().partition(": ")
            other = _changed(text, change)
            category = KINDS[kind.rstrip("!")]
            command = command or (category == "negation" and _COMMAND.match(other) is not None)
            pair = _pair(category, text, other, quiet=kind.endswith("!"))
            yield pair
            apart.extend([pair] if category in ("number", "unit", "negation") else [])
        quiet = any(pair.category == "number" and pair.rival == "no" for pair in apart)
        apart.extend(_pair("number", text, other, quiet=quiet) for other in numbers(text))
        apart.extend(_pair("unit", text, other, quiet=quiet) for other in units(text))
        yield from apart
        if file.stem != "languages":
            yield from (replace(pair, b=disguised(pair.b, part)) for pair in apart)
            yield from (_pair("filler", text, other) for other in fillers(text, part, command=command))
        yield from (_pair("format", text, other) for other in formats(text))
        yield from (_pair("typo", text, other) for other in typos(text))


def _changed(text: str, change: str) -> str:
    old, arrow, new = change.partition(" > ")
    if not arrow:
        return change
    if old not in text:
        raise ValueError(f"{old!r} is not in {text!r}")
    changed = text.replace(old, new, 1)
    return changed[0].upper() + changed[1:]


def _written(text: str) -> Iterator[Pair]:
    category, quiet = "", False
    for line in text.splitlines():
        section = _SECTION.fullmatch(line.strip())
        if section:
            category, quiet = section[1], bool(section[2])
        elif " || " in line and not line.startswith("#"):
            a, b = line.split(" || ")
            yield _pair(category, a.strip(), b.strip(), quiet=quiet, origin="written")


def _pair(category: str, a: str, b: str, *, quiet: bool = False, origin: Origin = "seed") -> Pair:
    rival: Literal["yes", "no", "-"] = "yes"
    if category in SAME or category == PARAPHRASE or category == "subject" or quiet:
        rival = "no"
    elif category == "direction":
        rival = "-"
    return Pair(part_of(a), category, rival, origin, seed_of(a), a, b)


if __name__ == "__main__":
    write(make_pairs())
