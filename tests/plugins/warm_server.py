"""A Python that has imported already what most programs import, and forks a process for each that asks.

    python -P tests/plugins/warm_server.py SOCKET OWNER

A process is what `warm_client` asks for: arguments as Python takes them (`-c CODE ...` or `-m MODULE ...`),
with the client's environment, folder and three streams; a terminal that no session has becomes its own. It
ends as any Python does, and the client ends as it ended; if the client is gone, it is killed with all its
group. Two processes share nothing but what was imported before either began, and the patterns of the data
files. The server goes to the background once it listens, and ends when the process OWNER has ended.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import json
import os
import runpy
import select
import shutil
import signal
import socket
import sys
import termios
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from types import FrameType, ModuleType
from typing import cast

IMPORTED = (
    "ace_graph.cli.main",
    "ace_graph.learning",
    "ace_graph.memory.stores.neo4j.store",
    "ace_graph.memory.stores.sql.postgres",
    "ace_graph.memory.stores.sql.sqlite",
    "ace_graph.agent.offline_tutor",
    "ace_graph.server",
    "ace_graph.stores",
    "ace_graph.testing.conformance",
    "ace_graph.learning.worker",
    "fastapi.testclient",
    "langchain_google_genai",
    "langgraph.checkpoint.sqlite.aio",
    "langgraph.prebuilt",
    "mcp.server.mcpserver",
    "uvicorn",
)


@dataclass(frozen=True)
class Request:
    """A process to be: its arguments, environment, folder and the three streams."""

    arguments: list[str]
    environment: dict[str, str]
    folder: str
    streams: list[int]


def main(path: str, owner: int) -> None:
    """Serve until `owner` has ended; in a forked process, be what was asked for."""
    codes: list[int] = []
    atexit.register(_leave, codes)  # before all others, so that it comes after them
    for name in IMPORTED:
        import_module(name)
    _compile_patterns()
    gc.collect()
    gc.freeze()  # or every child would copy all of it at its first collection
    request = _serve(path, owner)
    if request is not None:
        codes += _exit_code(request)


def _compile_patterns() -> None:
    """Compile what a first turn compiles, which would be half of a short process."""
    for module in [module for name, module in sys.modules.items() if name.startswith("ace_graph.")]:
        patterns = getattr(module, "patterns", None)
        if callable(patterns):
            list(cast("Iterator[object]", patterns()))


def _serve(path: str, owner: int) -> Request | None:
    """Return None in the server when `owner` has ended, and in a new process the request that it is for."""
    running: list[int] = []
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen(64)
        _go_to_background()
        while True:
            ready, _, _ = select.select([listening], [], [], 1)
            if not _is_running(owner):
                shutil.rmtree(os.path.dirname(path), ignore_errors=True)
                return None
            if not ready:
                continue
            connection, _ = listening.accept()
            with connection:
                running.append(os.fork())
                if not running[-1]:
                    listening.close()
                    return _attend(connection)
            running = [pid for pid in running if os.waitpid(pid, os.WNOHANG) == (0, 0)]


def _go_to_background() -> None:
    """Let the process that was started end, and go on in a child without its streams."""
    if os.fork():
        os._exit(0)
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _attend(connection: socket.socket) -> Request:
    """Fork the process, and return in it; the other one tells the client of it until it has ended."""
    data, streams, _, _ = socket.recv_fds(connection, 1, 3)
    with connection.makefile("rb") as sent:
        arguments, environment, folder = json.loads(data + sent.readline())
    ended, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, _only_wake)
    signal.set_wakeup_fd(wakes)
    pid = os.fork()
    if not pid:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for descriptor in (ended, wakes):
            os.close(descriptor)
        return Request(arguments, environment, folder, streams)
    for stream in streams:
        os.close(stream)
    connection.sendall(b"%d\n" % pid)
    if ended not in select.select([ended, connection], [], [])[0]:
        os.killpg(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        connection.sendall(b"%d\n" % code)
    finally:
        os._exit(0)


def _exit_code(request: Request) -> list[int]:
    """Be the process; return its exit code, or none where Python has to tell what is wrong with its end."""
    warns = request.arguments[:2] == ["-W", "error"]
    try:
        _become(request)
    except SystemExit as end:
        if warns or not isinstance(end.code, int | None):
            raise
        return [end.code or 0]
    return [] if warns else [0]


def _leave(codes: list[int]) -> None:
    """End once the program's own objects have. Python would also take apart, and so copy, what is shared."""
    if codes:
        program = sys.modules["__main__"].__dict__
        if program is not globals():
            program.clear()
        gc.collect()
        with suppress(OSError):  # nobody reads: Python says so in its own way
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(codes[-1])


def _only_wake(number: int, frame: FrameType | None) -> None:
    """Without a handler of Python's, a signal does not reach the wakeup descriptor."""


def _become(request: Request) -> None:
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    for target, stream in enumerate(request.streams):
        os.dup2(stream, target)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = (
        open(n, mode, encoding=old.encoding, errors=old.errors, buffering=buffering, closefd=False)  # noqa: SIM115
        for n, mode, old, buffering in (
            (0, "r", sys.__stdin__, -1),
            (1, "w", sys.__stdout__, -1),
            (2, "w", sys.__stderr__, 1),
        )
        if old is not None
    )
    with suppress(OSError):  # it is no terminal, or that of another session
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path[:0] = ["", *filter(None, request.environment.get("PYTHONPATH", "").split(os.pathsep))]
    if request.arguments[:2] == ["-W", "error"]:
        warnings.simplefilter("error")
        del request.arguments[:2]
    how, what, *arguments = request.arguments
    sys.argv = [how, *arguments]
    if how == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        module = sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(what, "<string>", "exec"), module.__dict__)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
