"""Which of a turn's checkpoints are worth writing: that of an answer, and the last one.

LangGraph writes one after every node. Until there is an answer a turn has nothing to lose that is not written
down already (`conversations.accept`), so the learner waits for none of them. The answer's is written before
anything is learned from it, so that a turn taken up again learns under the same ids, once. The run of a turn
that is nobody's any more ends there, before it learns.

Does not: keep them; the saver that it was given does.
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

from ace_graph.errors import RequestRefused

__all__ = ["NO_CHECKPOINT", "RUN", "TurnCheckpointer"]

NO_CHECKPOINT = "__ace_nothing_known"
"""A key of `configurable`: true in the first turn of a conversation, of which there is nothing to read."""

RUN = "ace_run"
"""A key of the metadata: the run that writes."""

_WORTH_KEEPING = frozenset({"attempt", "learning"})
_OF_A_RUN = frozenset({"input", "loop"})


class TurnCheckpointer(BaseCheckpointSaver[str]):
    """LangGraph's checkpointer for turns of this graph, one node at a time, with durability "sync"."""

    def __init__(
        self,
        saver: BaseCheckpointSaver[str],
        still_ours: Callable[[str], Awaitable[bool]] | None = None,
        translated: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`translated` turns the errors of the saver's database into ours."""
        super().__init__(serde=saver.serde)
        self._saver = saver
        self._still_ours = still_ours
        self._translated = translated

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> BaseCheckpointSaver[str]:
        """Return one whose saver reads these types too."""
        return TurnCheckpointer(
            self._saver.with_allowlist(extra_allowlist), self._still_ours, self._translated
        )

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Return the version after `current`, as the saver counts."""
        return self._saver.get_next_version(current, channel)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return what was written last."""
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
        """Yield what was written, the newest first."""
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
        """Write a checkpoint that is worth it, with the values of those that were not written before it.

        Raises RequestRefused where the learner was forgotten, or another server has the turn.
        """
        if _is_on_the_way(checkpoint, metadata):
            return {"configurable": {**config.get("configurable", {}), "checkpoint_id": checkpoint["id"]}}
        run = config.get("metadata", {}).get(RUN)
        learns_next = (
            metadata.get("source") == "loop" and checkpoint["channel_values"].get("learning") is None
        )
        if learns_next and self._still_ours and isinstance(run, str) and not await self._still_ours(run):
            raise RequestRefused(409, "lost", "the conversation was deleted, or another server has it")
        with self._translated():
            return await self._saver.aput(config, checkpoint, metadata, checkpoint["channel_versions"])

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Write nothing: what a node gave is in the checkpoint behind it."""

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a conversation's checkpoints."""
        with self._translated():
            await self._saver.adelete_thread(thread_id)


def _is_on_the_way(checkpoint: Checkpoint, metadata: CheckpointMetadata) -> bool:
    """Whether a run can be begun again from before this checkpoint without a loss."""
    updated = checkpoint["updated_channels"]
    if metadata.get("source") not in _OF_A_RUN or updated is None:
        return False
    values = checkpoint["channel_values"]
    return all(values.get(name) is None for name in _WORTH_KEEPING.intersection(updated))
