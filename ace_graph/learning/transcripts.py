"""Importing transcripts of other programs: each exchange becomes a completed trajectory.

    done = await import_transcript(store, Path("conversations.json"), lambda _: "ada")
    done.imported, done.known, done.unread

An exchange is known by its content, so a file may be imported again: after a kill it goes on where it was,
and of a later export only what is new is added. Where the next message of a conversation judges an answer
("that's wrong, it is 5/6"), that is the evidence on its exchange, as in a turn of the graph.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ace_graph.base.clock import utc_now
from ace_graph.base.errors import UsageError
from ace_graph.base.retention import Tracing
from ace_graph.base.settings import Settings
from ace_graph.learning.trajectories import AUTHOR
from ace_graph.memory.commit import Pending, operation_id
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.formats.transcripts import Exchange, TranscriptFile, Unread
from ace_graph.memory.stores.store import Store
from ace_graph.memory.trajectory import TrajectoryFilter, sampled
from ace_graph.memory.turn import TurnRecord

if TYPE_CHECKING:
    from ace_graph.learning.feedback import Feedback

MODE = "transcript"
"""The mode of such a trajectory; its agent is the name of the format."""
_BATCH = 100
_SHOWN = 20
Judged: TypeAlias = "tuple[Exchange, Feedback | None]"
LearnerOf = Callable[[Exchange], str | None]
"""Returns whose memory an exchange is for; None: it is left out."""


@dataclass
class ImportedTranscript:
    """What became of a file: read = imported + known + unmapped.

    `reads` says which version of the format is read. `known` were there before, `unmapped` are of nobody who
    was named. `pending` counts the work that was left to a worker. `unread` are the first 20 of
    `unread_count` parts that could not be read.
    """

    format: str = ""
    reads: str = ""
    read: int = 0
    imported: int = 0
    known: int = 0
    unmapped: int = 0
    pending: int = 0
    unread: list[Unread] = field(default_factory=list[Unread])
    unread_count: int = 0


def learner_by(names: Iterable[str], learner_id: str) -> LearnerOf:
    """Return who an exchange is of by the pairs NAME=LEARNER, or the one learner where there are none.

    NAME is a user, a folder or a conversation as the file names it, or `*` for all others. Raises UsageError.
    """
    known = dict[str, str]()
    for pair in names:
        name, equals, learner = pair.rpartition("=")
        if not (equals and name.strip() and learner.strip()):
            raise UsageError(f"{pair[:60]!r} is not a mapping: write NAME=LEARNER, or *=LEARNER for the rest")
        known[name.strip()] = learner.strip()
    if not known:
        return lambda _: learner_id
    return lambda exchange: next((known[name] for name in (*exchange.names, "*") if name in known), None)


async def import_transcript(
    store: Store,
    path: Path,
    learner_of: LearnerOf,
    *,
    format_name: str = "auto",
    learns: bool = True,
    tracing: Tracing | None = None,
    clock: Callable[[], datetime] = utc_now,
    progress: Callable[[int, int], None] = lambda _done, _size: None,
) -> ImportedTranscript:
    """Store the exchanges of a file as trajectories, each in one commit with the work for a worker.

    Without `learns` none is left. `progress` is called with the bytes that were read, and those of the file.
    Raises FormatError for a file in which nothing can be read, and what the store raises.
    """
    file, done = TranscriptFile(path, format_name), ImportedTranscript()
    entries, kept = _judged(file.exchanges()), tracing or Settings.load().tracing
    while batch := await asyncio.to_thread(lambda: [*islice(entries, _BATCH)]):
        wanted = dict[str, dict[str, Judged]]()
        for entry in batch:
            if isinstance(entry, Unread):
                done.unread_count += 1
                done.unread += [entry][: _SHOWN - len(done.unread)]
                continue
            done.read += 1
            exchange, _ = entry
            learner = learner_of(exchange)
            if learner is None:
                done.unmapped += 1
            else:
                wanted.setdefault(learner, {}).setdefault(operation_id(MODE, learner, exchange.key), entry)
        for learner, exchanges in wanted.items():
            named = TrajectoryFilter(turn_ids=frozenset(exchanges))
            there = {turn.turn_id for turn in await store.find_turns(learner, named, limit=len(exchanges))}
            base = await store.load(learner)
            for name, judged in exchanges.items():
                if name in there:
                    continue
                agent = "" if file.format is None else file.format.name
                turn = sampled(_record(name, judged, agent, path, now := clock()), kept)
                pending: Pending | None = None
                if learns:
                    from ace_graph.learning.tasks import PendingWork, task_of  # loads LangGraph

                    work = PendingWork(looks=(task_of(turn, turn.evidence),))
                    pending = work.as_pending(operation_id(MODE, name, "learn"), name)
                delta = Delta(op_id=operation_id(MODE, name), now=now, author=AUTHOR, source=name)
                commit = await store.commit(learner, delta, base, turn, pending)
                base, is_new = commit.snapshot, commit.status == "applied"
                done.imported += is_new
                done.pending += is_new and learns
        progress(file.done, file.size)
    if file.format is not None:
        done.format, done.reads = file.format.name, file.format.reads
    done.known = done.read - done.imported - done.unmapped
    return done


def _judged(entries: Iterable[Exchange | Unread]) -> Iterator[Judged | Unread]:
    """Yield each exchange with what the next message of its conversation says about its answer."""

    from ace_graph.learning.feedback import read_feedback

    last: Exchange | None = None
    for entry in entries:
        if isinstance(entry, Unread):
            yield entry
            continue
        if last is not None:
            goes_on = entry.conversation == last.conversation
            yield last, read_feedback(entry.question, last.answer) if goes_on else None
        last = entry
    if last is not None:
        yield last, None


def _record(name: str, judged: Judged, agent: str, path: Path, now: datetime) -> TurnRecord:
    exchange, feedback = judged
    started = exchange.started_at or now
    ended = exchange.ended_at or started
    verdict = "unknown" if feedback is None else feedback.verdict
    said = None if feedback is None else feedback.as_record(ended)
    return TurnRecord(
        turn_id=name,
        attempt_id=name,
        conversation_id=exchange.conversation[:256] or None,
        task=exchange.question,
        answer=exchange.answer,
        mode=MODE,
        agent=agent,
        status="partial" if verdict == "unknown" else verdict,
        verdict=verdict,
        evidence=() if feedback is None else (feedback.evidence,),
        feedback=() if said is None else (said,),
        model=exchange.model,
        duration_ms=(ended - started).total_seconds() * 1000,
        metrics={"file": path.name},
        steps=exchange.steps,
        steps_left_out=exchange.steps_left_out,
        started_at=started,
        completed_at=ended,
    )
