"""Opens what the server works with, in order, and closes it in the opposite order.

Does not: serve requests.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from platformdirs import user_data_path

from ace_graph.errors import ConfigurationError
from ace_graph.graph import build_ace_graph  # pyright: ignore[reportUnknownVariableType]  # LangGraph's checkpointer type is open
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.stores.base import Store
from ace_graph.models import close_model, make_model
from ace_graph.server.caretaker import caretaker
from ace_graph.server.clock import Clock
from ace_graph.server.conversations import Conversations
from ace_graph.server.database import Database
from ace_graph.server.database_sqlite import open_sqlite
from ace_graph.server.learning import learner_at_work, learning_of
from ace_graph.server.metrics import Metrics
from ace_graph.server.owner import new_owner
from ace_graph.server.parts import Parts
from ace_graph.server.turns import TurnLimits, Turns
from ace_graph.settings import Settings
from ace_graph.store_url import open_store

__all__ = ["Brought", "conversations_place", "opened"]

_POSTGRES = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class Brought:
    """What the embedding program brings itself; the settings say the rest."""

    model: BaseChatModel | None = None
    store: Store | None = None
    tools: Sequence[BaseTool | Callable[..., object]] = field(default_factory=tuple)
    system_prompt: str | None = None
    base_playbook: Playbook | Path | None = None


@asynccontextmanager
async def opened(
    settings: Settings, brought: Brought, metrics: Metrics, clock: Clock
) -> AsyncGenerator[Parts]:
    """Yield the server's parts. Raises ConfigurationError, StoreUnavailable."""
    async with AsyncExitStack() as stack:
        store = brought.store
        if store is None:
            store = await stack.enter_async_context(open_store(settings=settings))
        model = brought.model or make_model(settings)
        if brought.model is None:
            stack.push_async_callback(close_model, model)
        conversations = await _conversations(settings, clock, stack)
        graph = build_ace_graph(
            settings=settings,
            model=model,
            store=store,
            tools=brought.tools,
            system_prompt=brought.system_prompt,
            base_playbook=brought.base_playbook,
            checkpointer=conversations.database.saver,
            learning=learning_of(settings, store),
        )
        wake = await stack.enter_async_context(learner_at_work(settings, model, store, clock))
        limits = TurnLimits(settings.server_turns, settings.server_timeout)
        turns = Turns(graph, conversations, limits, clock, metrics, wake)
        stack.push_async_callback(turns.drain, 0)
        await stack.enter_async_context(caretaker(turns, conversations, store, clock))
        yield Parts(settings, graph, store, conversations, turns, metrics, clock)


async def _conversations(settings: Settings, clock: Clock, stack: AsyncExitStack) -> Conversations:
    database = await _database(settings)
    stack.push_async_callback(database.close)
    conversations = Conversations(database, clock, new_owner())
    await conversations.set_up()
    return conversations


async def _database(settings: Settings) -> Database:
    place = conversations_place(settings)
    if isinstance(place, str):
        try:
            from ace_graph.server.database_postgres import open_postgres
        except ImportError as error:
            raise ConfigurationError(
                "ACE_CONVERSATIONS names a PostgreSQL: pip install 'ace-graph[postgres]'"
            ) from error
        return await open_postgres(place)
    return await open_sqlite(place)


def conversations_place(settings: Settings) -> Path | str | None:
    """Return where conversations are kept: a file, the URL of a PostgreSQL, or None for memory.

    What ACE_CONVERSATIONS says; else beside the memory's SQLite file, or in the user's data folder where the
    memory is in Neo4j. Raises ConfigurationError for a URL of another kind.
    """
    said = settings.conversations
    if said is not None:
        if said.startswith(_POSTGRES):
            return said
        path = said.removeprefix("sqlite:///")
        if "://" in path:
            raise ConfigurationError("ACE_CONVERSATIONS: use the path of a file, or postgresql://...")
        return Path(path).expanduser().absolute()
    scheme, _, rest = settings.store_url.partition("://")
    if scheme == "memory":
        return None
    if scheme != "sqlite":
        return user_data_path("ace-graph", appauthor=False) / "conversations.db"
    memory = Path(rest.removeprefix("/")).expanduser().absolute()
    return memory.with_name(f"{memory.stem}-conversations.db")
