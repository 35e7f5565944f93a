"""All turns of one server: admission, time limits, leases, and how each turn ends.

A turn is a task of its own, apart from the request that began it. Its text is streamed while it is written;
`done` is sent when what was learned from the turn is stored.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

from ace_graph.agent.daily_tokens import DailyTokens
from ace_graph.agent.models.call import total_usage
from ace_graph.agent.state import ACEOutput
from ace_graph.base.clock import Clock
from ace_graph.base.errors import (
    AceError,
    CommitTooOld,
    LearnerForgotten,
    RequestRefused,
    StoreError,
    UsageError,
)
from ace_graph.base.telemetry import span_maker, turn_attributes
from ace_graph.graph import ACEGraph
from ace_graph.memory.catalogue import wanted_refs
from ace_graph.memory.rights import Caller
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.cache import SnapshotCache
from ace_graph.memory.stores.memories import commit_unsaved
from ace_graph.playbooks.handle import open_playbook
from ace_graph.server.conversations.managing import title_of
from ace_graph.server.conversations.repository import LEASE_SECONDS, AcceptedTurn, Conversations, GivenUpTurn
from ace_graph.server.errors import error_location, http_error_for
from ace_graph.server.schemas import ChatRequest, reply_of
from ace_graph.server.turns.run_turn import (
    LiveTurn,
    TurnWork,
    remove_question,
    run_turn,
    trim_history,
    undo_forgotten_turn,
    unsaved_of,
)

logger = logging.getLogger("ace_graph")
_OF_ANOTHER_SERVER = frozenset({"lost", "given_up"})
"""Codes of turns that are no longer this server's: their conversations are not to be touched."""
MAX_ENDED_TURNS = 200
"""Ended turns whose events are kept for clients that come back."""


