"""`python -m benchmarks.readers`: time every reader on every hard text of 50,000 and 100,000 characters.

Prints a line for each reader: its slowest text, its worst ratio of the two sizes, its longest call into C.
Exits with 1 when a ratio is above 2.5, the readers of one message take more than 500 ms together, or a call
into C takes more than 20 ms. It takes half an hour; arguments name the readers to time.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.readers.hard_texts import hard_texts
from benchmarks.readers.reader import Reader
from benchmarks.readers.table import READERS
from benchmarks.readers.timing import longest_call, time_reader

__all__ = ["main"]

SIZE = 100_000
MOST_RATIO, MOST_MS, MOST_CALL_MS = 2.5, 500.0, 20.0


@dataclass(frozen=True)
class Worst:
    """The slowest text of a reader, the one with the worst ratio, and the longest call into C, each named."""

    slowest: tuple[float, str]
    ratio: tuple[float, str]
    call: tuple[float, str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Time, print, and say whether all is well."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.readers")
    parser.add_argument("reader", nargs="*", help="part of a reader's name; without one: all")
    parser.add_argument("--size", type=int, default=SIZE, help="characters of the longer text")
    given = parser.parse_args(arguments)
    wanted = [r for r in READERS if not given.reader or any(part in r.name for part in given.reader)]
    together = defaultdict[str, float](float)
    complaints = list[str]()
    for reader in wanted:
        worst = _worst(reader, given.size, together)
        print(_line(reader, worst), flush=True)
        complaints += _complaints(reader, worst)
    if together:
        name, ms = max(together.items(), key=lambda item: item[1])
        print(f"\nall readers of one message: at most {ms:.0f} ms, on {name}")
        if ms > MOST_MS:
            complaints.append(f"the readers of one message take {ms:.0f} ms on {name}")
    print("\n".join(["", *complaints]) if complaints else "\nall are linear")
    return bool(complaints)


def _worst(reader: Reader, size: int, together: dict[str, float]) -> Worst:
    whole = min(size, reader.most or size)
    slowest = ratio = call = (0.0, "")
    halves = dict(hard_texts(whole // 2))
    for name, text in hard_texts(whole):
        timing = time_reader(reader.read, halves[name], text)
        slowest = max(slowest, (timing.ms, name))
        ratio = max(ratio, (timing.ratio if reader.most is None else 1.0, name))
        if timing.ms > MOST_CALL_MS:
            call = max(call, (longest_call(reader.read, text), name))
        if reader.of_message:
            together[name] += timing.ms
    return Worst(slowest, ratio, call)


def _line(reader: Reader, worst: Worst) -> str:
    parts = (
        f"{worst.slowest[0]:7.1f} ms {worst.slowest[1][:24]:24}",
        f"x{worst.ratio[0]:4.2f} {worst.ratio[1][:24]:24}",
        f"C {worst.call[0]:5.1f} ms {worst.call[1][:24]}",
    )
    return f"{reader.name:32} {' | '.join(parts)}"


def _complaints(reader: Reader, worst: Worst) -> list[str]:
    found = list[str]()
    if worst.ratio[0] > MOST_RATIO:
        found.append(
            f"{reader.name}: twice the text takes {worst.ratio[0]:.1f} times as long: {worst.ratio[1]}"
        )
    if worst.call[0] > MOST_CALL_MS:
        found.append(f"{reader.name}: one call into C takes {worst.call[0]:.0f} ms: {worst.call[1]}")
    return found


if __name__ == "__main__":
    sys.exit(main())
