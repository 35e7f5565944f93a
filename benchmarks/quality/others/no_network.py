"""A guard around foreign packages: connecting to another machine is an error, as is asking for its address.

It stands in Python's `socket` and sees what Python code does; a library in C could go around it.
"""

from __future__ import annotations

import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from unittest.mock import patch

__all__ = ["Attempts", "no_network"]


@dataclass
class Attempts:
    """What was tried under the guard, and refused."""

    made: list[str] = field(default_factory=list[str])

    def refuse(self, what: str) -> ConnectionError:
        """Note an attempt and return its error."""
        self.made.append(what)
        return ConnectionError(f"{what}: this benchmark runs without a network")


@contextmanager
def no_network() -> Generator[Attempts]:
    """Refuse every connection of this process but those to sockets among files; yield what was tried."""
    attempts, connect = Attempts(), socket.socket.connect

    def refuse_address(host: object, *args: object, **named: object) -> object:
        raise attempts.refuse(f"address of {host}")

    def connect_locally(one: socket.socket, address: str) -> None:
        if one.family != socket.AF_UNIX:
            raise attempts.refuse(f"connection to {address}")
        connect(one, address)

    with ExitStack() as patches:
        for name in ("connect", "connect_ex"):
            patches.enter_context(patch.object(socket.socket, name, connect_locally))
        for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
            patches.enter_context(patch.object(socket, name, refuse_address))
        yield attempts
