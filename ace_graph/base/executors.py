"""Where work on many items runs: in this process, or on the nodes of a Ray cluster.

A job says what is done for one item. An executor runs it for many, and hands back each result as it comes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import socket
import warnings
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from itertools import islice
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from ace_graph.base.errors import AceError, ClusterError, ConfigurationError, UsageError, how_to_install

Item = TypeVar("Item")
Result = TypeVar("Result")
ItemT_contra = TypeVar("ItemT_contra", contravariant=True)
ResultT_co = TypeVar("ResultT_co", covariant=True)
Work = Callable[[Item], Awaitable[Result]]


class Job(Protocol[ItemT_contra, ResultT_co]):
    """Work on items that do not depend on each other.

    For other processes the job, its items and its results are pickled; what can't be, such as a client of a
    database, is opened in `opened`.
    """

    def opened(self) -> AbstractAsyncContextManager[Work[ItemT_contra, ResultT_co]]:
        """Open what the work needs, once for many items; yield the work on one item.

        Several items are worked on at once, on one event loop.
        """
        ...


class Executor(Protocol):
    """Runs a job."""

    async def run(
        self,
        job: Job[Item, Result],
        items: Iterator[Item],
        take: Callable[[Result], None],
        *,
        concurrency: int,
    ) -> None:
        """Work on all items, and call `take` here with each result, in the order in which they are ready.

        `concurrency` is how many items a process works on at once. The next item is taken from `items` when
        there is room for it, so that `items` may end early. The first error, of the work or of `take`, ends
        all work and is raised.
        """
        ...


class InProcess:
    """Runs a job on the caller's event loop."""

    async def run(
        self,
        job: Job[Item, Result],
        items: Iterator[Item],
        take: Callable[[Result], None],
        *,
        concurrency: int,
    ) -> None:
        async with job.opened() as work:

            async def work_on_next() -> None:
                for item in items:
                    take(await work(item))

            # Run `workers` copies of `work` at once; the first error ends the others and is raised alone
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(concurrency):
                        group.create_task(work_on_next())
            except BaseExceptionGroup as errors:
                raise errors.exceptions[0] from None


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
    with connected(None if on == _RAY else on) as cluster:
        if store_url is not None:
            cluster.check_store(store_url)
        yield cluster


# What runs on a node of a Ray cluster: one chunk of a job's items, with the executor of one process.


# Any: a task is made without its types; what a job takes and gives is between it and its caller.
Chunk = tuple[list[Any], AceError | None]


def installed_version() -> str:
    """Return the version of this package on this machine."""
    return version("ace-graph")


def work_on_chunk(job: Job[Any, Any], items: Sequence[Any], concurrency: int, wanted: str) -> Chunk:
    """Return the results that there are, and the error that ended the work, if one did.

    Other exceptions than AceErrors are raised. `wanted` is the version of the program that asks.
    """
    found = installed_version()
    if found != wanted:
        return [], ClusterError(
            f"a node has ace-graph {found}, this program is {wanted}: install the same version on all nodes"
        )
    results: list[Any] = []
    try:
        asyncio.run(InProcess().run(job, iter(items), results.append, concurrency=concurrency))
    except AceError as error:
        return results, error
    return results, None


# Work on the nodes of a Ray cluster. Ray is imported when the first one is asked for.
#
# Items go to the nodes in chunks of as many as one process works on at once; there are as many chunks under
# way as the cluster has processors, counted anew before each. Ray repeats a chunk whose node or process
# died.


logger = logging.getLogger("ace_graph")
RETRIES = 3
"""How often a chunk is tried again whose node or process died."""
_CONNECT_SECONDS = 5.0
_THIS_MACHINE = ("127.0.0.1", "localhost")
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is reported to anybody
    "RAY_CLIENT_INITIAL_CONNECTION_TIMEOUT_S": "2",  # of three attempts
    "RAY_CLIENT_MAX_CONNECTION_TIMEOUT_S": "2",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # nodes have what is installed there; nothing is copied to them
}


