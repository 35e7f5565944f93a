"""Attacks on the page, over HTTP and in the browser: none of them gets through."""

from __future__ import annotations

import base64
import json
import re
from itertools import product
from typing import cast

import jwt
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import Mount

from tests.plugins.heavy import some_heavy
from tests.server.page.conftest import Site, Visit
from tests.server.serving import bearer, token

SCRIPT = "<script>document.title='owned'</script>"
STORED = {
    "a script": SCRIPT,
    "an image": "<img src=x onerror=\"document.title='owned'\">",
    "an end of an attribute": '"><svg onload="document.title=\'owned\'">',
    "an end of a text area": "</textarea><script>document.title='owned'</script>",
    "an end of a title": "</title><script>document.title='owned'</script>",
    "a template": "{{ 7 * 191 }} {% include 'login.html' %} {{ config }}",
    "an htmx attribute": '<div hx-get="/page/logout" hx-trigger="load">x</div>',
    "a link": '<a href="javascript:alert(1)">press</a>',
    "a base": '<base href="https://evil.example/">',
    "a refresh": '<meta http-equiv="refresh" content="0;url=https://evil.example">',
    "a style": "<style>*{display:none}</style>",
    "turned text": "\u202e\u2066gnihtemos\u2069\u202c",
}
REFLECTED = {
    "words": "/playbooks/default?words={}",
    "kind": "/playbooks/default?kind={}",
    "topic": "/playbooks/default?topic={}",
    "tag": "/playbooks/default?tag={}",
    "sort": "/playbooks/default?sort={}",
    "said": "/playbooks/default?said={}",
    "after": "/playbooks/default?said=added&before=1&after={}",
    "edit": "/playbooks/default?edit={}",
    "a bullet": "/playbooks/default/bullets/{}",
    "a playbook": "/playbooks/{}",
    "a version": "/playbooks/default/diff?from={}&to=1",
    "a conversation": "/chat/{}",
    "an older message": "/chat?older={}",
    "a run": "/runs/{}",
    "runs": "/runs?show={}",
    "nothing": "/{}",
    "a login": "/login?target={}",
}


def cookie(learner: str) -> dict[str, str]:
    return {"cookie": f"ace_session={token(learner)}"}


def changing_routes(site: Site) -> list[str]:
    """Every path of the page that takes a form, with an example for each part."""
    [mounted] = [route for route in site.app.routes if isinstance(route, Mount) and route.path == "/page"]
    routes = [route for route in cast("FastAPI", mounted.app).routes if isinstance(route, APIRoute)]
    found = [route.path for route in routes if "POST" in (route.methods or ())]
    parts = {"playbook_id": "default", "bullet_id": "gen-00001", "action": "remove"}
    return [re.sub(r"{(\w+)}", lambda match: parts.get(match[1], "x1"), path) for path in found]


def test_no_form_is_taken_from_another_site_whatever_it_is_about(site: Site) -> None:
    paths = changing_routes(site)
    assert len(paths) > 15
    evil = {**cookie("mallory"), "origin": "https://evil.example"}
    answers = {
        path: site.api.post(f"/page{path}", data={"x": "1"}, headers=evil).status_code for path in paths
    }
    assert set(answers.values()) == {403}, answers


NAMES = (
    "ids", "text", "proposals", "content", "shown", "kind", "topic", "back", "etag", "version", "before",
    "after", "turn", "verdict", "why", "message", "conversation", "roles", "texts", "title", "reason",
    "decision", "learner", "language", "theme", "target", "of", "said", "used_before", "older", "words",
    "page", "show", "per", "edit", "status", "sort", "tag", "typed_by", "paused", "sure", "relation", "name",
    "description", "template", "bullet", "playbooks", "search", "find", "again", "select", "group", "from",
    "to", "valid_on", "known_on",
)  # fmt: skip
TOLD = "gorgonzola"
ODD = (TOLD, "-1", "99999999999", "", "\x00", "%", "a b")
VIEWS = (
    *("/chat", "/chat/x1", "/playbooks/default", "/playbooks/default/history", "/review", "/runs", "/login"),
    *("/playbooks/default/diff", "/playbooks/default/bullets/gen-00001", "/memory", "/playbooks", "/privacy"),
    *("/learners", "/playbooks/default/people"),
)


