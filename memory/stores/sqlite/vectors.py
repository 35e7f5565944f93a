"""The vectors of bullets in the SQLite store (see `ace_graph.memory.stores.vectors`)."""

from __future__ import annotations

from collections.abc import Mapping

from ace_graph.memory.stores.sqlite.tables import Tables
from ace_graph.memory.stores.vectors import VectorChange

__all__ = ["put_vectors", "read_vectors"]


def read_vectors(tables: Tables, learner: str, model: str) -> Mapping[str, bytes]:
    """Return the rows of a model by content hash."""
    found = tables.execute(
        "SELECT name, vector FROM ace_vectors WHERE user_id = ? AND model = ?", (learner, model)
    )
    return dict(found.fetchall())


def put_vectors(tables: Tables, learner: str, epoch: str | None, change: VectorChange) -> bool:
    """Store and delete rows; False where the learner's state is not of that epoch."""
    state = tables.execute("SELECT 1 FROM ace_learners WHERE user_id = ? AND epoch = ?", (learner, epoch))
    if state.fetchone() is None:
        return False
    model = change.model
    # Two ranges of the key: a comparison with <> would read all rows of the learner.
    for other in ("model < ?", "model > ?"):
        tables.execute(f"DELETE FROM ace_vectors WHERE user_id = ? AND {other}", (learner, model))  # noqa: S608  constants
    tables.executemany(
        "DELETE FROM ace_vectors WHERE user_id = ? AND model = ? AND name = ?",
        [(learner, model, name) for name in change.gone],
    )
    tables.executemany(
        "INSERT OR REPLACE INTO ace_vectors (user_id, model, name, vector) VALUES (?, ?, ?, ?)",
        [(learner, model, name, row) for name, row in change.rows.items()],
    )
    return True
