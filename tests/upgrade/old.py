"""A copy of what version 0.1 stored, and what 0.1 said of it.

Does not: hold a test.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from ace_graph import Bullet, open_store
from ace_graph.memory.stores.base import PendingStore
from tests.cli.commands import Commands, Done
from tests.upgrade.figures import figures

__all__ = ["ADA", "BJOERN", "CLEO", "DATA", "EXPORTS", "LEARNERS", "Json", "Old", "differences"]

ADA, BJOERN, CLEO = LEARNERS = ("ada", "björn", "cleo")
DATA = Path(__file__).with_name("data") / "v0_1"
EXPORTS = DATA / "exports"
Json = dict[str, Any]  # Any: what was written, whose shape the tests check
T = TypeVar("T")


class Old:
    """A database with the learners of 0.1. `kind` is sqlite or neo4j.

    `place` puts a learner there and returns the id that it has there.
    """

    def __init__(self, kind: str, url: str, ace: Commands, place: Callable[[str], str]) -> None:
        self.kind, self.url, self.place = kind, url, place
        self._ace = ace

    def run(self, job: Callable[[PendingStore], Awaitable[T]]) -> T:
        """Return what `job` returns, with the database opened as anybody opens it."""

        async def opened() -> T:
            store = open_store(self.url)
            async with store:
                return await job(store)

        return asyncio.run(opened())

    def ace(self, *arguments: str) -> Done:
        """Call a command of `ace-graph` that must succeed."""
        return self._ace.ok(*arguments, "--store", self.url)

    def command(self, *arguments: str) -> Done:
        """Call a command that names its stores itself."""
        return self._ace.ok(*arguments)

    def playbook(self, command: str, learner: str, *arguments: str) -> Json:
        """Return what `ace-graph playbook ... --json` prints."""
        return self.ace("playbook", command, *arguments, "--learner", learner, "--json").json

    def bullets(self, learner: str) -> dict[str, Json]:
        """Return all bullets by their ids, in order."""
        shown = self.playbook("show", learner, "--all")["bullets"]
        return {bullet["id"]: bullet for bullet in shown}

    def figures(self, learner: str) -> dict[str, str]:
        """Return the bullets as what 0.1 said has them."""
        return figures(Bullet.model_validate(bullet) for bullet in self.bullets(learner).values())

    def said(self, learner: str) -> Json:
        """Return what 0.1 said of the learner."""
        return json.loads((DATA / f"said_{self.kind}.json").read_text("utf-8"))[learner]

    def exported(self, learner: str) -> Json:
        """Return what 0.1 exported of the learner, under the id that it has here."""
        plain = learner.replace("ö", "oe")
        found = json.loads((EXPORTS / f"{plain}.{self.kind}.learner.json").read_text("utf-8"))
        for each in (found, *found["pending"]):
            each["learner_id"] = self.place(learner)
        return found


def differences(old: object, new: object, place: str = "") -> list[str]:
    """Return where `new` says something else than `old`, or nothing. It may say more, in a newer format."""
    if isinstance(old, dict) and isinstance(new, dict):
        before, after = cast("Json", old), cast("Json", new)
        missing = [f"{place}/{name} is gone" for name in before if name not in after]
        inside = (
            differences(before[name], after[name], f"{place}/{name}") for name in before if name in after
        )
        return [*missing, *(found for each in inside for found in each)]
    if isinstance(old, list) and isinstance(new, list):
        left, right = cast("list[object]", old), cast("list[object]", new)
        if len(left) != len(right):
            return [f"{place} has {len(right)} things, not {len(left)}"]
        pairs = enumerate(zip(left, right, strict=True))
        return [found for n, (a, b) in pairs for found in differences(a, b, f"{place}/{n}")]
    if place.endswith("/format") and isinstance(old, int) and isinstance(new, int) and new > old:
        return []
    if isinstance(old, float) and isinstance(new, float) and math.isclose(old, new, rel_tol=1e-12):
        return []  # sum() rounds otherwise from Python 3.12 on
    return [] if old == new else [f"{place}: {new!r}, not {old!r}"]
