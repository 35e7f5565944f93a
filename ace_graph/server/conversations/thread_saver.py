"""LangGraph's SqliteSaver for an event loop: each of its calls is one job of the connection's thread.

LangGraph's own AsyncSqliteSaver changes threads for every cursor, statement and row.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from functools import partial
from typing import Any, Protocol, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

R = TypeVar("R")


class _Run(Protocol):
    """Runs a job in the connection's thread."""

    def __call__(self, job: Callable[[], R]) -> Coroutine[Any, Any, R]: ...  # Any: asyncio's own


class ThreadSaver(BaseCheckpointSaver[str]):
    """A checkpointer whose calls run in a thread. `saver` is used in no other one."""

    def __init__(self, saver: BaseCheckpointSaver[str], run: _Run) -> None:
        super().__init__(serde=saver.serde)
        self._saver = saver
        self._run = run

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> BaseCheckpointSaver[str]:
        """Return a checkpointer whose saver deserializes these types too."""
        return ThreadSaver(self._saver.with_allowlist(extra_allowlist), self._run)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Return the version after `current`."""
        return self._saver.get_next_version(current, channel)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint: the newest, or the one that `config` names."""
        return await self._run(partial(self._saver.get_tuple, config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # Any: LangGraph's own
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield the checkpoints, the newest first."""
        listed = partial(self._saver.list, config, filter=filter, before=before, limit=limit)
        for found in await self._run(lambda: list(listed())):
            yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint; it is made into bytes in the thread, too."""
        return await self._run(partial(self._saver.put, config, checkpoint, metadata, new_versions))

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete all checkpoints of a thread."""
        await self._run(partial(self._saver.delete_thread, thread_id))
