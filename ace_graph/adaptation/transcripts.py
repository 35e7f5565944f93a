"""The last transcripts within the playbook's budget: the material of the control that learns nothing.

A transcript is a question of the run, the answer that the agent gave, how that was judged, and the right
answer where there is one: all that the reflector is given to write lessons from. So this control and the
playbook have the same experience, raw in the one and as bullets in the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ace_graph.adaptation.journal import MAX_ANSWER_CHARS, AdaptationStep
from ace_graph.adaptation.samples import Sample
from ace_graph.memory.evidence import Verdict
from ace_graph.memory.search.token_count import estimate_tokens
from ace_graph.memory.text import truncate
from ace_graph.prompts import data_block

__all__ = ["MAX_CHARS", "NO_TRANSCRIPTS", "LastTranscripts", "Transcripts", "last_of", "preceding"]

MAX_CHARS = 30_000
"""Of all transcripts in a prompt; additional context, which carries them, is cut at 32,000."""

_QUESTION_CHARS, _FEEDBACK_CHARS, _TARGET_CHARS = 2_000, 500, 500
_INTRODUCTION = (
    "Transcripts of earlier questions, the newest last: the answer that was given, how it was judged, and "
    "the right answer where it is known."
)
_JUDGED: dict[Verdict, str] = {"success": "right", "partial": "right in part", "failure": "wrong"}


@dataclass(frozen=True)
class Transcripts:
    """The transcripts of one prompt: the ids of their samples, the newest last, and their text."""

    samples: tuple[str, ...] = ()
    text: str = ""


NO_TRANSCRIPTS = Transcripts()


class LastTranscripts:
    """The newest transcripts that fit in `budget` tokens; one that alone is longer is left out."""

    def __init__(self, budget: int, count_tokens: Callable[[str], int] = estimate_tokens) -> None:
        self._budget, self._count_tokens = budget, count_tokens
        self._kept: deque[tuple[str, str, int]] = deque()
        self._tokens = self._chars = 0

    def add(self, sample: Sample, step: AdaptationStep) -> None:
        """Take the transcript of a step as the newest; a failed one has none."""
        text = "" if step.failed else _written(sample, step)
        tokens = self._count_tokens(text)
        if not text or tokens > self._budget:
            return
        self._kept.append((sample.id, text, tokens))
        self._tokens += tokens
        self._chars += len(text) + 1
        while self._tokens > self._budget or self._chars > MAX_CHARS:
            _, dropped, freed = self._kept.popleft()
            self._tokens -= freed
            self._chars -= len(dropped) + 1

    def shown(self) -> Transcripts:
        """Return what a prompt is given now."""
        if not self._kept:
            return NO_TRANSCRIPTS
        texts = (_INTRODUCTION, *(text for _, text, _ in self._kept))
        return Transcripts(tuple(sample for sample, _, _ in self._kept), "\n".join(texts))


def preceding(
    steps: Iterator[AdaptationStep], samples: Sequence[Sample], budget: int
) -> Iterator[tuple[int, Transcripts]]:
    """Yield the index of each step's sample with the last transcripts before that step."""
    last = LastTranscripts(budget)
    for step in steps:
        yield step.index, last.shown()
        last.add(samples[step.index], step)


def last_of(steps: Iterator[AdaptationStep], samples: Sequence[Sample], budget: int) -> Transcripts:
    """Return the last transcripts of all these steps."""
    last = LastTranscripts(budget)
    for step in steps:
        last.add(samples[step.index], step)
    return last.shown()


def _written(sample: Sample, step: AdaptationStep) -> str:
    lines = [
        f"Question: {truncate(sample.question, _QUESTION_CHARS, show_length=True)}",
        f"Answer: {truncate(step.answer, MAX_ANSWER_CHARS, show_length=True)}",
    ]
    if step.verdict in _JUDGED:
        lines.append(f"Judged: {_JUDGED[step.verdict]}")
    if step.feedback:
        lines.append(f"Feedback: {truncate(step.feedback, _FEEDBACK_CHARS)}")
    if sample.target is not None:
        lines.append(f"Right answer: {truncate(sample.target, _TARGET_CHARS)}")
    return data_block("transcript", "\n".join(lines))
