"""The learning simulation: `python -m benchmarks.quality.learning_simulation` (QUICK=1 for under a minute).

Learners with hidden rules, a solver that is as good as its prompt, noisy reflections, and rules that change;
every policy lives the same lives. Writes its tables into benchmarks/quality/RESULTS.md; nothing is left out.

No model is called. SEEDS=n changes the number of lives.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from ace_graph.memory.policy import Policy
from benchmarks.quality.lives import Job, lived
from benchmarks.quality.policies import CHOOSERS
from benchmarks.quality.results import replace_section
from benchmarks.quality.simulate import Variant
from benchmarks.quality.summary import learning_table, machine, poison_table
from benchmarks.quality.world import Setting

RESULTS = Path(__file__).parent / "RESULTS.md"
FIRST_SEED = 1_000
"""Lives that nothing was tuned on; tuning saw seeds 0 to 119."""

OURS = Variant("ours")
NO_TRUST = Variant("ours without trust", policy=Policy(holdout_rate=0))
WITH_REPLAY = Variant("ours with replay", replays=True)
NO_CONTEST = Variant("ours without contest", contests=False)
BASELINES = tuple(Variant(name, name, contests=False) for name in CHOOSERS if name != "ours")
SETTINGS = {
    "As described": Setting(),
    "No rule changes": Setting(changes=False),
    "120 skills": Setting(skills=120),
    "Hard wording: one word of the subject shared": Setting(hard_wording=True),
}
LIES = {"none": 0.0, "a tenth": 0.1, "a third": 1 / 3, "all": 1.0}
POISONED = (BASELINES[0], OURS, NO_TRUST, WITH_REPLAY)


def main() -> None:
    """Live all lives and write the tables."""
    seeds = range(FIRST_SEED, FIRST_SEED + int(os.environ.get("SEEDS", "1" if _quick() else "20")))
    learning = {
        (s, v): list(_jobs(setting, v, seeds)) for s, setting in SETTINGS.items() for v in _variants()
    }
    poison = {(s, v): list(_jobs(Setting(lies=p), v, seeds)) for s, p in LIES.items() for v in POISONED}
    rows = lived({**learning, **poison})
    lives = f"Seeds {seeds[0]} to {seeds[-1]} ({len(seeds)} lives of 600 turns); tuning saw seeds 0 to 119."
    told = [f"{lives} {machine()} The intervals are of 95 %, normal, between lives; of a difference, paired."]
    for name in SETTINGS:
        told.append(learning_table(name, [rows[name, v] for v in _variants()]))
    told.append(poison_table({name: [rows[name, v] for v in POISONED] for name in LIES}))
    text = "\n\n".join(told)
    Console().print(text, markup=False, soft_wrap=True)
    if not _quick():
        replace_section(RESULTS, "Learning simulation", text)


def _quick() -> bool:
    return os.environ.get("QUICK", "") not in ("", "0")


def _variants() -> tuple[Variant, ...]:
    return (*BASELINES, NO_CONTEST, NO_TRUST, WITH_REPLAY, OURS)


def _jobs(setting: Setting, variant: Variant, seeds: range) -> Iterator[Job]:
    return ((setting, seed, variant) for seed in seeds)


if __name__ == "__main__":
    main()
