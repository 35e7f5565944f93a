"""What a client gets of a turn: the answer, what the memory lent to it, and what the turn changed.

Does not: tell why something failed inside; the log does.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ace_graph.delta_counts import ace_delta
from ace_graph.memory.evidence import Verdict
from ace_graph.state import ACEOutput, Learning, Mode, Result, UsageJSON

__all__ = ["ChatReply", "reply_of"]

NOT_SAVED = "what this turn learned could not be stored yet; the server tries again"
NOT_LEARNED = "this turn was answered, and nothing was learned from it"


class _Reply(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class AceDelta(BaseModel):
    """What the turn's commit really changed, in bullets."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    num_new_bullets: Annotated[int, Field(ge=0)]
    num_updates: Annotated[int, Field(ge=0)]
    num_removals: Annotated[int, Field(ge=0)]


class Scratch(BaseModel):
    """`ace_delta` is left out where the turn could not be stored; `learning_error` says so."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ace_delta: AceDelta | None = None
    learning_error: str | None = None
    pending: bool = Field(default=False, description="Lessons are worked out after the answer.")


class Metadata(_Reply):
    """What stands beside the answer. Bullets are named by their ids, see GET /api/playbook."""

    scratch: Scratch
    injected: Annotated[list[str], Field(description="Bullets that were in the prompt.")] = []
    cited: Annotated[list[str], Field(description="Those of them that the answer used.")] = []
    verdict: Verdict = "unknown"
    version: Annotated[int | None, Field(description="The playbook's version after the turn.")] = None
    usage: Annotated[dict[str, UsageJSON], Field(description="Calls and tokens per role.")] = {}


class ChatReply(_Reply):
    """The answer to one message. `turnId` is what feedback names."""

    answer: str
    mode: Mode
    conversation_id: str
    turn_id: str
    metadata: Metadata


def reply_of(out: ACEOutput, conversation_id: str) -> ChatReply:
    """Return what the client gets of a finished run."""
    plan, result, learning = out.get("plan"), out.get("result"), out.get("learning")
    if plan is None or result is None or learning is None:
        raise ValueError("the run ended without a result")
    return ChatReply(
        answer=result["answer"],
        mode=plan["mode"],
        conversation_id=conversation_id,
        turn_id=learning["turn_id"],
        metadata=_metadata(out, result, learning),
    )


def _metadata(out: ACEOutput, result: Result, learning: Learning) -> Metadata:
    error = NOT_SAVED if learning["unsaved"] else NOT_LEARNED if learning["error"] else None
    counts = None if learning["unsaved"] else AceDelta.model_validate(ace_delta(learning))
    return Metadata(
        scratch=Scratch(ace_delta=counts, learning_error=error, pending=bool(learning["pending"])),
        injected=result["injected"],
        cited=result["bullet_ids"],
        verdict=result["verdict"],
        version=learning["version"],
        usage=dict(out.get("usage", {})),
    )
