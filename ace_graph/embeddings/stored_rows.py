"""Rows that a store keeps for a learner: a service makes the vector of a text once, not once a process.

Writing does not hold up a turn, and a store that fails costs a line in the log: what could not be read is
made again, what could not be written is written later.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping
from typing import NamedTuple

from langchain_core.embeddings import Embeddings

from ace_graph.embeddings.static_vectors import StaticVectors
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.vectors import VectorChange, VectorStore, keeps_vectors

__all__ = ["Life", "StoredRows", "model_of", "stored_rows"]

logger = logging.getLogger("ace_graph")

_NAMES = ("model", "model_name", "model_id", "deployment", "deployment_name", "dimensions")
"""Attributes by which the classes of LangChain say what vectors they make; the last names no model."""

_MAX_MODEL_CHARS = 256
_MAX_SIZE = 8_192
"""Longer vectors are not stored."""

_SECONDS = 20.0
"""Without an answer to a read in this time, vectors are made again."""

_LEARNERS = 512
"""Of so many learners a process knows which rows are stored; of others it reads them again."""


class Life(NamedTuple):
    """A learner, from the first commit to the forgetting."""

    learner_id: str
    epoch: str


class StoredRows:
    """The stored rows of one model. Safe to use on any event loop."""

    def __init__(self, store: VectorStore, model: str) -> None:
        self._store = store
        self._model = model
        self._lock = threading.Lock()
        self._stored: OrderedDict[Life, frozenset[str]] = OrderedDict()
        self._writes = set[asyncio.Task[None]]()
        self._failing = False

    async def read(self, life: Life, names: Collection[str], size: int | None) -> Mapping[str, bytes]:
        """Return the stored rows of these texts that have that size; none where the store fails."""
        stored = self._known(life)
        if stored is not None and stored.isdisjoint(names):
            return {}
        try:
            async with asyncio.timeout(_SECONDS):
                found = await self._store.vectors(life.learner_id, self._model)
        except Exception as error:  # whatever a store's driver raises
            self._fail("read", error)
            return {}
        usable = {name: row for name, row in found.items() if len(row) == size}
        self._know(life, frozenset(usable))
        return {name: usable[name] for name in names if name in usable}

    def add(self, life: Life, rows: Mapping[str, bytes]) -> None:
        """Store these rows soon."""
        self._write(life, rows, frozenset())

    def unstored(self, life: Life, names: Collection[str]) -> frozenset[str]:
        """Return those of all texts of a learner whose rows are not stored."""
        return frozenset(names) - (self._known(life) or frozenset())

    def keep(self, life: Life, names: Collection[str], rows: Mapping[str, bytes]) -> None:
        """Store these rows soon, and delete those of texts that are not among `names`, all of the learner."""
        self._write(life, rows, (self._known(life) or frozenset()) - frozenset(names))

    async def flush(self) -> None:
        """Wait until what is to be stored by now is, or has failed. Call it on the loop of those calls."""
        await asyncio.gather(*self._writes)

    def _write(self, life: Life, rows: Mapping[str, bytes], gone: frozenset[str]) -> None:
        rows = {name: row for name, row in rows.items() if len(row) <= _MAX_SIZE}
        if not rows and not gone:
            return
        self._know(life, ((self._known(life) or frozenset()) | rows.keys()) - gone)
        task = asyncio.create_task(self._put(life, VectorChange(self._model, rows, tuple(gone))))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    async def _put(self, life: Life, change: VectorChange) -> None:
        try:
            await self._store.put_vectors(life.learner_id, life.epoch, change)
        except Exception as error:  # whatever a store's driver raises
            with self._lock:
                self._stored.pop(life, None)
            self._fail("written", error)
        else:
            self._failing = False

    def _known(self, life: Life) -> frozenset[str] | None:
        with self._lock:
            return self._stored.get(life)

    def _know(self, life: Life, names: frozenset[str]) -> None:
        with self._lock:
            self._stored[life] = names
            self._stored.move_to_end(life)
            while len(self._stored) > _LEARNERS:
                self._stored.popitem(last=False)

    def _fail(self, what: str, error: Exception) -> None:
        """Log the first of several failures; the message of a driver may hold a learner's text."""
        if not self._failing:
            why = type(error).__name__
            logger.warning("[ACE Memory] stored vectors could not be %s (%s); nothing is lost", what, why)
        self._failing = True


def stored_rows(embeddings: Embeddings, store: Store) -> StoredRows | None:
    """Return where the vectors of these embeddings are kept; None for those that are not worth it.

    Those are the static ones, and those of a class that does not say which model it uses.
    """
    model = model_of(embeddings)
    return StoredRows(store, model) if model is not None and keeps_vectors(store) else None


def model_of(embeddings: Embeddings) -> str | None:
    """Return by which name vectors are stored; None where they are not.

    It holds the class and what its instance says of the model and the number of dimensions.
    """
    if isinstance(embeddings, StaticVectors):
        return None
    *names, dimensions = (getattr(embeddings, name, None) for name in _NAMES)
    said = [name for name in names if isinstance(name, str) and name]
    if not said:
        return None
    size = [str(dimensions)] if isinstance(dimensions, int) else []
    model = " ".join((type(embeddings).__qualname__, *dict.fromkeys(said), *size))
    return model if len(model) <= _MAX_MODEL_CHARS and model.isprintable() else None
