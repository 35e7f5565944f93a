"""The sockets of a server, bound before it starts, so that a port that is taken is one sentence."""

from __future__ import annotations

import errno
import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from ace_graph.errors import ConfigurationError


@contextmanager
def bound_sockets(host: str, port: int) -> Generator[list[socket.socket]]:
    """Yield one socket for each address of the host, bound to the port (0 is a free one); close them.

    Raises ConfigurationError when an address or the port can't be had.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ConfigurationError(f"{host} is no address of this machine: check --host ({error})") from None
    with ExitStack() as opened:
        sockets = list[socket.socket]()
        for family, kind, protocol, _, address in dict.fromkeys(found):
            each = opened.enter_context(socket.socket(family, kind, protocol))
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:  # another socket listens on the addresses of version 4
                each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            try:
                each.bind((address[0], port, *address[2:]))
            except OSError as error:
                raise ConfigurationError(_advice(error, host, port)) from None
            port = each.getsockname()[1]
            sockets.append(each)
        yield sockets


def _advice(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use: stop the program that has it, or choose another with --port"
    if error.errno == errno.EACCES:
        return f"port {port} is for the system's administrator: choose one above 1023 with --port"
    return f"can't listen on {host}, port {port}: check --host and --port ({error})"
