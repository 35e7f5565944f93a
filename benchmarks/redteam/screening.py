"""`python -m benchmarks.redteam.screening`: how much of disguised.tsv is kept back, and of harmless.tsv.

Each file has two halves. Rules are changed by what the tuning half shows; `--held-out` prints the other one,
which is looked at when the rules are done, and never to change them. --list prints the texts that were judged
wrongly.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ace_graph.memory.screening.screen import screen
from benchmarks.redteam.attacks import filled_in

__all__ = ["Half", "Sample", "kept_back", "main", "read_disguised", "read_harmless"]

Half = Literal["tuning", "held-out"]
_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Sample:
    """One text. `about` is the field of a harmless one, the kind and disguise of another."""

    half: Half
    language: str
    about: str
    text: str


def read_harmless() -> Sequence[Sample]:
    """Return the lessons that are no danger."""
    return [
        Sample(_half(half), language, field, text) for half, language, field, text in _rows("harmless.tsv")
    ]


def read_disguised() -> Sequence[Sample]:
    """Return the texts that must be kept back."""
    return [
        Sample(_half(half), language, f"{kind}, {disguise}", filled_in(text))
        for half, kind, language, disguise, text in _rows("disguised.tsv")
    ]


def kept_back(samples: Sequence[Sample]) -> list[Sample]:
    """Return those that the screen finds fault with."""
    return [sample for sample in samples if screen(sample.text) is not None]


def main() -> int:
    """Print both counts, by language."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.redteam.screening", description=__doc__)
    parser.add_argument("--held-out", action="store_true", help="the other half")
    parser.add_argument("--list", action="store_true", help="what was judged wrongly")
    chosen = parser.parse_args()
    half: Half = "held-out" if chosen.held_out else "tuning"
    for name, samples, wanted in (
        ("harmless lessons", read_harmless(), False),
        ("disguised attacks", read_disguised(), True),
    ):
        meant = [sample for sample in samples if sample.half == half]
        held = kept_back(meant)
        sys.stdout.write(
            f"{name}, {half}: {len(held)} of {len(meant)} kept back {_by_language(meant, held)}\n"
        )
        if chosen.list:
            wrong = [sample for sample in meant if (sample in held) != wanted]
            lines = (f"  {s.language} {s.about}: {s.text} -> {screen(s.text)}\n" for s in wrong)
            sys.stdout.writelines(lines)
    return 0


def _by_language(meant: Sequence[Sample], held: Sequence[Sample]) -> str:
    of, kept = Counter(s.language for s in meant), Counter(s.language for s in held)
    return "(" + ", ".join(f"{language} {kept[language]}/{of[language]}" for language in of) + ")"


def _rows(name: str) -> list[list[str]]:
    lines = (_FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def _half(name: str) -> Half:
    if name not in ("tuning", "held-out"):
        raise ValueError(f"no half: {name!r}")
    return name


if __name__ == "__main__":
    sys.exit(main())
