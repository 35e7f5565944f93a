"""Two worlds: what the memory is worth where questions are to the point, and where they are mostly chat.

The first world is that of the learning simulation; the second has words of its own (`chat_wording.py`).
Beside the memory stand the last turns as they were (naive in-context learning), and BM25 as the textbooks
have it: without stop words, with the ordinary ones of English, and told which words of the world are chat,
which no memory can know.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import product

from langchain_core.embeddings import Embeddings

from ace_graph.memory.policy import Policy
from benchmarks.quality.duplicates.pairs import Part
from benchmarks.quality.lives import lived
from benchmarks.quality.policies import TEXTBOOK_CHOOSERS, TRANSCRIPT_CHOOSERS
from benchmarks.quality.simulate import Variant
from benchmarks.quality.summary import Row, gain_table, machine
from benchmarks.quality.world import Setting

__all__ = ["report"]

FIRST_SEED = 1_000
"""As in the learning simulation; seeds 0 to 119 are for tuning."""

CONTROLS = (
    Variant("no memory", "no memory", contests=False),
    *(Variant(name, name, contests=False) for name in TRANSCRIPT_CHOOSERS),
    *(Variant(name, name, contests=False) for name in TEXTBOOK_CHOOSERS),
    Variant("BM25 of this project", "plain BM25", contests=False),
)
"""Without memory, with the last turns as they were, and with the same lessons found in a plain way."""

OURS = Variant("ours")
VARIANTS = (
    *CONTROLS,
    Variant("ours without trust", policy=Policy(holdout_rate=0)),
    Variant("ours with replay", replays=True),
    OURS,
    Variant("ceiling: told the truth", "ceiling: told the truth", contests=False),
)
WORLDS: dict[Part, dict[str, Setting]] = {
    "tuning": {"first world": Setting(), "second world": Setting(wording="chat")},
    "held-out": {"second world": Setting(wording="chat, held-out")},
}
_COLUMNS = ("all turns", "changed rules, first 60 turns", "changed rules, last 100", "tokens a prompt")


def report(part: Part, embeddings: Embeddings | None = None) -> str:
    """Return the table in Markdown: both worlds side by side, or the second with its held-out words.

    `embeddings` are not used: in a simulated world words say all.
    """
    seeds = range(FIRST_SEED, FIRST_SEED + int(os.environ.get("SEEDS", "20")))
    worlds = WORLDS[part]
    rows = lived(
        {
            (world, variant): [(worlds[world], seed, variant) for seed in seeds]
            for world, variant in product(worlds, VARIANTS)
        }
    )
    words = "words for tuning" if part == "tuning" else "held-out words"
    return "\n".join(
        (
            "A question of the first world holds all words of its subject, one of the second one or two "
            "of three among eight words of chat.",
            "",
            f"Second world: its {words}. Seeds {seeds[0]} to {seeds[-1]} ({len(seeds)} lives of 600 turns); "
            f"seeds 0 to 119 are for tuning. {machine()}",
            "",
            f"| policy | {' | '.join(f'{world}: {column}' for world, column in product(worlds, _COLUMNS))} |",
            f"|---|{'---|' * len(worlds) * len(_COLUMNS)}",
            *(_line(variant.name, [rows[world, variant] for world in worlds]) for variant in VARIANTS),
            "",
            "Gain: the share of right answers with this memory minus that of a control in the same lives, "
            "with the 95 % interval of paired differences between lives (normal). The last transcripts are "
            "naive in-context learning: no lessons, the last turns as they were, in as many tokens as the "
            "memory may take, and in about as many as it takes. One that says nothing of the question costs "
            "the solver what a bullet of no use costs it.",
            "",
            gain_table({world: _gains(rows, world) for world in worlds}),
        )
    )


def _gains(rows: Mapping[tuple[str, Variant], Row], world: str) -> tuple[Row, Sequence[Row]]:
    return rows[world, OURS], [rows[world, control] for control in CONTROLS]


def _line(name: str, rows: Sequence[Row]) -> str:
    figures = [
        f"{row.mean():.3f} ± {row.half_interval():.3f} | {row.changed(300, 360)} | {row.changed(500)} "
        f"| {row.tokens():.0f}"
        for row in rows
    ]
    return f"| {name} | {' | '.join(figures)} |"
