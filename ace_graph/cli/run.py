"""`ace-graph run`: one JSON object on stdin, one JSON line on stdout, the log on stderr.

Stdout holds that line and nothing else: what libraries, C code or child processes write to it goes to stderr.
So most modules are imported when stdout is protected. Nothing is kept between two runs but the memory; the
caller sends the history.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ace_graph.errors import AceError

if TYPE_CHECKING:
    from ace_graph.state import ACEOutput

__all__ = ["Emit", "one_line_stdout", "run_once"]


class Emit(Protocol):
    """Writes one JSON line to stdout."""

    def __call__(self, value: Mapping[str, object], /) -> None: ...


@contextmanager
def one_line_stdout() -> Generator[Emit]:
    """Yield the function that writes to stdout; all else that is written there meanwhile goes to stderr."""
    sys.stdout.flush()
    real = os.dup(1)
    os.dup2(2, 1)

    def emit(value: Mapping[str, object], /) -> None:
        line = json.dumps(value, ensure_ascii=True) + "\n"
        left = memoryview(line.encode("ascii"))
        while left:
            left = left[os.write(real, left) :]

    try:
        yield emit
    finally:
        sys.stdout.flush()
        os.dup2(real, 1)
        os.close(real)


logger = logging.getLogger("ace_graph")


def run_once(url: str | None, base: Path | None, *, debug: bool) -> int:
    """Answer the request on stdin and return the exit code: 0, or 1 with `{"error": ...}` on stdout."""
    with one_line_stdout() as emit:
        try:
            emit(_run(url, base, sys.stdin.buffer.read(), debug=debug))
        except (Exception, KeyboardInterrupt) as error:
            if debug:
                traceback.print_exc()
            emit({"error": _error_message(error)})
            return 1
    return 0


def _run(url: str | None, base: Path | None, raw: bytes, *, debug: bool) -> dict[str, object]:
    # Imported while stdout is protected, because importing may print too.
    from ace_graph.build_resources import offline_fallback
    from ace_graph.cli.environment import load_settings
    from ace_graph.cli.logs import log_content_by_default
    from ace_graph.cli.run_payload import RunRequest, answer_json, parse_request
    from ace_graph.cli.session import open_agent
    from ace_graph.memory.stores.cache import SnapshotCache
    from ace_graph.stores import open_store
    from ace_graph.telemetry import shown_learner

    settings = load_settings(debug=debug)
    request = parse_request(raw)
    logger.info("[ACE Runner] received %d messages", len(request.input["messages"]))
    settings = log_content_by_default(offline_fallback(settings))
    snapshots = SnapshotCache()  # holds the learner's snapshot once it was loaded

    async def answer(request: RunRequest) -> dict[str, object]:
        learner = str(request.context.learner_id)
        store = open_store(url, settings=settings)
        async with open_agent(settings, store, base, snapshots) as agent:
            shown = shown_learner(learner)
            logger.info("[ACE Runner] invoking the graph: model=%s learner=%s", agent.choice, shown)
            out: ACEOutput = await agent.graph.ainvoke(request.input, context=request.context)  # type: ignore[assignment]  # LangGraph says dict
            loaded = snapshots.get(learner) is not None
            return answer_json(out, request, memory_loaded=loaded, temperature=settings.llm_temperature)

    began = time.perf_counter()
    reply = asyncio.run(answer(request))
    took = time.perf_counter() - began
    logger.info("[ACE Runner] complete: mode=%s seconds=%.2f", reply["mode"], took)
    return reply


def _error_message(error: BaseException) -> str:
    if isinstance(error, AceError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return f"unexpected {type(error).__name__}: {error}: run it again with --debug to see where"
