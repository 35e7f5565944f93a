"""What the tools of the MCP server work with: the store, who calls, and what learning needs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from mcp.server.mcpserver import Context
from starlette.requests import Request

from ace_graph.agent.models import choose_model, close_model, make_model
from ace_graph.agent.resources import Resources, find_meaning
from ace_graph.agent.retriever import BulletFinder
from ace_graph.base.clock import utc_now
from ace_graph.base.errors import ChangeRefused, ModelNotConfigured
from ace_graph.base.settings import Settings
from ace_graph.learning.statements.statement import SensitiveFacts
from ace_graph.learning.worker import learning_resources
from ace_graph.memory.catalogue import DEFAULT
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.effect import Rejection
from ace_graph.memory.delta.operations import Operation
from ace_graph.memory.stores.store import Store
from ace_graph.playbooks import Change
from ace_graph.playbooks.handle import PlaybookHandle, open_playbook
from ace_graph.playbooks.memories import OF_OTHERS, checked_scope, destination
from ace_graph.server.auth import Act, Identity
from ace_graph.stores import check_store, open_store

AUTHOR = "mcp"
WhoCalls = Callable[["Call"], Awaitable[Identity]]
"""Returns whose memory a call is about, and who sends it."""


def one_learner(learner: str) -> WhoCalls:
    """Return what says that every call is this learner's: the client runs the server for one person."""

    async def who(_: Call) -> Identity:
        return Identity(learner)

    return who


@dataclass(frozen=True)
class MemoryAccess:
    """The store and who calls. With `learning` a transcript is learned from at once, else by a worker."""

    store: Store
    who_calls: WhoCalls
    finder: BulletFinder
    learning: Resources | None = None
    sensitive_facts: SensitiveFacts = "ask"
    shared_key: str | None = None
    """What all servers of one address know: a question that one of them asked may be answered to another."""
    clock: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = lambda: uuid4().hex

    async def sender(self, call: Call, act: Act = "read") -> Identity:
        """Return who calls. Raises RequestRefused without a valid token, and for what they may not do."""
        found = await self.who_calls(call)
        found.check(act)
        return found

    async def learner(self, call: Call) -> str:
        """Return the learner whose call it is. Raises RequestRefused without a valid token."""
        return (await self.sender(call)).learner

    async def playbook(self, call: Call, name: str) -> PlaybookHandle:
        """Return where a playbook is that the caller may read.

        Raises PlaybookNotFound, PlaybookForbidden, InvalidPlaybook.
        """
        sender = await self.sender(call)
        target = await open_playbook(self.store, name, sender.learner, sender.user)
        if not sender.may("share"):
            target.check_owner()
        return target

    async def place(self, call: Call, name: str, scope: str | None, agent: str | None) -> PlaybookHandle:
        """Return where a new memory of a scope goes: to the playbook of this name, else the only one there.

        Raises UsageError where there is none, or several, and what `playbook` raises.
        """
        wanted = checked_scope(scope, agent)
        if name != DEFAULT or wanted not in OF_OTHERS:
            return await self.playbook(call, name)
        return await destination(self.store, (await self.sender(call, "share")).user, wanted)

    async def change(self, call: Call, target: PlaybookHandle, operation: Operation, reason: str) -> Commit:
        """Commit one operation onto a playbook. Raises ChangeRefused, PlaybookForbidden."""
        sender = await self.sender(call, "change")
        base = await target.load()
        author = AUTHOR if sender.operator is None else sender.author
        change = Change(author=author, reason=reason, now=self.clock())
        return await target.change(base, [operation], change, refused)


Call = Context[MemoryAccess, Request]
"""A request, as tools, resources and prompts get it."""


def refused(rejection: Rejection) -> ChangeRefused:
    """Return the error for an operation that can't be applied, with what to do."""
    unknown = rejection.why in {"unknown id", "not in the playbook"}
    hint = ": recall, playbook_show and playbook_search give the ids" if unknown else ""
    return ChangeRefused(f"{rejection.id}: {rejection.why}{hint}")


@asynccontextmanager
async def open_memory(settings: Settings, who: WhoCalls, url: str | None) -> AsyncGenerator[MemoryAccess]:
    """Yield the memory at `url`, or that of the settings. Raises ConfigurationError, StoreError."""
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(url, settings=settings))
        await check_store(store)
        yield MemoryAccess(
            store=store,
            who_calls=who,
            finder=BulletFinder(store, find_meaning(settings, None)),
            learning=_learning(settings, store, stack),
            sensitive_facts=settings.sensitive_facts,
            shared_key=None if settings.jwt_secret is None else settings.jwt_secret.get_secret_value(),
        )


def _learning(settings: Settings, store: Store, stack: AsyncExitStack) -> Resources | None:
    """Return what learns at once; None without a model, and where a worker is to learn."""
    if settings.learning == "background":
        return None
    try:
        choose_model(settings)
    except ModelNotConfigured:
        return None
    model = make_model(settings)
    stack.push_async_callback(close_model, model)
    resources, _ = learning_resources(model=model, store=store, settings=settings)
    return resources
