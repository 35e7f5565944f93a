"""What the program says that it stored, forgot or checked, in sentences for the learner.

Without such a block in the prompt nothing was stored, and the tutor says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ace_graph.models.reply import find_json_object

__all__ = ["MemoryChanges", "checked_calculation", "defend_answer", "read_memory_changes"]

_CHANGES = {
    "not_kept": 'I have not kept "{text}"{why}.',
    "forgotten": 'I have forgotten: "{text}".',
    "not_forgotten": 'I have not forgotten "{text}"{why}.',
}


class MemoryChanges(NamedTuple):
    """Sentences on what the message changed; `beside` are those that stand beside an answer, too.

    `forgot`: something was forgotten, which may be the name to greet with.
    """

    sentences: tuple[str, ...]
    beside: tuple[str, ...]
    forgot: bool


def read_memory_changes(blocks: Mapping[str, str]) -> MemoryChanges:
    """Return what the block <memory_changes> of a prompt says, in sentences for the learner."""
    changes = [find_json_object(line) or {} for line in blocks.get("memory_changes", "").splitlines()]
    kept = [f'"{change["kept"]}"' for change in changes if "kept" in change]
    others = tuple(
        sentence.format(text=change[name], why=f" ({change['why']})" if "why" in change else "")
        for change in changes
        for name, sentence in _CHANGES.items()
        if name in change
    )
    remembered = (f"I will remember: {'; '.join(kept)}.",) if kept else ()
    return MemoryChanges((*remembered, *others), others, any("forgotten" in change for change in changes))


def checked_calculation(blocks: Mapping[str, str]) -> str:
    """Return the calculation that the program checked, from the block <check>, '' for none."""
    return str((find_json_object(blocks.get("check", "")) or {}).get("calculation", ""))


def defend_answer(blocks: Mapping[str, str]) -> list[str]:
    """Return what to say to an objection that a check refuted, from the block <check>; no line for none."""
    check = find_json_object(blocks.get("check", ""))
    if check is None or check.get("answer_before") != "right":
        return []
    calculation, value, claimed = (check.get(name) for name in ("calculation", "value", "learner_says"))
    if not calculation:
        return ["I have looked at it again: the answer was checked, and it was right."]
    other = f", not {claimed}" if claimed else ""
    return [f"I have checked it again: {calculation} = {value}{other}."]
