"""Others: asks langmem and mem0 what this memory is asked, in one run, and writes RESULTS_OTHERS.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from time import process_time

from langchain_core.embeddings import Embeddings

from ace_graph.agent.embeddings.static_vectors import find_static_vectors
from ace_graph.base.errors import ConfigurationError
from benchmarks.quality.conversations.conversation import Conversation, read_half
from benchmarks.quality.conversations.metrics import Answered, Row, answer
from benchmarks.quality.duplicates.pairs import Part
from benchmarks.quality.duplicates.tables import table
from benchmarks.quality.others.no_network import no_network
from benchmarks.quality.others.packages import langmem_way, mem0_way, missing_packages
from benchmarks.quality.retrieval.cases import Case, Question, read_cases
from benchmarks.quality.retrieval.methods import WAYS, Shown, Way, semantic_ways
from benchmarks.quality.textbook_bm25 import ordinary_stop_words

__all__ = ["RESULTS", "Timed", "report", "tables"]

RESULTS = Path(__file__).parents[1] / "RESULTS_OTHERS.md"
_REQUIREMENTS = Path(__file__).with_name("requirements.txt")
_COLUMNS = (
    "way",
    "R@5",
    "R@10",
    "tokens a prompt",
    "somebody else's question: tokens",
    "such questions that get any",
    "ms a question",
)


@dataclass
class Timed:
    """A way that counts its processor time; a case is filled in before, by a question that is not counted."""

    way: Way
    seconds: float = 0.0
    questions: int = 0
    _seen: set[int] = field(default_factory=set[int])

    def __call__(self, case: Case, question: Question) -> Shown:
        if id(case.playbook) not in self._seen:
            self._seen.add(id(case.playbook))
            self.way(case, question)
        began = process_time()
        shown = self.way(case, question)
        self.seconds += process_time() - began
        self.questions += 1
        return shown

    def milliseconds(self) -> float:
        """Return the mean processor time of a question."""
        return 1_000 * self.seconds / self.questions if self.questions else 0.0


def report(part: Part, embeddings: Embeddings | None = None) -> str:
    """Return the tables of one half in Markdown; `embeddings` take the place of the static vectors.

    Raises ConfigurationError where a package is missing.
    """
    missing = missing_packages()
    vectors = embeddings or find_static_vectors()
    if missing or vectors is None:
        raise ConfigurationError(
            f"not installed: {', '.join(missing) or 'wordllama'}; in an environment of its own: "
            f"pip install ace-graph -r {_REQUIREMENTS.relative_to(Path(__file__).parents[3])}"
        )
    with no_network() as attempts:
        told = tables(read_half(part), read_cases(), _ways(vectors))
    tried = ", ".join(sorted(set(attempts.made))) or "none"
    versions = ", ".join(f"{name} {version(name)}" for name in ("langmem", "mem0ai", "wordllama"))
    return (
        f"{told}\n\n{versions}, Python {python_version()}. Connections that were tried and refused: {tried}."
    )


def _ways(vectors: Embeddings) -> Mapping[str, Way]:
    semantic = semantic_ways(vectors)
    return {
        "ours": WAYS["ours"],
        "ours, with the vectors": semantic["ours with embeddings"],
        "plain BM25, 10 best": WAYS["plain BM25, 10 best"],
        "the vectors alone, centred, 10 nearest": semantic["embeddings, 10 nearest"],
        "langmem": langmem_way(vectors),
        "mem0": mem0_way(vectors, stop_words=None),
        "mem0, with its keyword search": mem0_way(vectors, stop_words=ordinary_stop_words()),
    }


def tables(conversations: Sequence[Conversation], cases: Sequence[Case], ways: Mapping[str, Way]) -> str:
    """Return what each way finds of both sets, in Markdown."""
    in_conversations, in_playbooks = list[list[str]](), list[list[str]]()
    for name, way in ways.items():
        timed = Timed(way)
        in_conversations.append(_figures(name, answer(conversations, timed), timed))
        timed = Timed(way)
        rows = [
            Row("any", "ask" if question.relevant else "other", question.relevant, timed(case, question))
            for case in cases
            for question in case.questions
        ]
        in_playbooks.append(_figures(name, Answered(rows), timed))
    return "\n\n".join(
        (
            table("Facts of long conversations, six languages", _COLUMNS, in_conversations),
            table("Playbooks of lessons", _COLUMNS, in_playbooks),
        )
    )


def _figures(name: str, found: Answered, timed: Timed) -> list[str]:
    tokens, share = found.for_nothing("other")
    return [
        name,
        f"{found.recall(5):.3f}",
        f"{found.recall(10):.3f}",
        f"{found.tokens():.0f}",
        f"{tokens:.0f}",
        f"{share:.3f}",
        f"{timed.milliseconds():.2f}",
    ]
