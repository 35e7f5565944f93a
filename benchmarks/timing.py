"""How long things take: medians and 95th percentiles of repeated runs, in milliseconds.

Beside the time on the clock stands the processor time of this process, which other programs disturb less.

Things to compare are timed in turns, so that all of them meet the same load of the machine.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from statistics import median

__all__ = ["Job", "Times", "number", "timed", "timed_async"]


@dataclass(frozen=True)
class Times:
    """Milliseconds of single runs, in the order they were made: on the clock, and of the processor."""

    clock: tuple[float, ...]
    cpu: tuple[float, ...]

    @property
    def p50(self) -> float:
        return median(self.clock)

    @property
    def p95(self) -> float:
        return sorted(self.clock)[min(len(self.clock) - 1, int(len(self.clock) * 0.95))]

    @property
    def cpu_p50(self) -> float:
        return median(self.cpu)

    @property
    def cpu_p10(self) -> float:
        """The tenth percentile, which other programs disturb least."""
        return sorted(self.cpu)[len(self.cpu) // 10]

    def over(self, base: Times) -> Times:
        """Return run by run what this took longer than `base`, which was timed in turns with it."""
        return Times(
            tuple(own - other for own, other in zip(self.clock, base.clock, strict=True)),
            tuple(own - other for own, other in zip(self.cpu, base.cpu, strict=True)),
        )

    def told(self) -> str:
        """Return `p50 / p95` of the clock."""
        return f"{number(self.p50)} / {number(self.p95)}"


@dataclass(frozen=True)
class Job:
    """What is timed, given the number of its round; `prepare` runs before it, untimed."""

    run: Callable[[int], Awaitable[object]]
    prepare: Callable[[int], Awaitable[object]] | None = None


def number(value: float) -> str:
    """Return a number with as many decimals as it deserves."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def timed(jobs: Sequence[Callable[[], object]]) -> Times:
    """Run each job once and return what each took."""
    clock: list[float] = []
    cpu: list[float] = []
    gc.collect()
    for job in jobs:
        began, began_cpu = time.perf_counter(), time.process_time()
        job()
        cpu.append((time.process_time() - began_cpu) * 1000)
        clock.append((time.perf_counter() - began) * 1000)
    return Times(tuple(clock), tuple(cpu))


async def timed_async(rounds: int, jobs: Sequence[Job], *, warm_up: int = 2) -> list[Times]:
    """Run all jobs in turns, `rounds` times after some untimed ones; return the times of each job."""
    clock: list[list[float]] = [[] for _ in jobs]
    cpu: list[list[float]] = [[] for _ in jobs]
    for n in range(-warm_up, rounds):
        if n == 0:
            gc.collect()
        for job, own, own_cpu in zip(jobs, clock, cpu, strict=True):
            if job.prepare is not None:
                await job.prepare(n)
            began, began_cpu = time.perf_counter(), time.process_time()
            await job.run(n)
            own_cpu.append((time.process_time() - began_cpu) * 1000)
            own.append((time.perf_counter() - began) * 1000)
    return [
        Times(tuple(own[warm_up:]), tuple(own_cpu[warm_up:])) for own, own_cpu in zip(clock, cpu, strict=True)
    ]
