"""A PostgreSQL of its own for the tests of conversations, where the machine has its programs.

Does not: hold a test.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("initdb", "postgres")
AVAILABLE = all(shutil.which(name) for name in PROGRAMS)
_NOBODY = "nobody"


@contextmanager
def running_postgres() -> Generator[str]:
    """Run a server in a new folder, listening on this machine only; yield its URL."""
    # It refuses to run as root, and to use a folder of somebody else.
    user = _NOBODY if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="ace-pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if user is not None:
            shutil.chown(folder, user)
        data = folder / "data"
        subprocess.run(
            ["initdb", "--pgdata", data, "--auth=trust", "--username=ace", "--no-sync", "--encoding=UTF8"],
            check=True,
            capture_output=True,
            user=user,
            cwd=folder,
        )
        with socket.create_server(("127.0.0.1", 0)) as free:
            port: int = free.getsockname()[1]
        options = [
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            f"unix_socket_directories={folder}",
            "-c",
            "fsync=off",
        ]
        process = subprocess.Popen(
            ["postgres", "-D", data, "-p", str(port), *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            user=user,
            cwd=folder,
        )
        try:
            _wait(port, process)
            yield f"postgresql://ace@127.0.0.1:{port}/postgres"
        finally:
            process.terminate()
            process.wait(30)


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    import psycopg

    for _ in range(600):
        assert process.poll() is None, "PostgreSQL did not start"
        try:
            psycopg.connect(f"postgresql://ace@127.0.0.1:{port}/postgres", connect_timeout=2).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("PostgreSQL did not answer")
