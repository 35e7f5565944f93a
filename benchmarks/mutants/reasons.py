"""Why a mutant that no test notices may stay: the list in reasons.toml.

A reason is looked up by module and by what the mutant changes, for mutmut's numbers move with the code.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mutants.mutation import Change
from benchmarks.mutants.sample import module_of

__all__ = ["REASONS", "Reason", "read_reasons", "reason_for"]

REASONS = Path(__file__).with_name("reasons.toml")


@dataclass(frozen=True)
class Reason:
    """`module` is the name of a module or "" for all; `line` is a pattern that the changed line must hold,
    `new` one that what stands in its place must hold."""

    why: str
    module: str
    line: re.Pattern[str]
    new: re.Pattern[str]


def read_reasons(path: Path = REASONS) -> list[Reason]:
    """Return the reasons of the file, in its order."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["reason"]
    return [
        Reason(
            entry["why"],
            entry.get("module", ""),
            re.compile(entry.get("line", "")),
            re.compile(entry.get("new", "")),
        )
        for entry in entries
    ]


def reason_for(mutant: str, change: Change, reasons: Sequence[Reason]) -> str | None:
    """Return the first reason that fits, None where there is none."""
    for reason in reasons:
        here = not reason.module or module_of(mutant) == reason.module
        if here and reason.line.search(change.gone) and reason.new.search(change.new):
            return reason.why
    return None
