"""The agent that `chat`, `run` and `demo` use, and one conversation with it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from uuid import uuid4

from langchain_core.messages import AnyMessage, HumanMessage

from ace_graph.cli.store_access import commit
from ace_graph.context import ACEContext
from ace_graph.daily_tokens import DailyTokens
from ace_graph.errors import ChangeRefused
from ace_graph.graph import ACEGraph, build_ace_graph  # pyright: ignore[reportUnknownVariableType]  # LangGraph's checkpointer type is open
from ace_graph.learning.curator import judge_bullets
from ace_graph.memory.clock import utc_now
from ace_graph.memory.commit import Commit
from ace_graph.memory.evidence import Evidence
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.cache import SnapshotCache
from ace_graph.models import ModelChoice, choose_model, close_model, make_model
from ace_graph.models.usage import total_usage
from ace_graph.settings import Settings
from ace_graph.state import ACEInput, ACEOutput

__all__ = ["Agent", "ChatSession", "open_agent"]


@dataclass(frozen=True)
class Agent:
    """A graph, its store, which model it uses, and what the learner's temporary chats cost today."""

    graph: ACEGraph
    store: Store
    choice: ModelChoice
    daily_tokens: DailyTokens


@asynccontextmanager
async def open_agent(
    settings: Settings, store: Store, base: Path | None = None, snapshots: SnapshotCache | None = None
) -> AsyncGenerator[Agent]:
    """Yield the agent of these settings on `store`; close its model and the store at the end.

    `base` is the file of a playbook that every learner is given, `snapshots` the graph's cache.
    Raises ConfigurationError, ModelNotConfigured.
    """
    async with store:
        model = make_model(settings)
        try:
            graph = build_ace_graph(
                model=model, store=store, settings=settings, base_playbook=base, snapshots=snapshots
            )
            tokens = DailyTokens(store, settings.daily_tokens, utc_now)
            yield Agent(graph, store, choose_model(settings), tokens)
        finally:
            await close_model(model)


class ChatSession:
    """Keeps the messages in this process; a question that failed or was stopped is not among them."""

    def __init__(self, agent: Agent, context: ACEContext, mode: str | None = None) -> None:
        self.agent = agent
        self.context = context
        self._mode = mode
        self._messages: list[AnyMessage] = []
        self._last: ACEOutput | None = None

    @property
    def learner(self) -> str:
        """Whose memory is used."""
        return self.context.learner_id or ""

    @property
    def temporary(self) -> bool:
        """Whether the conversation reads and stores nothing of the learner."""
        return self.context.memory == "off"

    @property
    def last_answer(self) -> str:
        """The text of the last answer; '' before the first."""
        return self._last["messages"][-1].text if self._last else ""

    async def ask(
        self, question: str, show: Callable[[str], None], ground_truth: str | None = None
    ) -> ACEOutput:
        """Ask, pass the answer's text to `show` while it is written, and return the turn's output.

        Raises AceError when there is no answer.
        """
        if self.temporary:  # the graph knows no learner then
            await self.agent.daily_tokens.check(self.learner)
        turn_input: ACEInput = {"messages": [*self._messages, HumanMessage(question)]}
        if self._mode is not None:
            turn_input["mode"] = self._mode
        context = self.context.model_copy(update={"ground_truth": ground_truth})
        out: object = None
        shown = False
        async with aclosing(self._stream(turn_input, context)) as events:
            async for kind, event in events:
                if kind == "messages":
                    message, _ = cast("tuple[AnyMessage, object]", event)
                    show(message.text)
                    shown = shown or bool(message.text)
                else:
                    out = event
        done = cast("ACEOutput", out)
        if self.temporary:
            self.agent.daily_tokens.spent(
                self.learner, uuid4().hex, total_usage(done.get("usage", {})).tokens
            )
        if not shown:
            show(done["messages"][-1].text)
        self._messages, self._last = list(done["messages"]), done
        return done

    def _stream(self, turn_input: ACEInput, context: ACEContext) -> AsyncGenerator[tuple[str, object]]:
        # LangGraph leaves type arguments of its own classes open in this signature.
        stream = self.agent.graph.astream(  # pyright: ignore[reportUnknownMemberType]
            turn_input, context=context, stream_mode=["messages", "values"]
        )
        return cast("AsyncGenerator[tuple[str, object]]", stream)  # LangGraph says iterator of anything

    async def snapshot(self) -> Snapshot:
        """Return what is remembered of the learner now."""
        return await self.agent.store.load(self.learner)

    async def feedback(self, *, good: bool, text: str) -> Commit:
        """Commit the learner's judgement of the last answer: a vote on the bullets that it cites.

        A later judgement of the same answer replaces this one. Raises ChangeRefused when there is
        no answer yet, and in a temporary chat.
        """
        if self.temporary:
            raise ChangeRefused("a temporary chat keeps nothing, not even a vote: chat without --temporary")
        result = self._last.get("result") if self._last else None
        learning = self._last.get("learning") if self._last else None
        if result is None or learning is None:
            raise ChangeRefused("there is no answer to judge yet: ask something first")
        evidence = Evidence(source="learner", verdict="success" if good else "failure")
        votes = judge_bullets(
            learning["turn_id"], [evidence], injected=result["injected"], cited=result["bullet_ids"]
        )
        reason = f"feedback {text}".strip()
        return await commit(self.agent.store, self.learner, await self.snapshot(), votes, reason)
