"""A learner says since when, or until when: the day is that of the message, where the learner is."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from pydantic import ValidationError

from ace_graph import ACEContext, build_ace_graph
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import CountingStore, ask

BEFORE_MIDNIGHT = datetime(2026, 11, 26, 23, 30, tzinfo=UTC)
"""In Berlin it is half past midnight on Friday, the 27th."""


async def _said(store: CountingStore, message: str, zone: str | None) -> tuple[date | None, date | None]:
    model = ScriptedModel(solver=["<final>fine</final>"] * 2)
    graph = build_ace_graph(model=model, store=store, clock=lambda: BEFORE_MIDNIGHT)
    context = ACEContext(learner_id="ada", timezone=zone, reflect_when="never")
    await graph.ainvoke(ask(message), context=context)
    [bullet] = (await store.now("ada")).playbook.bullets()
    return bullet.valid_from, bullet.valid_until


@pytest.mark.parametrize(
    ("zone", "day"), [(None, 26), ("UTC", 26), ("Europe/Berlin", 27), ("America/New_York", 26)]
)
async def test_tomorrow_is_the_learners_tomorrow(store: CountingStore, zone: str | None, day: int) -> None:
    message = "Remember that my chemistry test is tomorrow."
    assert await _said(store, message, zone) == (None, date(2026, 11, day + 1))


async def test_a_home_is_told_with_its_day_in_the_next_prompt(store: CountingStore) -> None:
    assert await _said(store, "I live in Rome since May.", None) == (date(2026, 5, 1), None)
    model = ScriptedModel(solver=["<final>Rome</final>"])
    graph = build_ace_graph(model=model, store=store, clock=lambda: BEFORE_MIDNIGHT)
    context = ACEContext(learner_id="ada", reflect_when="never")
    await graph.ainvoke(ask("Where do I live?"), context=context)
    assert "I live in Rome since May (since 2026-05-01)" in model.calls[-1].messages[0].text


@pytest.mark.parametrize("wrong", ["Mars/Base", "../etc/passwd", "", "x" * 65])
def test_what_is_no_zone_is_refused(wrong: str) -> None:
    with pytest.raises(ValidationError, match="timezone"):
        ACEContext(learner_id="ada", timezone=wrong)
