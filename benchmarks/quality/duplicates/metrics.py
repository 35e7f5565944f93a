"""What the judgements of a method amount to: shares by category, F1, and how many contradictions are seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.quality.duplicates.methods import Outcome
from benchmarks.quality.duplicates.pairs import APART, PARAPHRASE, SAME, Pair

__all__ = ["Judged"]


@dataclass(frozen=True)
class Judged:
    """The judgements of one method on some pairs, in their order."""

    pairs: Sequence[Pair]
    outcomes: Sequence[Outcome]

    def merged(self, category: str) -> tuple[int, int]:
        """Return how many pairs of a category were merged, and how many there are."""
        found = [outcome for pair, outcome in self._all() if pair.category == category]
        return found.count("same"), len(found)

    def f1(self) -> float:
        """Return the harmonic mean of precision and recall of merging, paraphrases aside."""
        right = sum(self.merged(category)[0] for category in SAME)
        missed = sum(self.merged(category)[1] for category in SAME) - right
        wrong = sum(self.merged(category)[0] for category in APART)
        return 2 * right / (2 * right + wrong + missed) if right else 0.0

    def wrongly_merged(self, *categories: str) -> list[Pair]:
        """Return the pairs of these categories that were merged and must not be."""
        return [p for p, outcome in self._all() if p.category in categories and outcome == "same"]

    def rivals(self, *categories: str, expected: str = "yes") -> tuple[int, int]:
        """Return how many pairs were seen as rivals, of those of these categories labelled so."""
        found = [o for p, o in self._all() if p.category in categories and p.rival == expected]
        return found.count("rival"), len(found)

    def false_rivals(self) -> tuple[int, int]:
        """Return how many pairs that do not contradict were seen as rivals, and how many there are."""
        return self.rivals(*SAME, *APART, PARAPHRASE, expected="no")

    def _all(self) -> list[tuple[Pair, Outcome]]:
        return list(zip(self.pairs, self.outcomes, strict=True))
