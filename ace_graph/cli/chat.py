"""`ace-graph chat`: a conversation at the terminal, or one question a line from a pipe.

At a terminal lines can be edited and recalled, pasted text is one message however many lines it has, and
Ctrl-C clears a line or stops an answer. The conversation ends with the program; what was learned stays.

The first prompt stands before the graph is loaded: that takes two seconds, in which a question can be typed.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ace_graph.base.errors import AceError, DailyTokensUsed
from ace_graph.cli.command import Base, Call, command
from ace_graph.cli.terminal import console, print_notice

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

    from ace_graph.cli.conversation import ChatLoop

_PROMPT = "you> "


class QuestionReader:
    """Reads questions from the terminal, or one a line from a pipe."""

    def __init__(self) -> None:
        self._session = _prompt_session() if sys.stdin.isatty() and sys.stdout.isatty() else None

    @property
    def at_terminal(self) -> bool:
        """Whether a person is asked, and not a pipe read."""
        return self._session is not None

    async def ask(self) -> str | None:
        """Return the next question as `next` does, at a terminal and beside other work of this event loop."""
        if self._session is None:
            return self.next()
        try:
            return await self._session.prompt_async(_PROMPT)
        except (EOFError, KeyboardInterrupt):
            return None

    def next(self) -> str | None:
        """Return the next question; None at the end of the input, or on Ctrl-C or Ctrl-D in an empty line."""
        if self._session is None:
            line = sys.stdin.readline()
            return line.rstrip("\r\n") if line else None
        try:
            return self._session.prompt(_PROMPT)
        except (EOFError, KeyboardInterrupt):
            return None


def _prompt_session() -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    keys = KeyBindings()

    @keys.add("c-c")
    def clear_or_leave(event: KeyPressEvent) -> None:  # pyright: ignore[reportUnusedFunction]  # registered
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt())

    return PromptSession[str](key_bindings=keys)


Runner = Callable[[Coroutine[Any, Any, None]], None]  # Any: what asyncio yields and sends


@dataclass(frozen=True)
class ChatOptions:
    """How to talk, and with which playbooks."""

    mode: Annotated[str | None, "--mode cot|tot|react", "The reasoning mode for every question."] = None
    named: Annotated[
        list[str] | None, "--playbook NAME", "Also read this named playbook; may be repeated."
    ] = None
    into: Annotated[
        str | None, "--learn-into NAME", "Write lessons into this named playbook, if you may."
    ] = None
    window: Annotated[
        str | None, "--window N|all", "Earlier questions with answers that the model reads, 0 to 100."
    ] = None
    temporary: Annotated[bool, "Read and store nothing of the learner in this chat."] = False
    base: Base = None


commands = typer.Typer()


@command(commands, "learner", "store")
def chat(call: Call, options: ChatOptions) -> int:
    """Talk to the agent. Ctrl-C stops an answer, Ctrl-D or /quit leaves.

    \b
    /playbook              what it remembers of you
    /feedback good|bad     what the last answer was worth
    /help /quit

    \b
    ace-graph chat --learner ada
    echo "What is 1/2 + 1/3?" | ace-graph chat

    The log shows warnings only; ACE_LOG_LEVEL=INFO shows what is retrieved and learned. From a
    pipe, a failed question makes the exit code 1.
    """
    with asyncio.Runner() as runner:
        stack, lines = AsyncExitStack(), QuestionReader()
        try:
            conversation, first = runner.run(_begin(lines, call, options, stack))
            failed, line = False, first
            while line is not None and (text := line.strip()) not in ("/quit", "/exit"):
                try:
                    if text:
                        runner.run(conversation.take(text))
                except KeyboardInterrupt:
                    console().print(
                        "\nstopped; the conversation continues without this question", style="dim"
                    )
                except DailyTokensUsed as error:
                    failed = True
                    console().print(f"{error}.", soft_wrap=not sys.stdout.isatty())
                except Exception as error:
                    failed = True
                    if call.debug:
                        traceback.print_exc()
                    print_notice(
                        str(error) if isinstance(error, AceError) else f"{type(error).__name__}: {error}"
                    )
                line = lines.next()
        finally:
            runner.run(stack.aclose())
    return int(failed and not sys.stdin.isatty())


async def _begin(
    lines: QuestionReader, call: Call, options: ChatOptions, stack: AsyncExitStack
) -> tuple[ChatLoop, str | None]:
    async def opened() -> ChatLoop:
        module = await asyncio.to_thread(import_module, "ace_graph.cli.conversation")
        conversation: ChatLoop = await module.open_conversation(call, options, stack)
        await conversation.greet()
        return conversation

    if not lines.at_terminal:
        return await opened(), lines.next()
    from prompt_toolkit.patch_stdout import patch_stdout

    with patch_stdout(raw=True):  # what is said while the prompt stands goes above it
        return await ask_while_opening(lines.ask, opened)


async def ask_while_opening(
    ask: Callable[[], Coroutine[Any, Any, str | None]],  # Any: what asyncio yields and sends
    opened: Callable[[], Coroutine[Any, Any, ChatLoop]],
) -> tuple[ChatLoop, str | None]:
    """Ask for the first line and open the conversation meanwhile; what can't be opened ends the asking."""
    asking = asyncio.create_task(ask())
    try:
        return await opened(), await asking
    finally:
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking
