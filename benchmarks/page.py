"""The page: what each view takes, what a browser loads for it, when one can use it, and the first token.

`python -m benchmarks.page` writes benchmarks/RESULTS_PAGE.md; `--turns 100` runs a small one and writes
nothing. One learner has 1,000 bullets and 3,000 turns, eight a day for a year, in a SQLite file.
Without Chromium there are no figures of a browser.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import tempfile
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from statistics import median

import httpx
from fastapi import FastAPI
from playwright.async_api import Browser, async_playwright
from rich.console import Console
from rich.progress import track

from ace_graph.base.settings import Settings
from ace_graph.memory import Snapshot
from ace_graph.memory.delta.operations import Delta, Reset, Touch
from ace_graph.memory.stores.sql.sqlite import SQLiteStore
from ace_graph.memory.stores.store import Store
from ace_graph.memory.turn import TurnRecord
from ace_graph.server import create_app
from ace_graph.testing.conformance.writing import rewriting, write
from benchmarks.corpus import START, bullets, questions
from benchmarks.goals import Goal, goals_table
from benchmarks.machine import describe_machine, load_now
from benchmarks.report import write_report
from benchmarks.table import Table
from benchmarks.timing import Job, number, timed_async
from tests.plugins.browser import CHROMIUM
from tests.server.serving import listening

RESULTS = Path(__file__).parent / "RESULTS_PAGE.md"
LEARNER = "local"
BULLETS, TURNS = 1_000, 3_000
_VIEWS = {
    "Chat": "/chat",
    "Memory": "/memory",
    "Memory, searched": "/memory?words=angle&sort=confidence",
    "One memory": "/playbooks/default/bullets/{bullet}",
    "Changes": "/playbooks/default/history",
    "Playbooks": "/playbooks",
    "Review": "/review",
    "Does it help?": "/runs",
    "Privacy": "/privacy",
}
_ROUNDS, _HEARD = 15, 60
_PLAYBOOK_MS, _TOKEN_MS, _WEIGHT_KB, _INTERACTIVE_MS = 200, 15, 150, 1_000
_SEEN = ("Chat", "Memory", "Changes", "Does it help?")
_PHONE = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 94_000}
"""A slow phone's network: 150 ms to the server, 1.6 megabits a second; its processor is four times slower."""


