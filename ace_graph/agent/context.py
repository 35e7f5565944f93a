"""The settings of one run: `ACEContext`, which Studio shows as a form.

Live objects are in `resources`. The one exception is `ServedContext`, for a server that begins to load the
memory before the graph runs, and that passes the answer on while it is written.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal, Protocol, Self, cast

from pydantic import AfterValidator, ConfigDict, Field, SkipValidation, model_validator

from ace_graph.base.errors import InvalidContext
from ace_graph.base.frozen import Frozen
from ace_graph.base.settings import TimeZone, WindowBound, WindowSize
from ace_graph.memory.bullet import MemoryType
from ace_graph.memory.catalogue import PlaybookRef, wanted_refs
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import MAX_LEARNER_ID_CHARS, checked_learner_id

LearningMode = Literal["inline", "background", "off"]
ReflectWhen = Literal["auto", "always", "evidence", "never"]
MemoryUse = Literal["on", "off"]
LearnerId = Annotated[
    str, AfterValidator(checked_learner_id), Field(min_length=1, max_length=MAX_LEARNER_ID_CHARS)
]
ShortText = Annotated[str, Field(max_length=256)]
MAX_PLAYBOOKS = 32


def _checked_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Raise InvalidPlaybook for a name that can't be one, and for one that is there twice."""
    wanted_refs(names, None)
    return names


def _checked_name(name: str) -> str:
    PlaybookRef.parse(name, None)
    return name


class ACEContext(Frozen):
    """The settings of one run: `graph.invoke(..., context=ACEContext(learner_id="alice"))`.

    Every field is optional and JSON-able, a dict does as well, and unknown names are refused. A field left
    at None takes the graph's default. Raises `pydantic.ValidationError` for a value out of range.
    """

    learner_id: LearnerId | None = Field(
        default=None, description="Whose memory is used. Without one nothing is read or stored."
    )
    turn_id: Annotated[str, Field(min_length=1, max_length=256)] | None = Field(
        default=None,
        description="The id of this turn. A program that repeats a turn after a failure gives the same one, "
        "and the turn is learned from once. Without one, a turn that LangGraph resumes keeps its id.",
    )
    conversation_id: ShortText | None = Field(default=None, description="Kept in the turn's record.")
    parent_id: ShortText | None = Field(
        default=None, description="The trajectory that this run is a part of; kept in the turn's record."
    )
    task_type: ShortText | None = Field(
        default=None, description="The kind of task; kept in the turn's record."
    )
    memory: MemoryUse = Field(
        default="on",
        description="off: a temporary chat. Nothing of the learner is read or written: no memory, no "
        "playbooks, no record of the turn.",
    )
    learning: LearningMode | None = Field(
        default=None,
        description="inline: learn before the run ends. background: store the turn, a worker learns from it. "
        "off: read the memory, change nothing.",
    )
    reflect_when: ReflectWhen = Field(
        default="auto",
        description="auto: at once where an answer failed or is doubted and in a learner's first 10 turns, "
        "else for 10 turns in one call. evidence: when the answer was judged.",
    )
    ground_truth: Annotated[str, Field(max_length=10_000)] | None = Field(
        default=None, description="The right answer, if known. The solver never sees it."
    )
    playbooks: Annotated[tuple[str, ...], Field(max_length=MAX_PLAYBOOKS), AfterValidator(_checked_names)] = (
        Field(
            default=(),
            description="Named playbooks that are read beside the memory, as name or owner/name. "
            "A turn changes only the one that learn_into names.",
        )
    )
    learn_into: Annotated[str, AfterValidator(_checked_name)] | None = Field(
        default=None,
        description="A named playbook, as name or owner/name, for the lessons of the turn: written "
        "where the learner may write, proposed where they may propose, else kept in the learner's memory. "
        "It is read only where playbooks names it, too. Votes, and what learners say about themselves, "
        "stay in the learner's memory.",
    )
    teams: Annotated[tuple[ShortText, ...], Field(max_length=1_000)] | None = Field(
        default=None,
        description="The learner's teams as the host knows them, for playbooks that are shared with a team. "
        "Unset: the store's table of teams is asked.",
    )
    agent: ShortText | None = Field(
        default=None,
        description="The agent of the host that acts for the learner, for playbooks that are shared with an "
        "agent.",
    )
    timezone: TimeZone | None = Field(
        default=None,
        description="Where the learner is, such as Europe/Berlin: decides which day tomorrow is. Default "
        "ACE_TIMEZONE, else UTC.",
    )
    topic: ShortText | None = Field(
        default=None, description="Preferred topic of bullets; inferred when absent."
    )
    memory_types: tuple[MemoryType, ...] | None = Field(
        default=None,
        min_length=1,
        description="Only bullets of these types get into the prompt: semantic (facts), episodic "
        "(experiences), procedural (instructions).",
    )
    persona: ShortText | None = Field(default=None, description="A voice to answer in for this run.")
    window_size: WindowSize | None = Field(
        default=None,
        description="Interactions of the conversation in the prompt, or all; default ACE_WINDOW_SIZE, else 5 "
        "and adaptive.",
    )
    adaptive_window: bool | None = Field(
        default=None,
        description="Two fewer for a short question, two more for a demanding one. "
        "Unset: true without a window_size.",
    )
    window_min: WindowBound | None = Field(
        default=None, description="Fewest interactions of an adaptive window; default ACE_WINDOW_MIN."
    )
    window_max: WindowBound | None = Field(
        default=None, description="Most interactions of an adaptive window; default ACE_WINDOW_MAX."
    )
    retrieval_budget_tokens: Annotated[int, Field(ge=0, le=100_000)] = Field(
        default=2_000, description="Most tokens that bullets may take in the prompt."
    )
    max_bullets_injected: Annotated[int, Field(ge=0, le=1_000)] | None = Field(
        default=None, description="Most bullets retrieved for a question; the core does not count."
    )
    max_revisions: Annotated[int, Field(ge=0, le=3)] = Field(
        default=0, description="How often an answer that failed on evidence goes back to the solver."
    )
    max_reflection_rounds: Annotated[int, Field(ge=1, le=5)] = Field(
        default=1,
        description="Rounds of reflection; between them the question is answered again with the lessons.",
    )
    on_memory_error: Literal["fail", "answer"] = Field(
        default="fail",
        description="answer: when the memory can't be read, answer without it and learn nothing.",
    )
    raw_reply: bool = Field(
        default=False,
        description="Whether result.raw and learning.curator_replies hold replies as they came.",
    )
    model: ShortText | None = Field(default=None, description="Another model, one of ACE_ALLOWED_MODELS.")
    temperature: Annotated[float, Field(ge=0, le=2)] | None = Field(
        default=None, description="The model's temperature in this run; default ACE_LLM_TEMPERATURE."
    )
    k: Annotated[int, Field(ge=1, le=9)] | None = Field(
        default=None, description="cot: how many answers are sampled; the most frequent one is given."
    )
    breadth: Annotated[int, Field(ge=1, le=10)] | None = Field(
        default=None, description="tot: thoughts a step."
    )
    depth: Annotated[int, Field(ge=1, le=5)] | None = Field(default=None, description="tot: steps.")
    max_turns: Annotated[int, Field(ge=1, le=50)] | None = Field(
        default=None, description="react: most model calls before an answer must come."
    )
    tool_names: tuple[ShortText, ...] | None = Field(default=None, description="react: only these tools.")

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, given: object) -> object:
        """Say what an unknown field may have been meant as; pydantic would only refuse it."""
        if isinstance(given, Mapping):
            for name in cast("Mapping[str, object]", given):
                if name not in cls.model_fields:
                    raise ValueError(_unknown_field(name))
        return given  # pyright: ignore[reportUnknownVariableType]  # a mapping of whatever was passed

    @model_validator(mode="after")
    def _bounds_in_order(self) -> Self:
        if self.window_min is not None and self.window_max is not None and self.window_min > self.window_max:
            raise ValueError(f"window_min {self.window_min} is above window_max {self.window_max}: swap them")
        if self.window_size == "all" and self.adaptive_window:
            raise ValueError("a window of all interactions can't adapt: leave out adaptive_window")
        return self

    @model_validator(mode="after")
    def _temporary_keeps_nothing(self) -> Self:
        if self.memory == "off" and self.playbooks:
            raise ValueError('with memory="off" no playbooks are read: leave them out')
        if self.memory == "off" and self.learn_into is not None:
            raise ValueError('with memory="off" nothing is learned: leave learn_into out')
        return self


