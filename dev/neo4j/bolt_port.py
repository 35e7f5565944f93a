"""A port for Neo4j: `bolt_port.py free` prints one, `taken PORT` exits 0 where somebody listens on it, and
`answers PORT` exits 0 once Bolt answers.

It needs no driver, so that start.sh works before anything is installed.
"""

from __future__ import annotations

import socket
import sys

# The Bolt magic and four proposals: the manifest handshake, 5.8 down to 5.0, 4.4, none. The server answers
# with the version it takes.
HELLO = bytes.fromhex("6060b017 000001ff 00080805 00000404 00000000")


def free() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def taken(port: int) -> bool:
    """Whether a program listens on this port of 127.0.0.1."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def answers(port: int) -> bool:
    """Whether a Bolt server on this port agrees on a version."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.settimeout(2)
            connection.sendall(HELLO)
            return any(connection.recv(4))
    except OSError:
        return False


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["free"]:
            sys.stdout.write(f"{free()}\n")
        case ["taken", number]:
            sys.exit(not taken(int(number)))
        case ["answers", number]:
            sys.exit(not answers(int(number)))
        case _:
            sys.exit("usage: bolt_port.py free | taken PORT | answers PORT")
