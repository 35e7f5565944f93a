"""What a cached snapshot takes of memory.

    python -m benchmarks.footprint SIZE     one process that holds snapshots and prints what they took

The database's own memory is not measured.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from ace_graph.memory.playbook import Playbook
from ace_graph.memory.serialization import dump_playbook, load_playbook
from benchmarks.corpus import bullets
from benchmarks.goals import Goal
from benchmarks.plan import Findings, Plan
from benchmarks.table import Table

__all__ = ["measure_footprint"]

_MOST_MB = 1.5
"""Of a cached snapshot of 1,000 bullets: what a server keeps for a learner."""

_HELD = 20_000
"""Bullets in all that are held while the process is measured, so that it has to grow."""


def measure_footprint(plan: Plan, findings: Findings) -> None:
    """Add the table of memory."""
    rows: list[tuple[str, ...]] = []
    for size in plan.sizes:
        told = json.loads(_output([sys.executable, "-m", "benchmarks.footprint", str(size)]))
        parts = [f"{told[name] / size:,.0f}" for name in ("bullets", "index", "hashes", "all", "resident")]
        resident = told["resident"] / 1e6
        rows.append((f"{size:,}", *parts, f"{resident:.1f}"))
        if size == 1_000:
            what = "memory of a server for a learner of 1,000 bullets"
            findings.goals.append(Goal(what, resident, _MOST_MB, "MB"))
    note = "Bytes per bullet, as allocated by Python; `resident` is what the process grew by."
    columns = ("bullets", "bullets", "index", "hashes", "all", "resident", "resident MB")
    findings.tables.append(Table("Memory of a cached snapshot", columns, rows, note))


def _output(command: Sequence[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _resident() -> int:
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * 4096 if statm.exists() else 0


def _take(size: int) -> dict[str, int]:
    """Return the bytes of one snapshot as it is after a load: by part, and as its share of the process."""
    text, warm = dump_playbook(Playbook.of(bullets(size))), dump_playbook(Playbook.of(bullets(100, seed=9)))
    assert load_playbook(warm).index.postings
    gc.collect()
    before, held = _resident(), [load_playbook(text) for _ in range(max(1, _HELD // size))]
    assert all(playbook.index.postings and playbook.hashes for playbook in held)
    gc.collect()
    grown = (_resident() - before) // len(held)
    tracemalloc.start()
    sizes = [tracemalloc.get_traced_memory()[0]]
    other = load_playbook(text)
    for part in (lambda: other, lambda: other.index, lambda: other.hashes):
        assert part() is not None
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
    parts = [after - earlier for earlier, after in pairwise(sizes)]
    return {
        **dict(zip(("bullets", "index", "hashes"), parts, strict=True)),
        "all": sum(parts),
        "resident": grown,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_take(int(sys.argv[1]))))
