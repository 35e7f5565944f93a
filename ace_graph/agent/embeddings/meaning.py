"""How near each bullet is to a question in meaning, in bounded time.

The vectors of a playbook's texts are made once, in batches; those of a service are kept in the store. A turn
waits for a service at most PATIENCE seconds; then it goes on with words alone, and they are made behind it. A
service that fails is left alone for a while, so that not every turn waits for it. Static vectors are waited
for, however busy the machine is: what a turn finds must not depend on that.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import ne
from typing import TYPE_CHECKING, NamedTuple

from langchain_core.embeddings import Embeddings

from ace_graph.agent.embeddings.static_vectors import FEW, StaticVectors
from ace_graph.base.errors import AceError
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.stores.base import VectorChange

if TYPE_CHECKING:
    from ace_graph.agent.embeddings.matrix import Matrix
    from ace_graph.memory.stores.store import KeyedStore


_BYTES_PER_ROW = 150
"""What the key and the table take beside the vector."""


class VectorRows:
    """Content hash -> row, the least recently used dropped first. Safe to use from any thread."""

    def __init__(self, max_bytes: int = 128_000_000) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0

    def known(self, hashes: Iterable[str]) -> dict[str, bytes]:
        """Return the rows that are there of these texts."""
        with self._lock:
            found = {key: row for key in hashes if (row := self._held.get(key)) is not None}
            for key in found:
                self._held.move_to_end(key)
            return found

    def put(self, rows: Mapping[str, bytes]) -> None:
        with self._lock:
            for key, row in rows.items():
                old = self._held.pop(key, None)
                self._bytes += len(row) - len(old) if old is not None else len(row) + _BYTES_PER_ROW
                self._held[key] = row
            while self._bytes > self._max_bytes:
                _, dropped = self._held.popitem(last=False)
                self._bytes -= len(dropped) + _BYTES_PER_ROW

    def clear(self) -> None:
        with self._lock:
            self._held.clear()
            self._bytes = 0


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
    """The rows of one model that a store keeps for a learner. Safe to use on any event loop.

    Writing does not hold up a turn, and a store that fails costs a line in the log: what could not be read is
    made again, what could not be written is written later.
    """

    def __init__(self, store: KeyedStore, model: str) -> None:
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


def stored_rows(embeddings: Embeddings, store: KeyedStore) -> StoredRows | None:
    """Return where the vectors of these embeddings are kept; None for those that are not worth it.

    Those are the static ones, and those of a class that does not say which model it uses.
    """
    model = model_of(embeddings)
    return StoredRows(store, model) if model is not None else None


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


PATIENCE = 2.0
"""Seconds that a turn waits for the vectors of a service at most."""
NEAREST = 30
"""How many of the nearest bullets of a playbook take part in the rank."""
_PAUSE = 60.0
"""Seconds for which a service that failed is not asked again."""
_BATCH, _BATCH_SECONDS = 256, 60.0
_AT_ONCE = 64
"""So many texts are looked up in loaded tables where they are; a thread would take longer."""
_MAX_BYTES = 256_000_000
_FLOAT = 4


class Similarities(NamedTuple):
    """Similarities (0-1) of bullets to a question by id; None where words alone count, and why they do."""

    by_id: Mapping[str, float] | None = None
    problem: str | None = None


class _WrongVectors(AceError):
    """What came back is no vector for each text, all of one size."""


class _Unfinished(AceError):
    """The vectors of a playbook are not there; the message says why."""


@dataclass(frozen=True)
class _Held:
    hashes: Mapping[str, tuple[str, ...]]
    matrix: Matrix
    bytes: int


class _Changes(NamedTuple):
    removed: Sequence[str]
    added: Mapping[str, tuple[str, ...]]


def _changes(old: Mapping[str, tuple[str, ...]], new: Mapping[str, tuple[str, ...]]) -> _Changes:
    """Return what leads from one table of hashes to another; 0.1 ms for 1,000 texts that did not change."""
    added = {name: new[name] for name in compress(new, map(ne, map(old.get, new), new.values()))}
    gone = [name for name in added if name in old]
    if len(old) + len(added) - len(gone) > len(new):
        gone += old.keys() - new.keys()
    return _Changes([bullet for name in gone for bullet in old[name]], added)


class _Place(NamedTuple):
    """A playbook by the key of its matrix, and whose it is where its vectors are stored."""

    key: str
    playbook: Playbook
    life: Life | None = None


@dataclass
class _Fill:
    total: int
    done: int = 0
    late: bool = False
    task: asyncio.Task[dict[str, bytes]] | None = None

    def __str__(self) -> str:
        return f"{self.done} of {self.total} vectors of texts are there; words alone count until all are"


class Meaning:
    """Finds by vectors of one embedding model. `monotonic` gives seconds. Safe to use on any event loop."""

    def __init__(
        self,
        embeddings: Embeddings,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        patience: float = PATIENCE,
        stored: StoredRows | None = None,
    ) -> None:
        self._embeddings = embeddings
        self._monotonic = monotonic
        self._patience = None if isinstance(embeddings, StaticVectors) else patience
        self._rows = VectorRows()
        self._stored = stored
        self._size: int | None = None
        self._lock = threading.Lock()
        self._matrices: OrderedDict[str, _Held] = OrderedDict()
        self._fills: dict[str, _Fill] = {}
        self._paused_until = 0.0
        self._problem: str | None = None

    @property
    def embeddings(self) -> Embeddings:
        """What makes the vectors."""
        return self._embeddings

    async def similarities(
        self,
        query: str,
        learner_id: str | None,
        playbook: Playbook,
        read_only: Playbook | None = None,
        *,
        epoch: str | None = None,
    ) -> Similarities:
        """Return how near the nearest bullets of both playbooks are to `query`. Never raises.

        With the `epoch` of the learner's state, the vectors of `playbook` are kept in the store.
        """
        if not any(map(str.isalpha, query)):
            return Similarities()
        if self._problem is not None and self._monotonic() < self._paused_until:
            return Similarities(problem=self._problem)
        life = None if learner_id is None or epoch is None else Life(learner_id, epoch)
        places = [_Place(f"learner {learner_id}", playbook, life)]
        if read_only is not None:
            places.append(_Place(f"read-only {id(read_only.hashes)}", read_only))
        if life is not None and self._stored is not None and not len(playbook):
            self._stored.keep(life, (), {})
        places = [place for place in places if len(place.playbook)]
        try:
            async with asyncio.timeout(self._patience):
                # Of stored rows the size is checked, so the first question comes before them.
                first = places and self._size is None and self._stored is not None
                asked = await self._query(query) if first else ()
                matrices = [await self._matrix(place) for place in places]
                asked = asked or (await self._query(query) if matrices else ())
        except _Unfinished as unfinished:
            return Similarities(problem=str(unfinished))
        except TimeoutError:
            return self._late([place.key for place in places])
        except Exception as error:  # whatever a service's client raises
            return self._fail(_why(error))
        self._problem = None
        found = (matrix.nearest(asked, NEAREST) for matrix in matrices)
        return Similarities({key: value for near in found for key, value in near.items()})

    async def _matrix(self, place: _Place) -> Matrix:
        """Return the playbook's matrix. Raises _Unfinished while a service is at an earlier turn's."""
        key, hashes = place.key, place.playbook.hashes
        with self._lock:
            held = self._matrices.get(key)
            if held is not None and held.hashes is hashes:
                self._matrices.move_to_end(key)
                return held.matrix
        fill = self._fills.get(key)
        if fill is not None and fill.task is not None and not fill.task.get_loop().is_closed():
            if self._patience is not None or fill.task.get_loop() is not asyncio.get_running_loop():
                raise _Unfinished(str(fill))
            await asyncio.shield(fill.task)
        if held is not None:
            changes = _changes(held.hashes, hashes)
            if 2 * len(changes.added) < len(held.matrix):
                rows = await self._rows_of(place, changes.added)
                return self._keep(key, hashes, held.matrix.changed(changes.removed, rows))
        rows = await self._rows_of(place, hashes)
        if self._matrices and len(rows) <= _AT_ONCE:
            return self._keep(key, hashes, _matrix_of(rows, few_of(self._embeddings)))
        # the first one imports numpy
        matrix = await asyncio.to_thread(_matrix_of, rows, few_of(self._embeddings))
        return self._keep(key, hashes, matrix)

    async def _rows_of(self, place: _Place, hashes: Mapping[str, tuple[str, ...]]) -> dict[str, bytes]:
        """Return the rows of the bullets with these texts. Raises _Unfinished where some can't be made."""
        known = self._rows.known(hashes)
        missing = {name: ids[0] for name, ids in hashes.items() if name not in known}
        if missing:
            texts = {name: place.playbook.entries[bullet].content for name, bullet in missing.items()}
            known.update(await self._made(place, texts))
        if self._stored is not None and place.life is not None:
            # Bring what is stored into line with the playbook, after this
            names = place.playbook.hashes
            unstored = self._stored.unstored(place.life, names)
            rows = {name: known[name] for name in unstored if name in known}
            rows |= self._rows.known(unstored - rows.keys())
            self._stored.keep(place.life, names, rows)
        return {bullet: known[name] for name, ids in hashes.items() for bullet in ids}

    def _keep(self, key: str, hashes: Mapping[str, tuple[str, ...]], matrix: Matrix) -> Matrix:
        with self._lock:
            self._matrices.pop(key, None)
            self._matrices[key] = _Held(hashes, matrix, len(matrix) * matrix.size * _FLOAT)
            total = sum(each.bytes for each in self._matrices.values())
            while total > _MAX_BYTES and len(self._matrices) > 1:
                total -= self._matrices.popitem(last=False)[1].bytes
        return matrix

    async def _made(self, place: _Place, missing: Mapping[str, str]) -> Mapping[str, bytes]:
        """Return the rows of the missing texts. Raises _Unfinished where they can't all be made."""
        if (
            isinstance(self._embeddings, StaticVectors)
            and self._embeddings.loaded
            and len(missing) <= _AT_ONCE
        ):
            return self._checked(missing, self._embeddings.embed_documents(list(missing.values())))
        fill = self._fills[place.key] = _Fill(len(missing))
        fill.task = asyncio.create_task(self._fill(place, fill, missing))
        return await asyncio.shield(fill.task)

    async def _fill(self, place: _Place, fill: _Fill, missing: Mapping[str, str]) -> dict[str, bytes]:
        """Make the rows in batches. A failure is kept here, too: the turn that began may have gone on."""
        made = dict[str, bytes]()
        try:
            if self._stored is not None and place.life is not None:
                made.update(await self._stored.read(place.life, missing, self._size))
                self._rows.put(made)
            names = [name for name in missing if name not in made]
            fill.done = len(made)
            for start in range(0, len(names), _BATCH):
                batch = {name: missing[name] for name in names[start : start + _BATCH]}
                async with asyncio.timeout(_BATCH_SECONDS):
                    vectors = await self._embeddings.aembed_documents(list(batch.values()))
                rows = self._checked(batch, vectors)
                if self._stored is not None and place.life is not None:
                    self._stored.add(place.life, rows)
                made.update(rows)
                fill.done += len(batch)
                if fill.late:
                    logger.info("[ACE Memory] %s", fill)
        except Exception as error:
            self._fail(_why(error))
        finally:
            self._fills.pop(place.key, None)
        if len(made) < len(missing):
            raise _Unfinished(self._problem or str(fill))
        return made

    def _checked(self, texts: Mapping[str, str], vectors: Sequence[Sequence[float]]) -> dict[str, bytes]:
        """Return the rows of these texts and keep them. Raises _WrongVectors."""
        if len(vectors) != len(texts):
            raise _WrongVectors(f"{len(vectors)} vectors for {len(texts)} texts")
        for vector in vectors:
            self._check_size(vector)
        from ace_graph.agent.embeddings.matrix import quantised  # loads numpy

        rows = dict(zip(texts, quantised(vectors), strict=True))
        self._rows.put(rows)
        return rows

    def _check_size(self, vector: Sequence[float]) -> None:
        """Raise _WrongVectors for another size than before; all vectors are then made again, later."""
        expected, self._size = self._size or len(vector), len(vector)
        if len(vector) != expected or not vector:
            self._rows.clear()
            with self._lock:
                self._matrices.clear()
            raise _WrongVectors(f"a vector of {len(vector)} numbers where there were {expected}")

    async def _query(self, query: str) -> Sequence[float]:
        if isinstance(self._embeddings, StaticVectors) and self._embeddings.loaded:
            vector = self._embeddings.embed_query(query)
        else:
            vector = await self._embeddings.aembed_query(query)
        self._check_size(vector)
        return vector

    def _late(self, places: Collection[str]) -> Similarities:
        """What a turn gets that waited for nothing: vectors are still being made, or no answer came."""
        for fill in (self._fills[key] for key in places if key in self._fills):
            fill.late = True
            logger.warning("[ACE Memory] %s", fill)
            return Similarities(problem=str(fill))
        return self._fail("did not answer in time")

    def _fail(self, why: str) -> Similarities:
        """Log a problem that was not there before, and leave the service alone for a while."""
        problem = f"the embeddings {why}; words alone count"
        if problem != self._problem:
            logger.warning("[ACE Memory] %s, and they are asked again in %d s", problem, _PAUSE)
        self._problem, self._paused_until = problem, self._monotonic() + _PAUSE
        return Similarities(problem=problem)


def _matrix_of(rows: Mapping[str, bytes], few: int) -> Matrix:
    from ace_graph.agent.embeddings.matrix import Matrix  # loads numpy

    return Matrix.of(rows, few)


def few_of(embeddings: Embeddings) -> int:
    """Return how many bullets weigh as much as none in the mean of a playbook (see `matrix.centred`)."""
    return FEW if isinstance(embeddings, StaticVectors) else 2


def _why(error: Exception) -> str:
    """Say what failed; the message of a service's client may hold a key or a text."""
    if isinstance(error, TimeoutError):
        return "did not answer in time"
    return f"failed ({error})" if isinstance(error, AceError) else f"failed ({type(error).__name__})"
