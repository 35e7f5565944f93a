"""The questions of docs/neo4j.md, in the order of the page, each with its answer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import LiteralString, cast

from tests.docs.blocks import read_blocks
from tests.memory.stores.neo4j.graph_life import Life
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.plugins.neo4j_server import Neo4jServer

PAGE = Path(__file__).resolve().parents[2] / "docs" / "neo4j.md"


def _questions() -> dict[str, LiteralString]:
    """Every query of the page by the question above it."""
    cypher = "".join(
        block.text for block in read_blocks(PAGE.read_text("utf-8")) if block.language == "cypher"
    )
    found = re.findall(r"^// (.*\?)\n((?:(?!//).*\n)*?.*);$", cypher, re.MULTILINE)
    return {question: cast("LiteralString", query) for question, query in found}


async def test_the_ten_questions_are_answered(neo4j: Neo4jServer) -> None:
    subject, questions = Neo4jSubject(neo4j), _questions()
    assert len(questions) == 10
    async with subject.open() as store:
        life = await Life.begin(store)
        await life.draw(store)

    async def answers(learner: str) -> list[list[list[object]]]:
        rows = [await subject.cypher(query, learner=learner) for query in questions.values()]
        return [[[_shown(life, value) for value in row.values()] for row in found] for found in rows]

    (known, topics, turns, corrected, merged, harmful, hidden, owned, shared, given) = await answers(life.ada)
    unit, common = "Write the unit beside every number", "Find a common denominator first"
    assert [row[:2] for row in known][:2] == [["visuals", "Draw a bar"], ["general", common]]
    assert {str(row[1]) for row in known} >= {"Guess the answer", "Draw a bar", common}
    assert topics == [["fractions", 1, 3, 0], ["tests", 1, 0, 2]]
    assert [row[1:] for row in turns] == [
        *(["success", common], ["success", "Draw a bar"], ["success", _either(merged)])
    ]
    assert corrected == [[common, ["across-2"]]]
    assert merged in ([[unit, ["unit-4"]]], [["Name the unit of each number", ["units-5"]]])
    assert harmful == [["Guess the answer", 0, 2]]
    assert [row[:2] for row in hidden] == [["dys-6", "sensitive"], ["order-7", "quarantined"]]
    assert owned == [["api_client", 1, 2]]
    assert shared == [*(["api_client", "editor", "AceTeam", "TEAM"], ["api_client", "viewer", "User", "BOB"])]
    assert given == []
    assert (await answers(life.bob))[-1] == [["ADA", "api_client", "viewer"]]
    assert (await answers(life.eve))[-1] == [["ADA", "api_client", "editor"]]


def _shown(life: Life, value: object) -> object:
    return life.named(value) if isinstance(value, str) else value


def _either(merged: list[list[object]]) -> object:
    """The text of the bullet that was kept, of two that say the same."""
    return merged[0][0]
