"""Measures finding and attached playbooks with whichever commit is first on Python's path; writes JSON.

    python -P benchmarks/probe.py FILE QUICK     FILE gets {table: [columns, rows]}; QUICK may be empty

It is run in a checkout of another commit, with that commit's package and benchmarks: it calls nothing of them
but what commit 46b8010 has, too.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from benchmarks import core
from benchmarks.attached import measure_attached
from benchmarks.available_stores import places
from benchmarks.plan import FULL, QUICK, Findings


def main(file: Path, *, quick: bool) -> None:
    """Measure and write."""
    plan = QUICK if quick else replace(FULL, sizes=(1_000,), turns=30, questions=150, repeats=10)
    findings = Findings()
    core.measure_core(plan, findings)
    with places() as found:
        asyncio.run(measure_attached(plan, found, findings))
    if not quick:
        # Commit 46b8010 fills its vectors within a time that a slow machine exceeds
        with patch.object(core, "find_static_vectors", return_value=None):
            core.measure_core(replace(plan, sizes=(10_000,)), findings)
    told: dict[str, tuple[tuple[str, ...], list[Sequence[str]]]] = {}
    for table in findings.tables:
        told.setdefault(table.title, (table.columns, []))[1].extend(table.rows)
    file.write_text(json.dumps(told), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), quick=bool(sys.argv[2]))
