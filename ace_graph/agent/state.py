"""The graph's state, its parts, and the partial update that each node returns.

`messages` is the conversation (LangGraph's add_messages). `mode`, `additional_context` and `memory` are
untracked: they live for one run and are never checkpointed, so checkpoints stay small and nothing of an
earlier turn is left. The router copies the first two into `turn`. All other keys are plain JSON, and every
turn overwrites them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, NotRequired

from langgraph.channels import UntrackedValue
from langgraph.graph import MessagesState
from typing_extensions import TypedDict  # pydantic refuses the one of typing before Python 3.12

from ace_graph.base.settings import WindowSize
from ace_graph.memory.evidence import Verdict
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.turn import Arm, LearnedInto, PlaybookRead

if TYPE_CHECKING:
    from ace_graph.learning.statements.reading import MessageReading

Mode = Literal["cot", "tot", "react"]
MODES: tuple[Mode, ...] = ("cot", "tot", "react")


class Memory:
    """The learner's memory during one run; without a snapshot, `problem` says why there is none.

    `read_only` are the bullets beside it that the learner does not own, or does not change in a turn;
    `playbooks` are the named playbooks among them. `reading` is what the turn's message says, once read.

    For nodes only. A server that shows, streams or pickles the values of a state gets a few words about
    the snapshot, or nothing, never the playbook: it may be large, and it belongs to the store.
    """

    __slots__ = ("playbooks", "problem", "read_only", "reading", "snapshot")

    def __init__(
        self,
        snapshot: Snapshot | None = None,
        problem: str | None = None,
        read_only: Playbook | None = None,
        playbooks: tuple[PlaybookRead, ...] = (),
    ) -> None:
        self.snapshot = snapshot
        self.read_only = read_only
        self.playbooks = playbooks
        self.problem = problem
        self.reading: MessageReading | None = None

    def _asdict(self) -> dict[str, object]:
        """What JSON encoders of servers ask for."""
        held = self.snapshot
        return {
            "bullets": len(held.playbook) if held else None,
            "version": held.version.n if held else None,
            "problem": self.problem,
        }

    def __repr__(self) -> str:
        return f"Memory({self._asdict()})"

    def __copy__(self) -> Memory:
        return self

    def __deepcopy__(self, _memo: object) -> Memory:
        return self

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()  # pickled it is None, which nodes take as "not loaded yet"


class Turn(TypedDict):
    """Who asks, when, and in which mode it is answered. The message itself is in `messages`.

    `step` is the number of the router's step in the thread.
    """

    turn_id: str
    step: NotRequired[int]
    learner_id: str | None
    question: str
    question_id: str
    additional_context: NotRequired[str]
    mode: Mode
    started_at: str


class Plan(TypedDict):
    """Solver parameters, the reflection window and the retrieval budget of this turn."""

    mode: Mode
    topic: str | None
    window_size: WindowSize
    retrieval_budget_tokens: int
    max_bullets: int | None
    max_revisions: int
    temperature: float | None
    k: NotRequired[int]
    breadth: NotRequired[int]
    depth: NotRequired[int]
    max_turns: NotRequired[int]
    tool_names: NotRequired[list[str]]


class FirstAnswer(TypedDict):
    """The answer before a revision. Votes and accuracy count this one."""

    answer: str
    reasoning: str
    cited: list[str]
    verdict: Verdict
    evidence: list[EvidenceJSON]


class Attempt(TypedDict):
    """What the solver did: the answer, its scratchpad, and the bullets shown and cited.

    After a revision, `first` is the answer before it, and the trace holds all attempts. `playbooks` are
    the named playbooks that were read, id and label of each; `consulted` are those whose bullets were
    shown, in the prompt or by a tool, as `owner/name`. `asked` is the program's own question that ends the
    answer: no evidence is about it.
    """

    attempt_id: str
    number: int
    answer: str
    answer_id: str
    reasoning: str
    injected: list[str]
    why_shown: NotRequired[dict[str, dict[str, object]]]
    cited: list[str]
    arm: NotRequired[Arm | None]
    playbooks: NotRequired[list[list[str]]]
    consulted: NotRequired[list[str]]
    trace: list[str]
    tool_evidence: list[EvidenceJSON]
    problem: str | None
    streamed: bool
    tool_calls: list[ToolCallJSON]
    first: NotRequired[FirstAnswer | None]
    words_only: NotRequired[str]
    raw: NotRequired[str]
    asked: NotRequired[str]


class ToolCallJSON(TypedDict):
    """One tool call of the turn: its arguments, long ones cut, and the error where it failed."""

    name: str
    args: dict[str, object]
    error: str | None


class EvidenceJSON(TypedDict):
    """One judgement, as plain JSON (memory.evidence.Evidence)."""

    source: str
    verdict: str
    score: float | None
    text: str
    by: str


class First(TypedDict):
    """The first answer of the turn and its verdict; votes and accuracy count these."""

    answer: str
    verdict: Verdict


class Result(TypedDict):
    """What the caller gets of the turn (document 000's generator output, and the critic's verdict).

    `why_shown` says of each bullet in `injected` why it was in the prompt (memory.retrieval.reasons): its
    `kind`, and words of the question, a neighbour's id, a similarity.
    `memory`: "off" in a temporary chat, which reads and stores nothing of the learner.
    `withheld`: unproven bullets were left out of this turn's prompt, to measure their effect (memory.trust).
    `playbooks` are the attached playbooks whose bullets were shown to the model, as `owner/name`.
    `words_only`: why the bullets were found by words alone, although there are embeddings; not there else.
    `raw`, where the run asked for it: the reply that the answer was read from, as the model gave it.
    """

    answer: str
    reasoning: str
    bullet_ids: list[str]
    injected: list[str]
    why_shown: dict[str, dict[str, object]]
    memory: Literal["on", "off"]
    playbooks: list[str]
    withheld: bool
    verdict: Verdict
    evidence: list[EvidenceJSON]
    first: First
    problem: str | None
    words_only: NotRequired[str]
    raw: NotRequired[str]


class Pair(TypedDict):
    """Two ids: the one that stays, the one that went."""

    kept: str
    gone: str


class Rejected(TypedDict):
    """An operation that was not applied, and why."""

    op: str
    id: str
    why: str


class Judged(TypedDict):
    """The earlier turn that this turn's message gave feedback on.

    The verdict is `unknown` where the message objects to an answer that a check found right.
    """

    turn_id: str
    verdict: Verdict


class Learning(TypedDict):
    """What really changed in the memory, in ids; or the error, and what could not be saved.

    `pending` is the id of what is left to a worker (learning in the background), if anything is.
    `feedback` names the earlier turn that the learner's message judged, if it did.
    `replay` says what became of the lessons of a failed turn that were tried on its question again.
    `learned_into` says what became of lessons for a named playbook; None where there were none.
    `curator_replies` is what a model that curated (ACE_CURATOR_USE_LLM) replied: whole with `raw_reply`, else
    as a line of the log has it.
    `unsaved` is a JSON object with learner_id, epoch, delta and record, which can be committed later.
    """

    turn_id: str
    version: int | None
    added: list[str]
    updated: list[str]
    tagged: list[str]
    merged: list[Pair]
    superseded: list[Pair]
    removed: list[str]
    quarantined: list[str]
    rejected: list[Rejected]
    pending: str | None
    skipped: str | None
    feedback: Judged | None
    replay: Literal["kept", "refused", "not tried"] | None
    learned_into: LearnedInto | None
    curator_replies: list[str]
    error: str | None
    unsaved: str | None


class UsageJSON(TypedDict):
    """Calls, tokens and seconds of one role."""

    calls: int
    input_tokens: int
    output_tokens: int
    seconds: float


class ACEInput(MessagesState):
    """What a run takes: messages, and optionally the mode to force and additional context.

    `additional_context` is material for this question alone, such as a passage or a table (document 000's
    generator input). The solver reads it as data, at most 32,000 characters; it is not part of the
    conversation, and no memory is retrieved by its words.
    """

    mode: NotRequired[str]
    additional_context: NotRequired[str]


class ACEOutput(MessagesState):
    """What a run gives back: plain JSON beside the messages.

    messages   the conversation; the last one is the answer
    mode       cot, tot or react
    plan       the parameters that the mode was run with
    result     answer, reasoning, ids injected and cited, verdict and evidence; the first answer, which counts
    learning   what changed in the memory, in ids; or the error, and what could not be saved
    usage      calls, tokens and seconds per role; learning costs what reflector, curator and retry do
    """

    mode: NotRequired[str]
    plan: NotRequired[Plan]
    result: NotRequired[Result]
    learning: NotRequired[Learning]
    usage: NotRequired[dict[str, UsageJSON]]


class ACEState(MessagesState):
    """The state as nodes receive it. `messages` is the input, the planner sets `plan`, the router the rest.

    Nodes return partial updates. `mode` and `memory` are gone after an interrupt, a fork or
    `update_state`; `result` is there from the critic on.
    """

    mode: NotRequired[Annotated[str, UntrackedValue]]
    additional_context: NotRequired[Annotated[str, UntrackedValue]]
    memory: NotRequired[Annotated[Memory, UntrackedValue]]
    turn: Turn
    plan: Plan
    attempt: Attempt | None
    result: Result | None
    learning: Learning | None
    usage: dict[str, UsageJSON]


class RouterUpdate(TypedDict):
    """What the router sets: learner, mode, and empty values for what this turn will fill."""

    mode: str
    memory: Memory
    turn: Turn
    attempt: None
    result: None
    learning: None
    usage: dict[str, UsageJSON]


class PlannerUpdate(TypedDict):
    plan: Plan


class SolverUpdate(TypedDict):
    messages: list[dict[str, object]]
    attempt: Attempt
    memory: Memory
    usage: dict[str, UsageJSON]


class CriticUpdate(TypedDict):
    result: Result
    messages: NotRequired[list[dict[str, object]]]


class LearningUpdate(TypedDict):
    mode: str
    learning: Learning
    usage: dict[str, UsageJSON]
