"""What a turn changed in the memory, as one line.

Does not: read the memory; the playbook after the turn, where it is given, lends the texts.
"""

from __future__ import annotations

from ace_graph.cli.console import printable
from ace_graph.memory.playbook import Playbook
from ace_graph.state import Judged, Learning

__all__ = ["learned_line"]

_SHOWN = 70
_NAMED_GONE = 8


def learned_line(learning: Learning, playbook: Playbook | None = None) -> str:
    """Return "learned: ..." in ids, with the text of what is new."""
    if learning["unsaved"] is not None:
        return f"not saved: {printable(learning['error'] or '')}"
    if learning["skipped"] is not None:
        return f"not learned: {printable(learning['skipped'])}"
    judged = learning["feedback"]
    parts = [_judged(judged)] if judged else list[str]()
    kept_back = learning["quarantined"]
    parts += [f"+ {_named(name, playbook)}" for name in learning["added"] if name not in kept_back]
    parts += [f"again {_named(name, playbook)}" for name in learning["updated"]]
    parts += [f"voted on {', '.join(learning['tagged'])}"] if learning["tagged"] else []
    parts += [f"{pair['kept']} absorbed {pair['gone']}" for pair in learning["merged"]]
    parts += [f"{pair['kept']} replaces {pair['gone']}" for pair in learning["superseded"]]
    gone = learning["removed"]
    parts += [f"- {name}" for name in gone] if len(gone) <= _NAMED_GONE else [f"- {len(gone)} bullets"]
    parts += [f"in quarantine {_named(name, playbook)}" for name in kept_back]
    told = "; ".join(parts) or "nothing new"
    trouble = f" (but {printable(learning['error'])})" if learning["error"] else ""
    return f"learned: {told}{trouble}"


def _judged(judged: Judged) -> str:
    if judged["verdict"] == "unknown":
        return "the answer before was checked, and stands"
    return f"your word on the answer before: {judged['verdict']}"


def _named(bullet_id: str, playbook: Playbook | None) -> str:
    bullet = playbook.get_bullet(bullet_id) if playbook else None
    if bullet is None:
        return bullet_id
    text = printable(bullet.content)
    return f"{bullet_id} {text if len(text) <= _SHOWN else text[:_SHOWN] + '…'}"
