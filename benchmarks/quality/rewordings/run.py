"""Rewordings: judges all pairs of one half by all methods and writes RESULTS_REWORDINGS.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from langchain_core.embeddings import Embeddings

from benchmarks.quality.duplicates.methods import METHODS, Method, semantic_methods
from benchmarks.quality.duplicates.metrics import Judged
from benchmarks.quality.duplicates.pairs import Pair, Part
from benchmarks.quality.duplicates.tables import table
from benchmarks.quality.rewordings.pairs import NEAR_MISSES, REWORDINGS, Block, disguised, read_half

__all__ = ["RESULTS", "report", "tables"]

RESULTS = Path(__file__).parents[1] / "RESULTS_REWORDINGS.md"
_SHOWN = 20
"""How many wrong merges of this project are printed."""


def report(part: Part, embeddings: Embeddings | None = None) -> str:
    """Return the tables of one half in Markdown."""
    return tables(read_half(part), embeddings)


def tables(blocks: Sequence[Block], embeddings: Embeddings | None = None) -> str:
    """Return what is merged of these blocks, in Markdown."""
    pairs = [pair for block in blocks for pair in block.pairs()]
    others = [pair for block in blocks for pair in disguised(block)]
    methods = {**METHODS, **(semantic_methods(embeddings) if embeddings else {})}
    judged, in_other_words = _judged(methods, pairs), _judged(methods, others)
    sizes = [sum(pair.category in kinds for pair in pairs) for kinds in (_SAME, _APART)]
    return "\n\n".join(
        (
            f"{len(blocks)} sentences, {sizes[0]} rewordings, {sizes[1]} near misses, and {len(others)} near "
            "misses of a rewording.",
            _table("Rewordings merged, of all (all of them is right)", judged, _SAME),
            _table("Near misses merged (none is right)", judged, _APART),
            _table("Near misses in other words merged (none is right)", in_other_words, _APART),
            _wrong(judged["ours"].wrongly_merged(*_APART) + in_other_words["ours"].wrongly_merged(*_APART)),
        )
    )


_SAME, _APART = tuple(REWORDINGS.values()), tuple(NEAR_MISSES.values())


def _judged(methods: Mapping[str, Method], pairs: Sequence[Pair]) -> dict[str, Judged]:
    return {name: Judged(pairs, method(pairs)) for name, method in methods.items()}


def _table(title: str, judged: Mapping[str, Judged], categories: Sequence[str]) -> str:
    rows = list[list[str]]()
    for name, found in judged.items():
        counts = [found.merged(category) for category in categories]
        merged, total = (sum(count) for count in zip(*counts, strict=True))
        rows.append([name, *(f"{m} of {n}" for m, n in counts), f"**{merged} of {total}**"])
    return table(title, ("method", *categories, "all"), rows)


def _wrong(pairs: Sequence[Pair]) -> str:
    shown = "".join(f"\n- {pair.category}: {pair.a} / {pair.b}" for pair in pairs[:_SHOWN])
    return f"Merged by ours although they differ: {len(pairs)}{shown}"
