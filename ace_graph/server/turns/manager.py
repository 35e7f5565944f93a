"""All turns of one server: when one may begin, how long it may take, and what becomes of it at the end.

A turn is a task of its own, apart from the request that asked for it. The text of an answer is told while it
comes; that it is done is told when what was learned from it is stored.

Does not: know HTTP, or what a turn does (`driving` does).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from ace_graph.errors import RequestRefused, StoreError
from ace_graph.graph import ACEGraph
from ace_graph.memory.snapshot import Snapshot
from ace_graph.server.clock import Clock
from ace_graph.server.conversations.repository import LEASE_SECONDS, AcceptedTurn, Conversations, GivenUpTurn
from ace_graph.server.errors import error_location, http_error_for
from ace_graph.server.schemas import ChatRequest, reply_of
from ace_graph.server.turns.event_log import LiveTurn
from ace_graph.server.turns.prefetch import Prefetch
from ace_graph.server.turns.run_turn import remove_question, run_turn, trim_history, unsaved_of
from ace_graph.state import ACEOutput
from ace_graph.telemetry import span_maker

__all__ = ["TurnLimits", "TurnObserver", "Turns"]

logger = logging.getLogger("ace_graph")

_NOT_OURS = frozenset({"lost", "given_up"})
KEPT = 200
"""Ended turns whose events are kept, for clients that come back."""


@dataclass(frozen=True)
class TurnLimits:
    """Turns at once, of all learners and of one; seconds that one may take; messages of a conversation."""

    turns: int
    seconds: float
    messages: int

    @property
    def turns_of_one(self) -> int:
        """No learner may take more than a quarter of the places."""
        return max(1, self.turns // 4)


class TurnObserver(Protocol):
    """Is told of turns, for the metrics."""

    def began(self) -> None: ...
    def ended(self, outcome: str, seconds: float, out: ACEOutput | None) -> None: ...


class Turns:
    """The turns under way, and the last ones that ended."""

    def __init__(
        self,
        graph: ACEGraph,
        conversations: Conversations,
        limits: TurnLimits,
        clock: Clock,
        observer: TurnObserver,
        left_to_learn: Callable[[], None],
        prefetcher: Prefetch,
        take_back: Callable[[AcceptedTurn, str], Awaitable[bool]],
    ) -> None:
        self._graph = graph
        self._conversations = conversations
        self._limits = limits
        self._clock = clock
        self._observer = observer
        self._left_to_learn = left_to_learn
        self._prefetch = prefetcher
        self._take_back = take_back
        self._span = span_maker()
        self._live: dict[str, LiveTurn] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ended: OrderedDict[str, LiveTurn] = OrderedDict()
        self.draining = False

    @property
    def names(self) -> frozenset[str]:
        """The runs that are worked on here."""
        return frozenset(self._live)

    @property
    def under_way(self) -> int:
        """How many turns are worked on."""
        return len(self._tasks)

    async def begin(self, request: ChatRequest, learner_id: str, new_id: str) -> LiveTurn:
        """Accept a message and begin to work on it. `new_id` names the turn, and a conversation that begins.

        Raises RequestRefused: 503 when the server is full or stopping, 429 when the learner has too many
        turns under way, 409 by the conversation.
        """
        self._check_room(learner_id)
        conversation = request.conversation_id or new_id
        asked = request.model_dump_json(by_alias=True)
        turn = AcceptedTurn(new_id, conversation, learner_id, asked, thread_id=new_id)
        live = self._live[turn.run_id] = LiveTurn(turn.run_id, conversation, learner_id)
        memory = self._prefetch(learner_id)
        try:
            turn = await self._conversations.accept(turn)
        except BaseException:
            memory.cancel()
            del self._live[turn.run_id]
            raise
        self._start(turn, live, memory)
        return live

    def resume(self, turn: AcceptedTurn) -> None:
        """Take up a turn that another server left."""
        logger.info("[ACE Server] taking up a turn that another server left: run=%s", turn.run_id)
        # Above every number that the other one told: its listeners are told all of it anew.
        first = int(self._clock.now().timestamp() * 1000)
        live = LiveTurn(turn.run_id, turn.conversation_id, turn.learner_id, first)
        self._live[turn.run_id] = live
        self._start(turn, live)

    def find(self, run_id: str, learner_id: str) -> LiveTurn | None:
        """Return a turn of this learner that is under way here or has just ended."""
        found = self._live.get(run_id) or self._ended.get(run_id)
        return found if found is not None and found.learner_id == learner_id else None

    async def given_up(self, run_id: str, learner_id: str) -> LiveTurn | None:
        """Return a turn of this learner that was given up, on whichever server: all it tells is why."""
        for ended in await self._conversations.given_up(learner_id):
            if ended.run_id == run_id:
                live = LiveTurn(run_id, ended.conversation_id, learner_id)
                live.fail(_given_up(ended))
                return live
        return None

    async def stop_learner(self, learner_id: str) -> None:
        """End a learner's turns and forget what they told."""
        mine = {name for name, live in self._live.items() if live.learner_id == learner_id}
        tasks = [task for name, task in self._tasks.items() if name in mine]
        for task in tasks:
            task.cancel("forgotten")
        if tasks:
            await asyncio.wait(tasks)
        for name in [name for name, live in self._ended.items() if live.learner_id == learner_id]:
            del self._ended[name]

    async def drain(self, seconds: float) -> None:
        """Let the turns under way end for so long, then leave the rest to the next server."""
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

    def _check_room(self, learner_id: str) -> None:
        if self.draining:
            raise RequestRefused(503, "stopping", "the server is stopping: ask again", retry_after=1)
        if len(self._live) >= self._limits.turns:
            raise RequestRefused(503, "overloaded", "the server is busy: ask again later", retry_after=2)
        mine = Counter(live.learner_id for live in self._live.values())[learner_id]
        if mine >= self._limits.turns_of_one:
            raise RequestRefused(429, "too_many", "too many of your turns are under way", retry_after=2)

    def _start(
        self, turn: AcceptedTurn, live: LiveTurn, memory: asyncio.Future[Snapshot] | None = None
    ) -> None:
        task = asyncio.create_task(self._work(turn, live, memory), name=f"turn-{turn.run_id}")
        self._tasks[turn.run_id] = task
        task.add_done_callback(lambda _: self._forget(turn.run_id))
        self._observer.began()

    def _forget(self, run_id: str) -> None:
        self._tasks.pop(run_id, None)
        live = self._live.pop(run_id, None)
        if live is not None:
            self._ended[run_id] = live
        while len(self._ended) > KEPT:
            self._ended.popitem(last=False)

    async def _work(
        self, turn: AcceptedTurn, live: LiveTurn, memory: asyncio.Future[Snapshot] | None
    ) -> None:
        began = self._clock.monotonic()
        out: ACEOutput | None = None
        try:
            out = await self._carried_out(turn, live, memory)
        finally:
            if not live.ended:  # cancelled while it was being closed
                live.fail(_left())
            code = live.refusal.code if live.refusal else "done"
            self._observer.ended(code, self._clock.monotonic() - began, out)

    async def _carried_out(
        self, turn: AcceptedTurn, live: LiveTurn, memory: asyncio.Future[Snapshot] | None
    ) -> ACEOutput | None:
        """Work on the turn and end it; return what the graph gave, where it came so far."""
        out: ACEOutput | None = None
        try:
            with self._span("ace_graph.turn", {"ace.run_id": turn.run_id}):
                out = await self._bounded(turn, live, memory)
            reply = reply_of(out, turn.conversation_id)
            await self._close(turn, out)
            live.end(reply)
            if reply.metadata.scratch.pending:
                self._left_to_learn()
        except asyncio.CancelledError as stop:
            await self._stopped(turn, live, stop.args)
        except Exception as error:
            await self._failed(turn, live, error)
        return out

    async def _bounded(
        self, turn: AcceptedTurn, live: LiveTurn, memory: asyncio.Future[Snapshot] | None
    ) -> ACEOutput:
        """Run the turn while its lease holds and its time has not run out."""
        run = asyncio.create_task(run_turn(self._graph, turn, live, memory))
        alarms = {
            asyncio.create_task(self._too_late()),
            asyncio.create_task(self._lease_lost(turn)),
        }
        try:
            done, _ = await asyncio.wait({run, *alarms}, return_when=asyncio.FIRST_COMPLETED)
            return await (run if run in done else done.pop())
        finally:
            for task in (run, *alarms):
                task.cancel()
            await asyncio.gather(run, *alarms, return_exceptions=True)

    async def _too_late(self) -> ACEOutput:
        await self._clock.sleep(self._limits.seconds)
        raise RequestRefused(504, "timeout", "the answer took too long: ask again, or ask something shorter")

    async def _lease_lost(self, turn: AcceptedTurn) -> ACEOutput:
        while True:
            await self._clock.sleep(LEASE_SECONDS / 3)
            try:
                held = await self._conversations.renew(turn)
            except StoreError as error:
                logger.warning("[ACE Server] a lease could not be renewed: %s", error)
                continue
            if not held:
                ended = await self.given_up(turn.run_id, turn.learner_id)
                raise (ended and ended.refusal) or _lost()

    async def _close(self, turn: AcceptedTurn, out: ACEOutput) -> None:
        """Put the conversation in order. The answer stands, whatever goes wrong here.

        Raises RequestRefused when the learner was forgotten while the turn was being stored.
        """
        try:
            await trim_history(self._graph, turn, out, self._limits.messages)
            await self._conversations.database.prune(turn.thread_id, turn.run_id)
            ours = await self._conversations.finish(turn, unsaved_of(turn, out))
            learned = out.get("learning")
            forgotten = not ours and learned and await self._take_back(turn, learned["turn_id"])
        except Exception as error:
            # The lease runs out, and whoever takes the turn over finds that it has ended.
            logger.warning("[ACE Server] a turn could not be closed: %s", type(error).__name__)
            return
        if forgotten:
            raise _forgotten()

    async def _failed(self, turn: AcceptedTurn, live: LiveTurn, error: Exception) -> None:
        refusal = http_error_for(error)
        if refusal.status >= 500:
            logger.warning("[ACE Server] a turn failed: %s: %s", refusal.code, error_location(error))
        logger.debug("[ACE Server] why a turn failed", exc_info=error)
        if refusal.code not in _NOT_OURS:
            await self._tried(remove_question(self._graph, turn))
        await self._tried(self._conversations.finish(turn))
        live.fail(refusal)

    async def _tried(self, closing: Awaitable[object]) -> None:
        """Do one part of the closing of a failed turn; one that fails holds up no other."""
        try:
            await closing
        except Exception as error:
            logger.warning("[ACE Server] a failed turn could not be closed: %s", type(error).__name__)

    async def _stopped(self, turn: AcceptedTurn, live: LiveTurn, why: tuple[object, ...]) -> None:
        """A cancelled turn is left to the next server, unless its learner was forgotten."""
        forgotten = why == ("forgotten",)
        try:
            await (self._conversations.finish(turn) if forgotten else self._conversations.release(turn))
        except Exception as error:
            logger.warning("[ACE Server] a stopped turn keeps its lease: %s", type(error).__name__)
        if forgotten:
            live.fail(_forgotten())
        else:
            live.fail(_left())


def _lost() -> RequestRefused:
    return RequestRefused(409, "lost", "the conversation was deleted, or another server has it")


def _given_up(ended: GivenUpTurn) -> RequestRefused:
    return RequestRefused(409, "given_up", f"{ended.reason}: ask in other words, or ask something shorter")


def _forgotten() -> RequestRefused:
    return RequestRefused(409, "forgotten", "the learner was forgotten meanwhile: begin anew")


def _left() -> RequestRefused:
    # No Retry-After, and another word than for what was never accepted: who asks again asks twice.
    return RequestRefused(503, "later", "the server is stopping, the next one answers: do not ask again")
