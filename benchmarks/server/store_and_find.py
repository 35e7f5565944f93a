"""Storing one text and finding ten, without a server or a model: our stores beside langmem and mem0.

    python -m benchmarks.server.store_and_find KIND FOLDER BULLETS TIMES      langmem or mem0, in a process

What is found is not compared: theirs find the nearest, whatever it is about; ours may find nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.available_stores import Place, Places
from benchmarks.corpus import bullets, lessons, questions
from benchmarks.own_memory import OwnMemory
from benchmarks.plan import Findings
from benchmarks.server.other_memories import KINDS, recall_of
from benchmarks.server.percentiles import percentiles
from benchmarks.server.plan import ServerPlan
from benchmarks.server.servers import ROOT
from benchmarks.table import Table
from benchmarks.timing import Job, timed_async

__all__ = ["installed", "measure_store_and_find"]

_NAMES = {
    "langmem": "langmem, LangGraph's store in memory",
    "mem0": "mem0, Qdrant in a folder",
}
_PATIENCE = 900
_IS_THERE = "import importlib.util as i, sys; sys.exit(i.find_spec(sys.argv[1]) is None)"


async def measure_store_and_find(plan: ServerPlan, found: Places, python: str, findings: Findings) -> None:
    """Add the table; a library that `python` can't import is told to be missing."""
    rows = [(f"ours, {place.name}", *await _ours(place, plan)) for place in found.all]
    rows += [(_NAMES[kind], *await asyncio.to_thread(_theirs, kind, plan, python)) for kind in KINDS]
    note = (
        f"Milliseconds, p50 / p95 / p99, one after the other, {plan.bullets} texts of one user. Ours finds "
        "near-duplicates, keeps the cap and the history, and survives a crash; theirs is told to ask no "
        "model, embeds with hashed words, and adds every text as it is."
    )
    columns = ("memory", "store one", "find ten")
    findings.tables.append(Table("Store and retrieve", columns, rows, note))


async def _ours(place: Place, plan: ServerPlan) -> tuple[str, str]:
    memory = await OwnMemory.with_texts(place, plan.bullets, plan.stored)
    kept, found = await timed_async(plan.stored, [Job(memory.keep), Job(memory.find)])
    await memory.close()
    return percentiles(kept.clock).told(), percentiles(found.clock).told()


def installed(package: str, python: str) -> bool:
    """Return whether that Python could import the package."""
    return not subprocess.run([python, "-c", _IS_THERE, package], check=False).returncode


def _theirs(kind: str, plan: ServerPlan, python: str) -> tuple[str, str]:
    if not installed(kind, python):
        return "not installed", ""
    with tempfile.TemporaryDirectory(prefix="ace-bench-") as folder:
        done = subprocess.run(
            [
                python, "-m", "benchmarks.server.store_and_find", kind, folder,
                str(plan.bullets), str(plan.stored),
            ],
            cwd=ROOT, env={**os.environ, "MEM0_TELEMETRY": "false", "MEM0_DIR": f"{folder}/mem0"},
            capture_output=True, text=True, check=False, timeout=_PATIENCE,
        )  # fmt: skip
    if done.returncode:
        return f"failed: {done.stderr.strip().splitlines()[-1][:80]}", ""
    told = json.loads(done.stdout.strip().splitlines()[-1])
    return percentiles(told["keep"]).told(), percentiles(told["find"]).told()


async def _one(kind: str, folder: Path, texts: int, times: int) -> None:
    recall = recall_of(kind, folder)
    for bullet in bullets(texts):
        await recall.keep("bench", bullet.content)
    kept, found = list[float](), list[float]()
    for question, lesson in zip(questions(times), lessons(times), strict=True):
        began = time.perf_counter()
        await recall.keep("bench", lesson)
        between = time.perf_counter()
        await recall.find("bench", question)
        kept.append((between - began) * 1000)
        found.append((time.perf_counter() - between) * 1000)
    print(json.dumps({"keep": kept, "find": found}))


if __name__ == "__main__":
    asyncio.run(_one(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
