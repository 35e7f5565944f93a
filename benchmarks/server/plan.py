"""How much is measured: everything in some minutes, or enough to see that it works."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FULL", "QUICK", "TINY", "ServerPlan"]


@dataclass(frozen=True)
class ServerPlan:
    """Sizes of playbooks, clients at once, and how often each thing is done.

    `answers`: requests of all clients together, per server and round. `listened`: streams per server.
    `rival_clients`: more than these do not ask langmem and mem0, for whom a store would have to be filled.
    `reflect_seconds`: how long the model takes where it is to take time. `restart_seconds`: before Neo4j is
    killed, and after it answers again.
    """

    bullets: int
    clients: tuple[int, ...]
    rounds: int
    answers: int
    listened: int
    workers: tuple[int, ...]
    learners: int
    turns_each: int
    reflect_seconds: float
    rival_clients: int
    restart_clients: int
    restart_seconds: float
    stored: int


FULL = ServerPlan(
    bullets=200,
    clients=(1, 10, 100),
    rounds=2,
    answers=100,
    listened=40,
    workers=(1, 2, 4),
    learners=24,
    turns_each=3,
    reflect_seconds=0.5,
    rival_clients=1,
    restart_clients=10,
    restart_seconds=5.0,
    stored=100,
)
QUICK = ServerPlan(
    bullets=50,
    clients=(1, 10),
    rounds=1,
    answers=40,
    listened=10,
    workers=(1, 2),
    learners=8,
    turns_each=2,
    reflect_seconds=0.2,
    rival_clients=1,
    restart_clients=4,
    restart_seconds=2.0,
    stored=20,
)
TINY = ServerPlan(
    bullets=10,
    clients=(2,),
    rounds=1,
    answers=4,
    listened=2,
    workers=(1,),
    learners=2,
    turns_each=1,
    reflect_seconds=0.0,
    rival_clients=1,
    restart_clients=2,
    restart_seconds=0.5,
    stored=3,
)
"""For the tests: seconds."""
