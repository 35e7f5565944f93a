"""Calls a chat model: with timeouts, few retries, readable errors, and a count of the tokens.

Every call goes through here. At most 3 attempts, with waits of at most 1 and 2 s, and only for failures that
can pass (`is_transient`). A stream is started again only while it has yielded nothing: once text was
sent, a failure is an error that says that the reply broke off, so no reader sees a text twice.

Every call carries the tag `nostream`, so that LangGraph does not stream its tokens: the caller pushes the
text that the user may see (reasoning/streaming.push_text).
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TypeVar, cast

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.runnables import Runnable, RunnableBinding, RunnableConfig
from pydantic import BaseModel, SecretStr
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential_jitter,
)

from ace_graph.agent.state import UsageJSON
from ace_graph.base.clock import Sleep
from ace_graph.base.errors import AceError, ModelError
from ace_graph.base.tables import word_sets
from ace_graph.memory.screening.secrets import redact

_TRANSIENT_STATUSES = frozenset({408, 429, 500, 502, 503, 504, 529})
PROVIDERS = word_sets("ace_graph.agent.models", "providers.toml")
"""What providers call endings and failures, and what is said of these."""
_TIMEOUTS, _LOST = (frozenset(PROVIDERS[name].split()) for name in ("timeouts", "lost_connections"))
_DETAIL_CHARS = 300


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status that `error`, or what caused it, carries.

    Providers raise classes of their own; statuses and class names are what they share.
    """
    for link in _chain(error):
        response = getattr(link, "response", None)
        candidates = (
            getattr(link, "status_code", None),
            getattr(link, "code", None),
            getattr(link, "status", None),
            getattr(response, "status_code", None),
        )
        for status in candidates:
            if isinstance(status, int) and 400 <= status <= 599:
                return status
    return None


def is_transient(error: BaseException) -> bool:
    """Whether the same call may succeed in a moment: 408, 429, 5xx, a timeout, a lost connection."""
    status = status_of(error)
    if status is not None:
        return status in _TRANSIENT_STATUSES or 500 <= status <= 599
    return bool(_class_names(error) & (_TIMEOUTS | _LOST))


def model_error(error: BaseException, *, timeout: float, secrets: frozenset[str] = frozenset()) -> ModelError:
    """Return the error for the caller: what to do, then the provider's own message without any key.

    It links to no other exception, because those may hold a key in a URL or in a request. `timeout` is in
    seconds, `secrets` are texts that must not appear.
    """
    status = status_of(error)
    # The provider's sentence where the exception keeps it apart, else all that it says
    messages = (getattr(link, "message", None) for link in _chain(error))
    said = next((text for text in messages if isinstance(text, str) and text), str(error))
    detail = redacted(said, secrets)[:_DETAIL_CHARS]
    cause = f" ({type(error).__name__}: {detail})" if detail else f" ({type(error).__name__})"
    names = _class_names(error)
    if status is not None:
        advice = PROVIDERS.get(str(status), PROVIDERS["outage" if status >= 500 else "400"])
    elif names & _TIMEOUTS:
        advice = PROVIDERS["timeout"].format(timeout=timeout)
    else:
        advice = PROVIDERS["unreachable" if names & _LOST else "unknown"]
    return ModelError(f"The model call failed: {advice}{cause}", status)


def _class_names(error: BaseException) -> set[str]:
    return {kind.__name__ for link in _chain(error) for kind in type(link).__mro__}


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls that were answered, the tokens they took in and gave out, and how long they took.

    `Usage()` is neutral to `+`. The seconds don't count when two are compared: they are never the same.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = field(default=0.0, compare=False)

    @property
    def tokens(self) -> int:
        """Tokens in and out."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            round(self.seconds + other.seconds, 6),
        )


def usage_of(message: AIMessage, began: float | None = None) -> Usage:
    """Return the cost of the one call that gave `message`; no tokens where the provider reports none.

    `began` is when the call began, on the monotonic clock.
    """
    counts, seconds = message.usage_metadata, 0.0 if began is None else time.monotonic() - began
    if counts is None:
        return Usage(1, seconds=seconds)
    return Usage(1, max(0, counts["input_tokens"]), max(0, counts["output_tokens"]), seconds)


def add_usage(usage: Mapping[str, UsageJSON], role: str, more: Usage) -> dict[str, UsageJSON]:
    """Return `usage` with one role's cost added; a role that made no call is left out."""
    if not more.calls:
        return dict(usage)
    total = more if role not in usage else Usage(**usage[role]) + more
    return {
        **usage,
        role: {
            "calls": total.calls,
            "input_tokens": total.input_tokens,
            "output_tokens": total.output_tokens,
            "seconds": total.seconds,
        },
    }


