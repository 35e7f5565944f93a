"""Which tests a mutant meets, of those that reach its function."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import NamedTuple, TypedDict

from benchmarks.mutants.mutation import CONTROL
from benchmarks.mutants.tree import BUDGET, SECOND_BUDGET

__all__ = ["Reached", "Trial", "trial_of"]


class Reached(TypedDict):
    """What the measuring plugin wrote: the tests that reach a function, and the seconds that they took."""

    tests_of: dict[str, list[str]]
    took: dict[str, float]


class Trial(NamedTuple):
    """A name, the tests it is tried against, and the seconds that they took without it."""

    name: str
    tests: list[str]
    took: float


def trial_of(name: str, reached: Reached, *, second: bool = False) -> Trial:
    """Return the trial of a mutant: tests of its function within the budget, at least one.

    First come those of the room that mirrors the module's, because others only pass through it, and of each
    the quickest. A test whose id has escaped characters waits for the second pass: pytest escapes it again
    when it collects a second time in one process, and does not find it.
    """
    function, took = name.removeprefix(CONTROL).partition("__mutmut_")[0], reached["took"]
    reaching = reached["tests_of"].get(function, ())
    room = _room(function)
    tests = _ordered([test for test in reaching if second or "\\" not in test], room, took)
    if second:
        module = f"{function.rpartition('.')[0]}."
        near = {
            test for other, found in reached["tests_of"].items() if other.startswith(module) for test in found
        }
        tests += _ordered(near.difference(tests), room, took)
    sums = list(accumulate(took[test] for test in tests))
    many = max(bisect_right(sums, SECOND_BUDGET if second else BUDGET), 1)
    return Trial(name, tests[:many], sums[:many][-1] if sums else 0.0)


def _ordered(tests: Iterable[str], room: str, took: Mapping[str, float]) -> list[str]:
    return sorted(tests, key=lambda test: (not test.startswith(room), took[test], test))


def _room(function: str) -> str:
    """Return the folder of tests that mirrors the folder of a function's module."""
    return "/".join(("tests", *function.split(".")[1:-2], ""))
