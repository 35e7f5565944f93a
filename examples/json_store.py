"""A store of your own: a backend that keeps everything in one JSON file. `Store(backend)` does the rest.

    python examples/json_store.py

It reads and writes the whole file for each call, under a lock of the file system: enough for a demonstration,
and for what one learner remembers.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from operator import ge, gt, le, lt
from pathlib import Path
from typing import Any, TypeVar, cast

from ace_graph.memory.stores import KEYS, SHARED, Backend, Job, Namespace, Row, Rows, Store, Where, result_of

T = TypeVar("T")
Tables = dict[str, list[dict[str, Any]]]  # Any: the values of the columns, which JSON can hold

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


class JSONRows(Rows):
    """The tables of a file, as one job sees them."""

    def __init__(self, tables: Tables, save: Callable[[], None], namespace: Namespace) -> None:
        super().__init__(namespace)
        self._tables, self._save = tables, save

    def of(self, namespace: Namespace) -> JSONRows:
        return JSONRows(self._tables, self._save, namespace)

    @asynccontextmanager
    async def reading(self, key: str | None = None) -> AsyncGenerator[None]:
        yield  # the job holds the lock of the file

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[None]:
        yield
        self._save()  # after an error nothing is saved

    async def lock(self, key: str, *, wait: bool = True) -> bool:
        return True

    async def select(
        self,
        table: str,
        columns: str,
        *where: Where,
        order: str = "",
        limit: int | None = None,
        skip: int = 0,
        distinct: bool = False,
    ) -> list[Row]:
        rows = self._matching(table, where)
        for part in reversed(order.split(", ") if order else []):
            column, _, down = part.partition(" ")
            rows.sort(key=lambda row: row[column], reverse=bool(down))
        found = [tuple(map(row.get, columns.split(", "))) for row in rows]
        found = list(dict.fromkeys(found)) if distinct else found
        return found[skip:] if limit is None else found[skip : skip + limit]

    async def count(self, table: str, *where: Where) -> int:
        return len(self._matching(table, where))

    async def add(self, table: str, *rows: Mapping[str, object]) -> int:
        held = {self._key(table, row) for row in self._rows(table)}
        new = [dict(row) for row in rows if self._key(table, row) not in held]
        self._rows(table).extend(new)
        return len(new)

    async def put(self, table: str, *rows: Mapping[str, object]) -> None:
        keys = {self._key(table, row) for row in rows}
        self._drop(table, lambda row: self._key(table, row) in keys)
        await self.add(table, *rows)

    async def update(self, table: str, values: Mapping[str, object], *where: Where) -> int:
        rows = self._matching(table, where)
        for row in rows:
            row.update(values)
        return len(rows)

    async def delete(self, table: str, *where: Where) -> int:
        return self._drop(table, lambda row: _matches(row, where))

    def _rows(self, table: str) -> list[dict[str, Any]]:  # Any: as above
        return self._tables.setdefault(table if table in SHARED else f"{table} of {self.namespace}", [])

    def _matching(self, table: str, where: Iterable[Where]) -> list[dict[str, Any]]:  # Any: as above
        conditions = tuple(where)
        return [row for row in self._rows(table) if _matches(row, conditions)]

    def _drop(self, table: str, goes: Callable[[Mapping[str, Any]], bool]) -> int:  # Any: as above
        rows = self._rows(table)
        before = len(rows)
        rows[:] = [row for row in rows if not goes(row)]
        return before - len(rows)

    @staticmethod
    def _key(table: str, row: Mapping[str, object]) -> tuple[object, ...]:
        return tuple(row[name] for name in KEYS[table])


def _matches(row: Mapping[str, Any], where: Iterable[Where]) -> bool:  # Any: as above
    for column, sign, value in where:
        held: Any = row.get(column)  # as above
        if sign == "=":
            holds = bool(held) == value if isinstance(value, bool) else held == value
        elif held is None:
            return False
        elif sign in _COMPARISONS:
            holds = _COMPARISONS[sign](held, value)
        elif sign == "!=":
            holds = held != value
        else:
            holds = (held in cast("list[object]", value)) == (sign == "in")
        if not holds:
            return False
    return True


class JSONFile(Backend):
    """A file of JSON, which is made by the first thing that is stored."""

    name = "JSON"

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    async def run(
        self,
        namespace: Namespace,
        job: Job[T],
        *,
        writes: bool = False,
        seconds: float | None = None,
        began: float | None = None,
    ) -> T:
        """Run a job to its end while this process holds the lock of the file."""
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            text = self.path.read_text("utf-8") if self.path.exists() else "{}"
            tables: Tables = json.loads(text, object_hook=_loaded)
            return result_of(job(JSONRows(tables, lambda: self._save(tables), namespace)))

    async def close(self) -> None:
        """Nothing is open between two calls."""

    def _save(self, tables: Tables) -> None:
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(tables, default=_dumped), "utf-8")
        os.replace(new, self.path)


def _dumped(value: bytes) -> dict[str, str]:
    return {"bytes": value.hex()}


def _loaded(value: dict[str, Any]) -> Any:  # Any: as JSON has it
    return bytes.fromhex(value["bytes"]) if value.keys() == {"bytes"} else value


async def main() -> None:
    """Remember something, and read it again."""
    from ace_graph import remember

    with tempfile.TemporaryDirectory() as folder:
        async with Store(JSONFile(Path(folder) / "memory.json")) as store:
            await remember(store, "ada", "The invoices API has 50 rows on a page")
            for bullet in (await store.load("ada")).playbook.bullets():
                print(bullet.content)


if __name__ == "__main__":
    asyncio.run(main())
