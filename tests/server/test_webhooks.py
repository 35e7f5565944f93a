"""Webhooks: what a target gets, when it gets it again, and which targets are not called."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr
from standardwebhooks import Webhook

from ace_graph import playbooks
from ace_graph.base import ConfigurationError, Settings
from ace_graph.server import Overrides, create_app
from ace_graph.server.webhooks import is_inner
from ace_graph.testing import ScriptedModel
from tests.listening import listening
from tests.plugins.sizes import PATIENT
from tests.server.serving import HandClock, Json, Served, serving, settings_for, until
from tests.server.test_chat import LESSON, model

SECRET = "whsec_" + base64.b64encode(b"a secret of a test, 32 bytes long").decode()
RULE, LATER = "Draw a bar for a fraction", "Count in tens"
DAY = 86_400


class Receiver:
    """A target: answers with the statuses in turn, then with the last one; without any it never answers."""

    def __init__(self, *statuses: int) -> None:
        self._statuses = list(statuses)
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.asked = asyncio.Event()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?token=private"

    @property
    def ids(self) -> list[str]:
        return [headers["webhook-id"] for headers, _ in self.got]

    @property
    def events(self) -> list[Json]:
        return [json.loads(body) for _, body in self.got]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lines = [line.partition(":") for line in head.split("\r\n")[1:] if line]
        headers = {name.lower(): value.strip() for name, _, value in lines}
        self.got.append((headers, await reader.readexactly(int(headers["content-length"]))))
        self.asked.set()
        if not self._statuses:
            await asyncio.Event().wait()
        status = self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]
        more = "Location: /elsewhere\r\n" if status == 302 else ""
        writer.write(f"HTTP/1.1 {status} So\r\n{more}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()


@asynccontextmanager
async def receiving(*statuses: int) -> AsyncGenerator[Receiver]:
    receiver = Receiver(*statuses)
    async with listening(receiver.serve) as port:
        receiver.port = port
        yield receiver


def hooked(folder: Path, targets: Sequence[Receiver], **given: object) -> Settings:
    named = {"webhooks": tuple(target.url for target in targets), "webhook_secret": SecretStr(SECRET)}
    return settings_for(folder, **{"webhooks_inner": True, **named, **given})


@asynccontextmanager
async def served(settings: Settings, clock: HandClock) -> AsyncGenerator[Served]:
    async with serving(settings, Overrides(model=ScriptedModel([])), clock=clock) as server:
        yield server


async def add(server: Served, *texts: str, learner: str = "ada") -> None:
    await playbooks.update_playbook(server.app.state.services.store, texts, owner=learner)


async def moved_until(clock: HandClock, receiver: Receiver, number: int) -> None:
    """Move the clock from poll to poll until the receiver has got so many requests."""
    async with asyncio.timeout(PATIENT):
        while len(receiver.got) < number:
            clock.move(2)
            await asyncio.sleep(0.005)


async def counted(server: Served) -> dict[str, float]:
    lines = (await server.client.get("/metrics")).text.splitlines()
    found = [line.rsplit(" ", 1) for line in lines if line.startswith("ace_webhooks_total")]
    return {name.split('"')[1]: float(value) for name, value in found}


async def moved_until_counted(clock: HandClock, server: Served, wanted: dict[str, float], by: float) -> None:
    async with asyncio.timeout(PATIENT):
        while await counted(server) != wanted:
            clock.move(by)
            await asyncio.sleep(0.005)


async def test_an_event_is_signed_tried_again_after_500_and_has_one_id(tmp_path: Path) -> None:
    clock = HandClock()
    async with receiving(500, 302, 200) as target, served(hooked(tmp_path, [target]), clock) as server:
        await add(server, RULE)
        await moved_until(clock, target, 3)
        await moved_until_counted(clock, server, {"failed": 2, "delivered": 1}, 0)
        await add(server, LATER)
        await moved_until(clock, target, 4)
    assert len(set(target.ids[:3])) == 1
    assert target.ids[3] != target.ids[0]
    assert [event["data"] for event in target.events[2:]] == [
        {"learner": "ada", "playbook": "default", "version": n} for n in (1, 2)
    ]
    assert {event["type"] for event in target.events} == {"version.created"}
    headers, body = target.got[0]
    assert RULE not in body.decode()
    # The clock of this test is at another date, which the library would refuse.
    sent, signed = int(headers["webhook-timestamp"]), Webhook(SECRET)
    of_time = clock.now().fromtimestamp(sent, clock.now().tzinfo)
    assert signed.sign(headers["webhook-id"], of_time, body.decode()) == headers["webhook-signature"]


async def test_an_event_outlives_its_server(tmp_path: Path) -> None:
    clock = HandClock()
    async with receiving(500, 200) as target:
        async with served(hooked(tmp_path, [target]), clock) as server:
            await add(server, RULE)
            await moved_until(clock, target, 1)
        async with served(hooked(tmp_path, [target]), clock) as server:
            await moved_until(clock, target, 2)
            await moved_until_counted(clock, server, {"delivered": 1}, 0)
            clock.move(DAY / 2)
            await add(server, LATER)
            await moved_until(clock, target, 3)
    assert target.ids[0] == target.ids[1] != target.ids[2]


async def test_of_two_servers_on_postgresql_one_sends_an_event(tmp_path: Path, empty_postgres: str) -> None:
    clock = HandClock()
    async with receiving(200) as target:
        settings = hooked(tmp_path, [target], store=empty_postgres, postgres_connections=4)
        async with served(settings, clock) as one, served(settings, clock) as other:
            for number in range(6):
                await add((one, other)[number % 2], RULE, learner=f"learner-{number}")
            await moved_until(clock, target, 6)

            async def all_delivered() -> bool:
                return sum([(await counted(each)).get("delivered", 0) for each in (one, other)]) == 6

            await until(all_delivered)
            clock.move(120)  # past the lease
            await add(one, LATER)
            await moved_until(clock, target, 7)
    assert len(set(target.ids)) == 7


async def test_a_target_that_hangs_holds_up_no_other(tmp_path: Path) -> None:
    clock = HandClock()
    async with (
        receiving() as hanging,
        receiving(200) as target,
        served(hooked(tmp_path, [hanging, target]), clock) as server,
    ):
        for number in range(6):
            await add(server, f"{RULE} with {number} parts", learner=f"learner-{number}")
        await moved_until(clock, target, 6)
        assert 1 <= len(hanging.got) <= 4
    assert len(set(target.ids)) == 6


async def test_an_inner_address_is_not_called(tmp_path: Path) -> None:
    clock = HandClock()
    async with receiving(200) as target:
        by_name = f"http://localhost:{target.port}/hook"
        settings = hooked(tmp_path, [target], webhooks=(target.url, by_name), webhooks_inner=False)
        async with served(settings, clock) as server:
            await add(server, RULE)
            await moved_until_counted(clock, server, {"failed": 2}, 2)
    assert target.got == []


@pytest.mark.parametrize(
    ("address", "inner"),
    [
        *(
            (address, True)
            for address in ("127.0.0.1", "10.1.2.3", "169.254.169.254", "100.64.0.1", "0.0.0.0")
        ),
        *((address, True) for address in ("::1", "fe80::1%eth0", "fd00::1", "::ffff:10.0.0.1", "ff02::1")),
        *((address, True) for address in ("64:ff9b::a00:1", "2002:a00:1::", "224.0.0.1")),
        *((address, False) for address in ("93.184.216.34", "2606:4700::1111", "64:ff9b::5db8:d822")),
    ],
)
def test_an_inner_address_is_known_in_all_its_forms(address: str, *, inner: bool) -> None:
    assert is_inner(address) is inner


async def test_a_target_that_fails_for_a_day_is_dropped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = HandClock()
    async with receiving(500) as target, served(hooked(tmp_path, [target]), clock) as server:
        await add(server, RULE)
        await moved_until(clock, target, 1)
        async with asyncio.timeout(PATIENT):
            while "is dropped" not in caplog.text:
                if clock.waiting(2) == 2:  # the target's task, and the recovery of turns
                    clock.move(3600)
                await asyncio.sleep(0.005)
        assert (await counted(server))["given_up"] == 1
    assert DAY <= clock.seconds <= DAY + 4 * 3600
    assert "token=private" not in caplog.text


async def test_learning_in_the_background_is_told(tmp_path: Path) -> None:
    clock, scripted = HandClock(), model("5/6", lesson=LESSON)
    async with receiving(200) as target:
        settings = hooked(tmp_path, [target], learning=None)
        async with serving(settings, Overrides(model=scripted), clock=clock) as server:
            turn = (await server.ask("What is 1/2 + 1/3?"))["turnId"]
            await moved_until(clock, target, 2)
    told = {event["type"]: event["data"] for event in target.events}
    version = {"learner": "alice", "playbook": "default", "version": 1}
    assert told == {"version.created": version, "learning.done": {**version, "turnId": turn}}
    assert "sixths" not in repr(target.got)


@pytest.mark.heavy
async def test_what_a_worker_of_its_own_learns_a_server_tells(tmp_path: Path) -> None:
    clock = HandClock()
    async with receiving(200) as target:
        settings = hooked(tmp_path, [target], learning=None, server_worker=False)
        async with serving(settings, Overrides(model=model("5/6")), clock=clock) as server:
            turn = (await server.ask("What is 1/2 + 1/3?"))["turnId"]
        environment = {
            **os.environ,
            "ACE_MODEL": "offline",
            "ACE_STORE": settings.store_url,
            "ACE_WEBHOOKS": target.url,
            "ACE_WEBHOOK_SECRET": SECRET,
        }
        command = ("-c", "from ace_graph.cli.main import app; app()", "worker", "--once")
        worker = await asyncio.create_subprocess_exec(sys.executable, *command, env=environment)
        assert await worker.wait() == 0
        async with served(settings, clock) as server:
            clock.seconds = (datetime.now(UTC) - clock.now()).total_seconds()  # the worker's clock
            async with asyncio.timeout(PATIENT):
                while "learning.done" not in {event["type"] for event in target.events}:
                    clock.move(2)
                    await asyncio.sleep(0.005)
    (told,) = [event["data"] for event in target.events if event["type"] == "learning.done"]
    assert told["turnId"] == turn


async def test_proposals_are_told_and_a_forgotten_learner_is_not(tmp_path: Path) -> None:
    clock = HandClock()
    async with receiving(500, 500, 200) as target, served(hooked(tmp_path, [target]), clock) as server:
        store = server.app.state.services.store
        await add(server, LATER, learner="alice")
        await moved_until(clock, target, 1)
        assert (await server.client.delete("/api/learner")).status_code == 200
        name = await playbooks.create(store, "maths", [RULE], owner="ada")
        await moved_until(clock, target, 2)
        await playbooks.grant(store, "maths", "user:bob", "contributor", owner="ada")
        await add(server, LATER, learner="bob")
        (bullet,) = (await store.load("bob")).playbook.bullets()
        proposal = await playbooks.propose(store, "ada/maths", [bullet.id], learner="bob")
        await moved_until(clock, target, 5)
    told = [event["data"] for event in target.events if event["type"] == "proposal.created"]
    assert told == [{"learner": "ada", "playbook": name, "proposalId": proposal.proposal_id}]
    assert [event["data"]["learner"] for event in target.events].count("alice") == 1


@pytest.mark.parametrize(
    "given",
    [
        {"webhooks": ("ftp://app.example/",)},
        {"webhooks": ("app.example/hook",)},
        {"webhooks": ("https://ada:pass@app.example/",)},
        {"webhook_secret": None},
        {"webhook_secret": SecretStr("whsec_short")},
    ],
)
async def test_settings_that_can_not_work_are_refused(tmp_path: Path, given: Json) -> None:
    settings = hooked(tmp_path, [], **{"webhooks": ("https://app.example/",), **given})
    app = create_app(settings, Overrides(model=ScriptedModel([])), clock=HandClock())
    with pytest.raises(ConfigurationError, match="ACE_WEBHOOK"):
        async with app.router.lifespan_context(app):
            pass
