"""What learners say, turn by turn, with the last answer and what is remembered after it.

Every row of conversations.tsv is a conversation with the compiled graph and the offline tutor.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from ace_graph import ACEContext, build_ace_graph
from ace_graph.agent import ACEInput
from ace_graph.agent.offline_tutor import OfflineTutor
from ace_graph.base import Settings
from ace_graph.graph import ACEGraph
from ace_graph.memory.stores.sql import SQLiteStore


class Row(NamedTuple):
    """A conversation. The last answer holds `answer`, or is what follows a "=" in it."""

    language: str
    turns: tuple[str, ...]
    answer: str
    memory: tuple[str, ...]


def rows() -> list[Row]:
    text = Path(__file__).with_name("conversations.tsv").read_text("utf-8")
    lines = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    return [
        Row(language, _parts(turns), answer.replace("\\n", "\n"), _parts(memory))
        for language, turns, answer, memory in lines
    ]


def _parts(cell: str) -> tuple[str, ...]:
    return tuple(cell.replace("\\n", "\n").split(" | ")) if cell else ()


def test_the_table_has_hundreds_of_conversations() -> None:
    assert len(rows()) > 400


@pytest.fixture(scope="module")
def store() -> SQLiteStore:
    return SQLiteStore()


@pytest.fixture(scope="module")
def graph(store: SQLiteStore) -> ACEGraph:
    """One for all rows, each of which is another learner's: to build it takes as long as a turn."""
    return build_ace_graph(model=OfflineTutor(), store=store, settings=Settings())


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.language}: {' / '.join(row.turns)}"[:100])
async def test_what_is_said_is_kept_and_nothing_else(
    row: Row, store: SQLiteStore, graph: ACEGraph, learner: str
) -> None:
    messages = list[AnyMessage]()
    for said in row.turns:
        messages.append(HumanMessage(said))
        out = await graph.ainvoke(ACEInput(messages=messages), context=ACEContext(learner_id=learner))
        messages.append(AIMessage(out["messages"][-1].text))
    answer = messages[-1].text
    assert answer == row.answer[1:] if row.answer.startswith("=") else row.answer in answer
    known = (await store.load(learner)).playbook.bullets()
    active = (bullet.content for bullet in known if bullet.status == "active")
    assert tuple(content.removeprefix("Learner says: ") for content in active) == row.memory
