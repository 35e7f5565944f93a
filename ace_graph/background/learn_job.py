"""The job of learning from pending items, a few at a time, in any number of processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from ace_graph.background.worker import build_worker
from ace_graph.executors.base import Work
from ace_graph.models import close_model, make_model
from ace_graph.settings import Settings
from ace_graph.stores import open_store

__all__ = ["LearnJob"]


@dataclass(frozen=True)
class LearnJob:
    """Learns from as many pending items as it is told, of any learners, or until none may be had now.

    The result counts how the items ended, by status. What a process that dies held becomes free when its
    lease runs out.
    """

    settings: Settings

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[Work[int, Counter[str]]]:
        """Open the store and make the model of the settings; see `Job.opened`."""
        async with open_store(settings=self.settings) as store:
            model = make_model(self.settings)
            worker = build_worker(model=model, store=store, settings=self.settings)

            async def learn(most: int) -> Counter[str]:
                ends = Counter[str]()
                while ends.total() < most and (done := await worker.learn_one()) is not None:
                    ends[done.status] += 1
                return ends

            try:
                yield learn
            finally:
                await close_model(model)
