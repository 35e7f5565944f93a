"""What a learner's message asks the memory to do."""

from __future__ import annotations

from ace_graph.learning.statements import SensitiveFacts, read_statements
from ace_graph.memory import Playbook
from ace_graph.memory.delta import Operation


def explicit_operations(
    text: str, playbook: Playbook, source: str, sensitive: SensitiveFacts = "ask"
) -> list[Operation]:
    """Return the operations of the statements of `text`."""
    said = read_statements(text, playbook, source, sensitive)
    return [statement.operation for statement in said if statement.operation is not None]
