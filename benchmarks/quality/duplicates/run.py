"""Near-duplicates: judges all labelled pairs by all methods and writes RESULTS_DUPLICATES.md.

The held-out part was used once, after all changes.
"""

from __future__ import annotations

from pathlib import Path

from langchain_core.embeddings import Embeddings

from benchmarks.quality.duplicates.methods import METHODS, Method, semantic_methods
from benchmarks.quality.duplicates.metrics import Judged
from benchmarks.quality.duplicates.pairs import APART, Part, read
from benchmarks.quality.duplicates.real_words import read_real_words
from benchmarks.quality.duplicates.tables import (
    merge_table,
    paraphrase_table,
    rival_table,
    size_table,
    table,
)

__all__ = ["RESULTS", "report"]

RESULTS = Path(__file__).parents[1] / "RESULTS_DUPLICATES.md"
_PARTS: tuple[Part, ...] = ("tuning", "held-out")
_NO_MODEL = (
    "Without embeddings only: no model was given (`--embeddings provider:model` takes any that LangChain's "
    "`init_embeddings` knows)."
)


def report(embeddings: Embeddings | None = None) -> str:
    """Return all tables in Markdown."""
    pairs = read()
    methods: dict[str, Method] = {**METHODS, **(semantic_methods(embeddings) if embeddings else {})}
    judged = {part: _judged(methods, part) for part in _PARTS}
    held_out = judged["held-out"]["ours"]
    wrong = held_out.wrongly_merged(*APART)
    return "\n\n".join(
        [
            size_table("The set", pairs),
            merge_table(
                "Merged, held-out part (1 is right up to typo, 0 from number on)", judged["held-out"]
            ),
            f"Merged by ours on the held-out part although they differ: {len(wrong)}"
            + "".join(f"\n- {pair.category}: {pair.a} / {pair.b}" for pair in wrong),
            merge_table("Merged, tuning part", judged["tuning"]),
            rival_table(
                "Contradictions seen as rivals, ours", {part: judged[part]["ours"] for part in _PARTS}
            ),
            _real_words(),
            paraphrase_table("Free paraphrases, both parts", _judged(methods, None)),
            _NO_MODEL if embeddings is None else f"Embeddings: {type(embeddings).__name__}.",
        ]
    )


def _real_words() -> str:
    """Return how many pairs of real words merge, compared and in a turn."""
    found = read_real_words()
    rows = list[list[str]]()
    for part in _PARTS:
        words = {pair: said for pair, said in found.items() if said[0].part == part}
        for name in ("ours", "ours, in a turn"):
            merged = [pair for pair, said in words.items() if "same" in METHODS[name](said)]
            told = ", ".join(map("/".join, merged)) or "-"
            rows.append([part, name, str(len(words)), str(len(merged)), told])
    return table("Real words that look alike", ("part", "method", "pairs", "merged", "which"), rows)


def _judged(methods: dict[str, Method], part: Part | None) -> dict[str, Judged]:
    pairs = [pair for pair in read() if part in (None, pair.part)]
    return {name: Judged(pairs, method(pairs)) for name, method in methods.items()}
