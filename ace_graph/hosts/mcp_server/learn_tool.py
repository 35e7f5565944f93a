"""The tool `learn`: a conversation becomes a trajectory, and what it teaches bullets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, Field

from ace_graph.base.errors import TrajectoryClosed, UsageError
from ace_graph.base.off_loop import run_off_loop
from ace_graph.hosts.mcp_server.access import AUTHOR, Call, MemoryAccess
from ace_graph.hosts.mcp_server.schema import (
    BulletId,
    BulletRow,
    HeldBack,
    LearnReply,
    Outcome,
    PlaybookName,
)
from ace_graph.learning.curator import for_review
from ace_graph.learning.statements.explicit import read_statements
from ace_graph.learning.trajectories import (
    Completion,
    complete_trajectory,
    get_trajectory,
    log_step,
    start_trajectory,
)
from ace_graph.learning.trajectory_feedback import reflect_on
from ace_graph.memory.bullet import content_hash
from ace_graph.memory.catalogue import PlaybookRef
from ace_graph.memory.commit import operation_id
from ace_graph.memory.delta.operations import Add, Delta, Operation
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.turn import StepKind
from ace_graph.server.schemas import Text

MAX_CHARS = 200_000
"""Of a transcript, or of all messages together."""
Speaker = Literal["learner", "agent"]
_SPEAKERS: Mapping[str, Speaker] = {
    **dict.fromkeys(("user", "human", "learner", "me"), "learner"),
    **dict.fromkeys(("assistant", "agent", "ai", "bot", "tool", "system"), "agent"),
}
_LONGEST_NAME = 12


class HostMessage(BaseModel):
    """One message of a conversation. Other fields that an agent's messages have are ignored."""

    role: Literal["user", "assistant", "tool", "system"]
    content: Annotated[Text, Field(max_length=MAX_CHARS)] = ""


class TranscriptLine(NamedTuple):
    """What one side said at once."""

    speaker: Speaker
    text: str


class LastExchange(NamedTuple):
    """The last question of a transcript, the answer to it, and what came before, in order."""

    question: str
    answer: str
    before: tuple[TranscriptLine, ...]


def lines_of(messages: Iterable[HostMessage]) -> list[TranscriptLine]:
    """Return what was said, in order; what the role `user` says is the learner's."""
    said = (
        TranscriptLine("learner" if each.role == "user" else "agent", each.content.strip())
        for each in messages
    )
    return [line for line in said if line.text]


def read_transcript(text: str) -> list[TranscriptLine]:
    """Return what was said, in order, by lines that begin with `User:`, `Assistant:` or the like.

    A line without a name belongs to the one before; a text before the first name is the learner's. What an
    agent read stands in such a text, too, so nothing in it is certainly the learner's word.
    """
    found = list[tuple[Speaker, list[str]]]()
    for line in text.splitlines():
        name, colon, rest = line[: _LONGEST_NAME + 1].partition(":")
        speaker = _SPEAKERS.get(name.strip().strip("*").casefold()) if colon else None
        if speaker is not None:
            found.append((speaker, [(rest + line[_LONGEST_NAME + 1 :]).strip(" *")]))
        elif found:
            found[-1][1].append(line)
        elif line.strip():
            found.append(("learner", [line]))
    lines = [TranscriptLine(speaker, "\n".join(parts).strip()) for speaker, parts in found]
    return [line for line in lines if line.text]


def last_exchange(lines: list[TranscriptLine]) -> LastExchange:
    """Return the last answer with the question before it; without an answer, the last question."""
    asked, found = None, None
    for n, line in enumerate(lines):
        if line.speaker == "learner":
            asked = n
        elif asked is not None:
            found = (asked, n)
    if found is not None:
        asked, answered = found
        return LastExchange(lines[asked].text, lines[answered].text, tuple(lines[:asked]))
    return LastExchange("" if asked is None else lines[asked].text, "", tuple(lines[: asked or 0]))


