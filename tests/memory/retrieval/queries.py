"""A bullet about fractions, a question about it, and `retrieve` with defaults, for the tests of retrieval."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from ace_graph.memory import Access, Bullet, Playbook, Policy
from ace_graph.memory.retrieval import Reason, Retrieval, explain
from ace_graph.memory.retrieval.retrieve import retrieve

NOW = datetime(2026, 1, 1, tzinfo=UTC)
THEN = NOW - timedelta(days=30)
ADD = "How do I add fractions with different denominators?"
LCD = "Find the least common denominator before adding fractions"


def bullet(key: str, content: str = LCD, **fields: object) -> Bullet:
    return Bullet.model_validate(
        {"id": key, "section": "strategies", "content": content, "created_at": THEN, "updated_at": THEN}
        | fields
    )


def ask(
    bullets: Iterable[Bullet] | Playbook,
    question: str = ADD,
    *,
    access: Access | None = None,
    policy: Policy | None = None,
    now: datetime = NOW,
    **options: Any,  # the options of `retrieve` as they are, so that a test names only what it is about
) -> Retrieval:
    playbook = bullets if isinstance(bullets, Playbook) else Playbook.of(bullets)
    return retrieve(question, playbook, access or Access(), policy or Policy(), now=now, **options)


def why(
    bullets: Iterable[Bullet], question: str, *, access: Access | None = None, **options: Any
) -> dict[str, Reason]:  # Any: the options of `explain` as they are
    policy = options.pop("policy", None) or Policy()
    playbook = Playbook.of(bullets)
    return explain(question, playbook, access or Access(), policy, now=NOW, **options)


def ids(found: Retrieval) -> list[str]:
    return [scored.bullet.id for scored in found.retrieved]


def core(found: Retrieval) -> list[str]:
    return [scored.bullet.id for scored in found.core]
