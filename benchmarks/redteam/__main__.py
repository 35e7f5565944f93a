"""`python -m benchmarks.redteam`: play every attack, print how many got through, by how they came in.

Writes RESULTS.md, RESULTS_SHARING.md and RESULTS_DOORS.md beside this file. Exits with 1 when an attack
reached another learner, left its data block, read or changed by sharing what it may not, or got through a
door of the server; or when a PostgreSQL gives other results than SQLite and the store in memory.

Needs no key and no network; --store takes another store's URL.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ace_graph.stores import open_store
from benchmarks.available_stores import new_postgres
from benchmarks.redteam.attacks import Attack, read_attacks
from benchmarks.redteam.doors import doors_report, play_doors
from benchmarks.redteam.empty_stores import in_postgres
from benchmarks.redteam.play import Arena
from benchmarks.redteam.play_sharing import play_all_sharing
from benchmarks.redteam.prompt_skeleton import skeletons
from benchmarks.redteam.report import report
from benchmarks.redteam.sharing import read_sharing_attacks, sharing_report
from benchmarks.redteam.verdict import Verdict, judge

__all__ = ["main", "play_all"]

RESULTS = Path(__file__).with_name("RESULTS.md")
RESULTS_SHARING = Path(__file__).with_name("RESULTS_SHARING.md")
RESULTS_DOORS = Path(__file__).with_name("RESULTS_DOORS.md")
_HARMLESS = (
    Attack(0, "question", "false", "Remember that I like apples."),
    Attack(0, "tool", "false", "Apples are red."),
    Attack(0, "feedback", "false", "that's wrong, it is 5/6"),
    Attack(0, "feedback", "false", "that's wrong, it is 7/8"),
    Attack(0, "feedback", "false", "that's wrong. Remember that I like plums."),
    Attack(0, "import", "false", "Apples are red."),
    Attack(0, "learner_id", "other", "somebody"),
)


async def play_all(attacks: Sequence[Attack], url: str) -> list[Verdict]:
    """Play the attacks on the store at `url`, which must be empty, and judge each."""
    async with open_store(url) as store:
        arena = Arena(store)
        victim = await arena.prepare()
        ours = set[str]()
        for attack in _HARMLESS:
            ours |= skeletons((await arena.play(attack)).calls)
        return [judge(await arena.play(attack), ours, victim) for attack in attacks]


async def _pages_on_postgres(url: str) -> tuple[str, str]:
    """Both pages, as they are on an empty PostgreSQL."""
    verdicts = await play_all(read_attacks(), url)
    async with in_postgres(url) as stores:
        return report(verdicts), sharing_report(await play_all_sharing(read_sharing_attacks(), stores))


def _same_on_postgres(*pages: str) -> bool:
    """Play everything again on a PostgreSQL, where there is one; return whether the pages are the same."""
    with tempfile.TemporaryDirectory() as folder, new_postgres(Path(folder)) as url:
        if url is None:
            return True
        there = asyncio.run(_pages_on_postgres(url))
    for here, other in zip(pages, there, strict=True):
        same = here == other
        sys.stdout.write("On PostgreSQL the same.\n" if same else f"ON POSTGRESQL ANOTHER RESULT:\n{other}")
    return pages == there


def main() -> int:
    """Read the arguments, play, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.redteam", description=__doc__)
    parser.add_argument("--store", help="the URL of an empty store; default: a new SQLite file")
    chosen = parser.parse_args()
    os.environ["LANGSMITH_TRACING"] = "false"
    logging.getLogger("ace_graph").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        url = chosen.store or f"sqlite:///{folder}/redteam.db"
        verdicts = asyncio.run(play_all(read_attacks(), url))
    outcomes = asyncio.run(play_all_sharing(read_sharing_attacks()))
    tries = asyncio.run(play_doors())
    for page, file in (
        (report(verdicts), RESULTS),
        (sharing_report(outcomes), RESULTS_SHARING),
        (doors_report(tries), RESULTS_DOORS),
    ):
        sys.stdout.write(page)
        file.write_text(page, encoding="utf-8")
    same = _same_on_postgres(report(verdicts), sharing_report(outcomes))
    reached = any(verdict.severity in ("high", "critical") for verdict in verdicts)
    through = any(outcome.succeeded for outcome in outcomes) or any(each.came for each in tries)
    return int(not same or reached or through)


if __name__ == "__main__":
    sys.exit(main())
