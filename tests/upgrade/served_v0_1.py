"""What the web backend of version 0.1 left behind: conversations, a turn under way, one it could not store.

    python -P -m tests.upgrade.served_v0_1 sqlite:////somewhere/memory.db

Three conversations that ended, two of ada and one of björn. Then a server whose memory is down answers björn
(what it learned waits to be stored) and is killed in the middle of its next turn.

Runs with the code of 0.1; see write_v0_1.py. Does not: hold a test.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn

import httpx
import jwt
from langchain_core.messages import BaseMessage
from pydantic import SecretStr

from ace_graph import Settings
from ace_graph.errors import StoreUnavailable
from ace_graph.memory.stores.sqlite import SQLiteStore
from ace_graph.server import Brought, create_app
from ace_graph.testing import ScriptedModel
from tests.plugins.sizes import PATIENT
from tests.upgrade.story_v0_1 import ADA, BJOERN

__all__ = ["serve_some"]

SECRET = "only for a server that nobody else sees, EXAMPLE"
KILLED = 9


class Down(SQLiteStore):
    """A memory that can be read and not written."""

    async def commit(self, *_: object, **__: object) -> NoReturn:  # pyright: ignore[reportIncompatibleMethodOverride]  # any arguments
        raise StoreUnavailable("the disk is full")


def serve_some(url: str) -> None:
    """Leave all of it beside the memory at `url`."""
    asyncio.run(_conversations(url))
    command = [sys.executable, "-P", "-m", "tests.upgrade.served_v0_1", url]
    killed = subprocess.run(command, check=False)
    assert killed.returncode == KILLED, killed


async def _conversations(url: str) -> None:
    async with _client(_settings(url)) as client:
        await _ask(client, ADA, "plans", "Remember that I like to solve two of each kind.")
        await _ask(client, ADA, "plans", "What is 1/2 + 1/4?")
        await _ask(client, ADA, "plans", "That's right.")
        await _ask(client, ADA, "chores", "What is 12 * 5?")
        await _ask(client, BJOERN, "homework", "What is 1/6 + 1/2?")


async def _killed(url: str) -> None:
    """Answer once without a memory that can be written; end with the next call of the model."""
    down = Down(Path(url.removeprefix("sqlite:///")))
    none = json.dumps({"lessons": []})
    model = ScriptedModel(solver=["<final>1</final>", _end], reflector=[none])
    async with _client(_settings(url), Brought(model=model, store=down)) as client:
        await _ask(client, BJOERN, "unsaved", "Remember that I like tea. What is 1/2 + 1/2?")
        await _ask(client, BJOERN, "cut-off", "What is 2/3 + 1/3?")


def _end(_messages: list[BaseMessage]) -> NoReturn:
    os._exit(KILLED)


def _settings(url: str) -> Settings:
    """No worker, so that the pending work stays."""
    return Settings.model_validate(
        {
            "model": "offline",
            "store": url,
            "jwt_secret": SecretStr(SECRET),
            "learning": "inline",
            "server_worker": False,
        }
    )


@asynccontextmanager
async def _client(settings: Settings, brought: Brought | None = None) -> AsyncGenerator[httpx.AsyncClient]:
    app = create_app(settings, brought)
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=PATIENT) as client,
    ):
        yield client


async def _ask(client: httpx.AsyncClient, learner: str, conversation: str, message: str) -> None:
    until = datetime.now(UTC) + timedelta(hours=1)
    token = jwt.encode({"sub": learner, "exp": until}, SECRET, algorithm="HS256")
    reply = await client.post(
        "/api/ai/chat",
        json={"message": message, "conversationId": conversation},
        headers={"Authorization": f"Bearer {token}"},
    )
    assert reply.status_code == 200, reply.text


if __name__ == "__main__":
    asyncio.run(_killed(sys.argv[1]))
