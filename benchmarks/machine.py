"""On what the numbers were measured: processor, memory and versions."""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["describe_machine", "load_now"]

_PACKAGES = ("langgraph", "langchain-core", "pydantic", "neo4j", "psycopg")


def describe_machine(servers: Sequence[str] = ()) -> list[str]:
    """Return lines about this machine and the database servers on it, each a name with its version."""
    packages = ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)
    databases = f"{' and '.join(servers)} on loopback" if servers else "no database server"
    return [
        f"{_processor()}, {os.cpu_count()} cores, {_memory()}, {platform.system()}",
        f"{platform.python_implementation()} {sys.version.split()[0]}, {packages}, "
        f"SQLite {sqlite3.sqlite_version}, {databases}",
        f"{datetime.now(UTC):%Y-%m-%d}",
    ]


def load_now() -> float:
    """Return how many processes wanted to run in the last minute."""
    return os.getloadavg()[0]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"


def _proc(name: str, key: str) -> str | None:
    path = Path("/proc") / name
    lines = path.read_text().splitlines() if path.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), None)


def _processor() -> str:
    return _proc("cpuinfo", "model name") or platform.processor() or platform.machine()


def _memory() -> str:
    total = _proc("meminfo", "MemTotal")
    return f"{int(total.split()[0]) / 1024**2:.0f} GiB" if total else "memory unknown"
