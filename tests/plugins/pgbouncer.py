"""A pgbouncer before a test's PostgreSQL, in transaction mode: each transaction may get another session.

Where the program is missing, the tests that ask for it are deselected; ACE_REQUIRE_POSTGRES=1 wants it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.plugins.postgres_server import REQUIRED
from tests.plugins.sizes import PATIENT

_PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
_CONFIG = """
[databases]
* = host={host} port={port} user={user} {password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
max_client_conn = 200
"""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [item for item in items if "pgbouncer" in getattr(item, "fixturenames", ())]
    if _PROGRAM is not None or not left_out:
        return
    if os.environ.get(REQUIRED) == "1":
        raise pytest.UsageError(f"{REQUIRED}=1, but there is no pgbouncer (apt install pgbouncer)")
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="module")
def pgbouncer(postgres: str) -> Iterator[str]:
    """The URL of the module's database, through a pgbouncer with two sessions of the server."""
    assert _PROGRAM is not None
    parts = urlsplit(postgres)
    with socket.create_server(("127.0.0.1", 0)) as free:
        listen: int = free.getsockname()[1]
    user = "nobody" if os.geteuid() == 0 else None  # it refuses to run as root
    with tempfile.TemporaryDirectory(prefix="ace-pgbouncer-") as folder:
        config = Path(folder) / "pgbouncer.ini"
        config.write_text(
            _CONFIG.format(
                host=parts.hostname,
                port=parts.port or 5432,
                user=unquote(parts.username or ""),
                password=f"password={unquote(parts.password)}" if parts.password else "",
                listen=listen,
            )
        )
        for path in (Path(folder), config):
            if user is not None:
                shutil.chown(path, user)
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen([_PROGRAM, "-q", config], user=user, stdout=log, stderr=log)
        try:
            _wait(listen, process, Path(folder) / "log")
            yield f"postgresql://ace@127.0.0.1:{listen}{parts.path}"
        finally:
            process.terminate()
            process.wait(30)


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(int(PATIENT / 0.05)):
        assert process.poll() is None, log.read_text()
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("pgbouncer did not answer")
