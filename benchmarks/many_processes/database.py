"""What the database holds and takes: its size, the turns under way, and the server's processor time."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg

__all__ = ["cpu_seconds", "megabytes", "turns_under_way"]


def megabytes(url: str) -> float:
    """Return the size of the database on disk."""
    return float(_one(url, "SELECT pg_database_size(current_database())")) / 1e6


def turns_under_way(url: str) -> int:
    """Return how many turns are accepted and have not ended."""
    return int(_one(url, "SELECT count(*) FROM ace_runs"))


def cpu_seconds(url: str) -> float:
    """Return what all processes of the server have taken; 0.0 where it is not on this machine.

    Raises psycopg.Error for a user who may not read the server's files.
    """
    main = int(_one(url, "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)"))
    children = Path(f"/proc/{main}/task/{main}/children")
    if not children.exists():
        return 0.0
    ended_too = _ticks(main, 4)
    running = sum(_ticks(pid, 2) for pid in map(int, children.read_text().split()))
    return (ended_too + running) / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int, fields: int) -> int:
    """The first 2 fields are the process's own time, the next 2 that of its children that have ended."""
    stat = Path(f"/proc/{pid}/stat")
    try:
        values = stat.read_text().rpartition(")")[2].split()
    except FileNotFoundError:  # it has just ended
        return 0
    return sum(map(int, values[11 : 11 + fields]))


def _one(url: str, statement: str) -> str:
    with psycopg.connect(url) as connection:
        row = connection.execute(statement.encode()).fetchone()
    return str(row[0]) if row else ""
