"""The executor that `--on` names."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec

from ace_graph.errors import ConfigurationError, UsageError, how_to_install
from ace_graph.executors.base import Executor, InProcess

__all__ = ["open_executor"]

_RAY = "ray"
_ADDRESS = re.compile(r"ray://(?:[^\s/:\[\]]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}")
_IN_MEMORY = "memory://"


@contextmanager
def open_executor(on: str | None, store_url: str | None = None) -> Generator[Executor]:
    """Yield the executor for `on`: None is this process, `ray` or `ray://HOST:PORT` a Ray cluster.

    `ray` alone is what Ray itself chooses: the cluster that RAY_ADDRESS names, else one that runs on this
    machine, else a new one on this machine, which ends with the block. `store_url` is the store that the work
    opens in its own processes, if it does. Raises UsageError for what `on` or the store can't be;
    ConfigurationError where Ray is not installed; ClusterError within 10 seconds where nothing answers.
    """
    if on is None:
        yield InProcess()
        return
    if on != _RAY and _ADDRESS.fullmatch(on) is None:
        raise UsageError(
            f"--on {on[:60]} names no cluster: use ray for this machine or RAY_ADDRESS, or ray://HOST:PORT "
            "(the port of Ray's client server, 10001 unless set)"
        )
    if store_url is not None and store_url.startswith(_IN_MEMORY):
        raise UsageError(
            "a store in memory belongs to one process, so nothing can work on it with --on ray: "
            "use postgresql:// or neo4j://, or sqlite:// where all nodes are on this machine"
        )
    if find_spec("ray") is None:
        raise ConfigurationError(f"--on ray needs Ray: {how_to_install('ray')}")
    from ace_graph.executors.ray_cluster import connected

    with connected(None if on == _RAY else on) as cluster:
        if store_url is not None:
            cluster.check_store(store_url)
        yield cluster
