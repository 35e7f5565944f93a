"""How an adaptation runs: the model, the mode, the concurrency, and the callback for progress."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from langchain_core.language_models import BaseChatModel

from ace_graph.adaptation.results import Accuracy
from ace_graph.context import ACEContext
from ace_graph.errors import UsageError
from ace_graph.executors import Executor, InProcess
from ace_graph.memory.clock import utc_now
from ace_graph.models import close_model, make_model
from ace_graph.settings import Settings
from ace_graph.state import MODES

__all__ = ["AUTO", "AdaptationOptions", "Progress", "with_model"]

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


def _nobody(progress: Progress) -> None:
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
            raise UsageError(f"{self.mode[:40]!r} is not a mode: use one of {', '.join((*MODES, AUTO))}")
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
    model = make_model(options.settings)
    try:
        yield replace(options, model=model)
    finally:
        await close_model(model)
