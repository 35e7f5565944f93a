"""A terminal that a test types on: the program at its other end believes that a person sits there.

Does not: wait by the clock. It reads until what is expected was shown, or the program has ended.
"""

from __future__ import annotations

import os
import pty
import select
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.plugins.sizes import PATIENT
from tests.plugins.warm_python import WarmPython, cold_python

"""Seconds after which a program that shows nothing has failed."""
_SILENCE = 10.0

_PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "  # a background job ignores it
    "from ace_graph.cli.main import app; app(prog_name='ace-graph')"
)


class Terminal:
    """Runs `ace-graph` with all three streams on a pseudo-terminal of its own."""

    def __init__(self, folder: Path, python: WarmPython, *args: str, **environment: str) -> None:
        self._ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            python("-c", _PROGRAM, *args),
            cwd=folder,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=_take_terminal if python is cold_python else None,  # a warm one takes it itself
            env={
                **os.environ,
                "TERM": "xterm",
                "PROMPT_TOOLKIT_NO_CPR": "1",
                "COLUMNS": "200",
                **environment,
            },
        )
        os.close(theirs)
        self._shown = ""

    def expect(self, text: str) -> str:
        """Read until `text` was shown; return what came before it."""
        while text not in self._shown:
            piece = self._read()
            assert piece, f"the program ended without showing {text!r}; it showed {self._shown!r}"
            self._shown += piece
        before, _, self._shown = self._shown.partition(text)
        return before

    def type(self, keys: str) -> None:
        """Type `keys`; "\\x03" is Ctrl-C, "\\x04" Ctrl-D, "\\r" Enter."""
        os.write(self._ours, keys.encode())

    def interrupt_to_the_end(self) -> int:
        """Press Ctrl-C, again whenever nothing came for a while, and return the exit code.

        Python loses one that falls between its prompt and its waiting for a key.
        """
        for _ in range(int(PATIENT / _SILENCE)):
            self.type("\x03")
            while select.select([self._ours], [], [], _SILENCE)[0]:
                piece = self._read()
                if not piece:
                    return self._process.wait()
                self._shown += piece
        raise AssertionError(f"Ctrl-C does not end it; it showed {self._shown!r}")

    def end(self) -> int:
        """Read to the end and return the exit code."""
        while piece := self._read():
            self._shown += piece
        return self._process.wait()

    def _read(self) -> str:
        ready, _, _ = select.select([self._ours], [], [], PATIENT)
        assert ready, f"nothing came for {PATIENT} s after {self._shown!r}"
        try:
            return os.read(self._ours, 4096).decode(errors="replace")
        except OSError:  # Linux says so when the other side has closed
            return ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._ours)


def _take_terminal() -> None:
    """Make the terminal on stdin the one whose Ctrl-C reaches this process."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
