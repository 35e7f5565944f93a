"""The tool `learn`: a conversation becomes a trajectory, and what it teaches bullets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

from pydantic import Field

from ace_graph.errors import TrajectoryClosed, UsageError
from ace_graph.learning.curator import for_review
from ace_graph.learning.statements.explicit import explicit_operations
from ace_graph.mcp_server.access import AUTHOR, Call, MemoryAccess
from ace_graph.mcp_server.arguments import BulletId, Outcome, Text
from ace_graph.mcp_server.replies import BulletRow, HeldBack, Learned
from ace_graph.mcp_server.transcript import (
    MAX_CHARS,
    Exchange,
    Line,
    Message,
    last_exchange,
    lines_of,
    read_transcript,
)
from ace_graph.memory.bullet import content_hash
from ace_graph.memory.commit import operation_id
from ace_graph.memory.delta.operations import Add, Delta, Operation
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.turn import StepKind
from ace_graph.off_loop import read_text
from ace_graph.trajectories.feedback import reflect_on
from ace_graph.trajectories.recording import Completion, complete_trajectory, log_step, start_trajectory

__all__ = ["LearnTool"]

_MOST_STEPS, _MOST_STATING, _MOST_MESSAGES = 20, 50, 1_000
Messages = Annotated[
    tuple[Message, ...],
    Field(
        max_length=_MOST_MESSAGES,
        description="The conversation in order, each message with the role of who wrote it: `user` is the "
        "learner, and nobody else.",
    ),
]
Transcript = Annotated[
    Text | None,
    Field(
        min_length=1,
        max_length=MAX_CHARS,
        description="Where there are no roles: lines that begin with `User:` or `Assistant:`. What it says "
        "waits for a person's review.",
    ),
]
Judged = Annotated[Outcome | None, Field(description="How it ended, where that is known.")]
Followed = Annotated[
    tuple[BulletId, ...], Field(max_length=100, description="The recalled bullets that were followed.")
]


async def _conversation(
    learner: str, messages: Sequence[Message], transcript: str | None
) -> tuple[list[Line], str]:
    """Return what was said, and the id of its trajectory. Raises UsageError where there is nothing."""
    if bool(messages) == (transcript is not None):
        raise UsageError("send either messages, each with its role, or a transcript")
    if transcript is not None:
        lines = await read_text(len(transcript), read_transcript, transcript)
        name = operation_id("mcp", learner, transcript)
    elif sum(len(message.content) for message in messages) > MAX_CHARS:
        raise UsageError(f"the messages may have at most {MAX_CHARS} characters together")
    else:
        lines = lines_of(messages)
        name = operation_id(
            "mcp messages", learner, json.dumps([[each.role, each.content] for each in messages])
        )
    if not lines:
        raise UsageError("nothing was said: every message is empty")
    return lines, name


def _unknown(operations: Iterable[Operation], playbook: Playbook) -> Iterator[Add]:
    """Yield what would be added, without what the playbook says in the same words."""
    for operation in operations:
        if isinstance(operation, Add) and not playbook.hashes.get(content_hash(operation.content)):
            yield operation


class LearnTool:
    """Holds the tool `learn`."""

    def __init__(self, memory: MemoryAccess) -> None:
        self._memory = memory

    async def learn(
        self,
        call: Call,
        messages: Messages = (),
        transcript: Transcript = None,
        outcome: Judged = None,
        followed: Followed = (),
    ) -> Learned:
        """Learn from a finished conversation or task: what the learner said of themselves, and what helped.

        Send messages with their roles. The same conversation is learned from once. Where the server has a
        model, lessons are there when the call returns; else they are left to a worker. Of a transcript
        without roles nothing is carried out: what it says is kept in quarantine for a person to release.
        """
        learner, store = await self._memory.learner(call), self._memory.store
        lines, name = await _conversation(learner, messages, transcript)
        said = last_exchange(lines)
        await start_trajectory(
            store,
            learner,
            said.question or lines[-1].text,
            agent=AUTHOR,
            trajectory_id=name,
            unattributed=transcript is not None,
        )
        stated = await self._keep_statements(learner, lines, name, attributed=transcript is None)
        pending = await self._complete(learner, name, said, outcome, followed)
        error = None
        if pending is not None and self._memory.learning is not None:
            done = await reflect_on(learner, name, self._memory.learning, store)
            pending, error = (None, None) if done.status == "done" else (pending, done.error)
        held = (await store.load(learner)).playbook
        made = [bullet for bullet in held.bullets() if name in bullet.examples or bullet.id in stated]
        kept = [bullet for bullet in made if bullet.status == "active"]
        return Learned(
            trajectory_id=name,
            stated=[BulletRow.of(bullet) for bullet in kept if bullet.id in stated],
            learned=[BulletRow.of(bullet) for bullet in kept if bullet.id not in stated],
            quarantined=[
                HeldBack(id=bullet.id, content=bullet.content, why=bullet.quarantine_reason or "")
                for bullet in made
                if bullet.status == "quarantined"
            ],
            pending=pending,
            error=None if error is None else "the model gave no lessons: a worker will try again",
        )

    async def _keep_statements(
        self, learner: str, lines: list[Line], name: str, *, attributed: bool
    ) -> frozenset[str]:
        """Commit what the learner's own lines ask to remember, to change or to forget; return the new ids.

        Where the lines may be somebody else's, only what they add is kept, for a review.
        """
        store, sensitive = self._memory.store, self._memory.sensitive_facts
        stating = [line.text for line in lines if line.speaker == "learner"][-_MOST_STATING:]
        base, operations = await store.load(learner), list[Operation]()
        for text in stating:
            operations += await read_text(
                len(text), explicit_operations, text, base.playbook, name, sensitive
            )
        if not attributed:
            operations = list(for_review(_unknown(operations, base.playbook)))
        if not operations:
            return frozenset()
        delta = Delta(
            op_id=operation_id("mcp", name, "statements"),
            now=self._memory.clock(),
            operations=tuple(operations),
            author=AUTHOR,
            source=name,
        )
        done = await store.commit(learner, delta, base)
        return frozenset(done.report.added)

    async def _complete(
        self, learner: str, name: str, said: Exchange, outcome: Outcome | None, followed: tuple[str, ...]
    ) -> str | None:
        """Store the steps and the outcome. Raises UsageError where this conversation was learned from."""
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
            raise UsageError(f"this conversation was learned from before, as trajectory {name}") from error
