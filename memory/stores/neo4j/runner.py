"""A session or a transaction of Neo4j, whose statements run on the nodes of one namespace."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import LiteralString, cast

from neo4j import AsyncSession, AsyncTransaction

from ace_graph.memory.stores.backend import Namespace

Row = dict[str, object]


@cache
def of_playbooks(statement: str) -> str:
    """Return a statement on the nodes of learners as one on those of playbooks.

    The state of a playbook is an `AcePlaybook`; the label of any other node begins so, as `AcePlaybookDelta`.
    """
    return statement.replace(":Ace", ":AcePlaybook").replace(":AcePlaybookMemoryState", ":AcePlaybook")


@dataclass(frozen=True)
class Runner:
    """A session or a transaction whose statements run on the nodes of one namespace."""

    on: AsyncSession | AsyncTransaction
    namespace: Namespace = "learners"

    def of(self, namespace: Namespace) -> Runner:
        """Return the same session or transaction, for a namespace."""
        return Runner(self.on, namespace)


async def fetch(run: Runner, query: str, /, **parameters: object) -> list[Row]:
    """Run one statement, made of names of ours, and return its rows."""
    text = of_playbooks(query) if run.namespace == "playbooks" else query
    statement = cast("LiteralString", text)  # type: ignore[redundant-cast]  # mypy takes one for a str
    result = await run.on.run(statement, {name: _hidden_in_logs(value) for name, value in parameters.items()})
    return await result.data()


class _HiddenMap(dict[str, object]):
    """A map whose repr has the keys only.

    The driver formats all parameters for its debug log, even when logging is off. With a playbook among them
    that takes milliseconds, and what learners said must not be logged.
    """

    def __repr__(self) -> str:
        return f"<{', '.join(self)}>"


class _HiddenList(list[object]):
    """A list whose repr has the length only."""

    def __repr__(self) -> str:
        return f"<{len(self)} values>"


def _hidden_in_logs(value: object) -> object:
    if isinstance(value, dict):
        return _HiddenMap(cast("Row", value))
    return _HiddenList(cast("list[object]", value)) if isinstance(value, list) else value
