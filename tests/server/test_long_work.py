"""Long work of one learner delays no other's: others are answered while one learner's texts are screened."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Collection, Generator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from ace_graph.base import LONG_TEXT
from ace_graph.memory import Danger
from ace_graph.memory.delta import screening
from ace_graph.memory.screening.screen import screen
from ace_graph.server import BYTES_PER_TOKEN, Overrides
from ace_graph.testing import ScriptedModel
from tests.plugins.neo4j_server import Neo4jServer
from tests.server.serving import HandClock, Json, Served, bearer, serving, settings_for, until
from tests.server.test_chat import model

HELD = "Weigh the copper kettle"
LIGATURE = "\ufdfa"
"""One character, which NFKC makes 18 of."""


class HeldScreen:
    """The screen, which stops at one text until `go` is set."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()

    def __call__(self, text: str, vouched: Collection[Danger] = ()) -> str | None:
        if text.startswith(HELD):
            self.begun.set()
            self.go.wait()
        return screen(text, vouched)


@pytest.fixture
def held_screen(monkeypatch: pytest.MonkeyPatch) -> Generator[HeldScreen]:
    held = HeldScreen()
    monkeypatch.setattr(screening, "screen", held)
    yield held
    held.go.set()


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'ace.db'}"


@asynccontextmanager
async def served_by(url: str, folder: Path, overrides: Overrides | None = None) -> AsyncGenerator[Served]:
    settings = settings_for(store=url, conversations=f"sqlite:///{folder / 'conversations.db'}")
    async with serving(settings, overrides or Overrides(model=ScriptedModel([]))) as served:
        yield served


def texts(many: int = 1) -> list[Json]:
    return [{"content": f"{HELD} number {n}"} for n in range(many)]


async def send(served: Served, who: str, method: str, path: str, body: Json | None = None) -> httpx.Response:
    return await served.client.request(method, f"/api{path}", json=body, headers=bearer(who))


