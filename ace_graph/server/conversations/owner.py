"""Names the process that works on a turn, and finds out whether a process of this machine has ended.

For processes of other machines or containers, and on systems without /proc, nothing is known; their leases
expire.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from uuid import uuid4

_STARTED = 19
"""The index of the start time in /proc/PID/stat, counted from after the program's name."""


def new_owner() -> str:
    """Return a name for one server: machine, process namespace, pid, start of the process, a random part."""
    pid = os.getpid()
    return "|".join((platform.node(), _namespace(), str(pid), _started(pid), uuid4().hex))


def is_gone(owner: str, mine: str) -> bool:
    """Whether `owner` is certainly a process of this machine that has ended; a reused pid starts later."""
    theirs, ours = owner.split("|"), mine.split("|")
    if len(theirs) != 5 or theirs[:2] != ours[:2] or not theirs[1] or not theirs[2].isdigit():
        return False
    return _started(int(theirs[2])) != theirs[3]


def _started(pid: int) -> str:
    """Return when the process started, in the kernel's ticks; '' if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[_STARTED]


def _namespace() -> str:
    """Return the namespace in which pids are unique; '' if the system has none."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""
