"""The stored form of a trajectory's steps: what several steps say alike is stored once.

A step that says what an earlier one says is stored as the place of that one and what is its own: the time,
how often it came right after itself, and its id. In the record, as everybody reads it, every step is whole.

Does not: decide which steps are kept (trajectory.py does).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from pydantic import JsonValue

from ace_graph.memory.turn import Step

__all__ = ["STEPS_FORMAT", "fold_repeats", "has_repeats", "unfold_repeats"]

STEPS_FORMAT = 2
"""Of a record with folded steps. Others are as version 0.1 writes them and name no format."""

_AGAIN = "again"
_SAID = ("kind", "text", "metadata")
_Entry = dict[str, JsonValue]


def has_repeats(steps: Sequence[Step]) -> bool:
    """Whether any step says what an earlier one says."""
    return len({(step.kind, step.text, json.dumps(step.metadata)) for step in steps}) < len(steps)


def fold_repeats(record: str) -> str:
    """Return the JSON of a record with each repeated step as the place of the first that said so."""
    document: _Entry = json.loads(record)
    places: dict[str, int] = {}
    for place, step in enumerate(_steps(document)):
        said = json.dumps([step[name] for name in _SAID])
        first = places.setdefault(said, place)
        if first != place:
            for name in _SAID:
                del step[name]
            step[_AGAIN] = first
    return _text({"format": STEPS_FORMAT, **document})


def unfold_repeats(record: str) -> str:
    """Return the JSON of a record with every step whole.

    Raises ValueError, KeyError or TypeError for what `fold_repeats` did not make.
    """
    if f'"{_AGAIN}":' not in record:
        return record
    document: _Entry = json.loads(record)
    if document.get("format") != STEPS_FORMAT:
        return record
    del document["format"]
    steps = _steps(document)
    for place, step in enumerate(steps):
        if _AGAIN in step:
            first = step.pop(_AGAIN)
            if not isinstance(first, int) or not 0 <= first < place:
                raise ValueError(f"step {place} repeats none before it")
            step.update({name: steps[first][name] for name in _SAID})
    return _text(document)


def _steps(document: _Entry) -> list[_Entry]:
    return cast("list[_Entry]", document["steps"])


def _text(document: _Entry) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