def as_ugo(site: Site) -> dict[str, str]:
    """The headers of a learner with two bullets."""
    site.plant("ugo", "Name the unit", "Check the sign")
    return {**cookie("ugo"), "origin": site.url}


def test_no_form_ends_in_an_error_of_ours_or_in_the_log(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    headers = as_ugo(site)
    valid = {"decision": "approve", "verdict": "success", "version": "1", "before": "1", "turn": TOLD}
    bodies: list[dict[str, list[str] | str]] = [
        {},
        dict(valid),
        dict.fromkeys(NAMES, TOLD),
        {**dict.fromkeys(NAMES, TOLD), **valid},
        {**dict.fromkeys(NAMES, TOLD * 1_000), **valid},
        {**dict.fromkeys(NAMES, f"\x00{TOLD}\ud7ff"), **valid},
        {**valid, "ids": [TOLD] * 300, "proposals": [f'["{TOLD}", "x"]']},
        {**valid, "roles": ["assistant"] * 201, "texts": [TOLD] * 201, "message": TOLD, "content": " "},
    ]
    wrong = list[str]()
    for path in changing_routes(site):
        for number, body in enumerate(bodies):
            reply = site.api.post(f"/page{path}", data=body, headers=headers)
            if reply.status_code >= 500 or reply.headers.get("content-type", "").startswith("text/plain"):
                wrong.append(f"POST {path} {number}: {reply.status_code}")
    site.api.cookies.clear()
    assert wrong == []
    assert TOLD not in caplog.text


@pytest.mark.parametrize("at_once", some_heavy((True, False), bool), ids=["all names at once", "each alone"])
def test_no_address_ends_in_an_error_of_ours_or_in_the_log(
    site: Site, caplog: pytest.LogCaptureFixture, at_once: bool
) -> None:
    headers = as_ugo(site)
    groups = [NAMES] if at_once else [(name,) for name in NAMES]
    wrong = list[str]()
    for view, names, value in product(VIEWS, groups, ODD):
        reply = site.api.get(f"/page{view}", params=dict.fromkeys(names, value), headers=headers)
        if reply.status_code >= 500:
            wrong.append(f"GET {view} {' '.join(names)}={value}: {reply.status_code}")
    site.api.cookies.clear()
    assert wrong == []
    assert TOLD not in caplog.text


def test_to_merge_too_few_bullets_is_said_to_be_too_few(site: Site) -> None:
    site.plant("ulla", "Name the unit", "Check the sign")
    headers = {**cookie("ulla"), "origin": site.url}
    for ticked in ([], ["gen-00001"]):
        reply = site.api.post("/page/playbooks/default/merge", data={"ids": ticked}, headers=headers)
        shown = site.api.get(reply.headers["location"], headers=headers)
        assert "Tick at least two" in shown.text
    assert len(site.contents("ulla")) == 2


def test_no_view_is_shown_without_a_token(site: Site) -> None:
    views = (
        "/chat",
        "/chat/temporary",
        "/playbooks/default",
        "/playbooks/default/history",
        "/review",
        "/runs",
    )
    assert [site.api.get(f"/page{view}").status_code for view in views] == [401] * len(views)


@pytest.mark.parametrize("place", REFLECTED)
def test_nothing_of_an_address_comes_back_as_markup(site: Site, place: str) -> None:
    asked = REFLECTED[place].format("%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E")
    reply = site.api.get(f"/page{asked}", headers=cookie("nora"))
    assert "<script>alert" not in reply.text
    assert reply.status_code < 500


def test_stored_texts_do_nothing_in_any_view(visit: Visit, site: Site) -> None:
    site.plant("olga", *STORED.values())
    for text in STORED.values():
        body = {"content": f"About {text}", "topic": text[:100], "tags": [text[:60]]}
        site.api.post("/api/playbook", json=body, headers=bearer("olga"))
    site.api.post(
        "/api/playbooks", json={"name": f"Rules {SCRIPT}".replace("/", "|")}, headers=bearer("olga")
    )
    talk = site.api.post("/api/ai/chat", json={"message": SCRIPT}, headers=bearer("olga")).json()
    olga = visit("olga")
    views = (
        "/playbooks/default?status=all",
        "/playbooks/default?status=all&page=2",
        "/playbooks/default/history",
        "/playbooks/default/bullets/gen-00001",
        f"/chat/{talk['conversationId']}",
        "/review",
        "/runs",
        f"/runs/{talk['turnId']}",
    )
    for view in views:
        olga.open(view)
        assert "owned" not in olga.page.title(), view
        assert "1337" not in olga.page.content(), view
        assert olga.page.url.startswith(site.url)
        assert olga.page.locator("main").is_visible()


@pytest.mark.parametrize(
    "back",
    ["https://evil.example", "//evil.example", "/\\evil.example", "@evil.example", "/x\r\nSet-Cookie: a=b"],
)
def test_a_form_leads_back_to_the_page_alone(site: Site, back: str) -> None:
    site.plant("pam", "Name the unit")
    headers = {**cookie("pam"), "origin": site.url}
    for path in ("/playbooks/default/bullets/gen-00001/pin", "/playbooks/default/add"):
        form = {"back": back, "content": "Something new"}
        reply = site.api.post(f"/page{path}", data=form, headers=headers)
        assert reply.headers.get("location", "/page/").startswith("/page/")
        assert "a" not in reply.cookies


def unsigned(learner: str) -> str:
    head, body = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
        for part in ({"alg": "none", "typ": "JWT"}, {"sub": learner, "exp": 4_102_444_800})
    )
    return f"{head}.{body}."


