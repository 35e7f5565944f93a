"""A checkpointer that writes one checkpoint a turn, the one with the answer; a revised answer has another.

LangGraph writes one after every node. Until there is an answer, all that a turn needs is in its stored
request (`Conversations.accept`), so those before it are skipped and cost no time. The one with the answer is
written before anything is learned, so that a turn that another server continues learns under the same ids,
once. A turn that is no longer this server's ends there. What comes after it is not needed: a turn that ended
is known by its request, which is deleted then, and the next turn begins anew.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

from ace_graph.base.errors import RequestRefused

NO_CHECKPOINT = "__ace_nothing_known"
"""A key of `configurable`: true in the first turn of a conversation, which has no checkpoint to read."""

RUN = "ace_run"
"""A key of the checkpoint's metadata: the run that wrote it."""

_RUN_SOURCES = frozenset({"input", "loop"})


class TurnCheckpointer(BaseCheckpointSaver[str]):
    """LangGraph's checkpointer for turns of this graph, one node at a time, with durability "sync"."""

    def __init__(
        self,
        saver: BaseCheckpointSaver[str],
        still_ours: Callable[[str], Awaitable[bool]] | None = None,
        translated: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`translated` turns the errors of the saver's database into StoreUnavailable."""
        super().__init__(serde=saver.serde)
        self._saver = saver
        self._still_ours = still_ours
        self._translated = translated

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> BaseCheckpointSaver[str]:
        """Return a checkpointer whose saver deserializes these types too."""
        return TurnCheckpointer(
            self._saver.with_allowlist(extra_allowlist), self._still_ours, self._translated
        )

    def get_next_version(self, current: str | None, channel: None) -> str:
        return self._saver.get_next_version(current, channel)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        if config.get("configurable", {}).get(NO_CHECKPOINT):
            return None
        with self._translated():
            return await self._saver.aget_tuple(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # Any: LangGraph's own
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        with self._translated():
            async for found in self._saver.alist(config, filter=filter, before=before, limit=limit):
                yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint with all values of those that were skipped before it, or skip it.

        Raises RequestRefused if the learner was forgotten, or another server has the turn.
        """
        if _is_skipped(checkpoint, metadata):
            return {"configurable": {**config.get("configurable", {}), "checkpoint_id": checkpoint["id"]}}
        run = config.get("metadata", {}).get(RUN)
        answered = metadata.get("source") in _RUN_SOURCES
        if answered and self._still_ours and isinstance(run, str) and not await self._still_ours(run):
            raise RequestRefused(409, "lost", "the conversation was deleted, or another server has it")
        with self._translated():
            return await self._saver.aput(config, checkpoint, metadata, checkpoint["channel_versions"])

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Write nothing: a node's output is in the checkpoint after it."""

    async def adelete_thread(self, thread_id: str) -> None:
        with self._translated():
            await self._saver.adelete_thread(thread_id)


def _is_skipped(checkpoint: Checkpoint, metadata: CheckpointMetadata) -> bool:
    """Whether a run can start again without this checkpoint and lose nothing."""
    updated = checkpoint["updated_channels"]
    if metadata.get("source") not in _RUN_SOURCES or updated is None:
        return False
    return "attempt" not in updated or checkpoint["channel_values"].get("attempt") is None
