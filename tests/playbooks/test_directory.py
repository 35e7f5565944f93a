"""A directory of teams: what it names counts, and when it fails, nothing does."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import pytest

from ace_graph import playbooks
from ace_graph.playbooks import Caller

BOB = "bob"


class _Directory:
    def __init__(self, answer: object) -> None:
        self.answer = answer

    async def teams_of(self, user: str) -> Collection[str]:
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is None:
            await asyncio.Event().wait()
        return self.answer  # type: ignore[return-value]  # what a wrong directory may give


@pytest.mark.parametrize(
    "answer",
    [
        None,
        RuntimeError("ldap is down"),
        "ops",
        {"ops": True},
        [17, b"ops", "ops\n", " ops"],
        ["ops"] * 1_001,
    ],
)
async def test_a_directory_that_fails_gives_nobody_a_right(answer: object) -> None:
    caller = await playbooks.caller_of(BOB, _Directory(answer), seconds=0.01)
    assert caller == Caller(BOB)
    assert (await playbooks.caller_of(BOB, _Directory(("ops",)))).teams == {"ops"}
