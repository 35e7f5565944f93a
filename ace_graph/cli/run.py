"""`ace-graph run`: one JSON object on stdin, one JSON line on stdout, the log on stderr.

Does not: keep a thread. The caller sends the history.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
import traceback
from pathlib import Path

from ace_graph.audit import shown_learner
from ace_graph.cli.environment import load_settings
from ace_graph.cli.logs import with_content
from ace_graph.cli.one_line import one_line_stdout
from ace_graph.errors import AceError

__all__ = ["run_once"]

logger = logging.getLogger("ace_graph")


def run_once(url: str | None, base: Path | None, *, debug: bool) -> int:
    """Answer the request on stdin and return the exit code: 0, or 1 with `{"error": ...}` on stdout."""
    with one_line_stdout() as emit:
        try:
            emit(_answered(url, base, sys.stdin.buffer.read(), debug=debug))
        except (Exception, KeyboardInterrupt) as error:
            if debug:
                traceback.print_exc()
            emit({"error": _sentence(error)})
            return 1
    return 0


def _answered(url: str | None, base: Path | None, raw: bytes, *, debug: bool) -> dict[str, object]:
    settings = load_settings(debug=debug)
    # Imported here, behind the protected stdout, because importing may print too.
    from ace_graph.assembly import offline_fallback
    from ace_graph.cli.agent import opened_agent
    from ace_graph.cli.payload import Request, answer_json, read_request
    from ace_graph.cli.watched_store import WatchedStore
    from ace_graph.state import ACEOutput
    from ace_graph.store_url import open_store

    request = read_request(raw)
    logger.info("[ACE Runner] received %d messages", len(request.input["messages"]))
    ready = with_content(offline_fallback(settings))

    async def answer(request: Request) -> dict[str, object]:
        store = WatchedStore(open_store(url, settings=ready))
        async with opened_agent(ready, store, base) as agent:
            learner = shown_learner(str(request.context.learner_id))
            logger.info("[ACE Runner] invoking the graph: model=%s learner=%s", agent.choice, learner)
            out: ACEOutput = await agent.graph.ainvoke(request.input, context=request.context)  # type: ignore[assignment]  # LangGraph says dict
            heat = ready.llm_temperature
            return answer_json(out, request, memory_loaded=store.loaded, temperature=heat)

    began = time.perf_counter()
    answered = asyncio.run(answer(request))
    took = time.perf_counter() - began
    logger.info("[ACE Runner] complete: mode=%s seconds=%.2f", answered["mode"], took)
    return answered


def _sentence(error: BaseException) -> str:
    if isinstance(error, AceError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return f"unexpected {type(error).__name__}: {error}: run it again with --debug to see where"
