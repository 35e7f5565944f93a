"""Where a chat's questions come from: a person at a terminal, or a pipe with one question a line.

At a terminal the line can be edited and earlier ones called up, what is pasted is one message however many
lines it has, and Ctrl-C clears a line that was begun.

Does not: interpret a line.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

__all__ = ["Lines"]

_PROMPT = "you> "


class Lines:
    """Gives one question after the other."""

    def __init__(self) -> None:
        self._session = _session() if sys.stdin.isatty() and sys.stdout.isatty() else None

    def next(self) -> str | None:
        """Return the next question; None at the end of the input, or on Ctrl-C or Ctrl-D in an empty line."""
        if self._session is None:
            line = sys.stdin.readline()
            return line.rstrip("\r\n") if line else None
        try:
            return self._session.prompt(_PROMPT)
        except (EOFError, KeyboardInterrupt):
            return None


def _session() -> PromptSession[str]:
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
