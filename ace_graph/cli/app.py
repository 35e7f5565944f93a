"""The frame around every command: what goes wrong becomes one sentence on stderr and an exit code.

0 is done, 1 failed, 2 wrong usage. `--debug`, wherever it stands, shows the traceback.
"""

from __future__ import annotations

import errno
import sys
import traceback
from typing import Any

import typer
from typer.core import TyperGroup

from ace_graph.cli.terminal import printable
from ace_graph.errors import AceError, UsageError

__all__ = ["AceGroup", "debugging", "print_notice"]

_DEBUG = "ace_graph.debug"


class AceGroup(TyperGroup):
    """The root of all commands."""

    # Any: click's context, whose class typer keeps to itself; what a command returns is of no interest.

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take `--debug` out, wherever before a `--` it stands."""
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[_DEBUG] = "--debug" in args[:end]
        kept = [each for each in args[:end] if each != "--debug"]
        return super().parse_args(ctx, [*kept, *args[end:]])

    def invoke(self, ctx: Any) -> Any:
        """Run the command; explain its error."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            if _is_for_typer(error):
                raise
            if debugging(ctx):
                traceback.print_exc()
            print_notice(_sentence(error))
            raise typer.Exit(2 if isinstance(error, UsageError) else 1) from error


def debugging(ctx: typer.Context) -> bool:
    """Whether tracebacks are wanted."""
    return bool(ctx.meta.get(_DEBUG, False))


def print_notice(text: str) -> None:
    """Print one line on stderr, without colours and without wrapping."""
    print(f"ace-graph: {printable(text)}", file=sys.stderr, flush=True)


def _is_for_typer(error: Exception) -> bool:
    """Handles exits, aborts, wrong options, and a closed pipe."""
    if isinstance(error, OSError):
        return error.errno == errno.EPIPE
    return isinstance(error, typer.Exit | typer.Abort) or hasattr(error, "exit_code")


def _sentence(error: Exception) -> str:
    if isinstance(error, AceError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'a file'}: {error.strerror}: check the path"
    return f"unexpected {type(error).__name__}: {error}: run it again with --debug to see where"
