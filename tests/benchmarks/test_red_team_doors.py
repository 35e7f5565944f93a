"""The red team at the doors: no route, form or tool gives away or changes what is another's."""

from __future__ import annotations

import logging
from collections import Counter

import pytest

from benchmarks.redteam import doors
from tests.plugins.sizes import sized


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "ace_graph")


async def test_no_attack_on_a_door_gets_through() -> None:
    tries = await doors.play_doors(sized(4, 1))
    assert [each for each in tries if each.came] == []
    assert len(tries) >= 500
    assert set(Counter(each.door for each in tries)) == {
        "API",
        "sharing",
        "page",
        "development mode",
        "operators",
        "MCP",
        "middleware",
    }


async def test_what_the_learner_does_herself_is_seen_as_a_change_and_as_a_read() -> None:
    came = Counter[str]()
    async with doors.open_victim() as ada:
        async for each in doors.judged(ada, "API", (("Ada", one) for one in doors.requests(ada, doors.ADA))):
            came[each.came] += 1
    assert came["something changed"] >= 10
    assert came["a mark was read"] >= 5
