"""Facts in other words: each keeps its wording or gets another of the table, by chance from a seed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random

_TABLE = Path(__file__).with_name("rewordings.toml")
_SLOT = re.compile(r"\b([SVN])\b")


def reworded(facts: Sequence[str], seed: int) -> list[str]:
    """Return the facts in their order, each in its own words or in others that say the same."""
    random = Random(seed)
    return [random.choice((fact, *_others(fact))) for fact in facts]


def _others(fact: str) -> Sequence[str]:
    for form, others in _forms():
        match = form.fullmatch(fact.removesuffix("."))
        if match is not None:
            return [f"{_filled(other, match.groupdict())}." for other in others]
    return ()


def _filled(form: str, slots: Mapping[str, str]) -> str:
    return _SLOT.sub(lambda match: slots[match.group()], form)


@cache
def _forms() -> Sequence[tuple[re.Pattern[str], Sequence[str]]]:
    found: list[tuple[re.Pattern[str], Sequence[str]]] = []
    for line in tomllib.loads(_TABLE.read_text("utf-8"))["forms"].strip().splitlines():
        form, _, others = line.partition(" > ")
        pattern = _SLOT.sub(r"(?P<\1>.+?)", re.escape(form).replace(r"\ ", " "))
        found.append((re.compile(pattern), others.split("; ")))
    return found
