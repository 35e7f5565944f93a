"""`ace-graph run`: one JSON object on stdin, one JSON line on stdout, the log on stderr.

Stdout holds that line and nothing else: what libraries, C code or child processes write to it goes to stderr.
So what loads the graph is imported when stdout is protected. Nothing is kept between two runs but the memory;
the caller sends the history.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, cast

import typer
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from ace_graph.agent.context import ACEContext
from ace_graph.base.errors import AceError, UsageError
from ace_graph.cli.command import DEFAULT_LEARNER, Base, Call, command

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from ace_graph.agent.state import ACEInput, ACEOutput


class Emit(Protocol):
    """Writes one JSON line to stdout."""

    def __call__(self, value: Mapping[str, object], /) -> None: ...


@contextmanager
def one_line_stdout() -> Generator[Emit]:
    """Yield the function that writes to stdout; all else that is written there meanwhile goes to stderr."""
    sys.stdout.flush()
    real = os.dup(1)
    os.dup2(2, 1)

    def emit(value: Mapping[str, object], /) -> None:
        line = json.dumps(value, ensure_ascii=True) + "\n"
        left = memoryview(line.encode("ascii"))
        while left:
            left = left[os.write(real, left) :]

    try:
        yield emit
    finally:
        sys.stdout.flush()
        os.dup2(real, 1)
        os.close(real)


logger = logging.getLogger("ace_graph")


commands = typer.Typer()


@command(commands, "store")
def run(call: Call, base: Base = None) -> int:
    """Answer one JSON object on stdin with one JSON line on stdout, for other languages.

    \b
    echo '{"messages": [{"role": "user", "content": "What is 12 * 5?"}],
           "scratch": {"learner_id": "ada"}}' | ace-graph run

    The log goes to stderr. An error is {"error": "..."} and exit code 1.
    """
    with one_line_stdout() as emit:
        try:
            emit(_answer(call, base, sys.stdin.buffer.read()))
        except (Exception, KeyboardInterrupt) as error:
            if call.debug:
                traceback.print_exc()
            emit({"error": _error_message(error)})
            return 1
    return 0


def _answer(call: Call, base: Path | None, raw: bytes) -> dict[str, object]:
    # Imported while stdout is protected, because importing may print too.
    from ace_graph.agent.models.factory import offline_fallback
    from ace_graph.base.telemetry import shown_learner
    from ace_graph.cli.conversation import open_agent
    from ace_graph.cli.environment import log_content_by_default
    from ace_graph.memory.stores.cache import SnapshotCache
    from ace_graph.stores import open_store

    settings = call.settings()
    request = parse_request(raw)
    logger.info("[ACE Runner] received %d messages", len(request.input["messages"]))
    settings = log_content_by_default(offline_fallback(settings))
    snapshots = SnapshotCache()  # holds the learner's snapshot once it was loaded

    async def answer(request: RunRequest) -> dict[str, object]:
        learner = str(request.context.learner_id)
        store = open_store(settings=settings)
        async with open_agent(settings, store, base, snapshots) as agent:
            shown = shown_learner(learner)
            logger.info("[ACE Runner] invoking the graph: model=%s learner=%s", agent.choice, shown)
            out: ACEOutput = await agent.graph.ainvoke(request.input, context=request.context)  # type: ignore[assignment]  # LangGraph says dict
            loaded = snapshots.get(learner) is not None
            return answer_json(out, request, memory_loaded=loaded, temperature=settings.llm_temperature)

    began = time.perf_counter()
    reply = asyncio.run(answer(request))
    took = time.perf_counter() - began
    logger.info("[ACE Runner] complete: mode=%s seconds=%.2f", reply["mode"], took)
    return reply


def _error_message(error: BaseException) -> str:
    if isinstance(error, AceError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return f"unexpected {type(error).__name__}: {error}: run it again with --debug to see where"


_ECHOED = frozenset({"ace_delta", "learned_into", "learning_error", "mode"})
"""Keys of an answer's scratch that are ignored when they are sent back, like names with a leading _."""


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore")

    role: Literal["user", "human", "assistant", "ai", "system", "developer"]
    content: str | list[str | dict[str, JsonValue]]


class _Payload(BaseModel):
    model_config = ConfigDict(extra="ignore")

    messages: list[_Message] = Field(min_length=1)
    mode: str | None = None
    additional_context: str | None = None
    scratch: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    thread_id: str | None = None


