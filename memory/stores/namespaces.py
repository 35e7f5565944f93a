"""One SQL database holds two namespaces, the learners and the named playbooks, in tables of their own.

The tables have the same columns, so the same statements serve both: statements name the tables of learners,
and in the namespace of playbooks the names are replaced. There the column `user_id` holds a playbook's id.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Literal

__all__ = ["Namespace", "of_playbooks"]

Namespace = Literal["learners", "playbooks"]

_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "ace_learners": "ace_named_states",
        "ace_playbooks": "ace_named_contents",
        "ace_bases": "ace_named_bases",
        "ace_base_contents": "ace_named_base_contents",
        "ace_stamps": "ace_named_stamps",
        "ace_touches": "ace_named_touches",
        "ace_deltas": "ace_named_deltas",
        "ace_turns": "ace_named_turns",
        "ace_pending": "ace_named_pending",
        "ace_vectors": "ace_named_vectors",
        "ace_duties": "ace_named_duties",
        "ace_memory_duties": "ace_named_memory_duties",
    }
)


@cache
def of_playbooks(statement: str) -> str:
    """Return a statement on the tables of learners as one on those of playbooks."""
    for name, other in _NAMES.items():
        statement = statement.replace(name, other)
    return statement
