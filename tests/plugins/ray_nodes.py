"""A Ray cluster of two nodes on this machine, as a program: the lines of its stdin say what happens to it.

`kill` kills a node at once, as a power cut would; `add` adds one; the end of stdin ends the cluster. After
each line, and at the start, one line on stdout: the address, and that of the client server.
"""

from __future__ import annotations

import socket
import sys

from ray.cluster_utils import Cluster  # pyright: ignore

NODE = {"num_cpus": 1, "object_store_memory": 80_000_000}
WAIT_SECONDS = 600
TRIES = 3
"""Ray gives a node 30 seconds to start, and nobody can change that: a busy machine may need more."""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _started() -> tuple[Cluster, int]:
    """Return a cluster of one node, and the port of its client server."""
    for tried in range(1, TRIES + 1):
        port = _free_port()
        head = {**NODE, "ray_client_server_port": port, "include_dashboard": False}
        try:
            return Cluster(initialize_head=True, head_node_args=head), port  # pyright: ignore
        except Exception:  # Ray raises no narrower one
            if tried == TRIES:
                raise
    raise AssertionError


def main() -> None:
    cluster, port = _started()
    nodes = [cluster.add_node(**NODE)]  # pyright: ignore
    try:
        while True:
            cluster.wait_for_nodes(timeout=WAIT_SECONDS)  # pyright: ignore
            print(cluster.address, f"ray://127.0.0.1:{port}", flush=True)  # pyright: ignore
            line = sys.stdin.readline()
            if not line:
                return
            if line == "kill\n":
                cluster.remove_node(nodes.pop(), allow_graceful=False)  # pyright: ignore
            else:
                nodes.append(cluster.add_node(**NODE))  # pyright: ignore
    finally:
        cluster.shutdown()  # pyright: ignore


if __name__ == "__main__":
    main()
