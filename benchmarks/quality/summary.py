"""The tables of the learning simulation: means over lives with their 95 % intervals."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import mean, stdev

from benchmarks.quality.simulate import Life

__all__ = ["Row", "gain_table", "learning_table", "machine", "poison_table"]


@dataclass(frozen=True)
class Row:
    """One policy in one setting."""

    name: str
    lives: Sequence[Life]

    def mean(self, start: int = 0, end: int | None = None) -> float:
        """Return the mean share of right answers in these turns."""
        return mean(life.mean(start, end) for life in self.lives)

    def half_interval(self) -> float:
        """Return half the 95 % interval of the mean over all turns, between lives."""
        shares = [life.mean() for life in self.lives]
        return 1.96 * stdev(shares) / sqrt(len(shares)) if len(shares) > 1 else 0.0

    def changed(self, start: int, end: int | None = None) -> str:
        """Return the share of right answers on changed rules in these turns, '-' where there are none."""
        counts = [life.changed(start, end) for life in self.lives]
        tasks = sum(total for _, total in counts)
        return f"{sum(right for right, _ in counts) / tasks:.3f}" if tasks else "-"

    def gain_over(self, other: Row, start: int = 0, end: int | None = None) -> tuple[float, float]:
        """Return the mean gain in right answers over another policy in the same lives, and half its interval.

        The interval is the paired normal one, between lives.
        """
        gains = [
            ours.mean(start, end) - theirs.mean(start, end)
            for ours, theirs in zip(self.lives, other.lives, strict=True)
        ]
        return mean(gains), 1.96 * stdev(gains) / sqrt(len(gains)) if len(gains) > 1 else 0.0

    def tokens(self) -> float:
        """Return the mean tokens of bullets in a prompt."""
        return mean(mean(life.tokens) for life in self.lives)


def learning_table(name: str, rows: Sequence[Row]) -> str:
    """Return one setting's table in Markdown; the last row is compared with the others."""
    lines = [
        f"### {name}",
        "",
        f"| policy | all turns | {rows[-1].name} minus it | changed rules, first 60 turns "
        "| changed rules, last 100 | tokens a prompt |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        gain, half = rows[-1].gain_over(row)
        compared = "-" if row is rows[-1] else f"{gain:+.3f} ± {half:.3f}"
        lines.append(
            f"| {row.name} | {row.mean():.3f} ± {row.half_interval():.3f} | {compared} "
            f"| {row.changed(300, 360)} | {row.changed(500)} | {row.tokens():.0f} |"
        )
    return "\n".join(lines)


def gain_table(worlds: Mapping[str, tuple[Row, Sequence[Row]]]) -> str:
    """Return the gain of a policy over each control in Markdown; a world has that policy and its controls."""
    names = [row.name for row in next(iter(worlds.values()))[1]]
    columns = [f"{world}: {part}" for world in worlds for part in ("all turns", "last 100")]
    lines = [f"| ours minus | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    for place, name in enumerate(names):
        gains = [
            ours.gain_over(controls[place], start)
            for ours, controls in worlds.values()
            for start in (0, -100)
        ]
        lines.append(f"| {name} | {' | '.join(f'{gain:+.3f} ± {half:.3f}' for gain, half in gains)} |")
    return "\n".join(lines)


def poison_table(rows: Mapping[str, Sequence[Row]]) -> str:
    """Return the table of the lying reflector."""
    lines = [
        "### Poison: a reflector that lies",
        "",
        "Wrong advice that was shown after its second failure on evidence, times a life: without a success "
        "since, and after a lucky one in between.",
        "",
        "| lies | policy | all turns | last 200 turns | after 2 failures in a row | with luck in between |",
        "|---|---|---|---|---|---|",
    ]
    for lies, group in rows.items():
        for row in group:
            late = mean(life.late_lies for life in row.lives)
            lucky = mean(life.lucky_lies for life in row.lives)
            lines.append(
                f"| {lies} | {row.name} | {row.mean():.3f} ± {row.half_interval():.3f} "
                f"| {row.mean(-200):.3f} | {late:.2f} | {lucky:.2f} |"
            )
    return "\n".join(lines)


def machine() -> str:
    """Return what the figures were made on."""
    return (
        f"Machine: {platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}."
    )
