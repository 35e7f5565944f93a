"""Time to the first token of a stream, beside the bare graph, and what learning does to it.

The clients ask one after the other, server by server in turns, so that all meet the same load.

The stub model begins at once everywhere, so no time of a model is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median

from benchmarks.available_stores import Place
from benchmarks.goals import Goal
from benchmarks.plan import Findings
from benchmarks.server.clients import Client, Heard, connected
from benchmarks.server.learners import everything_learned
from benchmarks.server.participants import Setting
from benchmarks.server.percentiles import percentiles
from benchmarks.server.plan import ServerPlan
from benchmarks.server.server_process import Options
from benchmarks.server.servers import Server, Wanted, running
from benchmarks.table import Table
from benchmarks.timing import number

__all__ = ["measure_first_token", "measure_learning_modes"]

FIRST_TOKEN_MS = 10.0
LEARNING_MS = 5.0
"""Less than anybody sees; a screen shows 60 pictures a second."""

OFF, BACKGROUND, INLINE = "off", "background", "inline"


async def measure_first_token(
    plan: ServerPlan, setting: Setting, servers: Sequence[Server], findings: Findings
) -> None:
    """Add the table of first tokens, and its goals. The first server is the bare graph."""
    heard = await _in_turns(plan, setting, servers)
    await _settle(setting, servers)
    base = heard[0]
    rows: list[tuple[str, ...]] = []
    for server, own in zip(servers, heard, strict=True):
        first = percentiles([one.first for one in own])
        paired = median(one.first - other.first for one, other in zip(own, base, strict=True))
        done = percentiles([one.done for one in own])
        rows.append((server.name, first.told(), "" if own is base else number(paired), done.told()))
        if server.wanted.kind == "ours":
            what = f"time to the first token, {server.name}, above the bare graph"
            findings.goals.append(Goal(what, paired, FIRST_TOKEN_MS))
    columns = ("server", "first token p50 / p95 / p99, ms", "above bare, median", "end p50 / p95 / p99, ms")
    note = f"Server-sent events, one client, each question in a new conversation, {plan.bullets} bullets."
    findings.tables.append(Table("Time to the first token", columns, rows, note))


async def measure_learning_modes(
    plan: ServerPlan, setting: Setting, places: Sequence[Place], folder: Path, findings: Findings
) -> None:
    """Add the table of what learning adds to an answer when reflecting takes time."""
    rows: list[tuple[str, ...]] = []
    for place in places:
        wanted = [_wanted(place, mode, plan) for mode in (OFF, BACKGROUND, INLINE)]
        async with running(wanted, folder) as servers:
            heard = await _in_turns(plan, setting, servers)
            await _settle(setting, servers)
        for mode, own in zip((OFF, BACKGROUND, INLINE), heard, strict=True):
            rows.append((f"{place.name}, {mode}", *_middle(own)))
        for what in ("first", "last"):
            more = _paired(what, heard[1], heard[0])
            told = f"time to the {what} token, {place.name}, learning in the background above none"
            findings.goals.append(Goal(told, more, LEARNING_MS))
    columns = ("learning", "first token, ms", "last token, ms", "end, ms")
    note = (
        f"Medians, one client that asks without a pause; reflecting on a turn takes the model "
        f"{number(plan.reflect_seconds * 1000)} ms. In the background the same server's worker reflects on "
        "earlier turns meanwhile. The end comes when the turn is stored."
    )
    findings.tables.append(Table("What learning adds to an answer", columns, rows, note))


def _wanted(place: Place, mode: str, plan: ServerPlan) -> Wanted:
    options = Options.model_validate({"learning": mode, "reflect_seconds": plan.reflect_seconds})
    return Wanted(f"{place.name}, {mode}", "ours", place.url, options)


async def _in_turns(plan: ServerPlan, setting: Setting, servers: Sequence[Server]) -> list[list[Heard]]:
    """Let one client of each server listen, one after the other; every server has a learner of its own."""
    heard: list[list[Heard]] = [[] for _ in servers]
    async with AsyncExitStack() as stack:
        clients: list[Client] = []
        for n, server in enumerate(servers):
            learners = setting.learners_of(server)
            clients += await stack.enter_async_context(connected(server, [learners[n % len(learners)]]))
        for client in clients:
            await client.listen()
        for _ in range(plan.listened):
            for client, own in zip(clients, heard, strict=True):
                own.append(await client.listen())
    return heard


async def _settle(setting: Setting, servers: Sequence[Server]) -> None:
    """Wait until their workers have nothing left to do."""
    for server in servers:
        store = setting.store_of(server)
        if store is not None:
            await everything_learned(store)


def _middle(heard: Sequence[Heard]) -> tuple[str, str, str]:
    return (
        number(median(one.first for one in heard)),
        number(median(one.last for one in heard)),
        number(median(one.done for one in heard)),
    )


def _paired(what: str, own: Sequence[Heard], base: Sequence[Heard]) -> float:
    pairs = zip(own, base, strict=True)
    if what == "first":
        return median(one.first - other.first for one, other in pairs)
    return median(one.last - other.last for one, other in pairs)
