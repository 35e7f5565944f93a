"""Rewriting: what becomes of lessons that a model writes anew always, through the gates, or never.

"Useful memories become faulty" (arXiv 2605.12978) found that lessons which a model keeps rewriting first
help and then fall below no memory, while episodes kept as they were and gated consolidation do not. Here the
model is a simulated one that drops a detail now and then (`rewriting_memory.py`); all else is the learning
simulation: both worlds, the same lives for all, and the real memory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path
from statistics import mean

from rich.console import Console

from ace_graph.memory.policy import Policy
from benchmarks.quality.lives import Job, lived
from benchmarks.quality.results import replace_section
from benchmarks.quality.rewriting_memory import Rewriter
from benchmarks.quality.simulate import Variant
from benchmarks.quality.summary import Row, machine
from benchmarks.quality.world import Setting

__all__ = ["ALWAYS", "GATED", "NEVER", "NOTHING", "RESULTS", "groups", "main", "tables"]

RESULTS = Path(__file__).parent / "RESULTS_REWRITING.md"
FIRST_SEED = 1_000
"""As in the learning simulation; seeds 0 to 119 are for tuning."""
DROPS = (0.0, 0.05, 0.15, 0.3)
LENGTHS = {600: 8, 2_400: 4}
"""Turns of a life, and how many lives."""
QUICK_LENGTHS = {150: 1, 300: 1}
PARTS = 6
WORLDS = {"first world": Setting(), "second world": Setting(wording="chat")}

Lengths = Mapping[int, int]
_BARE = Policy(holdout_rate=0)
NOTHING = Variant("no memory", "no memory", contests=False)
EPISODES = Variant(
    "episodes only: the last transcripts, 2,000 tokens", "last transcripts, 2,000 tokens", contests=False
)
NEVER = Variant("never rewritten")
GATED = {drop: Variant(f"gated, {drop:.2f} lost", rewriter=Rewriter(drop, gated=True)) for drop in DROPS}
ALWAYS = {drop: Variant(f"always, {drop:.2f} lost", rewriter=Rewriter(drop)) for drop in DROPS}
NEVER_BARE = Variant("never rewritten, no evidence", contests=False, policy=_BARE, evidence=False)
ALWAYS_BARE = Variant(
    "always, 0.15 lost, no evidence",
    contests=False,
    policy=_BARE,
    rewriter=Rewriter(0.15),
    evidence=False,
)
VARIANTS = (NOTHING, EPISODES, NEVER, *GATED.values(), *ALWAYS.values(), NEVER_BARE, ALWAYS_BARE)
ONLY_SHORT = (EPISODES, GATED[0.0], ALWAYS[0.0], NEVER_BARE, ALWAYS_BARE)
"""Lived through in the shortest lives only, to save processor."""
Lived = Mapping[tuple[str, Variant], Row]


def groups(lengths: Lengths) -> dict[tuple[str, Variant], list[Job]]:
    """Return the lives to live, by a name of world and turns and by variant."""
    return {
        (_name(world, turns), variant): [
            (Setting(turns=turns, wording=WORLDS[world].wording), seed, variant)
            for seed in range(FIRST_SEED, FIRST_SEED + lives)
        ]
        for (turns, lives), world, variant in product(lengths.items(), WORLDS, VARIANTS)
        if variant not in ONLY_SHORT or turns == min(lengths)
    }


def _name(world: str, turns: int) -> str:
    return f"{world}, {turns:,} turns"


def main() -> None:
    """Live all lives, and write the tables; QUICK=1 lives a few short ones and writes nothing.

    SEEDS=n,m changes how many there are of each length.
    """
    quick = os.environ.get("QUICK", "") not in ("", "0")
    lengths = QUICK_LENGTHS if quick else LENGTHS
    if given := os.environ.get("SEEDS"):
        lengths = dict(zip(lengths, map(int, given.split(",")), strict=True))
    text = tables(lived(groups(lengths)), lengths)
    Console().print(text, markup=False, soft_wrap=True)
    if not quick:
        replace_section(RESULTS, "Figures", text)


def tables(rows: Lived, lengths: Lengths) -> str:
    """Return the figures in Markdown: what is left of the gain, then right answers over a life."""
    names = [_name(world, turns) for turns, world in product(lengths, WORLDS)]
    lives = ", ".join(f"{lives} of {turns:,} turns" for turns, lives in lengths.items())
    return "\n\n".join(
        (
            f"Lives in each world: {lives}, seeds from {FIRST_SEED}. {machine()}",
            "### What is left of the gain",
            "The gain over no memory, as a share of that of lessons that are never rewritten: in all turns / "
            "in the last sixth of a life. Below 0 is worse than no memory.",
            _ratios(rows, names),
            *(f"### {name[0].upper()}{name[1:]}\n\n{_parts(rows, name)}" for name in names),
        )
    )


def _ratios(rows: Lived, names: Sequence[str]) -> str:
    lines = [f"| | {' | '.join(names)} |", f"|:--|{'--:|' * len(names)}"]
    for variant in VARIANTS[1:]:
        cells = [_ratio(rows, name, variant) if (name, variant) in rows else "-" for name in names]
        lines.append(f"| {variant.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _ratio(rows: Lived, name: str, variant: Variant) -> str:
    nothing, never, row = (rows[name, one] for one in (NOTHING, NEVER, variant))
    start = -(len(row.lives[0].successes) // PARTS)
    shares = [row.gain_over(nothing, at)[0] / never.gain_over(nothing, at)[0] for at in (0, start)]
    return " / ".join(f"{share:.2f}" for share in shares)


def _parts(rows: Lived, name: str) -> str:
    turns = len(rows[name, NOTHING].lives[0].successes)
    ends = [turns * part // PARTS for part in range(PARTS + 1)]
    spans = [f"{start + 1:,} to {end:,}" for start, end in pairwise(ends)]
    columns = ("right answers", *spans, "tokens", "lines at the end", "texts of the model: kept, refused")
    lines = [f"| | {' | '.join(columns)} |", f"|:--|{'--:|' * len(columns)}"]
    for variant in (variant for variant in VARIANTS if (name, variant) in rows):
        row = rows[name, variant]
        shares = [row.mean(start, end) for start, end in pairwise(ends)]
        texts = "-"
        if variant.rewriter is not None:
            kept, refused = mean(x.rewritten for x in row.lives), mean(x.refused for x in row.lives)
            texts = f"{kept:.0f}, {refused:.0f}"
        # Of one life or two an interval says nothing.
        interval = f" ± {row.half_interval():.3f}" if len(row.lives) > 2 else ""
        lines.append(
            f"| {variant.name} | {row.mean():.3f}{interval} "
            f"| {' | '.join(f'{share:.2f}' for share in shares)} | {row.tokens():.0f} "
            f"| {mean(life.bullets for life in row.lives):.0f} | {texts} |"
        )
    return "\n".join(lines)
