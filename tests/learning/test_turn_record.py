"""How a record speaks of attachments, without their bytes, of the model, and how a reflection is named."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

import pytest
from langgraph.runtime import Runtime

from ace_graph import ACEContext, build_ace_graph
from ace_graph.agent import Run, build_resources
from ace_graph.base import Settings
from ace_graph.learning import (
    FinishedTurn,
    LearningTask,
    Reflection,
    ReflectionResult,
    describe_attachments,
    stored_reflection,
)
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import ask

LONG = "QUJD" * 1_000


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({"type": "text", "text": "look"}, ""),
        ("look", ""),
        ({"type": "image", "mime_type": "image/png", "data": LONG}, "[image/png, 2 KB]"),
        ({"type": "image", "mimeType": "image/webp", "base64": LONG}, "[image/webp, 2 KB]"),
        (
            {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{LONG}"}},
            "[image/jpeg, 2 KB]",
        ),
        ({"type": "image_url", "image_url": "https://example.org/a.png"}, "[image_url]"),
        ({"type": "image", "url": f"https://example.org/{'a' * 1_400}"}, "[image, 1 KB]"),
        ({"type": "file", "mime_type": "a/b", "data": "x" * 1_024}, "[a/b]"),
        ({"type": "file", "mime_type": "a/b", "data": "x" * 1_366}, "[a/b, 1 KB]"),
        ({"type": "file", "data": b"bytes"}, "[file]"),
        ({"type": "audio", "data": {"id": "somewhere"}}, "[audio]"),
        ({"data": "QUJD"}, "[data]"),
        ({"type": "x" * 65}, f"[{'x' * 64}… [len=65]]"),
        ({"type": "video\nforged"}, "[video forged]"),
    ],
)
def test_a_part_is_described_by_kind_and_size(part: object, told: str) -> None:
    assert describe_attachments([part]) == told


def test_parts_other_than_text_are_described_in_order() -> None:
    parts = [{"type": "file"}, {"type": "text", "text": "and"}, {"type": "audio"}]
    assert describe_attachments(parts) == "[file] [audio]"
    assert describe_attachments("only text") == ""
    assert describe_attachments(None) == ""


class NamedModel(ScriptedModel):
    """A model with the attribute that most providers have; Gemini's is called `model`."""

    model_name: ClassVar[str] = "small-1"

    def __init__(self) -> None:
        super().__init__(solver=["<final>5/6</final>"])


async def test_a_record_has_the_name_of_the_model() -> None:
    store = SQLiteStore()
    graph = build_ace_graph(model=NamedModel(), store=store, settings=Settings(), learning="background")
    await graph.ainvoke(ask(), context=ACEContext(learner_id="alice"))
    (record,) = await store.turns("alice", 1)
    assert record.model == "small-1"


def test_a_reflection_is_named_by_its_turn_and_attempt() -> None:
    context = ACEContext()
    hour = datetime(2026, 1, 1, tzinfo=UTC)
    resources = build_resources(store="memory://", model=ScriptedModel(), clock=lambda: hour)
    run = Run(resources, context, "alice", Runtime(context=context))
    result = ReflectionResult(Reflection(lessons=[]), "", (), ())

    def name(turn: str, attempt: str) -> str:
        subject = FinishedTurn(turn, "1/2 + 1/3?", "5/6", (), (), None)
        return stored_reflection(LearningTask(subject=subject), result, None, run, attempt).reflection_id

    assert name("t1", "a") == name("t1", "a"), "a repeated try is the same reflection"
    assert len({name("t1", "a"), name("t1", "b"), name("t2", "a")}) == 3
