"""Draws what a store holds as a graph for people, behind the commits: in Neo4j, where ACE_NEO4J_GRAPH is on.

    async with graph_drawing(store, settings, asyncio.sleep):
        ...                                    # serve, or work

Workers and servers draw what has changed every few seconds; any number may. What one that was killed has
left, the next one draws.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Collection, Iterator
from contextlib import asynccontextmanager
from itertools import count
from random import Random

from ace_graph.base.clock import Sleep
from ace_graph.base.errors import CommitContention, OtherSchema, StoreAuthError, StoreError, StoreUnavailable
from ace_graph.base.settings import Settings
from ace_graph.learning.cleaning import in_background, learner_ids, try_job
from ace_graph.learning.statements.forms import is_sensitive
from ace_graph.memory.bullet import Bullet, Hidden
from ace_graph.memory.delta.screening import screen_bullet
from ace_graph.memory.languages.detection import spoken_language
from ace_graph.memory.stores.base import DrawsGraph
from ace_graph.memory.stores.cache import SnapshotCache
from ace_graph.memory.stores.store import KeyedStore, Store

logger = logging.getLogger("ace_graph")
DRAWING_SECONDS = 2.0
"""How far the graph is behind the commits where a worker runs."""
_PASSES_UNTIL_RETRY = 300
"""What can't be drawn is logged again after ten minutes."""
_PAGE = 100
_ALL = 2**31


def hides(bullet: Bullet) -> Hidden | None:
    """Return why the text of a bullet stays out of the graph.

    Sensitive is what ACE_SENSITIVE_FACTS is about, by the same words, and a secret that somebody vouched for.
    """
    if bullet.status == "quarantined":
        return "quarantined"
    if "secret" in bullet.vouched:  # by a release, which vouches for everything
        plain = bullet.model_copy(update={"vouched": ()})
        if screen_bullet(plain, ("instruction", "link", "answers")) is not None:
            return "sensitive"
    texts = filter(None, (bullet.content, bullet.context, bullet.section, bullet.topic, *bullet.tags))
    return "sensitive" if any(is_sensitive(text, spoken_language(text)) for text in texts) else None


def drawn_namespaces(store: Store) -> Iterator[tuple[KeyedStore, DrawsGraph]]:
    """Yield the learners and the named playbooks of a store that draws a graph; nothing for any other."""
    for namespace in (store, store.playbooks) if isinstance(store, DrawsGraph) else ():
        if isinstance(namespace, DrawsGraph):
            yield namespace, namespace


async def draw_changes(
    store: Store, snapshots: SnapshotCache | None = None, failed: set[str] | None = None
) -> int:
    """Draw what the graph does not show yet; return how many memories and playbooks that were.

    One that can't be read or drawn is logged, added to `failed` and passed over, as what is in there already.
    Raises StoreUnavailable, StoreAuthError, OtherSchema.
    """
    drawn, left_out = 0, set[str]() if failed is None else failed
    for of_learners, (_, namespace) in zip((True, False), drawn_namespaces(store), strict=False):
        busy = set[str]()
        while keys := await _due(namespace, left_out | busy):
            for key in keys:
                known = snapshots.get(key) if snapshots is not None and of_learners else None
                try:
                    await namespace.draw(key, hides, known=known)
                    drawn += 1
                except (StoreUnavailable, StoreAuthError, OtherSchema):
                    raise
                except CommitContention:
                    busy.add(key)
                except StoreError as error:
                    left_out.add(key)
                    logger.warning("[ACE Memory] the graph of a memory was not drawn: %s", error)
    return drawn


async def _due(namespace: DrawsGraph, without: Collection[str]) -> list[str]:
    """Return some keys in any order, so that two workers rarely draw the same one."""
    keys = [key for key in await namespace.undrawn(_PAGE + len(without)) if key not in without]
    Random().shuffle(keys)  # noqa: S311  no secret
    return keys


async def draw_afresh(store: Store, learner: str | None = None) -> tuple[int, int]:
    """Draw a learner's memory and playbooks anew, or everybody's; return the number of these, and of bullets.

    Raises what the store raises.
    """
    drawn = bullets = 0
    for number, (keyed, namespace) in enumerate(drawn_namespaces(store)):
        if learner is None:
            keys = [key async for key in learner_ids(keyed)]
        elif number == 0:
            keys = [learner]
        else:
            keys = [entry.playbook_id for entry in await store.playbooks.entries(learner, _ALL)]
        for key in keys:
            bullets += await namespace.draw(key, hides, afresh=True)
            drawn += 1
    return drawn, bullets


@asynccontextmanager
async def graph_drawing(
    store: Store, settings: Settings, sleep: Sleep, snapshots: SnapshotCache | None = None
) -> AsyncGenerator[None]:
    """Draw what has changed now and then until the block ends. `snapshots` saves reading what is known."""
    if not settings.neo4j_graph or not isinstance(store, DrawsGraph):
        yield
        return
    draw = Random().random  # noqa: S311  the program's own generator may be seeded, or watched by its tests
    failed = set[str]()

    async def draw_once() -> None:
        await draw_changes(store, snapshots, failed)

    async def keep_drawing() -> None:
        for passes in count(1):
            await sleep(DRAWING_SECONDS * (0.5 + draw()))
            if not passes % _PASSES_UNTIL_RETRY:
                failed.clear()
            await try_job(draw_once, "the graph was not drawn", "drawing the graph")

    async with in_background([keep_drawing()], "ace-graph-drawing"):
        yield
