"""The tables of the near-duplicates, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.quality.duplicates.metrics import Judged
from benchmarks.quality.duplicates.pairs import APART, PARAPHRASE, SAME, Pair

__all__ = ["merge_table", "paraphrase_table", "rival_table", "size_table", "table"]

_CONTRADICTING = ("number", "unit", "negation", "antonym")


def merge_table(title: str, judged: Mapping[str, Judged]) -> str:
    """Return the share of pairs merged, by method and category: 1 is right left of the dot, 0 right of it."""
    names = (*SAME, "·", *APART)
    rows = [[name, *_shares(found), f"**{found.f1():.3f}**"] for name, found in judged.items()]
    return table(title, ("method", *names, "F1"), rows)


def rival_table(title: str, ours: Mapping[str, Judged]) -> str:
    """Return how many of the contradicting pairs are seen as rivals, by part."""
    rows = [
        [
            part,
            *(_share(*found.rivals(category)) for category in _CONTRADICTING),
            _share(*found.rivals(*_CONTRADICTING)),
            _share(*found.false_rivals()),
        ]
        for part, found in ours.items()
    ]
    columns = ("part", *_CONTRADICTING, "all four", "false: pairs that do not contradict")
    return table(title, columns, rows)


def paraphrase_table(title: str, judged: Mapping[str, Judged]) -> str:
    """Return the share of free paraphrases that are merged, by method."""
    rows = [[name, _share(*found.merged(PARAPHRASE))] for name, found in judged.items()]
    return table(title, ("method", "merged"), rows)


def size_table(title: str, pairs: Sequence[Pair]) -> str:
    """Return how many pairs there are of each category, by part and origin."""
    groups = sorted({(pair.part, pair.origin) for pair in pairs}, reverse=True)
    names = (*SAME, *APART, PARAPHRASE)
    rows = [
        [
            f"{part}, {'hand-written pairs' if origin == 'written' else 'from seeds'}",
            *(str(sum((p.part, p.origin, p.category) == (part, origin, n) for p in pairs)) for n in names),
            str(sum((p.part, p.origin) == (part, origin) for p in pairs)),
        ]
        for part, origin in groups
    ]
    return table(title, ("pairs", *names, "all"), rows)


def _shares(found: Judged) -> list[str]:
    return [*(_share(*found.merged(n)) for n in SAME), "·", *(_share(*found.merged(n)) for n in APART)]


def _share(part: int, whole: int) -> str:
    if not whole:
        return "-"
    return "0" if not part else f"{part / whole:.3f}".rstrip("0").rstrip(".")


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown under its title."""
    lines = [columns, ["---", *("--:" for _ in columns[1:])], *rows]
    return "\n".join([f"### {title}", "", *(f"| {' | '.join(line)} |" for line in lines)])
