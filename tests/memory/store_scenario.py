"""One learner's memory in a test: resolve, apply and touch, one delta after the other."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from ace_graph.memory import Access, Bullet, Playbook, Policy, Snapshot, dump_playbook, load_playbook, touched
from ace_graph.memory.delta import Delta, Effect, Operation, apply
from ace_graph.memory.delta.resolve import resolve
from ace_graph.testing.conformance import NOON

__all__ = ["Life", "bullet"]


class Life:
    """One learner's memory, changed by one delta after the other."""

    def __init__(self, *bullets: Bullet, policy: Policy | None = None) -> None:
        self.snapshot = Snapshot(Playbook.of(bullets))
        self.policy = policy or Policy()
        self.minute = 0

    def does(self, *operations: Operation) -> Effect:
        self.minute += 1
        delta = Delta(
            op_id=f"op-{self.minute}", now=NOON + timedelta(minutes=self.minute), operations=operations
        )
        effect = resolve(self.snapshot, delta, self.policy)
        playbook = apply(self.snapshot.playbook, effect)
        access = touched(self.snapshot.access, effect)
        self.snapshot = Snapshot(playbook, access)
        assert dump_playbook(load_playbook(dump_playbook(playbook))) == dump_playbook(playbook)
        return effect

    def refuses(self, *operations: Operation) -> list[tuple[str, str, str]]:
        return [(r.op, r.id, r.why) for r in self.does(*operations).report.rejected]

    @property
    def playbook(self) -> Playbook:
        return self.snapshot.playbook

    @property
    def access(self) -> Access:
        return self.snapshot.access

    def __getitem__(self, bullet_id: str) -> Bullet:
        return self.playbook.entries[bullet_id]


def bullet(number: int, content: str = "", **fields: Any) -> Bullet:  # Any: the fields of a Bullet
    given: dict[str, Any] = {"section": "general", "created_at": NOON, "updated_at": NOON} | fields
    return Bullet(id=f"gen-{number:05d}", content=content or f"Fact {number} is about {number * 7}", **given)
