"""Active bullets by section: what every format for other programs writes.

Does not: write what is in quarantine. No other program knows what that means, and it would be used there.
"""

from __future__ import annotations

from collections.abc import Callable

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.playbook import Playbook

__all__ = ["active", "active_by_section", "written_by_section"]


def active(playbook: Playbook) -> list[Bullet]:
    """Return the bullets that are not in quarantine, in the order they came."""
    return [bullet for bullet in playbook.bullets() if bullet.status == "active"]


def active_by_section(playbook: Playbook) -> dict[str, list[Bullet]]:
    """Return the active bullets of each section, both in the order they came."""
    found: dict[str, list[Bullet]] = {}
    for bullet in active(playbook):
        found.setdefault(bullet.section, []).append(bullet)
    return found


def written_by_section(playbook: Playbook, line: Callable[[Bullet], str]) -> str:
    """Return `## section` blocks with one line per bullet; nothing to write gives an empty text."""
    blocks = [
        "\n".join([f"## {section}", *map(line, bullets)])
        for section, bullets in active_by_section(playbook).items()
    ]
    return "\n\n".join(blocks) + "\n" if blocks else ""
