"""Webhooks: what this process stores is told to the addresses of ACE_WEBHOOKS, as Standard Webhooks.

An event is noted beside the conversations right after its commit, once for each target, and stays until the
target has answered 2xx, for a day at most. All servers deliver; a lease keeps two from sending the same event
at once. Events hold ids and numbers, no text of a memory.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import ipaddress
import logging
import socket
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ssl import SSLContext
from typing import Annotated, Literal, get_args

import httpx
from fastapi import APIRouter, Header

from ace_graph.base.clock import Clock
from ace_graph.base.errors import ConfigurationError, StoreUnavailable
from ace_graph.base.settings import Settings
from ace_graph.learning.cleaning import in_background, try_job
from ace_graph.memory.catalogue import DEFAULT
from ace_graph.memory.commit import operation_id
from ace_graph.memory.consolidation import RUN
from ace_graph.memory.stores.backend import StoredChange
from ace_graph.memory.stores.store import Store
from ace_graph.server.conversations.database import SQL, ConversationDatabase, Execute, Row
from ace_graph.server.metrics import Metrics
from ace_graph.server.schemas import Body
from ace_graph.server.sse import Responses

logger = logging.getLogger("ace_graph")
TRIED_FOR = timedelta(days=1).total_seconds()
"""After so long an event is given up, and a target that has answered nothing with 2xx meanwhile."""
POLL_SECONDS = 2.0
_LEASE_SECONDS = 60.0
_TARGET_SECONDS = 10.0
_AT_ONCE = 4
_FIRST_WAIT, _LONGEST_WAIT = 5.0, 7200.0
_FLUSH_SECONDS = 5.0
_KEPT_SECONDS = 7 * TRIED_FOR
"""After so long the events of a target that is not in the settings any more are deleted."""
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
EventName = Literal["version.created", "proposal.created", "learning.done"]


class EventData(Body):
    """Whose memory, or which named playbook of whom, it is about; the API has the content."""

    learner: str | None
    playbook: str
    version: int | None = None
    proposal_id: str | None = None
    turn_id: str | None = None


class WebhookEvent(Body):
    """What is told to a webhook."""

    type: EventName
    timestamp: datetime
    data: EventData


described = APIRouter()
"""What the API's document says of webhooks."""


async def _told(
    event: WebhookEvent,
    webhook_id: Annotated[str, Header(alias="webhook-id")],
    webhook_timestamp: Annotated[int, Header(alias="webhook-timestamp")],
    webhook_signature: Annotated[str, Header(alias="webhook-signature")],
) -> None:
    """Sent to the addresses of ACE_WEBHOOKS until they answer 2xx, for a day; the id stays the same.

    The signature is `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64.
    """


_OTHERS: Responses = {"default": {"description": "It is tried again."}}
for _name in get_args(EventName):
    described.post(_name, name=_name, tags=["webhooks"], responses=_OTHERS)(_told)


def targets_of(settings: Settings) -> dict[str, httpx.URL]:
    """Return the addresses of ACE_WEBHOOKS by their keys; an address may hold a secret, which is in no key.

    Raises ConfigurationError for what is no address of a web server.
    """
    targets = dict[str, httpx.URL]()
    for address in settings.webhooks:
        with suppress(httpx.InvalidURL):
            url = httpx.URL(address)
            if url.scheme in ("http", "https") and url.host and not url.userinfo:
                targets[hashlib.sha256(address.encode()).hexdigest()[:32]] = url
                continue
        raise ConfigurationError("ACE_WEBHOOKS: write addresses such as https://app.example/hooks/ace")
    return targets


def sign(secret: bytes, event_id: str, timestamp: int, body: str) -> str:
    """Return the signature of an event that is sent at this time."""
    digest = hmac.digest(secret, f"{event_id}.{timestamp}.{body}".encode(), hashlib.sha256)
    return f"v1,{base64.b64encode(digest).decode()}"