def main() -> None:
    """Read the arguments, measure, report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page")
    parser.add_argument("--turns", type=int, default=TURNS, help="turns of the learner")
    turns: int = parser.parse_args().turns
    os.environ["LANGSMITH_TRACING"] = "false"
    load, console, goals = load_now(), Console(width=140), list[Goal]()
    tables = asyncio.run(_measure(turns, goals))
    tables = (goals_table(goals), *tables)
    machine = [*describe_machine(), f"Load average {load:.1f} at the start and {load_now():.1f} at the end"]
    if turns == TURNS:
        write_report(RESULTS, "Results of the page", "python -m benchmarks.page", machine, tables)
    for table in tables:
        table.show(console)


async def _measure(turns: int, goals: list[Goal]) -> tuple[Table, ...]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ace.db"
        async with SQLiteStore(file) as store:
            await _fill(store, turns)
        settings = Settings().model_copy(
            update={
                "model": "offline",
                "store": f"sqlite:///{file}",
                "conversations": f"sqlite:///{folder}/talk.db",
                "learning": "off",
                "server_rate": 1_000_000,
            }
        )
        async with _served(create_app(settings)) as browser:
            views = await _views(browser, turns, goals)
            seen = [await _interactive(str(browser.base_url), goals)] if CHROMIUM else []
            return (views, *seen, await _first_tokens(browser, goals))


async def _fill(store: Store, turns: int) -> None:
    made, asked = bullets(BULLETS), questions(500)
    await write(store, LEARNER, rewriting(Reset(bullets=tuple(made))))
    newest: Snapshot = await store.load(LEARNER)
    for n in track(range(turns), "writing turns"):
        used = tuple(made[(n * 7 + more) % BULLETS].id for more in range(3))
        at = START + timedelta(minutes=n)
        record = TurnRecord(
            turn_id=f"turn-{n}",
            attempt_id=f"attempt-{n}",
            conversation_id=f"talk-{n // 10}",
            task=asked[n % len(asked)],
            answer="5/6",
            mode="cot",
            status="success",
            verdict=("unknown", "success", "failure")[n % 3],
            injected=used,
            started_at=at,
        )
        delta = Delta(op_id=f"op-{n}", now=at, operations=(Touch(bullet_ids=used),), author="benchmark")
        newest = (await store.commit(LEARNER, delta, newest, record)).snapshot


@asynccontextmanager
async def _served(app: FastAPI) -> AsyncGenerator[httpx.AsyncClient]:
    async with listening(app) as (_, url), httpx.AsyncClient(base_url=url, timeout=60) as browser:
        browser.headers["origin"] = url
        yield browser


async def _views(browser: httpx.AsyncClient, turns: int, goals: list[Goal]) -> Table:
    listed = (await browser.get("/api/playbook")).raise_for_status().json()["bullets"]
    rows: list[tuple[str, ...]] = []
    for name, path in _VIEWS.items():
        url = "/page" + path.format(bullet=listed[0]["id"])

        async def load(_: int, url: str = url) -> None:
            (await browser.get(url)).raise_for_status()

        [times] = await timed_async(_ROUNDS, [Job(load)])
        page = await browser.get(url)
        files = [await browser.get(file) for file in _files(page.text)]
        weight = sum(len(each.content) for each in (page, *files)) / 1_000
        rows.append((name, times.told(), number(len(page.content) / 1_000), number(weight)))
        if name == "Memory":
            what = f"the memory with {BULLETS:,} bullets"
            goals += [Goal(what, times.p50, _PLAYBOOK_MS), Goal(what, weight, _WEIGHT_KB, "kB")]
        if name == "Chat":
            goals.append(Goal("first view, all of it", weight, _WEIGHT_KB, "kB"))
    note = (
        f"A request over loopback, {_ROUNDS} of each, p50 / p95; {BULLETS:,} bullets and {turns:,} turns in "
        "SQLite. With all files: as a browser loads it the first time; later the page alone, as files are "
        "kept for good. Nothing is compressed."
    )
    return Table("Views", ("view", "ms", "page, kB", "with all files, kB"), rows, note)


async def _interactive(url: str, goals: list[Goal]) -> Table:
    rows = list[tuple[str, ...]]()
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name in _SEEN:
            view = url + "/page" + _VIEWS[name]
            here = median([await _usable(chromium, view, phone=False) for _ in range(_ROUNDS)])
            there = median([await _usable(chromium, view, phone=True) for _ in range(_ROUNDS)])
            rows.append((name, number(here), number(there)))
            if name == "Chat":
                goals.append(Goal("first view, until one can use it", here, _INTERACTIVE_MS))
        await chromium.close()
    note = (
        "Milliseconds from the request until the scripts have run (DOMContentLoaded), with nothing kept "
        f"from before; medians of {_ROUNDS}. The phone has 150 ms to the server, 1.6 Mbit/s and a processor "
        "four times slower."
    )
    return Table("Until one can use a view", ("view", "here, ms", "a slow phone, ms"), rows, note)


async def _usable(chromium: Browser, url: str, *, phone: bool) -> float:
    context = await chromium.new_context(viewport={"width": 390, "height": 844} if phone else None)
    page = await context.new_page()
    if phone:
        session = await context.new_cdp_session(page)
        await session.send("Network.enable")
        await session.send("Network.emulateNetworkConditions", {**_PHONE})
        await session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    await page.goto(url)
    await page.locator("h1").wait_for()
    taken = float(
        await page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    )
    await context.close()
    return taken


def _files(page: str) -> Iterable[str]:
    return sorted(set(re.findall(r'(?:href|src)="(/page/static/[^"#]*)', page)))


async def _first_tokens(browser: httpx.AsyncClient, goals: list[Goal]) -> Table:
    heard: dict[str, list[float]] = {"API": [], "page": []}
    for n, question in enumerate(questions(_HEARD + 3)):
        asked = {"message": question}
        api = await _first_token(browser.stream("POST", "/api/ai/chat/stream", json=asked))
        page = await _first_token(browser.stream("POST", "/page/chat/stream", data=asked))
        if n >= 3:
            heard["API"].append(api)
            heard["page"].append(page)
    middle = {name: sorted(times)[len(times) // 2] for name, times in heard.items()}
    over = sorted(own - base for own, base in zip(heard["page"], heard["API"], strict=True))[_HEARD // 2]
    goals.append(Goal("first token of the chat, the page above the API", over, _TOKEN_MS))
    rows = [(name, number(time)) for name, time in middle.items()]
    note = f"Milliseconds to the first token, medians of {_HEARD} questions, asked in turns. Offline tutor."
    return Table("First token", ("by", "ms"), [*rows, ("page above API, pair by pair", number(over))], note)


async def _first_token(request: AbstractAsyncContextManager[httpx.Response]) -> float:
    began = time.perf_counter()
    async with request as reply:
        async for line in reply.aiter_lines():
            if line == "event: token":
                return (time.perf_counter() - began) * 1_000
    raise RuntimeError("the stream ended without a token")


if __name__ == "__main__":
    main()
