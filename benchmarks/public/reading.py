"""Reading published files: JSON, and what the sets have in common."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.public.systems import Part


def read_json(path: Path) -> Any:  # Any: a file of another's making, whose shape its reader checks
    """Return what a JSON file holds. Raises OSError, and ValueError for one that is no JSON."""
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from error


def first_questions(parts: Sequence[Part], limit: int | None) -> list[Part]:
    """Return the parts with their first questions, `limit` in all; a part without any is left out."""
    left, found = limit, list[Part]()
    for part in parts:
        questions = part.questions if left is None else part.questions[:left]
        left = None if left is None else left - len(questions)
        if questions:
            found.append(replace(part, questions=questions))
    return found
