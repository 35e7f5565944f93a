"""One database holds two namespaces, the learners and the named playbooks, on nodes with labels of their own.

The nodes have the same properties, so the same statements serve both: statements name the labels of learners,
and in the namespace of playbooks the labels are replaced. There the property `user_id` holds a playbook's id.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, LiteralString

__all__ = ["Namespace", "of_playbooks"]

Namespace = Literal["learners", "playbooks"]


@cache
def of_playbooks(statement: LiteralString) -> LiteralString:
    """Return a statement on the nodes of learners as one on those of playbooks.

    The state of a playbook is an `AcePlaybook`; the label of any other node begins so, as `AcePlaybookDelta`.
    """
    return statement.replace(":Ace", ":AcePlaybook").replace(":AcePlaybookMemoryState", ":AcePlaybook")
