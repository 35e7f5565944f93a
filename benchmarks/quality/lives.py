"""Many simulated lives at once, on two processes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

from rich.console import Console
from rich.progress import track

from benchmarks.quality.simulate import Life, Variant, live
from benchmarks.quality.summary import Row
from benchmarks.quality.world import Setting

__all__ = ["Job", "lived"]

Job = tuple[Setting, int, Variant]


def lived(groups: Mapping[tuple[str, Variant], Sequence[Job]]) -> dict[tuple[str, Variant], Row]:
    """Return what came of each group of lives."""
    jobs = [job for group in groups.values() for job in group]
    with ProcessPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        lives = list(
            track(
                pool.map(_live, jobs, chunksize=2),
                "Learning simulation",
                total=len(jobs),
                console=Console(stderr=True),
            )
        )
    found, place = dict[tuple[str, Variant], Row](), 0
    for key, group in groups.items():
        found[key] = Row(key[1].name, lives[place : place + len(group)])
        place += len(group)
    return found


def _live(job: Job) -> Life:
    return live(*job)