@dataclass(frozen=True)
class RunRequest:
    """The input and the context of one run."""

    input: ACEInput
    context: ACEContext


def parse_request(raw: bytes) -> RunRequest:
    """Return the request in a JSON text.

    `scratch` takes every field of ACEContext, and `ace_online_learning`; the scratch of an earlier answer
    may be sent back. Raises UsageError that names what is wrong.
    """
    payload = _parse_payload(raw)
    messages = [{"role": each.role, "content": each.content} for each in payload.messages]
    # LangGraph turns messages in this form into its own.
    turn_input = cast("ACEInput", {"messages": messages})
    if payload.mode is not None:
        turn_input["mode"] = payload.mode
    if payload.additional_context is not None:
        turn_input["additional_context"] = payload.additional_context
    return RunRequest(turn_input, _context(payload))


def answer_json(
    out: ACEOutput, request: RunRequest, *, memory_loaded: bool, temperature: float
) -> dict[str, object]:
    """Return what `run` prints: answer, mode, result, and the scratch that may be sent back next time.

    `temperature` is that of the settings, used when the plan has none.
    """
    from ace_graph.learning.pipeline import ace_delta

    plan, learning = out.get("plan"), out.get("learning")
    result = out.get("result")
    scratch: dict[str, object] = {
        _scratch_name(name, request.context): value for name, value in (plan or {}).items() if name != "mode"
    }
    if scratch.get("temperature") is None:
        scratch["temperature"] = temperature
    scratch["learner_id"] = request.context.learner_id
    scratch["_ace_memory_loaded"] = memory_loaded
    if request.context.conversation_id is not None:
        scratch["conversation_id"] = request.context.conversation_id
    if learning is not None:
        if learning["unsaved"] is None:
            scratch["ace_delta"] = ace_delta(learning)
        if learning["learned_into"] is not None:
            scratch["learned_into"] = learning["learned_into"]
        if learning["error"]:
            scratch["learning_error"] = learning["error"]
    answer = result["answer"] if result else ""
    return {"answer": answer, "mode": out.get("mode"), "result": result, "scratch": scratch}


_CONTEXT_NAMES: Mapping[str, str] = {"max_bullets": "max_bullets_injected"}
"""Plan parameters that the context has under another name."""

_OF_THE_QUESTION = frozenset({"topic", "window_size"})
"""Plan parameters that follow from the question, so that one turn's must not be used for the next."""


def _scratch_name(name: str, context: ACEContext) -> str:
    if name in _OF_THE_QUESTION and getattr(context, name) is None:
        return f"_{name}"
    return _CONTEXT_NAMES.get(name, name)


def _parse_payload(raw: bytes) -> _Payload:
    if not raw.strip():
        raise UsageError('stdin is empty: send {"messages": [{"role": "user", "content": "..."}]}')
    try:
        document: object = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UsageError(f"stdin is not UTF-8: {error.reason} at byte {error.start}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"stdin is not valid JSON: {error}") from error
    if not isinstance(document, dict):
        raise UsageError(f"stdin holds a JSON {type(document).__name__}, not an object with messages")
    try:
        return _Payload.model_validate(document)
    except ValidationError as error:
        raise UsageError(_validation_message(error.errors(include_url=False, include_input=False))) from error


def _context(payload: _Payload) -> ACEContext:
    scratch = {
        name: value
        for name, value in payload.scratch.items()
        if name not in _ECHOED and not name.startswith("_") and value is not None
    }
    online = scratch.pop("ace_online_learning", True)
    if not isinstance(online, bool):
        raise UsageError("scratch.ace_online_learning must be true or false")
    if not online:
        scratch["learning"] = "off"
    scratch.setdefault("learner_id", DEFAULT_LEARNER)
    if payload.thread_id:
        scratch.setdefault("conversation_id", payload.thread_id[:256])
    try:
        return ACEContext.model_validate(scratch)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        raise UsageError(_validation_message(details, "scratch.")) from error


def _validation_message(details: list[ErrorDetails], where: str = "") -> str:
    """Every wrong field once, with its error."""
    messages: dict[str, str] = {}
    for detail in details:
        parts = [str(part) for part in detail["loc"] if not str(part).startswith(("list[", "str", "dict["))]
        name = (where + ".".join(parts)).rstrip(".")
        messages.setdefault(name, detail["msg"].removeprefix("Value error, "))
    return "; ".join(f"{name}: {message}" for name, message in messages.items())
