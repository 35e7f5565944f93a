"""Conversations: asks all questions of one half in all ways and writes RESULTS_CONVERSATIONS.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from langchain_core.embeddings import Embeddings

from benchmarks.quality.conversations.conversation import Conversation, read_half
from benchmarks.quality.conversations.metrics import Answered, answer
from benchmarks.quality.duplicates.pairs import Part
from benchmarks.quality.duplicates.tables import table
from benchmarks.quality.retrieval.methods import WAYS, Way, semantic_ways

__all__ = ["RESULTS", "report"]

RESULTS = Path(__file__).parents[1] / "RESULTS_CONVERSATIONS.md"
_COMPARED = ("ours", "plain BM25, 10 best")
_COLUMNS = (
    "way",
    "R@5",
    "R@10",
    "R@10 of one fact",
    "R@10 of several",
    "tokens a prompt",
    "nobody said it: tokens",
    "such questions that get any",
    "somebody else's: tokens",
    "such questions that get any",
)


def report(part: Part, embeddings: Embeddings | None = None) -> str:
    """Return the tables of one half in Markdown."""
    conversations = read_half(part)
    ways: Mapping[str, Way] = {
        **{name: WAYS[name] for name in _COMPARED},
        **(semantic_ways(embeddings) if embeddings else {}),
    }
    of_facts = {name: answer(conversations, way) for name, way in ways.items()}
    of_turns = {name: answer(conversations, way, turns=True) for name, way in ways.items()}
    return "\n\n".join(
        (
            _size(conversations),
            table("Facts, all languages", _COLUMNS, _figures(of_facts)),
            table("Facts, by language", *_by_language(of_facts)),
            table("Turns in place of facts, all languages", _COLUMNS, _figures(of_turns)),
            table("Turns in place of facts, by language", *_by_language(of_turns)),
        )
    )


def _size(conversations: Sequence[Conversation]) -> str:
    names = ", ".join(each.name for each in conversations)
    turns = sum(len(each.turns) for each in conversations)
    facts = sum(len(each.facts) for each in conversations)
    asked = Counter(asked.kind for each in conversations for asked in each.questions)
    return (
        f"{len(conversations)} conversations ({names}): {turns} turns, {facts} facts.\n\nQuestions: "
        f"{asked['ask']} about one fact, {asked['cross']} across several, {asked['absent']} for what nobody "
        f"said, {asked['other']} written as somebody else's."
    )


def _figures(answered: Mapping[str, Answered]) -> list[list[str]]:
    rows = list[list[str]]()
    for name, found in answered.items():
        absent, other = found.for_nothing("absent"), found.for_nothing("other")
        recalls = (
            found.recall(5),
            found.recall(10),
            found.recall(10, lambda row: row.kind == "ask"),
            found.recall(10, lambda row: row.kind == "cross"),
        )
        shown = (f"{found.tokens():.0f}", f"{absent[0]:.0f}", f"{absent[1]:.3f}", f"{other[0]:.0f}")
        rows.append([name, *(f"{recall:.3f}" for recall in recalls), *shown, f"{other[1]:.3f}"])
    return rows


def _by_language(answered: Mapping[str, Answered]) -> tuple[Sequence[str], list[list[str]]]:
    languages = sorted({row.language for found in answered.values() for row in found.rows})
    rows = [
        [f"{name}, R@{first}", *(_recall(found, first, language) for language in languages)]
        for first in (10, 5)
        for name, found in answered.items()
    ]
    return ("way", *languages), rows


def _recall(found: Answered, first: int, language: str) -> str:
    return f"{found.recall(first, lambda row: row.language == language):.3f}"