async def others_are_answered(served: Served, other: str) -> None:
    """Read and write as somebody else: a bullet, a whole playbook, and a text that is read in a thread."""
    for path in ("/healthz", "/readyz"):
        assert (await served.client.get(path)).status_code == 200
    added = await send(served, other, "POST", "/playbook", {"content": "Reduce the fraction"})
    merged = await send(
        served, other, "PUT", "/playbooks/default", {"bullets": [{"content": "Draw it"}], "merge": True}
    )
    replaced = await send(served, other, "PUT", "/playbooks/default", {"bullets": [{"content": "Draw it"}]})
    file = "\n".join(f"- Rinse vessel {n} with water" for n in range(LONG_TEXT // 20))
    imported = await send(served, other, "POST", "/playbooks/default/import", {"text": file})
    shown = await send(served, other, "GET", "/playbook")
    told = [reply.status_code for reply in (added, merged, replaced, imported, shown)]
    assert told == [201, 200, 200, 200, 200], [reply.text for reply in (added, merged, replaced, imported)]


CHANGES: dict[str, tuple[str, str, Json]] = {
    "added": ("POST", "/playbook", texts()[0]),
    "merged": ("PUT", "/playbooks/default", {"bullets": texts(3), "merge": True}),
    "replaced": ("PUT", "/playbooks/default", {"bullets": texts(3)}),
    "created": ("POST", "/playbooks", {"name": "tea", "bullets": texts(3)}),
    "imported": (
        "POST",
        "/playbooks/default/import",
        {"text": "\n".join(f"- {each['content']}" for each in texts(3))},
    ),
}


async def change_held_at_the_screen(
    kind: str, url: str, folder: Path, held_screen: HeldScreen, learner: str
) -> None:
    async with served_by(url, folder) as served:
        asked = [asyncio.create_task(send(served, learner, *CHANGES[kind])) for _ in range(4)]
        await until(held_screen.begun.is_set)
        await others_are_answered(served, f"{learner}-other")
        assert not any(each.done() for each in asked)
        held_screen.go.set()
        told = [(await each).status_code for each in asked]
    assert {200, 201}.intersection(told)
    assert set(told) <= {200, 201, 409}, "of four playbooks with one name there is one"


async def shared_playbook_held_at_the_screen(
    url: str, folder: Path, held_screen: HeldScreen, learner: str
) -> None:
    reader, other = f"{learner}-reader", f"{learner}-other"
    async with served_by(url, folder) as served:
        held_screen.go.set()
        made = await send(served, learner, "POST", "/playbooks", {"name": "tea", "bullets": texts(3)})
        path = f"/playbooks/{made.json()['playbookId']}"
        grant = {"kind": "user", "name": reader, "relation": "viewer"}
        assert (await send(served, learner, "POST", f"{path}/grants", grant)).status_code == 201
        held_screen.go.clear()
        held_screen.begun.clear()
        asked = [asyncio.create_task(send(served, reader, "GET", path)) for _ in range(4)]
        await until(held_screen.begun.is_set)
        await others_are_answered(served, other)
        assert not any(each.done() for each in asked)
        held_screen.go.set()
        told = [(await each).json()["bullets"] for each in asked]
    assert [len(bullets) for bullets in told] == [3] * 4


@pytest.mark.parametrize("kind", CHANGES)
async def test_a_change_that_is_screened_for_long_delays_nobody_else_on_sqlite(
    kind: str, sqlite: str, tmp_path: Path, held_screen: HeldScreen, learner: str
) -> None:
    await change_held_at_the_screen(kind, sqlite, tmp_path, held_screen, learner)


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.heavy
async def test_a_change_that_is_screened_for_long_delays_nobody_else_on_postgres(
    kind: str, postgres: str, tmp_path: Path, held_screen: HeldScreen, learner: str
) -> None:
    await change_held_at_the_screen(kind, postgres, tmp_path, held_screen, learner)


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.heavy
async def test_a_change_that_is_screened_for_long_delays_nobody_else_on_neo4j(
    kind: str, neo4j: Neo4jServer, tmp_path: Path, held_screen: HeldScreen, learner: str
) -> None:
    await change_held_at_the_screen(kind, neo4j.uri, tmp_path, held_screen, learner)


async def test_a_shared_playbook_that_is_screened_for_long_delays_nobody_else_on_sqlite(
    sqlite: str, tmp_path: Path, held_screen: HeldScreen, learner: str
) -> None:
    await shared_playbook_held_at_the_screen(sqlite, tmp_path, held_screen, learner)


@pytest.mark.heavy
async def test_a_shared_playbook_that_is_screened_for_long_delays_nobody_else_on_postgres(
    postgres: str, tmp_path: Path, held_screen: HeldScreen, learner: str
) -> None:
    await shared_playbook_held_at_the_screen(postgres, tmp_path, held_screen, learner)


@pytest.mark.heavy
async def test_a_shared_playbook_that_is_screened_for_long_delays_nobody_else_on_neo4j(
    neo4j: Neo4jServer, tmp_path: Path, held_screen: HeldScreen, learner: str
) -> None:
    await shared_playbook_held_at_the_screen(neo4j.uri, tmp_path, held_screen, learner)


async def test_a_long_message_of_one_learner_is_answered_while_another_is_screened(
    tmp_path: Path, held_screen: HeldScreen
) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    async with served_by(url, tmp_path, Overrides(model=model("5/6"))) as served:
        asked = asyncio.create_task(send(served, "mia", *CHANGES["replaced"]))
        await until(held_screen.begun.is_set)
        told = await served.ask("How do I add fractions? " * (LONG_TEXT // 20))
        assert (told["answer"], asked.done()) == ("5/6", False)
        held_screen.go.set()
        assert (await asked).status_code == 200


async def test_what_was_screened_is_not_screened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[str]()
    find = screen.__globals__["find_instruction"]

    def noted(text: str) -> str | None:
        read.append(text)
        return find(text)

    monkeypatch.setitem(screen.__globals__, "find_instruction", noted)
    text = "Fill the tin of tea before it is empty"
    found = [screen(text), screen(text)]
    assert found == [None, None]
    assert len(read) == len(set(read)) > 0


@pytest.mark.parametrize(("kind", "at"), [("merged", 2), ("replaced", 2), ("created", 2)])
async def test_a_bullet_that_grows_too_long_when_it_is_compared_is_refused_by_name(
    kind: str, at: int
) -> None:
    method, path, body = CHANGES[kind]
    bullets = [*texts(at), {"content": LIGATURE * 112}, {"content": LIGATURE * 111}]
    async with serving(settings_for(), Overrides(model=ScriptedModel([]))) as served:
        told = await send(served, "alice", method, path, {**body, "bullets": bullets})
        shown = await send(served, "alice", "GET", "/playbook")
    assert (told.status_code, told.json()["code"]) == (422, "invalid")
    assert (
        told.json()["error"]
        == f"bullets[{at}].content may have at most 2000 characters, ligatures counted in letters"
    )
    assert shown.json()["bullets"] == []


async def test_a_bullet_of_a_file_that_grows_too_long_is_refused_by_name() -> None:
    file = f"- Draw it\n- {LIGATURE * 112}\n- Check it"
    async with serving(settings_for(), Overrides(model=ScriptedModel([]))) as served:
        told = await send(served, "alice", "POST", "/playbooks/default/import", {"text": file})
    assert told.json()["kept"] == 2
    [refused] = told.json()["refused"]
    assert refused == {"what": LIGATURE * 60, "why": "longer than 2000 characters"}


async def test_a_large_body_costs_more_of_the_rate_than_a_message() -> None:
    clock, usual = HandClock(), {"content": "x" * 1_000}
    large = {"text": "\n".join(f"- {n} {'x' * 1_000}" for n in range(10 * BYTES_PER_TOKEN // 1_000))}
    async with serving(settings_for(server_rate=20), Overrides(model=ScriptedModel([])), clock) as served:
        first = await send(served, "alice", "POST", "/playbooks/default/import", large)
        codes = [(await send(served, "alice", "POST", "/playbook", usual)).status_code for _ in range(10)]
        other = await send(served, "bob", "POST", "/playbook", usual)
    assert (first.status_code, codes[:9], codes[9], other.status_code) == (200, [201] * 9, 429, 201)


async def test_a_large_body_of_unknown_length_costs_as_much() -> None:
    clock = HandClock()

    async def pieces() -> AsyncGenerator[bytes]:
        yield b'{"text": "'
        for n in range(10):
            yield f"- {n} {'x' * BYTES_PER_TOKEN}\\n".encode()
        yield b'"}'

    async with serving(settings_for(server_rate=20), Overrides(model=ScriptedModel([])), clock) as served:
        headers = {"content-type": "application/json"}
        path = "/api/playbooks/default/import"
        codes = [
            (await served.client.post(path, content=pieces(), headers=headers)).status_code for _ in range(2)
        ]
    assert (codes[0] == 429, codes[1]) == (False, 429)
