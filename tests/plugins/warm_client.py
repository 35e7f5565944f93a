"""Stands in for a Python that starts: asks a warm one for a process, and ends as that process ends.

    python -IS tests/plugins/warm_client.py SOCKET -c CODE ...
    python -IS tests/plugins/warm_client.py SOCKET -m MODULE ...

A signal that it is sent goes on to the process; if it is killed itself, so is the process.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys


def main(path: str, *arguments: str) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        request = json.dumps([arguments, dict(os.environ), os.getcwd()]).encode()
        socket.send_fds(connection, [request[:1]], [0, 1, 2])
        connection.sendall(request[1:] + b"\n")
        with connection.makefile("rb") as told:
            pid = int(told.readline())
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, lambda number, _: os.kill(pid, number))
            code = int(told.readline())
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