@contextmanager
def connected(address: str | None) -> Generator[RayCluster]:
    """Connect to the cluster at `ray://HOST:PORT`, or to the one that Ray chooses, for the block.

    Raises ClusterError.
    """
    os.environ.update({name: value for name, value in _ENVIRONMENT.items() if name not in os.environ})
    _check_reachable(address or os.environ.get("RAY_ADDRESS", ""))
    ray: Any = import_module("ray")  # Any: it is optional, and its own types leave much open
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they say is in the error
            ray.init(address, log_to_driver=False, logging_level="ERROR", include_dashboard=False)
    except (Exception, SystemExit) as error:
        raise ClusterError(
            f"no Ray cluster can be used at {address or 'this machine'} ({_first_line(error)}): "
            "check that the address is that of Ray's client server and that both have the same "
            "versions of Ray and Python"
        ) from error
    try:
        yield RayCluster(ray)
    finally:
        ray.shutdown()


class RayCluster:
    """Runs jobs on the cluster that this process is connected to."""

    def __init__(self, ray: Any) -> None:  # Any: as above
        self._ray = ray
        options = {"num_cpus": 1, "max_retries": RETRIES, "scheduling_strategy": "SPREAD"}
        self._work_on_chunk = ray.remote(**options)(work_on_chunk)

    async def run(
        self,
        job: Job[Item, Result],
        items: Iterator[Item],
        take: Callable[[Result], None],
        *,
        concurrency: int,
    ) -> None:
        """Work on all items; see `Executor.run`. Raises ClusterError where a chunk can't be worked on."""
        try:
            stored = self._ray.put(job)
        except Exception as error:  # whatever an object raises that is pickled
            raise UsageError(
                f"this can't be sent to the nodes of Ray ({_first_line(error)}): a model, an environment or "
                "a clock of your own must be an object that pickle accepts"
            ) from error
        running = set[asyncio.Future[Chunk]]()
        try:
            while True:
                room = self._processors() - len(running)
                chunks = (tuple(islice(items, concurrency)) for _ in range(room))
                for chunk in filter(None, chunks):
                    reference = self._work_on_chunk.remote(stored, chunk, concurrency, installed_version())
                    running.add(asyncio.wrap_future(reference.future()))
                if not running:
                    return
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                _take_all(done, take)
        finally:
            for future in running:
                future.cancel()

    def check_store(self, url: str) -> None:
        """Raise UsageError for a SQLite file that a node on another machine could not open."""
        others = {str(node["NodeManagerHostname"]) for node in self._alive()} - {socket.gethostname()}
        if url.startswith("sqlite:") and others:
            raise UsageError(
                f"a SQLite file can't be opened on other machines, and the cluster has {min(others)}: "
                "use postgresql:// or neo4j://"
            )

    def __str__(self) -> str:
        nodes = len(self._alive())
        return f"Ray: {nodes} node{'s' if nodes != 1 else ''}, {self._processors()} processors"

    def _alive(self) -> list[Mapping[str, Any]]:  # Any: as Ray describes a node
        return [node for node in self._ray.nodes() if node["Alive"]]

    def _processors(self) -> int:
        """Return how many chunks can be worked on at once; 1 where the cluster has yet to start nodes."""
        return max(1, int(sum(node["Resources"].get("CPU", 0) for node in self._alive())))


def _take_all(done: set[asyncio.Future[Chunk]], take: Callable[[Result], None]) -> None:
    """Take the results of chunks that are done; then raise the first error among them."""
    problem: Exception | None = None
    for future in done:
        failed = future.exception()
        if failed is not None:
            problem = problem or ClusterError(f"work on Ray failed for good: {_first_line(failed)}")
            continue
        results, error = future.result()
        for result in results:
            take(result)
        problem = problem or error
    if problem is not None:
        raise problem


def _check_reachable(address: str) -> None:
    """Raise ClusterError where nothing listens at HOST:PORT; Ray itself would try for minutes."""
    parts = urlsplit(address if "://" in address else f"//{address}")
    if parts.hostname is None or parts.port is None:
        return
    host = parts.hostname
    if not parts.scheme and host in _THIS_MACHINE:
        ray: Any = import_module("ray")  # Any: as above
        host = ray.util.get_node_ip_address()  # Ray replaces such an address of a node by this one
    try:
        socket.create_connection((host, parts.port), _CONNECT_SECONDS).close()
    except OSError as error:
        raise ClusterError(
            f"no Ray cluster answers at {address} ({error.strerror or 'no answer'}): check the address, and "
            "that `ray status` shows a cluster there"
        ) from error


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300]
