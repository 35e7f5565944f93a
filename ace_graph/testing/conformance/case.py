"""A case of the suite, the database that it runs on, and the lookup of the cases."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, runtime_checkable

from ace_graph.base.errors import UsageError
from ace_graph.memory.policy import Policy
from ace_graph.memory.stores.store import KeyedStore, Store

VERBS = (
    "load",
    "commit",
    "conflict",
    "concurrency",
    "idempotency",
    "history",
    "folding",
    "rollback",
    "turns",
    "forget",
    "export",
    "isolation",
    "damage",
    "traffic",
    "lifecycle",
    "pending",
    "amend",
    "trajectories",
    "references",
    "cleaning",
    "playbooks",
    "sharing",
    "proposals",
    "copying",
    "vectors",
)
OPTIONAL_VERBS = (
    "damage",
    "traffic",
    "pending",
    "amend",
    "trajectories",
    "references",
    "cleaning",
    "playbooks",
    "sharing",
    "proposals",
    "copying",
    "vectors",
)
CORE_VERBS = tuple(verb for verb in VERBS if verb not in OPTIONAL_VERBS)
"""The verbs that every store must pass; the others need optional parts."""


class StoreUnderTest(Protocol):
    """One database, on which the cases open stores."""

    def open(self, policy: Policy | None = None) -> KeyedStore:
        """Return one more store on the same database, as another process would open it.

        It shares nothing in memory with those opened before. The case closes it.
        """
        ...


@runtime_checkable
class DamageableSubject(StoreUnderTest, Protocol):
    """A subject with direct access to the stored content, which the verb damage needs."""

    async def read_content(self, learner_id: str) -> str | None:
        """Return the base of the learner's content exactly as it is stored, None for an absent learner."""
        ...

    async def write_content(self, learner_id: str, text: str) -> None:
        """Store `text` as the base of an existing learner's present content, with its checksum."""
        ...


@dataclass
class Traffic:
    """Statements that stores ran (round trips, where there is a server), bytes that they read and wrote."""

    statements: int = 0
    read: int = 0
    written: int = 0


@runtime_checkable
class MeteredSubject(StoreUnderTest, Protocol):
    """A subject that counts what its stores read and write, which the verb traffic needs."""

    async def measured(self, job: Callable[[], Awaitable[None]]) -> Traffic:
        """Run the job, and return the traffic of all stores of this subject meanwhile."""
        ...


@dataclass(frozen=True)
class Case:
    """A requirement on stores. Awaiting a call of it raises AssertionError where the store breaks it."""

    verb: str
    check: Callable[[StoreUnderTest], Awaitable[None]]

    @property
    def sentence(self) -> str:
        """The requirement, in a sentence."""
        return inspect.getdoc(self.check) or ""

    def __str__(self) -> str:
        return f"{self.verb}-{self.check.__name__}"

    async def __call__(self, subject: StoreUnderTest) -> None:
        if not __debug__:
            raise UsageError("python -O drops the checks of the conformance suite: run it without -O")
        try:
            await self.check(subject)
        except Exception as error:
            error.add_note(f"the store breaks {self}: {self.sentence}")
            raise


def cases(*verbs: str) -> tuple[Case, ...]:
    """Return the cases of these verbs, of all of them where none is named.

    Raises ValueError for an unknown verb.
    """
    unknown = [verb for verb in verbs if verb not in VERBS]
    if unknown:
        raise ValueError(f"no such verb: {', '.join(unknown)}; there are {', '.join(VERBS)}")
    return tuple(case for verb in verbs or VERBS for case in _of(verb))


@asynccontextmanager
async def opened(subject: StoreUnderTest, policy: Policy | None = None) -> AsyncGenerator[Store]:
    """Open a store of learners."""
    async with subject.open(policy) as store:
        assert isinstance(store, Store), "it is no namespace of learners"
        yield store


def _of(verb: str) -> list[Case]:
    module = import_module(f"{__package__}.{verb}")
    return [
        Case(verb, check)
        for name, check in vars(module).items()
        if inspect.iscoroutinefunction(check)
        and check.__module__ == module.__name__
        and not name.startswith("_")
    ]