@pytest.mark.parametrize(
    "forged",
    [
        unsigned("quentin"),
        jwt.encode({"sub": "quentin", "exp": 4_102_444_800}, "x" * 32, algorithm="HS256"),
        jwt.encode({"sub": "quentin"}, "a secret of a test, long enough for HS256", algorithm="HS256"),
        "x" * 9_000,
    ],
    ids=["unsigned", "another key", "for good", "long"],
)
def test_no_forged_token_opens_the_page(site: Site, forged: str) -> None:
    site.add("quentin", "Quentin's rule")
    shown = site.api.get("/page/playbooks/default", headers={"cookie": f"ace_session={forged}"})
    assert "Quentin" not in shown.text
    assert shown.status_code in (401, 431)


def test_a_session_can_not_be_planted(site: Site) -> None:
    reply = site.api.post(
        "/page/login", data={"token": token("mallory")}, headers={"origin": "https://evil.example"}
    )
    assert (reply.status_code, reply.headers.get("set-cookie")) == (403, None)


def test_another_learners_things_are_as_unknown_as_none(site: Site) -> None:
    [bullet] = site.add("rita", "Rita's rule about rockets")
    talk = site.api.post("/api/ai/chat", json={"message": "Rockets"}, headers=bearer("rita")).json()
    made = site.api.post("/api/playbooks", json={"name": "rockets"}, headers=bearer("rita")).json()
    paths = (
        f"/playbooks/default/bullets/{bullet}",
        f"/chat/{talk['conversationId']}",
        f"/runs/{talk['turnId']}",
        f"/playbooks/{made['playbookId']}",
        f"/playbooks/{made['playbookId']}/history",
    )
    for path in paths:
        reply = site.api.get(f"/page{path}", headers=cookie("sven"))
        assert (reply.status_code, "ockets" in reply.text) == (404, False), path
    for path in (f"/chat/{talk['conversationId']}/delete", f"/chat/{talk['conversationId']}/rename"):
        form = {"title": "mine"}
        reply = site.api.post(f"/page{path}", data=form, headers={**cookie("sven"), "origin": site.url})
        assert reply.status_code == 404


def test_a_body_that_is_too_large_or_of_another_kind_is_refused(site: Site) -> None:
    headers = {**cookie("tess"), "origin": site.url}
    large = site.api.post("/page/playbooks/default/add", data={"content": "x" * 2_000_000}, headers=headers)
    other = site.api.post("/page/playbooks/default/add", content=b"\xff\xfe", headers=headers)
    long = site.api.post("/page/playbooks/default/add", data={"content": "x" * 10_000}, headers=headers)
    assert (large.status_code, other.status_code, long.status_code) == (413, 422, 422)
    assert site.contents("tess") == []


@pytest.mark.parametrize(
    "path", ["..%2f..%2fapp.py", "%2e%2e/render.py", "page.css%00.js", "C:%5Cx", "..\\x"]
)
def test_no_other_file_is_served(site: Site, path: str) -> None:
    assert site.api.get(f"/page/static/0/{path}").status_code in (404, 422)
