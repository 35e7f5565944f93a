"""The portal runs work for callers on any loop, and finishes what must be finished."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from ace_graph.base import SyncCallOnPortal
from ace_graph.base.portal import portal
from tests.plugins.sizes import PATIENT


async def _ident() -> int:
    return threading.get_ident()


async def test_work_of_any_loop_runs_on_one_thread() -> None:
    mine = await portal().run(_ident())
    others = [await asyncio.to_thread(lambda: asyncio.run(portal().run(_ident()))) for _ in range(2)]
    assert others == [mine, mine]
    assert mine != threading.get_ident()


def test_a_call_without_a_loop_blocks_until_it_is_done() -> None:
    assert portal().run_sync(_ident()) != threading.get_ident()


async def test_a_blocking_call_on_the_portal_itself_is_an_error() -> None:
    async def calls_itself() -> None:
        portal().run_sync(_ident())

    with pytest.raises(SyncCallOnPortal, match="ainvoke"):
        await portal().run(calls_itself())


@pytest.mark.parametrize("on_portal", [False, True])
async def test_shielded_work_continues_when_its_caller_is_cancelled(on_portal: bool) -> None:
    began, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    async def piece() -> None:
        began.set()
        await asyncio.to_thread(may_end.wait, 10)
        ended.set()

    async def cancelled_half_way() -> None:
        caller = asyncio.create_task(portal().run(piece(), shielded=True))
        assert await asyncio.to_thread(began.wait, 10)
        caller.cancel()
        await asyncio.gather(caller, return_exceptions=True)
        assert caller.cancelled()

    await (portal().run(cancelled_half_way()) if on_portal else cancelled_half_way())
    may_end.set()
    assert await asyncio.to_thread(ended.wait, 10)


async def test_other_work_is_cancelled_with_its_caller() -> None:
    began, cancelled = threading.Event(), threading.Event()

    async def endless() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    caller = asyncio.create_task(portal().run(endless()))
    assert await asyncio.to_thread(began.wait, 10)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    assert await asyncio.to_thread(cancelled.wait, 10)


def test_a_forked_child_has_a_portal_of_its_own() -> None:
    code = (
        "import os, sys\n"
        "from ace_graph.base.portal import portal\n"
        "async def one() -> int: return 1\n"
        "portal().run_sync(one())\n"
        "child = os.fork()\n"
        "assert portal().run_sync(one()) == 1\n"
        "sys.exit(os.waitpid(child, 0)[1] if child else 0)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENT)
