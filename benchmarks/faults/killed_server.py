"""Servers killed in the middle of a turn: `python -m benchmarks.faults.killed_server URL FOLDER [POINT ...]`.

At every boundary of a turn's spans a server of its own kills itself, with SIGKILL: in the first turn of a
conversation, and in a later one. Another server finds the turn written down, takes it up, and answers one
more question. A line of JSON per kill says what was left, and what there was afterwards.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import cast
from uuid import uuid4

from ace_graph.memory.stores.store import Store
from ace_graph.server import Overrides
from ace_graph.stores import open_store
from benchmarks.faults.aftermath import Aftermath, look
from benchmarks.faults.fault import BOUNDARIES, Boundary, Fault
from benchmarks.faults.turn import QUESTION, FaultyModel, faulty, look_up_with, seed
from tests.server.serving import Served, bearer, serving, settings_for

GREETING, AGAIN = "Hello.", "Hello again."
_TRIES = 600

Deed = Callable[[Served, Store, Fault], Awaitable[None]]


async def _serve(url: str, folder: Path, fault: Fault, deed: Deed) -> None:
    """Do something at a server whose turns may be struck."""
    settings = settings_for(conversations=str(folder / "conversations.db"))
    check = look_up_with(fault)
    check.metadata = {"evidence": True}
    async with open_store(url) as store:
        overrides = Overrides(FaultyModel.with_fault(fault), faulty(store, fault), [check])
        async with serving(settings, overrides) as served:
            await deed(served, store, fault)


async def _killed(url: str, folder: Path, learner: str, boundary: Boundary, greeting: bool) -> None:
    async def ask(served: Served, store: Store, fault: Fault) -> None:
        await seed(store, learner)
        if greeting:
            (await served.post(GREETING, learner, learner)).raise_for_status()
        fault.point = boundary
        await served.post(QUESTION, learner, learner)

    fault = Fault(kind="kills")
    _strike_at_spans(fault)
    await _serve(url, folder, fault, ask)


async def _taken_up(url: str, folder: Path, learner: str, greeting: bool) -> None:
    async with open_store(url) as store:
        before = await look(store, learner)

    async def wait(served: Served, store: Store, _: Fault) -> None:
        reply = await served.post(AGAIN, learner, learner)
        for _attempt in range(_TRIES):
            if reply.status_code != 409:  # the turn that is taken up is under way
                break
            await asyncio.sleep(0.05)
            reply = await served.post(AGAIN, learner, learner)
        reply.raise_for_status()
        found = (await served.client.get("/api/learner/export", headers=bearer(learner))).json()
        said = [m["content"] for m in found["conversations"][0]["messages"] if m["role"] == "user"]
        wanted = [*([GREETING] if greeting else []), QUESTION, AGAIN]
        after = await look(store, learner)
        if said != wanted:
            after = replace(after, wrong=(*after.wrong, f"the conversation holds {said}"))
        _write(folder, before, after)

    await _serve(url, folder, Fault(), wait)


def _write(folder: Path, before: Aftermath, after: Aftermath) -> None:
    (folder / "found.json").write_text(json.dumps({"before": asdict(before), "after": asdict(after)}))


def _strike_at_spans(fault: Fault) -> None:
    from opentelemetry import context, trace
    from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider

    class Struck(SpanProcessor):
        def on_start(self, span: Span, parent_context: context.Context | None = None) -> None:
            fault.strike(cast("Boundary", f"{span.name.removeprefix('ace_graph.')} begins"))

        def on_end(self, span: ReadableSpan) -> None:
            fault.strike(cast("Boundary", f"{span.name.removeprefix('ace_graph.')} ends"))

    provider = TracerProvider()
    provider.add_span_processor(Struck())
    trace.set_tracer_provider(provider)


def _in_a_fork(work: Callable[[], Awaitable[None]]) -> int:
    """Return the exit code of a child that does the work: -9 where it was killed."""

    async def done() -> None:
        await work()

    pid = os.fork()
    if not pid:
        code = 7
        try:
            asyncio.run(done())
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _trial(url: str, root: Path, boundary: Boundary, *, greeting: bool) -> dict[str, object]:
    learner = f"served-{uuid4()}"
    folder = root / learner
    folder.mkdir()
    ended = _in_a_fork(lambda: _killed(url, folder, learner, boundary, greeting))
    went_on = _in_a_fork(lambda: _taken_up(url, folder, learner, greeting))
    found: dict[str, object] = json.loads((folder / "found.json").read_text()) if went_on == 0 else {}
    where = "a later turn" if greeting else "the first turn"
    return {"point": f"{boundary}, {where}", "ended": ended, **found}


if __name__ == "__main__":
    os.environ["LANGSMITH_TRACING"] = "false"
    logging.getLogger("ace_graph").setLevel(logging.CRITICAL)
    logging.getLogger("neo4j").setLevel(logging.CRITICAL)
    given = sys.argv[3:]
    wanted: list[Boundary] = [each for each in BOUNDARIES if not given or given.count(each)]
    for point in wanted:
        for greeted in (False, True):
            sys.stdout.write(
                json.dumps(_trial(sys.argv[1], Path(sys.argv[2]), point, greeting=greeted)) + "\n"
            )
            sys.stdout.flush()
