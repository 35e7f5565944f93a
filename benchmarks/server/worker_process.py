"""One worker as a process of its own: it learns all that waits, and says when it was done.

python -m benchmarks.server.worker_process STORE REFLECT_SECONDS CONCURRENCY
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

from ace_graph.base.settings import Settings
from ace_graph.learning.pending import ItemOutcome
from ace_graph.learning.worker import build_worker
from benchmarks.available_stores import Place
from benchmarks.server.model import ServedModel

__all__ = ["READY"]

READY = b"ready\n"


async def _work(url: str, reflect_seconds: float, concurrency: int) -> None:
    ends: list[float] = []

    def learned(item: ItemOutcome) -> None:
        if item.status != "learned":
            raise RuntimeError(f"an item {item.status}: {item.error}")
        ends.append(time.time())

    store = Place("", url).open()
    worker = build_worker(
        model=ServedModel(reflect_seconds=reflect_seconds),
        store=store,
        concurrency=concurrency,
        on_learned=learned,
        settings=Settings.model_construct(),
    )
    await store.load("nobody")
    sys.stdout.buffer.write(READY)
    sys.stdout.buffer.flush()
    await asyncio.to_thread(sys.stdin.readline)
    await worker.drain()
    await store.close()
    print(json.dumps({"learned": len(ends), "last": max(ends, default=0.0)}))


if __name__ == "__main__":
    asyncio.run(_work(sys.argv[1], float(sys.argv[2]), int(sys.argv[3])))
