"""A learner's bullets as nodes, to view in Neo4j Browser. Made on demand, never in a turn.

A projection is a copy of the playbook at one moment, which nothing in this project reads; the next one
replaces it, and `forget` deletes it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ace_graph.base.portal import portal
from ace_graph.memory.bullet import Bullet
from ace_graph.memory.stores.base import checked_learner_id
from ace_graph.memory.stores.neo4j import queries as cypher
from ace_graph.memory.stores.neo4j.commit import read_locked
from ace_graph.memory.stores.neo4j.connection import Neo4jLink
from ace_graph.memory.stores.neo4j.queries import Properties
from ace_graph.memory.stores.neo4j.runner import fetch
from ace_graph.memory.stores.neo4j.store import Neo4jStore


async def project(store: Neo4jStore, learner_id: str) -> int:
    """Replace the learner's `(:AceMemoryState)-[:HAS_BULLET]->(:AceBullet)` by the bullets as they are now.

    Each is connected with the trajectories behind it, `(:AceBullet)-[:LEARNED_FROM]->(:AceTurn)`.

    Returns their number. For an absent learner it is 0, and nothing is created. Raises what the store raises.
    """
    learner = checked_learner_id(learner_id)

    async def write(link: Neo4jLink) -> int:
        async with store.connection.transaction(link) as transaction:
            snapshot = await read_locked(transaction, learner)
            bullets = _properties(learner, snapshot.playbook.bullets())
            await fetch(transaction, cypher.PROJECT, uid=learner, bullets=bullets)
            return len(bullets)

    return await portal().run(
        store.connection.work(write, seconds=store.connection.timeouts.write), shielded=True
    )


def _properties(learner: str, bullets: Iterable[Bullet]) -> list[Properties]:
    taken: set[str] = set()
    return [_node(learner, bullet, taken) for bullet in bullets]


def _node(learner: str, bullet: Bullet, taken: set[str]) -> Properties:
    """Return the properties of a bullet's node, whose `hash_key` is unique in the database.

    A playbook may hold a text more than once (with another type or topic); from the second one on the
    bullet's id is part of the key.
    """
    hash_key = f"{learner}:{bullet.content_hash}"
    if hash_key in taken:
        hash_key = f"{hash_key}:{bullet.id}"
    taken.add(hash_key)
    names = ("tags", "keywords", "sources", "consolidated_from", "vouched", "examples", "source_words")
    lists = {name: list(getattr(bullet, name)) for name in names}
    stated = bullet.stated
    return {
        **bullet.model_dump(exclude={*lists, "stated"}),
        **({"stated_confidence": stated.confidence, "stated_count": stated.count} if stated else {}),
        **lists,
        "key": f"{learner}:{bullet.id}",
        "user_id": learner,
        "hash": bullet.content_hash,
        "hash_key": hash_key,
    }