@dataclass(frozen=True)
class ServingLimits:
    """Turns at once, seconds for one turn, messages kept of a conversation, tokens of a learner's day."""

    turns: int
    seconds: float
    messages: int
    daily_tokens: int = 0

    @property
    def turns_per_learner(self) -> int:
        """A quarter of all turns, so that no learner takes every place."""
        return max(1, self.turns // 4)


class TurnObserver(Protocol):
    """Counts turns for the metrics."""

    def turn_began(self) -> None: ...
    def turn_ended(self, outcome: str, seconds: float, out: ACEOutput | None) -> None: ...


@dataclass(frozen=True)
class TurnResources:
    """What turns work with. `wake_worker` is called with the learner of a turn that has left work.

    With `teams_in_tokens`, a turn without its request's token is of nobody's team.
    """

    graph: ACEGraph
    store: Store
    snapshots: SnapshotCache
    conversations: Conversations
    limits: ServingLimits
    clock: Clock
    observer: TurnObserver
    wake_worker: Callable[[str], None]
    teams_in_tokens: bool = False


class RunningTurns:
    """The turns under way, and the last ones that ended."""

    def __init__(self, resources: TurnResources) -> None:
        self._resources = resources
        self._graph = resources.graph
        self._unkept_graph = resources.graph.copy({"checkpointer": None})
        self._conversations = resources.conversations
        self._limits = resources.limits
        self._clock = resources.clock
        self._daily = DailyTokens(resources.store, resources.limits.daily_tokens, resources.clock.now)
        self._span = span_maker()
        self._live: dict[str, LiveTurn] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ended: OrderedDict[str, LiveTurn] = OrderedDict()
        self.draining = False

    @property
    def run_ids(self) -> frozenset[str]:
        """The runs that this server works on."""
        return frozenset(self._live)

    @property
    def under_way(self) -> int:
        """How many turns this server works on."""
        return len(self._tasks)

    async def begin(
        self, request: ChatRequest, learner_id: str, new_id: str, teams: frozenset[str] | None = None
    ) -> LiveTurn:
        """Store a message and begin its turn. `new_id` names the turn, and the conversation if it is new.

        `teams` are those that the request's token names; None: the store's table is asked.

        Raises RequestRefused: 503 when the server is full or stopping, 429 when the learner has too many
        turns under way, 409 when the conversation has one under way. Raises DailyTokensUsed, and
        InvalidPlaybook and PlaybookNotFound for a playbook that it can't read. Then nothing is stored, and
        never anything of a message of a temporary chat.
        """
        await self.check_daily_tokens(learner_id)
        self._check_capacity(learner_id)
        if request.temporary:
            return self._begin_temporary(request, learner_id, new_id)
        await _check_playbooks(self._resources.store, request, learner_id, teams)
        self._check_capacity(learner_id)
        conversation = request.conversation_id or new_id
        request_json = request.model_dump_json(by_alias=True)
        title = title_of(request.message)
        turn = AcceptedTurn(new_id, conversation, learner_id, request_json, thread_id=new_id, title=title)
        live = self._live[turn.run_id] = LiveTurn(turn.run_id, conversation, learner_id)
        # Playbooks come with the memory, in a read of their own.
        snapshot = None if request.playbooks else self._prefetch(learner_id)
        try:
            turn = await self._conversations.accept(turn)
        except BaseException:
            if snapshot is not None:
                snapshot.cancel()
            del self._live[turn.run_id]
            raise
        self._start(TurnWork(turn, live, request, snapshot, teams))
        return live

    async def check_daily_tokens(self, learner_id: str) -> None:
        """Raise DailyTokensUsed where the learner may cost nothing more today, and what the store raises."""
        await self._daily.check(learner_id)

    def _begin_temporary(self, request: ChatRequest, learner_id: str, new_id: str) -> LiveTurn:
        turn = AcceptedTurn(new_id, "", learner_id, request_json="", thread_id=new_id, known="nothing")
        live = self._live[new_id] = LiveTurn(new_id, None, learner_id)
        self._start(TurnWork(turn, live, request))
        return live

    def resume(self, turn: AcceptedTurn) -> None:
        """Continue a turn that another server left."""
        logger.info("[ACE Server] continuing a turn that another server left: run=%s", turn.run_id)
        # Above every number of the other server, so that its listeners get all events anew.
        first_number = int(self._clock.now().timestamp() * 1000)
        live = LiveTurn(turn.run_id, turn.conversation_id, turn.learner_id, first_number)
        self._live[turn.run_id] = live
        teams = frozenset[str]() if self._resources.teams_in_tokens else None
        self._start(TurnWork(turn, live, teams=teams))

    def find(self, run_id: str, learner_id: str) -> LiveTurn | None:
        """Return a turn of this learner that is under way here or has just ended."""
        found = self._live.get(run_id) or self._ended.get(run_id)
        return found if found is not None and found.learner_id == learner_id else None

    async def given_up(self, run_id: str, learner_id: str) -> LiveTurn | None:
        """Return a turn of this learner that any server gave up; its one event says why."""
        for ended in await self._conversations.given_up(learner_id):
            if ended.run_id == run_id:
                live = LiveTurn(run_id, ended.conversation_id, learner_id)
                live.fail(_given_up(ended))
                return live
        return None

    async def stop_learner(self, learner_id: str) -> None:
        """Cancel a learner's turns and drop their events."""
        mine = {run_id for run_id, live in self._live.items() if live.learner_id == learner_id}
        tasks = [task for run_id, task in self._tasks.items() if run_id in mine]
        for task in tasks:
            task.cancel("forgotten")
        if tasks:
            await asyncio.wait(tasks)
        for run_id in [key for key, live in self._ended.items() if live.learner_id == learner_id]:
            del self._ended[run_id]

    def drop_events(self, learner_id: str, conversation_id: str) -> None:
        """Drop the events of the turns that ended in a conversation, which hold its text."""
        asked = (learner_id, conversation_id)
        ended = {key: (live.learner_id, live.conversation_id) for key, live in self._ended.items()}
        for run_id in [key for key, of in ended.items() if of == asked]:
            del self._ended[run_id]

    async def drain(self, seconds: float) -> None:
        """Take no new turns, wait so long for those under way, and leave the rest to the next server."""
        self.draining = True
        tasks = set(self._tasks.values())
        if tasks and seconds > 0:
            await asyncio.wait(tasks, timeout=seconds)
        rest = [task for task in tasks if not task.done()]
        for task in rest:
            task.cancel("stopping")
        if rest:
            logger.info("[ACE Server] %d turns are left to the next server", len(rest))
            await asyncio.wait(rest)

    def _check_capacity(self, learner_id: str) -> None:
        if self.draining:
            raise _stopping()
        if len(self._live) >= self._limits.turns:
            raise RequestRefused(503, "overloaded", "the server is busy: try again later", retry_after=2)
        mine = Counter(live.learner_id for live in self._live.values())[learner_id]
        if mine >= self._limits.turns_per_learner:
            raise RequestRefused(429, "too_many", "too many of your turns are under way", retry_after=2)

    def _start(self, work: TurnWork) -> None:
        run_id = work.turn.run_id
        task = asyncio.create_task(self._run_and_count(work), name=f"turn-{run_id}")
        self._tasks[run_id] = task
        task.add_done_callback(lambda _: self._keep_ended(run_id))
        self._resources.observer.turn_began()

    def _keep_ended(self, run_id: str) -> None:
        self._tasks.pop(run_id, None)
        live = self._live.pop(run_id, None)
        if live is not None:
            self._ended[run_id] = live
        while len(self._ended) > MAX_ENDED_TURNS:
            self._ended.popitem(last=False)

    async def _run_and_count(self, work: TurnWork) -> None:
        live, began = work.live, self._clock.monotonic()
        output: ACEOutput | None = None
        try:
            output = await self._run_and_end(work)
        finally:
            if not live.ended:  # cancelled while it was being closed
                live.fail(_stopping() if work.temporary else _left_to_next_server())
            if output is not None:
                self._daily.spent(live.learner_id, live.run_id, total_usage(output.get("usage", {})).tokens)
            code = live.error.code if live.error else "done"
            self._resources.observer.turn_ended(code, self._clock.monotonic() - began, output)

    async def _run_and_end(self, work: TurnWork) -> ACEOutput | None:
        """Run the turn and end it; return the graph's output, None if there was none."""
        turn, live = work.turn, work.live
        output: ACEOutput | None = None
        try:
            with self._span("ace_graph.turn", turn_attributes(turn.run_id, live.conversation_id)):
                output = await self._run_within_limits(work)
            reply = reply_of(output, live.conversation_id)
            if not work.temporary:
                await self._close(turn, output)
            live.complete(reply)
            if reply.metadata.scratch.pending:
                self._resources.wake_worker(turn.learner_id)
        except asyncio.CancelledError as stop:
            await self._end_cancelled(work, stop.args)
        except Exception as error:
            await self._end_failed(work, error)
        return output

    async def _run_within_limits(self, work: TurnWork) -> ACEOutput:
        """Run the turn while its lease holds and its time has not run out."""
        graph = self._unkept_graph if work.temporary else self._graph
        run = asyncio.create_task(run_turn(graph, work))
        alarms = {asyncio.create_task(self._raise_at_timeout())}
        if not work.temporary:
            alarms.add(asyncio.create_task(self._raise_at_lost_lease(work.turn)))
        try:
            done, _ = await asyncio.wait({run, *alarms}, return_when=asyncio.FIRST_COMPLETED)
            return await (run if run in done else done.pop())
        finally:
            for task in (run, *alarms):
                task.cancel()
            await asyncio.gather(run, *alarms, return_exceptions=True)

    async def _raise_at_timeout(self) -> ACEOutput:
        await self._clock.sleep(self._limits.seconds)
        raise RequestRefused(504, "timeout", "the answer took too long: try again, or ask something shorter")

    async def _raise_at_lost_lease(self, turn: AcceptedTurn) -> ACEOutput:
        while True:
            await self._clock.sleep(LEASE_SECONDS / 3)
            try:
                held = await self._conversations.renew(turn)
            except StoreError as error:
                logger.warning("[ACE Server] a lease could not be renewed: %s", error)
                continue
            if not held:
                ended = await self.given_up(turn.run_id, turn.learner_id)
                raise (ended and ended.error) or _lost()

    async def _close(self, turn: AcceptedTurn, output: ACEOutput) -> None:
        """Trim the conversation and end the turn's lease. The answer stands even if this fails.

        Raises RequestRefused when the learner was forgotten while the turn was being stored.
        """
        try:
            await trim_history(self._graph, turn, output, self._limits.messages)
            ours = await self._conversations.finish(turn, unsaved_of(turn, output), answered=True)
            learned = output.get("learning")
            forgotten = not ours and learned and await self._undo_if_forgotten(turn, learned["turn_id"])
        except Exception as error:
            # The lease expires, and the server that claims the turn finds that it has ended.
            logger.warning("[ACE Server] a turn could not be closed: %s", type(error).__name__)
            return
        if forgotten:
            raise _forgotten()

    async def _undo_if_forgotten(self, turn: AcceptedTurn, turn_id: str) -> bool:
        return await undo_forgotten_turn(self._resources.store, self._conversations, turn, turn_id)

    async def _end_failed(self, work: TurnWork, error: Exception) -> None:
        turn, shown = work.turn, http_error_for(error)
        if shown.status >= 500:
            logger.warning("[ACE Server] a turn failed: %s: %s", shown.code, error_location(error))
        if not work.temporary:
            if shown.code not in _OF_ANOTHER_SERVER:
                await self._log_failure(remove_question(self._graph, turn))
            await self._log_failure(self._conversations.abandon(turn))
        work.live.fail(shown)

    async def _log_failure(self, step: Awaitable[object]) -> None:
        """Await one step of ending a failed turn; its failure is logged and stops no other step."""
        try:
            await step
        except Exception as error:
            logger.warning("[ACE Server] a failed turn could not be closed: %s", type(error).__name__)

    def _prefetch(self, learner_id: str) -> asyncio.Future[Snapshot]:
        """Begin to load the memory while the turn is being stored: the learner waits for the slower of both.

        The router awaits what is loaded here (`ServedContext.loading`), so the memory is read once.
        """
        known = self._resources.snapshots.get(learner_id)
        loading = asyncio.ensure_future(self._resources.store.load(learner_id, known=known))
        loading.add_done_callback(_retrieve_exception)
        return loading

    async def _end_cancelled(self, work: TurnWork, reason: tuple[object, ...]) -> None:
        """Leave a cancelled turn to the next server, unless its learner was forgotten or it is temporary."""
        forgotten, turn, live = reason == ("forgotten",), work.turn, work.live
        if work.temporary:
            live.fail(_forgotten() if forgotten else _stopping())
            return
        try:
            await (self._conversations.finish(turn) if forgotten else self._conversations.release(turn))
        except Exception as error:
            logger.warning("[ACE Server] a stopped turn keeps its lease: %s", type(error).__name__)
        live.fail(_forgotten() if forgotten else _left_to_next_server())


async def _check_playbooks(
    store: Store, request: ChatRequest, learner_id: str, teams: frozenset[str] | None
) -> None:
    """Raise what the load of the turn would for a playbook, which checks again, in its own transaction."""
    refs = wanted_refs(request.playbooks, learner_id)
    user = learner_id if teams is None else Caller(learner_id, teams)
    for ref in refs:
        await open_playbook(store, ref.name, ref.owner, user)


def _retrieve_exception(loading: asyncio.Future[Snapshot]) -> None:
    """Keep asyncio from logging the error of a turn that ended before its router asked for the memory."""
    if not loading.cancelled():
        loading.exception()


def _lost() -> RequestRefused:
    return RequestRefused(409, "lost", "the conversation was deleted, or another server has it")


def _given_up(ended: GivenUpTurn) -> RequestRefused:
    return RequestRefused(409, "given_up", f"{ended.reason}: ask in other words, or ask something shorter")


def _forgotten() -> RequestRefused:
    return RequestRefused(409, "forgotten", "the learner was forgotten meanwhile: start again")


def _stopping() -> RequestRefused:
    return RequestRefused(503, "stopping", "the server is stopping: try again", retry_after=1)


def _left_to_next_server() -> RequestRefused:
    # Without Retry-After and with a code of its own: the message was accepted, and sending it again would
    # ask it twice.
    return RequestRefused(
        503, "later", "the server is stopping and the next one answers: do not send it again"
    )


# Recovery, every two seconds: continue the turns of dead servers, and store what could not be stored.
#
# A turn whose server died is claimed and continued here. One that two servers did not survive is given up.
# What a turn learned while the memory could not be written is committed again. What survives a kill, turns
# with their leases, is stored by conversations/repository.py; manager.py renews the leases; run_turn.py
# resumes from the checkpoint.


INTERVAL_SECONDS = 2.0


@asynccontextmanager
async def recovery_loop(
    turns: RunningTurns, conversations: Conversations, store: Store, clock: Clock
) -> AsyncGenerator[None]:
    """Recover at once and then every two seconds, until the block ends."""
    task = asyncio.create_task(_recover_forever(turns, conversations, store, clock), name="ace-recovery")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _recover_forever(
    turns: RunningTurns, conversations: Conversations, store: Store, clock: Clock
) -> None:
    while True:
        try:
            if not turns.draining:
                await _resume_orphans(turns, conversations)
                await _retry_unsaved(conversations, store)
        except AceError as error:
            logger.warning("[ACE Server] recovery failed and is tried again: %s", error)
        except Exception as error:
            # The loop must not end. Only the class is logged, because the message may hold content.
            logger.error("[ACE Server] unexpected error in recovery: %s", error_location(error))  # noqa: TRY400
        await clock.sleep(INTERVAL_SECONDS)


async def _resume_orphans(turns: RunningTurns, conversations: Conversations) -> None:
    # Read once: a turn that is released here in the meantime is for another server.
    busy = turns.run_ids
    for ended in await conversations.give_up(busy):
        logger.error("[ACE Server] a turn is given up: run=%s: %s", ended.run_id, ended.reason)
    for turn in await conversations.claim_orphans(busy):
        turns.resume(turn)


async def _retry_unsaved(conversations: Conversations, store: Store) -> None:
    for kept in await conversations.unsaved():
        try:
            await commit_unsaved(store, kept.text)
            logger.info("[ACE Server] what could not be stored is stored now: turn=%s", kept.turn_id)
        except (LearnerForgotten, CommitTooOld, UsageError) as error:
            logger.info("[ACE Server] what could not be stored is dropped: %s", type(error).__name__)
        except StoreError:
            return  # the memory is still away: all of them wait
        await conversations.saved(kept.turn_id)