def total_usage(usage: Mapping[str, UsageJSON]) -> Usage:
    """Return the sum over all roles."""
    return sum((Usage(**part) for part in usage.values()), Usage())


logger = logging.getLogger("ace_graph")
MAX_ATTEMPTS = 3
NOSTREAM = "nostream"
_NOT_THE_MODEL = (AceError, AssertionError)
ChatRunnable = Runnable[LanguageModelInput, AIMessage]
"""A chat model, or one with tools or a config bound to it."""
OnUsage = Callable[[Usage], None]
T = TypeVar("T")


async def call_model(
    model: ChatRunnable,
    messages: Sequence[BaseMessage],
    *,
    timeout: float,  # noqa: ASYNC109  per attempt, not for the call as a whole
    config: RunnableConfig | None = None,
    on_usage: OnUsage | None = None,
    sleep: Sleep = asyncio.sleep,
) -> AIMessage:
    """Return the model's reply to `messages`.

    `timeout` is in seconds per attempt. `on_usage` is called once, when a reply came. The reply may be cut
    or empty: ask `finish_problem`. Raises ModelError when the call failed for good.
    """
    began = time.monotonic()
    reply = await guarded(
        lambda: model.ainvoke(list(messages), with_nostream(config)),
        timeout=timeout,
        secrets=secrets_of(model),
        sleep=sleep,
    )
    if on_usage is not None:
        on_usage(usage_of(reply, began))
    return reply


async def stream_model(
    model: ChatRunnable,
    messages: Sequence[BaseMessage],
    *,
    timeout: float,  # noqa: ASYNC109  per attempt, not for the call as a whole
    config: RunnableConfig | None = None,
    sleep: Sleep = asyncio.sleep,
) -> AsyncGenerator[AIMessageChunk, None]:
    """Yield the reply to `messages` in chunks; their sum is what `call_model` would return.

    `timeout` (seconds, per attempt) counts the time spent waiting for the model, not what the reader does
    between two chunks. A failure before the first chunk is retried as in `call_model`; a later one raises
    ModelError at once. Close the iterator (`contextlib.aclosing`) when leaving it early.
    """
    secrets = secrets_of(model)

    async def start() -> _Started:
        # LangChain types the chunks of astream as AIMessage; models without a stream really yield that.
        chunks = cast("AsyncIterator[BaseMessage]", model.astream(list(messages), with_nostream(config)))
        started = _Started(chunks, timeout)
        try:
            await started.hold_first()
        except BaseException:
            await started.aclose()
            raise
        return started

    started = await guarded(start, timeout=timeout, secrets=secrets, sleep=sleep)
    failure: ModelError | None = None
    async with aclosing(started):
        while True:
            try:
                chunk = await started.take()
            except _NOT_THE_MODEL:
                raise
            except Exception as error:
                failure = model_error(error, timeout=timeout, secrets=secrets)
                break
            if chunk is None:
                break
            yield chunk
    if failure is not None:
        raise ModelError(f"The reply broke off. {failure}", failure.status)


async def guarded(
    attempt: Callable[[], Awaitable[T]],
    *,
    timeout: float,  # noqa: ASYNC109  per attempt, not for the call as a whole
    secrets: frozenset[str],
    sleep: Sleep = asyncio.sleep,
) -> T:
    """Await `attempt()` under the rules of this module and return what it gives.

    Raises ModelError for whatever the model raises. Errors of this project, and failed assertions, which
    are mistakes of the program and not of the model, pass unchanged.
    """

    async def once() -> T:
        async with asyncio.timeout(timeout):
            return await attempt()

    try:
        try:
            return await once()
        except Exception as first:
            return await _again(first, once, sleep)
    except _NOT_THE_MODEL:
        raise
    except Exception as error:
        failure = model_error(error, timeout=timeout, secrets=secrets)
    # Raised out here so that it has no context: the original may hold a key in its URL.
    raise failure