class TurnListener(Protocol):
    """Is told what a turn does while it runs, on the event loop of the run."""

    def choose_mode(self, mode: str) -> None:
        """Take the mode that the turn is answered in."""
        ...

    def inject_bullets(self, bullets: Sequence[Mapping[str, object]]) -> None:
        """Take the bullets of the prompt: id, section and content of each."""
        ...

    def write_text(self, text: str) -> None:
        """Take the next piece of the answer."""
        ...


class ServedContext(ACEContext):
    """The context of a run of the web backend.

    What a `listener` is told is not written to LangGraph's streams, which cost ten times as much for every
    piece of the answer. `loading` is the memory, where it is being loaded already, on the loop of the run.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    listener: Annotated[TurnListener, SkipValidation] = Field(exclude=True, repr=False)
    loading: Annotated[asyncio.Future[Snapshot] | None, SkipValidation] = Field(
        default=None, exclude=True, repr=False
    )


_SERVERS_OWN = frozenset(
    {"assistant_id", "checkpoint_id", "checkpoint_map", "checkpoint_ns", "cron_id", "graph_id", "run_id"}
    | {"thread_id", "user_id"}
)
_SERVERS_PREFIXES = ("__", "langgraph_", "x-")


def check_names(given: Iterable[str]) -> None:
    """Raise InvalidContext for a name that is no field, in what a LangGraph server takes for the context.

    What such a server puts there itself is let through.
    """
    for name in given:
        if name in ACEContext.model_fields or name in _SERVERS_OWN or name.startswith(_SERVERS_PREFIXES):
            continue
        raise InvalidContext(_unknown_field(name))


def _unknown_field(name: str) -> str:
    near = difflib.get_close_matches(name, ACEContext.model_fields, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(ACEContext.model_fields)}"
    return f"the context has no field {name}: {hint}"
