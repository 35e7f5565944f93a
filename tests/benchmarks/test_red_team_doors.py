"""The red team at the doors: no route, form or tool gives away or changes what is another's."""

from __future__ import annotations

import logging
from collections import Counter

import pytest

from benchmarks.redteam import doors
from tests.plugins.heavy import some_heavy
from tests.plugins.sizes import sized


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "ace_graph")


@pytest.mark.parametrize(
    ("every", "least"), some_heavy([(20, 100), (sized(4, 1), 500)], (20, 100).__eq__), ids=["some", "most"]
)
async def test_no_attack_on_a_door_gets_through(every: int, least: int) -> None:
    tries = await doors.play_doors(every)
    assert [each for each in tries if each.came] == []
    assert len(tries) >= least
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
