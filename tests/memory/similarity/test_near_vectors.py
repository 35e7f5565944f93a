"""Why a turn merges by words alone: what near vectors and the guards would take for the same."""

from __future__ import annotations

import pytest

from ace_graph.agent.embeddings import find_static_vectors
from ace_graph.memory import Bullet
from ace_graph.memory.similarity.compare import compare
from ace_graph.memory.similarity.vectors import are_near, unit_vectors


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Set the memory limit of the worker to 512 megabytes.",
            "Set the memory limit of the browser to 512 megabytes.",
        ),
        (
            "Gross margin is revenue minus the cost of goods sold, divided by revenue.",
            "Gross margin is revenue plus the cost of goods sold, divided by revenue.",
        ),
        ("Roda os testes depois de cada alteração.", "Roda os testes antes de cada alteração."),
    ],
    ids=["subject", "sign", "direction"],
)
def test_near_vectors_and_the_guards_take_other_claims_for_the_same_and_words_do_not(
    one: str, other: str
) -> None:
    vectors = find_static_vectors()
    assert vectors is not None
    units = unit_vectors({text: vectors.embed_query(text) for text in (one, other)})
    first, second = (Bullet(id=text[:9], section="lessons", content=text) for text in (one, other))
    assert are_near(first, second, units)
    assert compare(first, second, 0.9).outcome != "same"
