"""No test reaches past this machine: connecting or resolving elsewhere fails the test that tried.

An audit hook sees every socket of this process, whichever library opened it. Names under `.invalid` may be
looked up (they never resolve), and so may the servers that NEO4J_TEST_URI and POSTGRES_TEST_URI name.

Processes that tests start are not watched.
"""

from __future__ import annotations

import ipaddress
import os
import sys
from typing import cast
from urllib.parse import urlsplit

_LOCAL_NAMES = frozenset({"", "localhost", "0.0.0.0", "::"})


class ReachedOutside(BaseException):
    """A test opened a connection to another machine. Not an Exception: no retry may swallow it."""


def is_local(host: object) -> bool:
    """Whether `host`, as a socket call was given it, stays on this machine or can't exist."""
    if host is None:
        return True
    name = host.decode() if isinstance(host, bytes) else str(host)
    if name in _LOCAL_NAMES or name.endswith(".invalid"):
        return True
    try:
        return ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _allowed(host: object) -> bool:
    given = (urlsplit(os.environ.get(name, "")).hostname for name in ("NEO4J_TEST_URI", "POSTGRES_TEST_URI"))
    return is_local(host) or any(host == each for each in given)


def _watch(event: str, args: tuple[object, ...]) -> None:
    if event == "socket.getaddrinfo" and not _allowed(args[0]):
        raise ReachedOutside(f"a test looked up {args[0]!r}; tests stay on this machine")
    if event == "socket.connect" and isinstance(args[1], tuple):
        host, *_ = cast("tuple[object, ...]", args[1])
        if not _allowed(host):
            raise ReachedOutside(f"a test connected to {host!r}; tests stay on this machine")


def pytest_configure() -> None:
    sys.addaudithook(_watch)
