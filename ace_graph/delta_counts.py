"""How many bullets a turn's commit added, changed and archived: the `ace_delta` of an answer.

Does not: read the memory; what the commit reported is all it needs.
"""

from __future__ import annotations

from ace_graph.state import Learning

__all__ = ["ace_delta"]


def ace_delta(learning: Learning) -> dict[str, int]:
    """Return the counts. A bullet that came and went in the same commit is in none of them."""
    added = set(learning["added"])
    gone = {*learning["removed"], *(pair["gone"] for pair in (*learning["merged"], *learning["superseded"]))}
    changed = {*learning["updated"], *learning["tagged"], *learning["quarantined"]}
    changed |= {pair["kept"] for pair in learning["merged"]}
    own = {name for name in changed if not name.startswith("base:")}
    return {
        "num_new_bullets": len(added - gone),
        "num_updates": len(own - added - gone),
        "num_removals": len(gone - added),
    }
