"""Calls a store in a process that may not do everything: no root, or no room on the disk.

    python -m tests.memory.stores.unprivileged FILE USER_ID MAX_FILE_BYTES

Reads the learner `alice`, then commits, and prints what came of each. A limit of 0 is none.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
from collections.abc import Awaitable

from ace_graph.base import StoreError
from ace_graph.memory import Snapshot
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing.conformance import adding


async def _say(verb: str, call: Awaitable[object]) -> None:
    try:
        await call
    except StoreError as error:
        print(f"{verb} {type(error).__name__}: {error}")
    else:
        print(f"{verb} done")


async def main(path: str, user_id: int, max_file_bytes: int) -> None:
    change = adding("x" * 2_000, "y" * 2_000)
    async with SQLiteStore() as store:  # reads the package's data, which another user may not be able to read
        await store.commit("alice", change, Snapshot())
    if os.geteuid() == 0:
        os.setgroups([])
        os.setegid(user_id)
        os.seteuid(user_id)
    if max_file_bytes:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_bytes, max_file_bytes))
    async with SQLiteStore(path) as store:
        await _say("load", store.load("alice"))
        await _say("commit", store.commit("alice", change, Snapshot()))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
