"""The table of the bill: `python -m benchmarks.quality bill` (SEEDS=n changes the number of lives)."""

from __future__ import annotations

import os
from itertools import product
from statistics import mean

from benchmarks.quality.bill import MOST_CALLS, MOST_LOST, SCHEDULES
from benchmarks.quality.lives import lived
from benchmarks.quality.simulate import Variant
from benchmarks.quality.summary import Row, machine
from benchmarks.quality.world import Setting

FIRST_SEED = 1_000
"""As in the learning simulation; seeds 0 to 119 are for tuning."""
WORLDS = {"first world": Setting(), "second world": Setting(wording="chat")}
_COLUMNS = ("calls a turn", "tokens a turn", "seconds a turn", "of these waited for", "right", "lost")


def report() -> str:
    """Return the table in Markdown."""
    seeds = range(FIRST_SEED, FIRST_SEED + int(os.environ.get("SEEDS", "20")))
    variants = {name: Variant(name, schedule=schedule) for name, schedule in SCHEDULES.items()}
    rows = lived(
        {
            (world, variant): [(WORLDS[world], seed, variant) for seed in seeds]
            for world, variant in product(WORLDS, variants.values())
        }
    )
    lines = [
        f"Seeds {seeds[0]} to {seeds[-1]} ({len(seeds)} lives of 600 turns). {machine()} Beside the answer, "
        f"which is one call. A default may take {MOST_CALLS} calls a turn and lose {MOST_LOST}. Lost: right "
        "answers less than with a reflection in every turn, with the 95 % interval of paired differences "
        "between lives. No model is called: the seconds are those of a model that begins after .5 s, reads "
        "2,000 tokens a second and writes 60. A failure is one that there is feedback on (.7 of them).",
    ]
    for world in WORLDS:
        lines += ["", f"### {world.capitalize()}", "", f"| setting | {' | '.join(_COLUMNS)} |"]
        lines.append(f"|---|{'---|' * len(_COLUMNS)}")
        everything = rows[world, next(iter(variants.values()))]
        lines += [_line(variant, rows[world, variant], everything) for variant in variants.values()]
    return "\n".join(lines)


def _line(variant: Variant, row: Row, everything: Row) -> str:
    turns = sum(len(life.successes) for life in row.lives) / len(row.lives)
    bills = [life.bill for life in row.lives]
    tokens = mean(bill.tokens_in + bill.tokens_out for bill in bills) / turns
    seconds = mean(bill.seconds for bill in bills) / turns
    waited = "none" if variant.schedule.late else f"{seconds:.2f}"
    lost, half = everything.gain_over(row)
    return (
        f"| {variant.name} | {mean(bill.calls for bill in bills) / turns:.2f} | {tokens:,.0f} "
        f"| {seconds:.2f} | {waited} | {row.mean():.3f} | {lost:+.3f} ± {half:.3f} |"
    )
