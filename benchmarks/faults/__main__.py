"""`python -m benchmarks.faults`: break turns off everywhere, on every durable store, and print what was left.

Writes RESULTS.md beside this file. Exits with 1 when a trial did not pass. PostgreSQL and Neo4j are found as
the tests find them. `--quick` leaves the long waits out (connections that fall silent) and writes nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from uuid import uuid4

from benchmarks.available_stores import Place, places
from benchmarks.faults.fault import POINTS
from benchmarks.faults.proxy import WRONGS, proxied
from benchmarks.faults.report import report
from benchmarks.faults.trials import (
    Trial,
    cancelled_everywhere,
    connection_trial,
    killed,
    server_killed,
    struck,
)

__all__ = ["broken_connections", "main", "points"]

RESULTS = Path(__file__).with_name("RESULTS.md")
MAX_MESSAGES = 40
"""More than a turn on a new connection says."""

Trials = dict[tuple[str, str], list[Trial]]


async def points(place: Place, stride: int) -> Trials:
    """Errors and cancellations inside one process."""
    found: Trials = {}
    async with place.open() as store:
        found[place.name, "an error at every await"] = [await struck(store, p, "raises") for p in POINTS]
        found[place.name, "cancelled at every await"] = [await struck(store, p, "cancels") for p in POINTS]
        steps = [trial async for trial in cancelled_everywhere(store, stride)]
        found[place.name, f"cancelled after every {stride}th step of the loop"] = steps
    return found


async def broken_connections(place: Place, *, silent: bool) -> Trials:
    """A proxy before the server that goes wrong at every message of a turn."""
    found: Trials = {}
    async with place.open() as direct, proxied(place.url) as proxy:
        through = Place(place.name, proxy.uri)
        for wrong in WRONGS:
            if wrong == "drop" and not silent:
                continue
            done: list[Trial] = []
            for at in range(1, MAX_MESSAGES):
                trial = await connection_trial(direct, through.open, proxy, wrong, at)
                if trial is None:
                    break
                done.append(trial)
            found[place.name, f"connection: {wrong} every message"] = done
    return found


async def _kills(place: Place, folder: Path) -> AsyncGenerator[tuple[tuple[str, str], list[Trial]]]:
    trials = [trial async for trial in killed(place.url, place.open, folder)]
    yield (place.name, "SIGKILL at every await and node boundary"), trials
    served = folder / "served"
    served.mkdir()
    yield (place.name, "SIGKILL of a server at every node boundary"), await server_killed(place.url, served)


def main() -> int:
    """Read the arguments, break off, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="no long waits, no file")
    quick = bool(parser.parse_args().quick)
    os.environ["LANGSMITH_TRACING"] = "false"
    logging.getLogger("ace_graph").setLevel(logging.CRITICAL)
    logging.getLogger("neo4j").setLevel(logging.CRITICAL)
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)
    with places() as found, tempfile.TemporaryDirectory(prefix="ace-faults-") as folder:
        durable = [place for place in found.all if not place.url.startswith("memory")]
        trials = asyncio.run(_all(durable, Path(folder), quick=quick))
    text = report(trials)
    sys.stdout.write(text)
    if not quick:
        RESULTS.write_text(text, encoding="utf-8")
    return int(any(not trial.passed for done in trials.values() for trial in done))


async def _all(durable: list[Place], folder: Path, *, quick: bool) -> Trials:
    trials: Trials = {}

    def add(done: Trials) -> None:
        """Keep them, and say so: all of it takes minutes."""
        trials.update(done)
        for (store, kind), each in done.items():
            sys.stderr.write(f"{store}, {kind}: {sum(t.passed for t in each)} of {len(each)} passed\n")

    for place in durable:
        add(await points(place, 25 if quick else 5))
        own = (
            folder / f"{place.name}-{uuid4()}"
        )  # it names learners, and a server may hold those of another run
        own.mkdir()
        async for kind, done in _kills(place, own):
            add({kind: done})
        if not place.url.startswith("sqlite"):
            add(await broken_connections(place, silent=not quick))
    return trials


if __name__ == "__main__":
    sys.exit(main())
