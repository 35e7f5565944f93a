"""`--on ray[://HOST:PORT]`: which processes do work on many items, and what is said of it."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, redirect_stdout

from ace_graph.cli.app import print_notice
from ace_graph.executors import Executor, open_executor

__all__ = ["executor_for"]


@contextmanager
def executor_for(on: str | None, store_url: str | None = None) -> Generator[Executor]:
    """Yield the executor, and print what a cluster consists of. Raises what `open_executor` raises.

    Until a cluster is left, what is printed goes to stderr: Ray itself prints which node has died, and stdout
    is for results.
    """
    output = nullcontext() if on is None else redirect_stdout(sys.stderr)
    with output, open_executor(on, store_url) as executor:
        if on is not None:
            print_notice(str(executor))
        yield executor