_MOST_STEPS, _MOST_STATING, _MOST_MESSAGES = 20, 50, 1_000
Messages = Annotated[
    tuple[HostMessage, ...],
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
LearnInto = Annotated[
    PlaybookName | None,
    Field(description="A playbook of playbook_list that the lessons go to; else the learner's own memory."),
]


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
        learn_into: LearnInto = None,
    ) -> LearnReply:
        """Learn from a finished conversation or task: what the learner said of themselves, and what helped.

        Send messages with their roles. The same conversation is learned from once. Where the server has a
        model, lessons are there when the call returns; else they are left to a worker. Of a transcript
        without roles nothing is carried out: what it says is kept in quarantine for a person to release.
        With `learn_into` lessons go to that playbook, as far as the learner may write or propose there.
        """
        learner, store = await self._memory.learner(call), self._memory.store
        # What was said, and the id of its trajectory. Raises UsageError where there is nothing
        if bool(messages) == (transcript is not None):
            raise UsageError("send either messages, each with its role, or a transcript")
        if learn_into is not None and transcript is not None:
            raise UsageError("learn_into needs messages with roles: send messages, or leave learn_into out")
        own = learn_into is None or PlaybookRef.parse(learn_into, learner).is_memory_of(learner)
        if transcript is not None:
            lines = await run_off_loop(len(transcript), read_transcript, transcript)
            name = operation_id("mcp", learner, transcript)
        elif sum(len(message.content) for message in messages) > MAX_CHARS:
            raise UsageError(f"the messages may have at most {MAX_CHARS} characters together")
        else:
            lines = lines_of(messages)
            name = operation_id(
                "mcp messages", learner, json.dumps([[each.role, each.content] for each in messages])
            )
        if not lines:
            raise UsageError("every message is empty: send one with text")
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
        completion = Completion(
            answer=said.answer,
            cited=followed,
            source=None if outcome is None else "learner",
            learn_into=None if own else learn_into,
        )
        pending = await self._complete(learner, name, said, outcome or "partial", completion)
        error = None
        if pending is not None and self._memory.learning is not None:
            done = await reflect_on(learner, name, self._memory.learning, store)
            pending, error = (None, None) if done.status == "done" else (pending, done.error)
        held = (await store.load(learner)).playbook
        made = [bullet for bullet in held.bullets() if name in bullet.examples or bullet.id in stated]
        kept = [bullet for bullet in made if bullet.status == "active"]
        return LearnReply(
            trajectory_id=name,
            stated=[BulletRow.about(bullet) for bullet in kept if bullet.id in stated],
            learned=[BulletRow.about(bullet) for bullet in kept if bullet.id not in stated],
            quarantined=[
                HeldBack(id=bullet.id, content=bullet.content, why=bullet.quarantine_reason or "")
                for bullet in made
                if bullet.status == "quarantined"
            ],
            learned_into=(await get_trajectory(store, learner, name)).learned_into,
            pending=pending,
            error=None if error is None else "the model gave no lessons: a worker will try again",
        )

    async def _keep_statements(
        self, learner: str, lines: list[TranscriptLine], name: str, *, attributed: bool
    ) -> frozenset[str]:
        """Commit what the learner's own lines ask to remember, to change or to forget; return the new ids.

        Where the lines may be somebody else's, only what they add is kept, for a review.
        """
        store, sensitive = self._memory.store, self._memory.sensitive_facts
        stating = [line.text for line in lines if line.speaker == "learner"][-_MOST_STATING:]
        base, operations = await store.load(learner), list[Operation]()
        for text in stating:
            said = await run_off_loop(len(text), read_statements, text, base.playbook, name, sensitive)
            operations += (each.operation for each in said if each.operation is not None)
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
        self, learner: str, name: str, said: LastExchange, outcome: Outcome, completion: Completion
    ) -> str | None:
        """Store the steps and the outcome. Raises UsageError where this conversation was learned from."""
        store, clock = self._memory.store, self._memory.clock
        try:
            for n, line in enumerate(said.before[-_MOST_STEPS:]):
                kind: StepKind = "observation" if line.speaker == "learner" else "action"
                await log_step(store, learner, name, kind, line.text, step_id=f"{name}-{n}", clock=clock)
            return await complete_trajectory(store, learner, name, outcome, completion, clock=clock)
        except TrajectoryClosed as error:
            raise UsageError(f"this conversation was learned from before, as trajectory {name}") from error
