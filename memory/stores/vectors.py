"""The part of a store that keeps the vectors of bullets, beside what is remembered.

Vectors can be made again, so nothing depends on them: no load and no commit reads or writes any, an export
and a copy leave them out. They are deleted with the learner. All stores of this project have this part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeGuard

from ace_graph.memory.stores.base import Store


@dataclass(frozen=True)
class VectorChange:
    """Vectors of one model by content hash, and the hashes of texts whose vectors are to be deleted.

    A row is a vector as one signed byte a dimension.
    """

    model: str
    rows: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    gone: tuple[str, ...] = ()


class VectorStore(Store, Protocol):
    """A store that keeps vectors of one embedding model for each learner."""

    async def vectors(self, learner_id: str, model: str) -> Mapping[str, bytes]:
        """Return the rows of this model by content hash; none of any other model."""
        ...

    async def put_vectors(self, learner_id: str, epoch: str | None, change: VectorChange) -> bool:
        """Store and delete rows in one transaction; rows of other models of the learner are deleted.

        Returns False and changes nothing where the learner's state is not of that epoch: the learner was
        forgotten, or nothing is stored yet.
        """
        ...


def keeps_vectors(store: Store) -> TypeGuard[VectorStore]:
    """Whether a store has the methods of VectorStore."""
    return all(callable(getattr(store, name, None)) for name in ("vectors", "put_vectors"))
