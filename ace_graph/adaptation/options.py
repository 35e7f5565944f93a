"""How an adaptation runs: the model, the mode, the concurrency, and the callback for progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from langchain_core.language_models import BaseChatModel

from ace_graph.adaptation.results import Accuracy
from ace_graph.context import ACEContext
from ace_graph.errors import UsageError
from ace_graph.memory.clock import utc_now
from ace_graph.settings import Settings
from ace_graph.state import MODES

__all__ = ["AUTO", "AdaptationOptions", "Progress"]

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

    `model` is a chat model; without one, that of the settings. `mode` is cot, tot, react, or auto (the
    router chooses). `context` is the base of every step's context. `concurrency` is how many calls run at
    once where order does not matter; training is one step after the other. After `max_failures` failed calls
    in a row the run stops. `seed` decides the order of the samples in an epoch and on which steps unproven
    bullets are withheld. `should_stop` is called before every step; `clock` gives the time.
    """

    model: BaseChatModel | None = None
    settings: Settings = field(default_factory=Settings.load)
    mode: str = "cot"
    context: ACEContext = field(default_factory=ACEContext)
    system_prompt: str | None = None
    concurrency: int = 4
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
            "temperature": self.settings.llm_temperature,
        }
