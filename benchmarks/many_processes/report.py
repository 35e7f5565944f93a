"""What a run came to, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.many_processes.clients import Told
from benchmarks.server.percentiles import percentiles
from benchmarks.table import Table
from benchmarks.timing import number

__all__ = ["Course", "table_of"]

_NOTE = (
    "A server is killed with SIGKILL every few seconds, as soon as all work again, and started again; with "
    "every third one a worker. "
    "Every message tells one fact, and every attempt another one. A stream that breaks off after its first "
    "event was accepted, and another server takes the turn up; of a request that breaks before, nobody "
    "knows, and its turn is there whole or not at all. Lost, doubled or torn: a fact whose lesson, turn and "
    "message in the conversation are not there once each; a learner with another number of deltas than of "
    "lessons, or of answers than of messages; or what the invariant checker reports. The time of an answer "
    "includes waiting for a server that is up."
)


@dataclass(frozen=True)
class Course:
    """What was told, what was wrong afterwards, how many turns were given up, the kills, and times."""

    told: Told
    wrong: Sequence[str]
    given_up: int
    servers_killed: int
    workers_killed: int
    answering_seconds: float
    learned_seconds: float
    database_cpu_seconds: float
    database_mb: float


def table_of(course: Course, servers: int, workers: int) -> Table:
    """Return the table of one run."""
    told = course.told
    answered = told.count("answered")
    refused = ", ".join(f"{count} x {why}" for why, count in sorted(told.refused.items()))
    rows = [
        ("learners", f"{len(told.messages):,}"),
        ("servers killed", str(course.servers_killed)),
        ("workers killed", str(course.workers_killed)),
        ("messages answered", f"{answered:,}"),
        ("accepted, and their stream broke off", f"{told.count('accepted'):,}"),
        ("broken off before anybody knew", f"{told.count('unknown'):,}"),
        ("given up after two servers were killed with them", f"{course.given_up:,}"),
        ("refused, and sent again", refused or "none"),
        ("lost, doubled or torn", f"{len(course.wrong):,}"),
        ("seconds until all were answered", number(course.answering_seconds)),
        ("answers a second", number(answered / course.answering_seconds)),
        ("turns learned from a second", number(answered / course.learned_seconds)),
        ("time of an answer p50 / p95 / p99, ms", percentiles(told.answer_ms).told()),
        ("slowest answer, ms", number(max(told.answer_ms))),
        ("processor time of PostgreSQL, ms a turn", number(1000 * course.database_cpu_seconds / answered)),
        ("the database afterwards, KB a turn", number(1000 * course.database_mb / answered)),
    ]
    title = f"{servers} servers and {workers} workers"
    return Table(title, ("what", ""), rows, _NOTE)
