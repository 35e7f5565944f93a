"""Calls a chat model: with timeouts, few retries, readable errors, and a count of the tokens.

Every call goes through here. At most 3 attempts, with waits of at most 1 and 2 s, and only for failures that
can pass (`failures.is_transient`). A stream is started again only while it has yielded nothing: once text was
sent, a failure is an error that says that the reply broke off, so no reader sees a text twice.

Every call carries the tag `nostream`, so that LangGraph does not stream its tokens: the caller pushes the
text that the user may see (reasoning/streaming.push_text).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TypeVar, cast

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.runnables import Runnable, RunnableConfig
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential_jitter,
)

from ace_graph.errors import AceError, ModelError
from ace_graph.models.failures import is_transient, model_error, secrets_of, status_of
from ace_graph.models.usage import Usage, usage_of

__all__ = [
    "MAX_ATTEMPTS",
    "NOSTREAM",
    "ChatRunnable",
    "OnUsage",
    "Sleep",
    "call_model",
    "guarded",
    "stream_model",
    "with_nostream",
]

logger = logging.getLogger("ace_graph")

MAX_ATTEMPTS = 3
NOSTREAM = "nostream"

_NOT_THE_MODEL = (AceError, AssertionError)

ChatRunnable = Runnable[LanguageModelInput, AIMessage]
"""A chat model, or one with tools or a config bound to it."""

OnUsage = Callable[[Usage], None]
Sleep = Callable[[float], Awaitable[None]]
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
    reply = await guarded(
        lambda: model.ainvoke(list(messages), with_nostream(config)),
        timeout=timeout,
        secrets=secrets_of(model),
        sleep=sleep,
    )
    if on_usage is not None:
        on_usage(usage_of(reply))
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
    started = await guarded(
        lambda: _start(model, messages, with_nostream(config), timeout),
        timeout=timeout,
        secrets=secrets,
        sleep=sleep,
    )
    failure: ModelError | None = None
    async with aclosing(started):
        while True:
            try:
                chunk = await started.next()
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

    async def next(self) -> AIMessageChunk | None:
        """Return the next chunk, or None at the end."""
        if self._held is not None:
            held, self._held = self._held, None
            return held
        return await self._wait()

    async def hold_first(self) -> None:
        self._held = await self._wait()

    async def aclose(self) -> None:
        close = getattr(self._chunks, "aclose", None)
        if close is not None:
            await close()

    async def _wait(self) -> AIMessageChunk | None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(self._left):
                return _as_chunk(await anext(self._chunks))
        except StopAsyncIteration:
            return None
        finally:
            self._left -= loop.time() - began


async def _start(
    model: ChatRunnable, messages: Sequence[BaseMessage], config: RunnableConfig, seconds: float
) -> _Started:
    # LangChain types the chunks of astream as AIMessage; models without a stream really yield that.
    chunks = cast("AsyncIterator[BaseMessage]", model.astream(list(messages), config))
    started = _Started(chunks, seconds)
    try:
        await started.hold_first()
    except BaseException:
        await started.aclose()
        raise
    return started


def _as_chunk(message: BaseMessage) -> AIMessageChunk:
    if isinstance(message, AIMessageChunk):
        return message
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
