"""The graph for people: drawn behind the commits, whatever happens meanwhile, and gone with its learner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from neo4j import AsyncResult, AsyncSession, AsyncTransaction

from ace_graph.base import CorruptPayload, Settings, finish
from ace_graph.learning import build_worker, draw_changes, graph_drawing, hides
from ace_graph.memory import Bullet, DecayRates, Grant, Hides, Playbook, Snapshot, Subject, decay_score
from ace_graph.memory.delta import Add, Quarantine, Release, Remove
from ace_graph.memory.stores import DrawsGraph
from ace_graph.memory.stores.neo4j import BulletNode, Neo4jStore, changes_of, graph_of, people_of
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing.conformance import (
    NOON,
    adding,
    created,
    new_learner,
    record,
    rewriting,
    touching,
    write,
)
from tests.memory.stores.neo4j.counting_proxy import counted
from tests.memory.stores.neo4j.graph_life import DrawsSome, Life, picture, redraw
from tests.memory.stores.neo4j.subject import Neo4jSubject
from tests.plugins.heavy import some_heavy
from tests.plugins.neo4j_server import Neo4jServer


@pytest.fixture
def subject(neo4j: Neo4jServer) -> Neo4jSubject:
    return Neo4jSubject(neo4j)


@pytest.fixture
async def store(subject: Neo4jSubject) -> AsyncGenerator[Neo4jStore]:
    async with subject.open() as opened:
        yield opened


async def _bullets(subject: Neo4jSubject, key: str) -> dict[str, dict[str, Any]]:  # Any: properties
    rows = await subject.cypher(
        "MATCH (m) WHERE m.user_id = $key AND (m:AceMemoryState OR m:AcePlaybook) "
        "MATCH (m)-[:HAS_BULLET]->(b) RETURN properties(b) AS b",
        key=key,
    )
    return {row["b"]["id"]: row["b"] for row in rows}


async def _relations(subject: Neo4jSubject, key: str, kind: str) -> set[tuple[str, str]]:
    rows = await subject.cypher(
        "MATCH (b:AceBullet {user_id: $key})-[r]->(n) WHERE type(r) = $kind "
        "RETURN b.id AS from, coalesce(n.name, n.turn_id, n.id) AS to",
        key=key,
        kind=kind,
    )
    return {(row["from"], row["to"]) for row in rows}


async def _undrawn(subject: Neo4jSubject, *keys: str) -> set[str]:
    rows = await subject.cypher(
        "MATCH (m) WHERE m.undrawn_since IS NOT NULL AND m.user_id IN $keys RETURN m.user_id AS key",
        keys=list(keys),
    )
    return {row["key"] for row in rows}


async def test_bullets_are_nodes_with_their_relations(subject: Neo4jSubject, store: Neo4jStore) -> None:
    life = await Life.begin(store)
    assert await life.draw(store) == (6, 2)
    bullets = await _bullets(subject, life.ada)
    (kept,) = bullets.keys() & {"unit-4", "units-5"}
    (gone,) = {"unit-4", "units-5"} - {kept}
    assert set(bullets) == {"bar-1", "guess-3", kept, "dys-6", "order-7", "common-8"}
    bar = bullets["bar-1"]
    names = ("section", "type", "content", "helpful", "harmful", "strength")
    assert [bar[name] for name in names] == ["visuals", "procedural", "Draw a bar", 3, 0, 3.992]
    assert bar["created_at"].to_native() == NOON
    assert await _relations(subject, life.ada, "LEARNED_FROM") == {
        *(("bar-1", "t1"), ("common-8", "t2"), (kept, "t1"))
    }
    assert await _relations(subject, life.ada, "REPLACES") == {("common-8", "across-2")}
    assert await _relations(subject, life.ada, "MERGED_FROM") == {(kept, gone)}
    assert await _relations(subject, life.ada, "ABOUT") == {("bar-1", "fractions"), ("guess-3", "tests")}


async def test_strength_is_that_of_the_drawing(subject: Neo4jSubject, store: Neo4jStore) -> None:
    ada = new_learner("ada")
    used, idle = "bar-1", "unit-2"
    texts = {used: "Draw a bar", idle: "Name the unit"}
    alike = [Add(content=text, id=key, memory_type="semantic") for key, text in texts.items()]
    await write(store, ada, rewriting(*alike))
    await store.draw(ada, hides)
    for n in range(3):
        await write(store, ada, touching(used), record(n))
    assert await _undrawn(subject, ada) == set(), "no bullet has changed"
    await write(store, ada, adding("Estimate first"))
    await store.draw(ada, hides)
    after = await _bullets(subject, ada)
    assert after[used]["strength"] > after[idle]["strength"]
    snapshot = await store.load(ada)
    assert {key: bullet["strength"] for key, bullet in after.items()} == {
        bullet.id: round(decay_score(bullet, snapshot.access, DecayRates()), 6)
        for bullet in snapshot.playbook.bullets()
    }


@pytest.mark.parametrize("afresh", [False, True])
async def test_a_later_drawing_leaves_what_a_new_one_makes(
    subject: Neo4jSubject, store: Neo4jStore, afresh: bool
) -> None:
    life = await Life.begin(store)
    await life.draw(store)
    await life.go_on(store)
    assert await _undrawn(subject, life.ada, life.playbook) == {life.ada, life.playbook}
    await life.draw(store, afresh=afresh)
    assert await _undrawn(subject, life.ada, life.playbook) == set()
    shown = await picture(subject, life)
    assert {("common-8", "across-2"), ("check-9", "common-8")} == await _relations(
        subject, life.ada, "REPLACES"
    )
    assert await redraw(subject, store, life) == shown


async def test_what_is_drawn_already_is_not_written_again(
    subject: Neo4jSubject, store: Neo4jStore, learner: str
) -> None:
    async def draw() -> None:
        await store.draw(learner, hides)

    for size in (50, 100):
        await write(store, learner, adding(*(f"Fact {n} is about {n * 7}" for n in range(size - 50, size))))
        await draw()
        assert (await subject.measured(draw)).statements == 1
        await write(store, learner, rewriting(Add(content=f"Draw {size} bars", pinned=True)))
        one = await subject.measured(draw)
        assert one.statements <= 6
        assert one.written < 8_000


@pytest.mark.parametrize("statements", some_heavy(range(16), lambda n: n in (4, 9, 13)))
async def test_a_drawing_killed_after_any_statement_goes_on(
    subject: Neo4jSubject, store: Neo4jStore, statements: int
) -> None:
    life = await Life.begin(store)
    with _killed_after(statements):
        await _dies(life.draw(store))
    await life.go_on(store)
    with _killed_after(statements) as killed:
        await _dies(life.draw(store))
    assert killed
    assert await _undrawn(subject, life.ada, life.playbook), "what is not finished is known"
    await life.draw(store)
    assert await _undrawn(subject, life.ada, life.playbook) == set()
    shown = await picture(subject, life)
    assert await redraw(subject, store, life) == shown


async def test_drawings_and_commits_at_once_end_in_the_newest_version(
    subject: Neo4jSubject, learner: str
) -> None:
    async with AsyncExitStack() as opened:
        stores = [await opened.enter_async_context(subject.open()) for _ in range(3)]
        await write(stores[0], learner, adding("Draw a bar"))

        async def change(store: Neo4jStore, first: int) -> None:
            for n in range(first, first + 5):
                await write(store, learner, adding(f"Fact {n} is about {n * 7}", minute=n))
                await store.draw(learner, hides)

        await asyncio.gather(*(change(store, 10 * n) for n, store in enumerate(stores)))
        await stores[0].draw(learner, hides)
        snapshot = await stores[0].load(learner)
        assert (await _bullets(subject, learner)).keys() == snapshot.playbook.entries.keys()
        (row,) = await subject.cypher(
            "MATCH (m:AceMemoryState {user_id: $uid}) RETURN m.drawn_version AS n", uid=learner
        )
        assert row["n"] == snapshot.version.n


async def test_a_learner_who_is_forgotten_leaves_no_node(subject: Neo4jSubject, store: Neo4jStore) -> None:
    life = await Life.begin(store)
    await life.draw(store)
    assert await store.forget(life.ada)
    names = [life.ada, life.playbook, life.bob, life.team]
    left = await subject.cypher(
        "MATCH (n) WHERE n.user_id IN $names OR n.id IN $names RETURN labels(n) AS labels", names=names
    )
    assert left == []


@pytest.mark.parametrize("has_memory", [False, True])
async def test_who_was_granted_something_is_forgotten_too(
    subject: Neo4jSubject, store: Neo4jStore, has_memory: bool
) -> None:
    life = await Life.begin(store)
    await life.draw(store)
    if has_memory:
        await write(store, life.bob, adding("Draw a bar"))
        await store.draw(life.bob, hides)
    (row,) = await subject.cypher("MATCH (u:User {id: $id}) RETURN count(u) AS users", id=life.bob)
    assert row["users"] == 1
    await store.forget(life.bob)
    await life.draw(store)
    left = await subject.cypher("MATCH (n) WHERE n.user_id = $id OR n.id = $id RETURN labels(n)", id=life.bob)
    assert left == []
    assert not any("BOB" in line for line in await picture(subject, life))


async def test_a_deleted_bullet_takes_its_nodes_with_it(
    subject: Neo4jSubject, store: Neo4jStore, learner: str
) -> None:
    await write(store, learner, rewriting(Add(content="Draw a bar", topic="fractions", id="bar-1")))
    await store.draw(learner, hides)
    await write(store, learner, rewriting(Remove(bullet_id="bar-1")))
    assert await store.draw(learner, hides) == 0
    left = await subject.cypher(
        "MATCH (n) WHERE n.user_id = $uid AND (n:AceBullet OR n:AceTopic) RETURN n", uid=learner
    )
    assert left == []


async def test_two_learners_may_hold_one_text(subject: Neo4jSubject, store: Neo4jStore) -> None:
    for learner in (new_learner(), new_learner()):
        await write(store, learner, rewriting(Add(content="Draw a bar", id="bar-1", topic="fractions")))
        assert await store.draw(learner, hides) == 1
        assert (await _bullets(subject, learner))["bar-1"]["content"] == "Draw a bar"


async def test_playbooks_show_owner_and_grants(subject: Neo4jSubject, store: Neo4jStore) -> None:
    life = await Life.begin(store)
    await life.draw(store)
    assert await _people(subject, life) == {
        *(("OWNS", "ADA", None), ("GRANTED", "BOB", "viewer"), ("GRANTED", "TEAM", "editor"))
    }
    await life.go_on(store)
    await life.draw(store)
    assert await _people(subject, life) == {
        *(("OWNS", "ADA", None), ("GRANTED", "EVE", "contributor"), ("GRANTED", "TEAM", "editor"))
    }
    left = await subject.cypher("MATCH (n) WHERE n.id = $id OR n.user_id = $id RETURN n", id=life.bob)
    assert left == [], "the node was made for a grant that is gone"
    shown = {bullet["content"] for bullet in (await _bullets(subject, life.playbook)).values()}
    assert shown == {"Use version one", "Retry twice", "Log each call"}


def test_an_agent_with_a_grant_is_drawn_as_nobody() -> None:
    rest: dict[str, object] = {"relation": "viewer", "at": NOON}
    given = [{**rest, "subject": name} for name in ("agent:bob", "user:eve")]
    assert people_of("ada", given).names == {"ada", "eve"}


async def test_a_user_of_the_host_stays_when_a_grant_goes(subject: Neo4jSubject, store: Neo4jStore) -> None:
    host, ada = new_learner("host"), new_learner("ada")
    await subject.cypher("CREATE (:User {id: $id, name: 'Ben'})", id=host)
    playbook = await created(
        store, ada, "Use version one", grants=(Grant(Subject("user", host), "viewer", "", ada, NOON),)
    )
    await store.playbooks.draw(playbook, hides)
    (row,) = await subject.cypher(
        "MATCH (p:AcePlaybook {user_id: $p})-[:GRANTED]->(u:User) RETURN properties(u) AS u", p=playbook
    )
    assert row["u"] == {"id": host, "name": "Ben"}
    await store.playbooks.forget(playbook)
    left = await subject.cypher(
        "MATCH (n) WHERE n.id = $id OR n.user_id = $id RETURN properties(n) AS n", id=host
    )
    assert left == [{"n": {"id": host, "name": "Ben"}}]
    assert await subject.cypher("MATCH (u:User {id: $id}) RETURN u", id=ada) == []


async def test_what_is_quarantined_or_sensitive_has_no_text(subject: Neo4jSubject, store: Neo4jStore) -> None:
    life = await Life.begin(store)
    await life.draw(store)
    bullets = await _bullets(subject, life.ada)
    assert (bullets["order-7"]["hidden"], bullets["dys-6"]["hidden"]) == ("quarantined", "sensitive")
    assert bullets["order-7"]["why"]
    shown = await subject.cypher(
        "MATCH (n) WHERE n.user_id = $uid AND (n:AceBullet OR n:AceTopic) RETURN properties(n) AS n",
        uid=life.ada,
    )
    told = str([list(row["n"].values()) for row in shown]).casefold()
    assert not [word for word in ("ignore", "dyslexia", "orders", "profile") if word in told]


async def test_a_bullet_loses_its_text_when_it_is_quarantined(
    subject: Neo4jSubject, store: Neo4jStore, learner: str
) -> None:
    await write(store, learner, rewriting(Add(content="Draw a bar", id="bar-1", topic="fractions")))
    await store.draw(learner, hides)
    await write(store, learner, rewriting(Quarantine(bullet_id="bar-1", why="Ben wrote it in anger")))
    await store.draw(learner, hides)
    bar = (await _bullets(subject, learner))["bar-1"]
    assert not [value for value in bar.values() if value in ("Draw a bar", "Ben wrote it in anger")]
    assert await _relations(subject, learner, "ABOUT") == set()
    await write(store, learner, rewriting(Release(bullet_id="bar-1")))
    await store.draw(learner, hides)
    assert (await _bullets(subject, learner))["bar-1"]["content"] == "Draw a bar"


async def test_a_turn_is_one_load_and_one_commit_with_the_graph_too(
    neo4j: Neo4jServer, subject: Neo4jSubject, learner: str
) -> None:
    async with counted(neo4j.uri) as traffic, Neo4jSubject(replace(neo4j, uri=traffic.uri)).open() as store:
        await write(store, learner, adding("Draw a bar"), record())
        await store.draw(learner, hides)
        for delta in (adding("Name the unit"), touching()):
            traffic.reset()
            base = await store.load(learner)
            await store.commit(learner, delta, base, record())
            assert traffic.round_trips == 2
    assert len(await _bullets(subject, learner)) == 1, "a turn draws nothing"


async def test_what_can_not_be_drawn_holds_up_nothing_else(
    neo4j: Neo4jServer, subject: Neo4jSubject, learner: str, caplog: pytest.LogCaptureFixture
) -> None:
    ben = new_learner("ben")
    passes, go_on = asyncio.Semaphore(0), asyncio.Semaphore(0)

    async def sleep(_: float) -> None:
        passes.release()
        await go_on.acquire()

    async with _Damaged(neo4j, learner, ben) as store:
        store.damaged = ben
        for key in (learner, ben):
            await write(store, key, adding("Draw a bar"))
        async with graph_drawing(store, Settings(), sleep):
            await passes.acquire()
            for _ in range(3):
                go_on.release()
                await passes.acquire()
        assert await _undrawn(subject, learner, ben) == {ben}
        told = [record.getMessage() for record in caplog.records if "not drawn" in record.getMessage()]
        assert told == ["[ACE Memory] the graph of a memory was not drawn: it can't be read"]
        store.damaged = ""
        assert await draw_changes(store) == 1
    assert len(await _bullets(subject, ben)) == 1


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"content": "Convert units before you multiply"}, None),
        ({"content": "Draw a bar", "status": "quarantined"}, "quarantined"),
        ({"content": "Ich habe Diabetes"}, "sensitive"),
        ({"content": "Speak slowly", "context": "She has dyslexia"}, "sensitive"),
        ({"content": "Speak slowly", "topic": "dyslexia"}, "sensitive"),
        ({"content": "The key is sk-" + "aB3" * 12, "vouched": ("secret",)}, "sensitive"),
        ({"content": "Draw a bar", "vouched": ("instruction", "secret", "link")}, None),
    ],
)
def test_what_is_hidden(fields: dict[str, object], why: str | None) -> None:
    assert hides(Bullet.model_validate({"id": "a-1", "section": "s", **fields})) == why


@pytest.mark.slow
async def test_a_worker_draws_at_the_end_of_its_work(
    neo4j: Neo4jServer, subject: Neo4jSubject, learner: str
) -> None:
    ben = new_learner("ben")
    async with DrawsSome(neo4j, learner) as store, DrawsSome(neo4j, ben) as other:
        for key in (learner, ben):
            await write(store, key, adding("Draw a bar"))
        for opened, on in ((store, True), (other, False)):
            await build_worker(model="offline", store=opened, settings=Settings(neo4j_graph=on)).drain()
    assert await _undrawn(subject, learner, ben) == {ben}


async def test_no_graph_is_drawn_where_the_setting_is_off(store: Neo4jStore) -> None:
    async def never(_: float) -> None:
        raise AssertionError("no loop runs")

    async with graph_drawing(store, Settings(neo4j_graph=False), never):
        await asyncio.sleep(0)


async def test_other_stores_draw_nothing() -> None:
    async with SQLiteStore() as store:
        assert not isinstance(store, DrawsGraph)
        assert await draw_changes(store) == 0


def test_links_that_lead_nowhere_are_left_out() -> None:
    there = Bullet(id="a-1", section="s", content="Draw a bar", consolidated_from=("b-2", "x-9", "a-1"))
    other = Bullet(id="b-2", section="s", content="Name the unit")
    playbook = replace(
        Playbook.of([there, other]),
        tombstones={
            "old-3": "mid-4",
            "mid-4": "a-1",
            "lost-5": "gone-6",
            "one-7": "two-8",
            "two-8": "one-7",
        },
    )
    nodes = {node.id: node for node in finish(graph_of(Snapshot(playbook), DecayRates(), lambda _: None))}
    assert sorted(nodes) == ["a-1", "b-2", "mid-4", "old-3", "x-9"]
    assert (nodes["a-1"].replaces, nodes["a-1"].merged_from) == (("mid-4",), ("x-9",))
    assert nodes["mid-4"].replaces == ("old-3",)
    assert [node.live for node in nodes.values()].count(True) == 2


def test_only_differences_are_written() -> None:
    old, new = (BulletNode("a-1", True, {"content": text}, 1.0) for text in ("Draw a bar", "Draw two bars"))
    weaker = old._replace(strength=0.9)
    drawn = {"a-1": (old.fingerprint, 1.0)}
    assert changes_of([old], drawn) == ((), (), ())
    assert changes_of([weaker], drawn) == ((), (weaker,), ())
    assert changes_of([new], drawn) == ((new,), (), ())
    assert changes_of([], drawn) == ((), (), ("a-1",))
    assert changes_of([old], {"a-1": (None, None)}) == ((old,), (), ())


async def _people(subject: Neo4jSubject, life: Life) -> set[tuple[str, str, str | None]]:
    rows = await subject.cypher(
        "MATCH (p:AcePlaybook {user_id: $id})-[r:OWNS|GRANTED]-(n) "
        "RETURN type(r) AS kind, n.id AS who, r.relation AS relation",
        id=life.playbook,
    )
    return {(row["kind"], life.named(row["who"]), row["relation"]) for row in rows}


class _Killed(BaseException):
    """What ends a process at once."""


async def _dies(drawing: Awaitable[object]) -> None:
    with suppress(_Killed):
        await drawing


@contextmanager
def _killed_after(statements: int) -> Generator[list[int]]:
    """End what runs behind so many statements; yield a list that is empty where it came to its end before."""
    killed, left = list[int](), [statements]

    def dying(run: Callable[..., Awaitable[AsyncResult]]) -> Callable[..., Awaitable[AsyncResult]]:
        async def ran(self: object, *args: Any, **more: Any) -> AsyncResult:  # Any: the driver's arguments
            if not left[0]:
                killed.append(statements)
                raise _Killed
            left[0] -= 1
            return await run(self, *args, **more)

        return ran

    with ExitStack() as patches:
        for kind in (AsyncSession, AsyncTransaction):
            patches.enter_context(patch.object(kind, "run", dying(kind.run)))
        yield killed


class _Damaged(DrawsSome):
    """A store in which one memory can't be read."""

    damaged = ""

    async def draw(
        self, key: str, hides: Hides, *, known: Snapshot | None = None, afresh: bool = False
    ) -> int:
        if key == self.damaged:
            raise CorruptPayload("it can't be read")
        return await super().draw(key, hides, known=known, afresh=afresh)