def _secret_of(settings: Settings) -> bytes:
    given = settings.webhook_secret.get_secret_value() if settings.webhook_secret else ""
    try:
        secret = base64.b64decode(given.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        secret = b""
    if not 24 <= len(secret) <= 64:
        raise ConfigurationError(
            "ACE_WEBHOOK_SECRET: webhooks need whsec_ and 24 to 64 bytes in base64: "
            "echo whsec_$(openssl rand -base64 32) makes one"
        )
    return secret


def is_inner(address: str) -> bool:
    """Whether an IP address, or the IPv4 address within it, is not one of the public internet."""
    ip: _Address = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        within = ip.ipv4_mapped or ip.sixtofour
        if ip in _NAT64:
            within = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        ip = within or ip
    return not ip.is_global or ip.is_multicast


@asynccontextmanager
async def noted_events(
    targets: Collection[str], store: Store, database: ConversationDatabase, clock: Clock
) -> AsyncGenerator[None]:
    """Note for the targets what this process stores until the block ends; what is left is noted then."""
    changes, loop = asyncio.Queue[StoredChange](), asyncio.get_running_loop()

    def heard(change: StoredChange) -> None:
        with suppress(RuntimeError):  # this loop has ended, and the store goes on
            loop.call_soon_threadsafe(changes.put_nowait, change)

    async def note_all() -> None:
        while True:
            change = await changes.get()
            try:
                await _note(change, targets, store, database, clock.now())
            except StoreUnavailable as error:
                logger.warning("[ACE Server][Webhook] an event is noted later: %s", error)
                changes.put_nowait(change)
                await clock.sleep(POLL_SECONDS)
            except Exception as error:
                # It must go on whatever happens.
                logger.error("[ACE Server][Webhook] an event is lost: %s", type(error).__name__)  # noqa: TRY400
            changes.task_done()

    backend = store.backend
    backend.listeners = (*backend.listeners, heard)
    async with in_background([note_all()], "ace-webhook-notes"):
        try:
            yield
        finally:
            backend.listeners = tuple(other for other in backend.listeners if other is not heard)
            with suppress(TimeoutError):
                await asyncio.wait_for(changes.join(), _FLUSH_SECONDS)


async def _note(
    change: StoredChange,
    targets: Collection[str],
    store: Store,
    database: ConversationDatabase,
    now: datetime,
) -> None:
    """Note an event. Nothing where a consolidation ended, or the playbook is gone."""
    learner, playbook = change.key, DEFAULT
    if change.namespace == "playbooks":
        entry = await store.playbooks.entry(change.key)
        if entry is None:
            return
        learner, playbook = entry.owner or "", change.key
    if (change.turn_id or "").startswith(RUN):
        return
    proposal = change.id if change.kind == "proposal.created" else None
    about = {"version": change.version, "proposal_id": proposal, "turn_id": change.turn_id}
    data = EventData.model_validate({"learner": learner or None, "playbook": playbook, **about})
    event = WebhookEvent(type=change.kind, timestamp=now, data=data)
    body = event.model_dump_json(by_alias=True, exclude_none=True)
    event_id, at = operation_id("webhook", change.kind, *change[1:4]), now.timestamp()

    async def note(execute: Execute) -> None:
        for target in tuple(targets):
            await execute(SQL["NOTE_EVENT"], (target, event_id, learner, body, at, at))

    await database.transaction(note)


@asynccontextmanager
async def webhooks(
    settings: Settings, store: Store, database: ConversationDatabase, clock: Clock, metrics: Metrics
) -> AsyncGenerator[None]:
    """Note events and deliver them until the block ends; nothing where ACE_WEBHOOKS names no address.

    Each target has a task of its own, so that one that hangs holds up no other. Raises ConfigurationError.
    """
    if not settings.webhooks:
        yield
        return
    targets, now = targets_of(settings), clock.now().timestamp()
    delivery = _Delivery(targets, _secret_of(settings), database, clock, metrics, settings.webhooks_inner)
    await database.execute("DELETE FROM ace_webhooks WHERE began_at < ?", (now - _KEPT_SECONDS,))
    for target in targets:  # one that was dropped gets another day
        stale = (_mark(target), now - TRIED_FOR)
        await database.execute("DELETE FROM ace_duties WHERE name = ? AND began_at <= ?", stale)
    async with (
        in_background([delivery.run(target) for target in targets], "ace-webhook"),
        noted_events(targets, store, database, clock),
    ):
        yield


def _mark(target: str) -> str:
    """The duty whose time says since when a target has failed."""
    return f"webhook {target}"


@dataclass(frozen=True)
class _Delivery:
    """Sends the events that are due. A target that is dropped is taken out of `targets`."""

    targets: dict[str, httpx.URL]
    secret: bytes
    database: ConversationDatabase
    clock: Clock
    metrics: Metrics
    inner: bool
    tls: SSLContext = field(default_factory=httpx.create_ssl_context)

    async def run(self, target: str) -> None:
        """Deliver what is due, a few at once, without end, or until the target has failed for a day."""
        # Without proxies, which would look the name up again. A client has one target: connections are known
        # by their address only, which two targets may share.
        async with httpx.AsyncClient(verify=self.tls, trust_env=False, timeout=_TARGET_SECONDS) as client:
            while target in self.targets:
                rows = list[Row]()

                async def deliver_due(rows: list[Row] = rows) -> None:
                    now = self.clock.now().timestamp()
                    claim = (now + _LEASE_SECONDS, target, now, target, now, _AT_ONCE)
                    rows += await self.database.execute(SQL["CLAIM_EVENTS"], claim)
                    await asyncio.gather(*(self._deliver(client, target, row) for row in rows))

                await try_job(deliver_due, "events of webhooks could not be delivered", "webhooks")
                if len(rows) < _AT_ONCE:
                    await self.clock.sleep(POLL_SECONDS)

    async def _deliver(self, client: httpx.AsyncClient, target: str, row: Row) -> None:
        """Send an event, and store what came of it."""
        event_id, body, began_at, tries = str(row[0]), str(row[1]), float(str(row[2])), int(str(row[3]))
        url, execute = self.targets[target], self.database.execute
        failure = await self._send(client, url, event_id, body)
        if failure is None:
            await execute(SQL["DROP_EVENT"], (target, event_id))
            await execute("DELETE FROM ace_duties WHERE name = ?", (_mark(target),))
            self.metrics.webhook_ended("delivered")
            return
        now = self.clock.now().timestamp()
        logger.warning("[ACE Server][Webhook] %s failed, try %d: %s", url.host, tries, failure)
        self.metrics.webhook_ended("failed")
        ((failing_since,),) = await execute(SQL["NOTE_FAILURE"], (_mark(target), now))
        if now - float(str(failing_since)) >= TRIED_FOR:
            self.targets.pop(target, None)
            gone = await execute("DELETE FROM ace_webhooks WHERE target = ? RETURNING id", (target,))
            self.metrics.webhook_ended("given_up", len(gone))
            why = "has failed for a day and is dropped: mend it, then restart the servers; events lost"
            logger.error("[ACE Server][Webhook] %s %s: %d", url.host, why, len(gone))
        elif now - began_at >= TRIED_FOR:
            await execute(SQL["DROP_EVENT"], (target, event_id))
            self.metrics.webhook_ended("given_up")
            logger.error("[ACE Server][Webhook] %s: the event %s is given up", url.host, event_id)
        else:
            wait = min(_LONGEST_WAIT, _FIRST_WAIT * 4.0 ** min(tries - 1, 8))
            await execute(SQL["PUT_OFF_EVENT"], (now + wait, target, event_id))

    async def _send(self, client: httpx.AsyncClient, url: httpx.URL, event_id: str, body: str) -> str | None:
        """Send an event once; return why that failed. Only 2xx counts, and no redirect is followed.

        The name is looked up here, and what was found is checked and connected to, so that it can't change
        in between.
        """
        timestamp = int(self.clock.now().timestamp())
        headers = {
            "host": url.netloc.decode(),
            "content-type": "application/json",
            "webhook-id": event_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": sign(self.secret, event_id, timestamp, body),
        }
        named = {"sni_hostname": url.host}
        failure = "no address"
        try:
            async with asyncio.timeout(_TARGET_SECONDS):
                port = url.port or (443 if url.scheme == "https" else 80)
                look_up = asyncio.get_running_loop().getaddrinfo
                found = await look_up(url.host, port, type=socket.SOCK_STREAM)
                for address in dict.fromkeys(str(entry[4][0]) for entry in found):
                    if is_inner(address) and not self.inner:
                        return "an inner address is not called: ACE_WEBHOOKS_INNER=true allows it"
                    there = url.copy_with(host=address)
                    request = client.build_request(
                        "POST", there, content=body, headers=headers, extensions=named
                    )
                    try:
                        response = await client.send(request, stream=True)
                    except httpx.ConnectError:
                        failure = "it can't be connected to"
                        continue
                    await response.aclose()  # the body is nothing to us
                    return None if response.is_success else f"it answered {response.status_code}"
        except Exception as error:  # whatever a target does, it is tried again; the text may hold the address
            return type(error).__name__
        return failure
