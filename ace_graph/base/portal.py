"""The portal: one private event loop per process, on a daemon thread, where the stores run.

A database driver belongs to one loop, but callers have many (a web server's, a notebook's, one per
`asyncio.run`, none at all). Every store call is one coroutine on the portal's loop, so one driver serves all
of them. After a fork the child makes its own portal; at exit resources are closed in order.
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from ace_graph.base.errors import SyncCallOnPortal

T = TypeVar("T")


class Portal:
    """An event loop on a daemon thread, started at first use."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._closers: list[Callable[[], Awaitable[None]]] = []
        self._thread = threading.Thread(target=self._loop.run_forever, name="ace-graph-portal", daemon=True)
        self._thread.start()

    @property
    def here(self) -> bool:
        """Whether the caller runs on the portal's own loop."""
        return threading.get_ident() == self._thread.ident

    async def run(
        self, work: Coroutine[Any, Any, T], *, shielded: bool = False
    ) -> T:  # Any: what it yields and is sent is asyncio's
        """Run `work` on the portal's loop and return its result; the caller's loop stays free.

        With `shielded` the work is not cancelled with its caller, but runs to its end.
        """
        if self.here:
            return await (asyncio.shield(asyncio.ensure_future(work)) if shielded else work)
        running = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))
        return await (asyncio.shield(running) if shielded else running)

    def run_sync(self, work: Coroutine[Any, Any, T]) -> T:  # Any: as above
        """Run `work` on the portal's loop and block until it is done.

        Raises SyncCallOnPortal on the portal's own thread, which it would block forever.
        """
        if self.here:
            work.close()
            raise SyncCallOnPortal(
                "a synchronous call on the portal would wait for itself: await ainvoke instead"
            )
        running = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise

    def at_exit(self, close: Callable[[], Awaitable[None]]) -> None:
        """Call `close` on the portal's loop when the process ends, the last registered first."""
        self._closers.append(close)

    def shut(self) -> None:
        """Close what was registered, then stop and join the loop."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._close_all(), self._loop).result(timeout=10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)
        self._loop.close()

    async def _close_all(self) -> None:
        while self._closers:
            await self._closers.pop()()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


class _PerProcess:
    """The portal of this process. A forked child makes its own and keeps a reference to the parent's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._portal: Portal | None = None
        self._pid = 0
        self._inherited: list[Portal] = []

    def get(self) -> Portal:
        with self._lock:
            if self._portal is None or self._pid != os.getpid():
                if self._portal is not None:
                    self._inherited.append(self._portal)
                else:
                    os.register_at_fork(after_in_child=self._replace_lock)
                self._portal, self._pid = contextvars.Context().run(Portal), os.getpid()
                atexit.register(self._shut_at_exit, self._pid, self._portal)
            return self._portal

    def _replace_lock(self) -> None:
        """Replace the lock, which another thread may have held at the fork."""
        self._lock = threading.Lock()

    @staticmethod
    def _shut_at_exit(pid: int, owned: Portal) -> None:
        if pid == os.getpid():
            owned.shut()


_PROCESS = _PerProcess()


def portal() -> Portal:
    """Return this process's portal, started at first use."""
    return _PROCESS.get()
