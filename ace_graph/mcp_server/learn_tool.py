"""The tool `learn`: a transcript becomes a trajectory, and what it teaches bullets."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ace_graph.errors import TrajectoryClosed, UsageError
from ace_graph.learning.statements.explicit import explicit_operations
from ace_graph.mcp_server.access import AUTHOR, Call, MemoryAccess
from ace_graph.mcp_server.arguments import BulletId, Outcome, Text
from ace_graph.mcp_server.replies import BulletRow, Learned
from ace_graph.mcp_server.transcript import Exchange, Line, last_exchange, read_transcript
from ace_graph.memory.commit import operation_id
from ace_graph.memory.delta.operations import Delta, Operation
from ace_graph.memory.turn import StepKind
from ace_graph.off_loop import read_text
from ace_graph.trajectories.feedback import reflect_on
from ace_graph.trajectories.recording import Completion, complete_trajectory, log_step, start_trajectory

__all__ = ["LearnTool"]

_MOST_STEPS, _MOST_MESSAGES = 20, 50
Transcript = Annotated[
    Text,
    Field(min_length=1, max_length=200_000, description="Lines that begin with `User:` or `Assistant:`."),
]
Judged = Annotated[Outcome | None, Field(description="How it ended, where that is known.")]
Followed = Annotated[
    tuple[BulletId, ...], Field(max_length=100, description="The recalled bullets that were followed.")
]


class LearnTool:
    """Holds the tool `learn`."""

    def __init__(self, memory: MemoryAccess) -> None:
        self._memory = memory

    async def learn(
        self, call: Call, transcript: Transcript, outcome: Judged = None, followed: Followed = ()
    ) -> Learned:
        """Learn from a finished conversation or task: what the learner said of themselves, and what helped.

        The same transcript is learned from once. Where the server has a model, lessons are there when the
        call returns; else they are left to a worker. The transcript is data: nothing in it is carried out.
        """
        learner, store = await self._memory.learner(call), self._memory.store
        lines = await read_text(len(transcript), read_transcript, transcript)
        if not lines:
            raise UsageError("transcript holds no text: send lines that begin with `User:` or `Assistant:`")
        said = last_exchange(lines)
        name = operation_id("mcp", learner, transcript)
        await start_trajectory(
            store, learner, said.question or lines[-1].text, agent=AUTHOR, trajectory_id=name
        )
        stated = await self._keep_statements(learner, lines, name)
        pending = await self._complete(learner, name, said, outcome, followed)
        error = None
        if pending is not None and self._memory.learning is not None:
            done = await reflect_on(learner, name, self._memory.learning, store)
            pending, error = (None, None) if done.status == "done" else (pending, done.error)
        held = (await store.load(learner)).playbook
        learned = [bullet for bullet in held.bullets() if name in bullet.examples and bullet.id not in stated]
        return Learned(
            trajectory_id=name,
            stated=[BulletRow.of(held.entries[each]) for each in stated if each in held.entries],
            learned=[BulletRow.of(bullet) for bullet in learned],
            pending=pending,
            error=None if error is None else "the model gave no lessons: a worker will try again",
        )

    async def _keep_statements(self, learner: str, lines: list[Line], name: str) -> list[str]:
        """Commit what the learner's own lines ask to remember, to change or to forget; return the new ids."""
        store, sensitive = self._memory.store, self._memory.sensitive_facts
        messages = [line.text for line in lines if line.speaker == "learner"][-_MOST_MESSAGES:]
        base, operations = await store.load(learner), list[Operation]()
        for message in messages:
            operations += await read_text(
                len(message), explicit_operations, message, base.playbook, name, sensitive
            )
        if not operations:
            return []
        delta = Delta(
            op_id=operation_id("mcp", name, "statements"),
            now=self._memory.clock(),
            operations=tuple(operations),
            author=AUTHOR,
            source=name,
        )
        done = await store.commit(learner, delta, base)
        return list(done.report.added)

    async def _complete(
        self, learner: str, name: str, said: Exchange, outcome: Outcome | None, followed: tuple[str, ...]
    ) -> str | None:
        """Store the steps and the outcome. Raises UsageError where this transcript was learned from."""
        store, clock = self._memory.store, self._memory.clock
        completion = Completion(
            answer=said.answer, cited=followed, source=None if outcome is None else "learner"
        )
        try:
            for n, line in enumerate(said.before[-_MOST_STEPS:]):
                kind: StepKind = "observation" if line.speaker == "learner" else "action"
                await log_step(store, learner, name, kind, line.text, step_id=f"{name}-{n}", clock=clock)
            return await complete_trajectory(
                store, learner, name, outcome or "partial", completion, clock=clock
            )
        except TrajectoryClosed as error:
            raise UsageError(f"this transcript was learned from before, as trajectory {name}") from error
