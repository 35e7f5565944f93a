"""What the tutor says of the memory: what the program told it was kept or forgotten, and nothing else.

Without such a word (outside the graph, or where no rule knows the statement) it has kept nothing, and says
so.

Does not: keep or forget anything.
"""

from __future__ import annotations

from dataclasses import dataclass

from ace_graph.models.reply import find_json_object
from ace_graph.offline_tutor.prompt_reader import block

__all__ = ["NOTHING_KEPT", "Noted", "defence", "read_noted"]

NOTHING_KEPT = "I have kept nothing of that. What shall we work out?"


@dataclass(frozen=True, slots=True)
class Noted:
    """Sentences on what the message changed; `beside` are those that an answer to a question needs, too.

    `forgot`: something was forgotten, which may be the name to greet with.
    """

    said: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    forgot: bool = False


def read_noted(system: str) -> Noted:
    """Return what the block <memory_changes> of a prompt says, in sentences for the learner."""
    found = [find_json_object(line) or {} for line in block(system, "memory_changes").splitlines()]
    changes = [{name: str(text) for name, text in change.items()} for change in found]
    kept = [f'"{change["kept"]}"' for change in changes if "kept" in change]
    others = tuple(told for change in changes if (told := _sentence(change)))
    remembered = (f"I will remember: {'; '.join(kept)}.",) if kept else ()
    return Noted((*remembered, *others), others, any("forgotten" in change for change in changes))


def defence(system: str) -> str | None:
    """Return what to say to an objection that a check refuted, from the block <check>; None for none."""
    check = find_json_object(block(system, "check"))
    if check is None or check.get("answer_before") != "right":
        return None
    calculation, value, claimed = (check.get(name) for name in ("calculation", "value", "learner_says"))
    if not calculation:
        return "I have looked at it again: the answer was checked, and it was right."
    other = f", not {claimed}" if claimed else ""
    return f"I have checked it again: {calculation} = {value}{other}."


def _sentence(change: dict[str, str]) -> str:
    why = f" ({change['why']})" if "why" in change else ""
    match change:
        case {"not_kept": words}:
            return f'I have not kept "{words}"{why}.'
        case {"forgotten": words}:
            return f'I have forgotten: "{words}".'
        case {"not_forgotten": words}:
            return f'I have not forgotten "{words}"{why}.'
        case _:
            return ""
