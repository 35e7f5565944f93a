"""How an adaptation runs: the model, the mode, the concurrency, and the callback for progress."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from langchain_core.language_models import BaseChatModel

from ace_graph.agent.context import ACEContext
from ace_graph.agent.models import open_model
from ace_graph.agent.state import MODES
from ace_graph.base.clock import utc_now
from ace_graph.base.errors import UsageError, unknown
from ace_graph.base.executors import Executor, InProcess
from ace_graph.base.prompts import data_block
from ace_graph.base.settings import Settings
from ace_graph.base.text import truncate
from ace_graph.memory.evidence import Verdict
from ace_graph.memory.search.tokenize import estimate_tokens
from ace_graph.training.journal import MAX_ANSWER_CHARS, Accuracy, AdaptationStep
from ace_graph.training.samples import Sample

AUTO = "auto"
"""The mode that leaves the choice to the router."""


@dataclass(frozen=True)
class Progress:
    """The argument of `on_progress`, called after every step; `measured` grows, so read it at once."""

    phase: str
    epoch: int
    measured: Accuracy


def _never() -> bool:
    return False


def _nobody(_: Progress) -> None:
    return None


@dataclass(frozen=True)
class AdaptationOptions:
    """The settings of a run.

    `model` is a chat model; without one, that of the settings, which is closed after use. `mode` is cot, tot,
    react, or auto (the router chooses). `context` is the base of every step's context. `concurrency` is how
    many calls run at once in a process where order does not matter; training is one step after the other.
    `executor` says in which processes: on a Ray cluster a model, an environment and a clock are pickled.
    After `max_failures` failed calls in a row the run stops. `seed` decides the order of the samples in an
    epoch and on which steps unproven bullets are withheld. `should_stop` is called before every step; `clock`
    gives the time.
    """

    model: BaseChatModel | str | None = None
    settings: Settings = field(default_factory=Settings.load)
    mode: str = "cot"
    context: ACEContext = field(default_factory=ACEContext)
    system_prompt: str | None = None
    concurrency: int = 4
    executor: Executor = field(default_factory=InProcess)
    seed: int = 0
    max_failures: int = 10
    on_progress: Callable[[Progress], None] = _nobody
    should_stop: Callable[[], bool] = _never
    clock: Callable[[], datetime] = utc_now

    def __post_init__(self) -> None:
        if self.mode not in (*MODES, AUTO):
            raise UsageError(unknown("mode", self.mode, (*MODES, AUTO)))
        if self.concurrency < 1 or self.max_failures < 1:
            raise UsageError("concurrency and max_failures must be at least 1")

    def as_json(self) -> Mapping[str, object]:
        """Return every option that changes a result, to check that a resumed run is the same run."""
        return {
            "mode": self.mode,
            "seed": self.seed,
            "system_prompt": self.system_prompt,
            "context": self.context.model_dump(exclude_defaults=True, mode="json"),
            "curator_use_llm": self.settings.curator_use_llm,
            "replay": self.settings.replay,
            "temperature": self.settings.llm_temperature,
        }

    def for_nodes(self) -> AdaptationOptions:
        """Return what of them a measurement needs, without what belongs to this process."""
        settings = self.settings.with_absolute_paths()
        return replace(self, settings=settings, executor=InProcess(), on_progress=_nobody, should_stop=_never)


@asynccontextmanager
async def with_model(options: AdaptationOptions) -> AsyncGenerator[AdaptationOptions]:
    """Yield the options with a model: the given one, else that of the settings, closed at the end."""
    if options.model is not None:
        yield options
        return
    async with open_model(options.settings) as model:
        yield replace(options, model=model)


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
    """The newest transcripts that fit in `budget` tokens; one that alone is longer is left out.

    A transcript is what the reflector is given to write lessons from, so a control with these has the same
    experience as the playbook, raw instead of as bullets.
    """

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
