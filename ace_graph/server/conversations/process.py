"""Which process works on a turn, and whether a process of this machine still lives.

Does not: judge processes of other machines or containers, or of systems without /proc; their leases run out.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from uuid import uuid4

__all__ = ["is_gone", "new_owner"]

_STARTED = 19
"""The place of the start time in /proc/PID/stat, counted from behind the name of the program."""


def new_owner() -> str:
    """Return a name for one server: machine, process namespace, pid, start of the process, a random part."""
    pid = os.getpid()
    return "|".join((platform.node(), _namespace(), str(pid), _started(pid), uuid4().hex))


def is_gone(owner: str, mine: str) -> bool:
    """Whether `owner` was certainly a process of this machine that has ended: a pid may be reused."""
    theirs, ours = owner.split("|"), mine.split("|")
    if len(theirs) != 5 or theirs[:2] != ours[:2] or not theirs[1] or not theirs[2].isdigit():
        return False
    return _started(int(theirs[2])) != theirs[3]


def _started(pid: int) -> str:
    """When the process began, in the kernel's ticks; '' where there is none."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    return told.rpartition(")")[2].split()[_STARTED]


def _namespace() -> str:
    """The process namespace, within which pids mean something; '' where the system has none."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""
