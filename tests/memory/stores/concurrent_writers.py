"""Processes that write to one store, for tests that need real ones.

    python -m tests.memory.stores.concurrent_writers URL LEARNER PROCESSES COMMITS

Forks PROCESSES children that start together. Each makes COMMITS turns for the learner: one vote for the
bullet `gen-00001` if it is there, one lesson of its own and one record. After every commit it prints the
op id. The exit code is that of the worst child.
"""

from __future__ import annotations

import asyncio
import os
import sys

from ace_graph.memory.delta import Add, Tag
from ace_graph.memory.stores import Store
from ace_graph.stores import open_store
from ace_graph.testing.conformance import record, rewriting


async def _turn(store: Store, learner: str, number: int) -> str:
    lesson = Add(content=f"Fact {number} is about {number * 7}")
    vote = Tag(bullet_id="gen-00001", tag="helpful")
    base = await store.load(learner)
    delta = rewriting(vote, lesson, op_id=f"op-{number}")
    await store.commit(learner, delta, base, record(number))
    return delta.op_id


async def _write(url: str, learner: str, first: int, commits: int) -> None:
    async with open_store(url) as store:
        for number in range(first, first + commits):
            # In one piece, the line break too: with PYTHONUNBUFFERED a print of another may come in between.
            os.write(1, f"{await _turn(store, learner, number)}\n".encode())


def main(url: str, learner: str, processes: int, commits: int) -> int:
    starting_line, go = os.pipe()
    children: list[int] = []
    for child in range(processes):
        pid = os.fork()
        if not pid:
            os.close(go)
            os.read(starting_line, 1)  # returns when the parent closes the other end
            try:
                asyncio.run(_write(url, learner, 1_000 * (child + 1), commits))
                os._exit(0)
            except BaseException as error:
                print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
                os._exit(1)
        children.append(pid)
    os.close(go)
    # One that a signal ended has a negative code.
    return max(abs(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])) for pid in children)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