async def _again(first: Exception, attempt: Callable[[], Awaitable[T]], sleep: Sleep) -> T:
    """Repeat an attempt that failed with `first`, where that may help; else raise the error.

    A call that succeeds at once has no use for the rules, which cost as much as sending it.
    """
    failures = [first]

    async def next_attempt() -> T:
        if failures:
            raise failures.pop()
        return await attempt()

    retrying = AsyncRetrying(
        stop=stop_after_attempt(MAX_ATTEMPTS),
        wait=wait_exponential_jitter(initial=0.5, max=2, jitter=0.5),
        retry=retry_if_exception(is_transient),
        sleep=sleep,
        before_sleep=_log_retry,
        reraise=True,
    )
    return await retrying(next_attempt)


def _log_retry(state: RetryCallState) -> None:
    """Say that an attempt failed, by class and status only: the provider's words may hold anything."""
    error = state.outcome.exception() if state.outcome is not None else None
    if error is not None:
        logger.warning(
            "[ACE Model] attempt %d of %d failed (%s, status %s), the next follows in %.1f s",
            state.attempt_number,
            MAX_ATTEMPTS,
            type(error).__name__,
            status_of(error),
            state.upcoming_sleep,
        )


def with_nostream(config: RunnableConfig | None) -> RunnableConfig:
    """Return `config` with the tag that keeps LangGraph from streaming the call's tokens to the user."""
    merged = config.copy() if config is not None else RunnableConfig()
    tags = merged.get("tags") or []
    merged["tags"] = tags if NOSTREAM in tags else [*tags, NOSTREAM]
    return merged


class _Started:
    """A stream whose first chunk has come, and the seconds it may still spend waiting."""

    def __init__(self, chunks: AsyncIterator[BaseMessage], seconds: float) -> None:
        self._chunks = chunks
        self._left = seconds
        self._held: AIMessageChunk | None = None

    async def hold_first(self) -> None:
        self._held = await self.take()

    async def take(self) -> AIMessageChunk | None:
        """Return the next chunk, None at the end."""
        held, self._held = self._held, None
        if held is not None:
            return held
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(self._left):
                async for chunk in self._chunks:
                    return chunk if isinstance(chunk, AIMessageChunk) else as_chunk(chunk)
        finally:
            self._left -= loop.time() - began
        return None

    async def aclose(self) -> None:
        close = getattr(self._chunks, "aclose", None)
        if close is not None:
            await close()


def as_chunk(message: BaseMessage) -> AIMessageChunk:
    """Return a whole message as the one chunk of a stream."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return AIMessageChunk(
        content=message.content,  # pyright: ignore[reportUnknownMemberType]  # LangChain: list[str | dict]
        additional_kwargs=message.additional_kwargs,
        response_metadata=message.response_metadata,
        id=message.id,
        usage_metadata=message.usage_metadata if isinstance(message, AIMessage) else None,
        tool_call_chunks=[
            tool_call_chunk(name=call["name"], args=json.dumps(call["args"]), id=call["id"], index=index)
            for index, call in enumerate(calls)
        ],
    )


# Keys in what a model's library says: none appears in an error or a log line.


_HIDDEN = "[hidden]"


def redacted(text: str, secrets: frozenset[str] = frozenset()) -> str:
    """Return `text` as one line in which `secrets`, and all that looks like a key, are replaced."""
    for secret in secrets:
        text = text.replace(secret, _HIDDEN)
    return " ".join(redact(text).split())


def secrets_of(model: object) -> frozenset[str]:
    """Return every key that `model`, or the model inside a binding, holds in a field of type SecretStr."""
    found: set[str] = set()
    while isinstance(model, RunnableBinding):
        model = cast("RunnableBinding[object, object]", model).bound
    if isinstance(model, BaseModel):
        values = (getattr(model, name, None) for name in type(model).model_fields)
        found.update(value.get_secret_value() for value in values if isinstance(value, SecretStr))
    return frozenset(secret for secret in found if secret)
