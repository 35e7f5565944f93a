"""A model is bound to a schema once, and never mistaken for another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import HumanMessage
from langchain_core.runnables import Runnable
from pydantic import BaseModel, PrivateAttr

from ace_graph.agent.models import Schemas, structured_call
from ace_graph.testing import Reply, ScriptedModel
from tests.plugins.sizes import PATIENT


class Lessons(BaseModel):
    lessons: list[str]


class Verdict(BaseModel):
    right: bool


class Counting(ScriptedModel):
    """Counts how often it is bound."""

    _bound: list[str] = PrivateAttr(default_factory=list[str])

    def __init__(self, replies: Sequence[Reply] = ()) -> None:
        super().__init__(replies)

    def with_structured_output(
        self,
        schema: dict[str, Any] | type,  # Any: LangChain's signature
        *,
        include_raw: bool = False,
        **kwargs: Any,  # LangChain's signature
    ) -> Runnable[LanguageModelInput, dict[str, Any] | BaseModel]:
        self._bound.append(str(schema))
        return super().with_structured_output(schema, include_raw=include_raw, **kwargs)

    @property
    def times_bound(self) -> int:
        return len(self._bound)


async def test_a_model_is_bound_to_each_schema_once() -> None:
    schemas, question = Schemas(), [HumanMessage("Well?")]
    replies = ['{"lessons": ["a"]}', '{"right": true}', '{"lessons": ["b"]}', '{"right": false}']
    with Counting(replies) as model:
        for lesson, right in (("a", True), ("b", False)):
            told = await structured_call(model, question, Lessons, timeout=PATIENT, schemas=schemas)
            assert told.value == Lessons(lessons=[lesson])
            judged = await structured_call(model, question, Verdict, timeout=PATIENT, schemas=schemas)
            assert judged.value == Verdict(right=right)
    assert model.times_bound == 2


def test_two_models_that_are_equal_are_bound_each() -> None:
    schemas, first, second = Schemas(), ScriptedModel(), ScriptedModel()
    assert schemas.bound(first, Lessons) is schemas.bound(first, Lessons)
    assert schemas.bound(first, Lessons) is not schemas.bound(second, Lessons)


def test_only_the_last_few_models_are_kept() -> None:
    schemas, models = Schemas(), [Counting() for _ in range(20)]
    for model in models:
        schemas.bound(model, Lessons)
    for model in (models[-1], models[0]):
        schemas.bound(model, Lessons)
    assert (models[-1].times_bound, models[0].times_bound) == (1, 2)
