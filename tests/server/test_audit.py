"""The audit over HTTP, on the page and over MCP: what mends each finding, and the way back."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from html import unescape

import httpx
import pytest

from ace_graph import playbooks
from ace_graph.memory import Policy
from ace_graph.memory.audit import SEVERITY, AuditKind
from ace_graph.memory.delta import Reset
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from ace_graph.testing.conformance import rewriting, write
from tests.mcp_server.clients import client
from tests.memory.rotten import KEY, ROTTEN, planted
from tests.plugins.heavy import some_heavy
from tests.server.serving import Json, Served, bearer, serving, settings_for, token

_LIGHT: tuple[AuditKind, ...] = ("contradiction", "duplicate", "full", "never_used", "no_source")
WITH_BUTTON = [kind for kind in SEVERITY if kind != "full"]
UNDER = "/api/playbooks/default"


@asynccontextmanager
async def _served(store: SQLiteStore) -> AsyncGenerator[Served]:
    settings = settings_for(consolidate_async=False, server_rate=100_000)
    async with serving(settings, Overrides(model=ScriptedModel([]), store=store)) as served:
        yield served


async def _rotten(kind: AuditKind) -> SQLiteStore:
    store = SQLiteStore(policy=Policy(max_bullets=2 if kind == "full" else 1_000))
    await planted(store, "alice", kind)
    return store


async def _findings(served: Served, path: str = UNDER, who: str = "alice") -> Json:
    reply = await served.client.get(f"{path}/audit", headers=bearer(who))
    assert reply.status_code == 200, reply.text
    return reply.json()


async def _act(served: Served, act: Json, who: str = "alice") -> httpx.Response:
    return await served.client.request(act["method"], act["path"], json=act["body"], headers=bearer(who))


@pytest.mark.parametrize("kind", some_heavy(SEVERITY, _LIGHT.__contains__))
async def test_the_request_of_a_finding_mends_it_and_is_taken_back(kind: AuditKind) -> None:
    async with _served(await _rotten(kind)) as served:
        before = await _findings(served)
        assert before == await _findings(served, "/api/playbook")
        (found,) = [each for each in before["findings"] if each["kind"] == kind]
        done = await _act(served, found["act"])
        assert done.is_success, done.text
        assert (await _findings(served))["counts"][kind] == 0
        undo: tuple[str, Json] = ("/rollback", {"version": before["version"]})
        if kind == "full":
            undo = ("/consolidate/undo", {"runId": done.json()["runId"]})
        reply = await served.client.post(f"{UNDER}{undo[0]}", json=undo[1], headers=bearer())
        assert reply.is_success, reply.text
        assert (await _findings(served))["counts"][kind] == 1


async def test_the_figures_and_the_texts_over_http() -> None:
    store = SQLiteStore()
    await write(
        store,
        "alice",
        rewriting(
            Reset(bullets=(*ROTTEN["outdated"], ROTTEN["secret"][1].model_copy(update={"id": "gen-00003"})))
        ),
    )
    async with _served(store) as served:
        report = await _findings(served)
        assert (report["bullets"], report["clean"], report["cleanShare"]) == (3, 0, 0.0)
        assert [each["kind"] for each in report["findings"]] == ["secret", "outdated"]
        assert [each["texts"] for each in report["findings"]] == [
            [""],
            ["Ada lives in Berlin", "Ada lives in Rome"],
        ]
        assert KEY.split()[-1] not in str(report)


async def test_who_may_only_read_gets_no_act_and_an_editor_no_consolidation() -> None:
    store = SQLiteStore(policy=Policy(max_bullets=2))
    playbook_id = await playbooks.create(store, "api", owner="alice")
    opened = await playbooks.open_playbook(store, "api", "alice")
    await write(store.playbooks, opened.key, rewriting(Reset(bullets=ROTTEN["outdated"])))
    await playbooks.grant(store, "api", "user:bob", "viewer", owner="alice")
    await playbooks.grant(store, "api", "user:cyd", "editor", owner="alice")
    async with _served(store) as served:
        acts = {
            who: [
                each["act"]
                for each in (await _findings(served, f"/api/playbooks/{playbook_id}", who))["findings"]
            ]
            for who in ("alice", "bob", "cyd")
        }
        assert [act and act["path"].split("/")[-1] for act in acts["alice"]] == ["supersede", "consolidate"]
        assert acts["bob"] == [None, None]
        assert acts["cyd"] == [acts["alice"][0], None]
        assert (await _act(served, acts["alice"][0], "bob")).status_code == 403
        assert (await _act(served, acts["cyd"][0], "cyd")).is_success
        page = await served.client.get(
            f"/page/playbooks/{playbook_id}/audit", headers={"cookie": f"ace_session={token('bob')}"}
        )
        assert (page.status_code, 'id="mend-' in page.text) == (200, False)


@pytest.mark.parametrize(
    "kind", some_heavy([kind for kind in SEVERITY if kind != "full"], _LIGHT.__contains__)
)
async def test_the_button_of_a_finding_mends_it_and_is_undone(kind: AuditKind) -> None:
    async with _served(await _rotten(kind)) as served:
        headers = {"cookie": f"ace_session={token('alice')}", "origin": str(served.client.base_url)}

        async def shown(path: str) -> str:
            return (await served.client.get(path, headers=headers)).text

        async def send(page: str, button: str) -> str:
            """Send the form of a button as a browser without scripts does, and return the next page."""
            (form,) = [
                each for each in re.findall(r"<form.*?</form>", page, re.S) if f'id="{button}"' in each
            ]
            fields = dict[str, list[str]]()
            for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', form):
                fields.setdefault(name, []).append(unescape(value))
            (action,) = re.findall(r'action="([^"]+)"', form)
            done = await served.client.post(unescape(action), data=fields, headers=headers)
            assert done.status_code == 303, done.text
            return await shown(done.headers["location"])

        audit = await shown("/page/playbooks/default/audit")
        rows = audit.count('id="finding-')
        assert rows == len((await _findings(served))["findings"]) == 1
        mended = await send(audit, "mend-1")
        assert "No problems found." in mended
        assert (await _findings(served))["counts"][kind] == 0
        undone = await send(mended, "undo")
        assert undone.count('id="finding-') == rows


async def test_the_page_leads_from_the_list_to_the_audit_and_from_there_to_the_review() -> None:
    async with _served(await _rotten("full")) as served:
        headers = {"cookie": f"ace_session={token('alice')}"}
        listed = (await served.client.get("/page/playbooks/default", headers=headers)).text
        assert 'href="/page/playbooks/default/audit"' in listed
        audit = (await served.client.get("/page/playbooks/default/audit", headers=headers)).text
        assert '<a class="button small" href="/page/review">' in audit


async def test_an_agent_is_told_and_may_forget_what_should_go() -> None:
    store = SQLiteStore()
    bullets = (*ROTTEN["outdated"], ROTTEN["secret"][1].model_copy(update={"id": "gen-00003"}))
    await write(store, "ada", rewriting(Reset(bullets=bullets)))
    async with client(store) as ada:
        report = await ada.call("playbook_audit", limit=1)
        assert [(each["kind"], each["texts"]) for each in report["findings"]] == [("secret", [""])]
        assert (report["counts"]["outdated"], report["bullets"], report["clean"]) == (1, 3, 0)
        for finding in (await ada.call("playbook_audit"))["findings"]:
            await ada.call("forget", bullet_id=finding["forget"])
        assert (await ada.call("playbook_audit"))["findings"] == []
