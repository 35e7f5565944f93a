"""Signing in and out, two learners, other sites, and a token that expires while somebody types."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.server.page.conftest import Site, Visit
from tests.server.serving import bearer, token


def expired(learner: str) -> str:
    return token(learner, exp=datetime.now(UTC) - timedelta(minutes=1))


def test_who_is_not_signed_in_is_asked_to_and_comes_to_what_was_wanted(visit: Visit, site: Site) -> None:
    site.add("kim", "Count the legs of each insect")
    kim = visit()
    kim.allowed = {401}
    kim.open("/playbooks/default?words=insect")
    kim.page.fill("#token", token("kim"))
    kim.click("main button")
    assert kim.page.locator(".row").count() == 1
    kim.click("#more > summary")
    kim.click("#sign-out")
    kim.open("/playbooks/default")
    assert kim.page.locator("#token").count() == 1


def test_a_wrong_token_is_refused_with_a_sentence(visit: Visit) -> None:
    guest = visit()
    guest.allowed = {401}
    guest.open("/login")
    guest.page.fill("#token", "nonsense")
    guest.click("main button")
    assert "can't be used" in guest.page.locator("[role=alert]").inner_text()


def test_a_token_that_no_browser_would_keep_is_refused_with_a_sentence(site: Site) -> None:
    form = {"token": token("kim", groups="x" * 4_000)}
    reply = site.api.post("/page/login", data=form, headers={"origin": site.url})
    assert (reply.status_code, reply.headers.get("set-cookie")) == (401, None)
    assert "more than 4,000 characters" in reply.text
    assert form["token"] not in reply.text


def test_over_https_every_cookie_is_sent_over_https_alone(site: Site) -> None:
    secured = {"origin": site.url.replace("http:", "https:"), "x-forwarded-proto": "https"}
    boss = {**secured, "cookie": f"ace_session={token('boss', operates=True)}"}
    login = site.api.post("/page/login", data={"token": token("kim")}, headers=secured)
    operated = site.api.post("/page/learner", data={"learner": "kim"}, headers=boss)
    look = site.api.post("/page/look", data={"language": "de"}, headers=secured)
    for reply, name in ((login, "ace_session"), (operated, "ace_learner"), (look, "ace_language")):
        [kept] = [each for each in reply.headers.get_list("set-cookie") if each.startswith(f"{name}=")]
        assert "; Secure" in kept, kept


def test_the_form_of_a_login_leads_to_its_target(visit: Visit) -> None:
    lou = visit()
    lou.open("/login?target=/page/runs")
    lou.page.fill("#token", token("lou"))
    lou.click("main button")
    assert lou.page.url.endswith("/page/runs")


def test_two_learners_do_not_see_each_other(visit: Visit, site: Site) -> None:
    [secret] = site.add("lea", "Lea's secret rule about kites")
    lea, max_ = visit("lea"), visit("max")
    lea.open("/playbooks/default")
    assert lea.page.locator(".row").count() == 1
    max_.open("/playbooks/default")
    assert max_.page.locator(".row").count() == 0
    max_.allowed = {404}
    max_.open(f"/playbooks/default/bullets/{secret}")
    assert "kites" not in max_.page.content()


def test_nothing_typed_is_lost_when_the_token_expires(visit: Visit, site: Site) -> None:
    nia = visit("nia")
    nia.open("/playbooks/default")
    nia.page.fill("#content", "Say what you assume")
    nia.allowed = {401}
    [cookie] = [each for each in nia.context.cookies() if each.get("name") == "ace_session"]
    nia.context.add_cookies([{**cookie, "value": expired("nia")}])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]  # a cookie as it was read
    nia.click(nia.page.locator(".add button.main"))
    assert "kept" in nia.page.locator(".notice").inner_text()
    nia.page.fill("#token", token("nia"))
    nia.click("main button")
    assert nia.page.input_value("textarea") == "Say what you assume"
    nia.click("text=Send it now")
    assert site.contents("nia") == ["Say what you assume"]


def test_every_tick_is_kept_when_the_token_expires(site: Site) -> None:
    ticked = {"ids": ["les-1", "les-2", "les-3"], "etag": "x"}
    headers = {"cookie": f"ace_session={expired('nia')}", "origin": site.url}
    reply = site.api.post("/page/playbooks/default/merge", data=ticked, headers=headers)
    assert reply.status_code == 401
    assert reply.text.count('name="ids" value="les-') == 3


def test_what_somebody_typed_is_shown_to_nobody_who_signs_in_after_them(site: Site) -> None:
    origin = {"origin": site.url}
    headers = {"cookie": f"ace_session={expired('ada')}", **origin}
    late = site.api.post("/page/playbooks/default/add", data={"content": "Ada's draft"}, headers=headers)
    form = {
        name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', late.text)
    }
    assert form["content"] == "Ada's draft"
    bob, ada = (
        site.api.post("/page/login", data={**form, "token": token(learner)}, headers=origin)
        for learner in ("bob", "ada")
    )
    site.api.cookies.clear()
    assert (bob.status_code, bob.headers["location"], "draft" in bob.text) == (303, "/page/", False)
    assert (ada.status_code, "draft" in ada.text) == (200, True)


def test_what_nobody_is_known_to_have_typed_is_not_carried(site: Site) -> None:
    form = {"content": "A draft"}
    reply = site.api.post("/page/playbooks/default/add", data=form, headers={"origin": site.url})
    assert (reply.status_code, "A draft" in reply.text) == (401, False)


def test_an_expired_session_still_says_whose_it_was(site: Site) -> None:
    until = datetime.now(UTC) + timedelta(hours=1)
    reply = site.api.post(
        "/page/login", data={"token": token("ada", exp=until)}, headers={"origin": site.url}
    )
    site.api.cookies.clear()
    [kept] = [each for each in reply.headers.get_list("set-cookie") if each.startswith("ace_session=")]
    found = re.search(r"Max-Age=(\d+)", kept)
    assert found is not None
    assert int(found[1]) > 2 * 3_600


def test_the_cookie_is_for_the_page_alone(visit: Visit, site: Site) -> None:
    ola = visit("ola")
    [cookie] = [each for each in ola.context.cookies() if each.get("name") == "ace_session"]
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/page/")  # type: ignore[typeddict-item]  # pyright: ignore[reportTypedDictNotRequiredAccess]  # all are set
    reply = site.api.get("/api/playbook", headers={"cookie": f"ace_session={token('ola')}"})
    assert reply.status_code == 401
    assert site.api.get("/page/chat", headers=bearer("ola")).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        *({}, {"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}),
        *({"origin": "http://["}, {"origin": "http://x:port"}, {"origin": ""}),
        {"origin": "https://evil.example", "sec-fetch-site": "same-origin"},
    ],
    ids=["none", "other", "null", "fetch", "brackets", "port", "empty", "two"],
)
def test_a_form_of_another_site_is_refused_and_nothing_of_it_shown(
    site: Site, headers: dict[str, str]
) -> None:
    for cookie in ({"cookie": f"ace_session={token('pia')}"}, {}):
        for path in ("/playbooks/default/add", "/login", "/look", "/logout", "/chat/send"):
            form = {"content": "planted", "message": "planted", "token": token("eve"), "theme": "x" * 9}
            reply = site.api.post(f"/page{path}", data=form, headers={**cookie, **headers})
            assert reply.status_code in ((403, 422) if path == "/look" and not headers else (403,)), path
            assert "planted" not in reply.text
            assert form["token"] not in reply.text
            assert "set-cookie" not in reply.headers
    assert site.contents("pia") == []


@pytest.mark.parametrize(
    "origin", ["https://127.0.0.1", "http://127.0.0.1", "http://localhost", "http://127.0.0.1.evil.example"]
)
def test_another_scheme_host_or_port_is_another_site(site: Site, origin: str) -> None:
    port = site.url.rpartition(":")[2]
    others = [origin, f"{origin}:{int(port) % 60_000 + 1}"]
    if origin != "http://127.0.0.1":
        others.append(f"{origin}:{port}")
    cookie = {"cookie": f"ace_session={token('pia')}"}
    for other in others:
        reply = site.api.post(
            "/page/playbooks/default/add", data={"content": "planted"}, headers={**cookie, "origin": other}
        )
        assert reply.status_code == 403, other
    assert site.contents("pia") == []


@pytest.mark.parametrize(
    "target",
    [
        *("https://evil.example/", "//evil.example", "/page/\\evil", "javascript:alert(1)", "/api/x"),
        *("/page/../api/x", "/page/%2e%2e/api/x", "/page/chat/..", "/page/.%2E/x", "/page\t/../x"),
    ],
)
def test_a_login_leads_nowhere_else(site: Site, target: str) -> None:
    reply = site.api.post(
        "/page/login", data={"token": token("quinn"), "target": target}, headers={"origin": site.url}
    )
    assert (reply.status_code, reply.headers["location"]) == (303, "/page/")


def test_every_response_has_the_policy_and_no_cache_keeps_it(site: Site) -> None:
    for path in ("/page/login", "/page/chat", "/page/nowhere", "/page/static/0/page.css"):
        reply = site.api.get(path)
        allowed = dict(part.split() for part in reply.headers["content-security-policy"].split(";"))
        assert allowed == {
            "default-src": "'none'",
            "script-src": "'self'",
            "style-src": "'self'",
            "img-src": "'self'",
            "connect-src": "'self'",
            "form-action": "'self'",
            "base-uri": "'none'",
            "frame-ancestors": "'none'",
        }
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["x-frame-options"] == "DENY"


def test_an_operator_helps_in_the_open(visit: Visit, site: Site) -> None:
    site.add("rae", "Add the tops and the bottoms")
    site.api.post("/api/ai/chat", json={"message": "What is 1/2 + 1/3?"}, headers=bearer("rae"))
    boss, rae = visit(), visit("rae")
    boss.allowed = {401, 403}
    boss.open("/login")
    boss.page.fill("#token", token("boss", operates=True))
    boss.click("main button")
    boss.click("#more > summary")
    boss.click("#more >> text=Learners")
    boss.page.locator("#search").press_sequentially("ra")
    expect(boss.page.locator("[data-row]")).to_have_count(1)
    boss.click("#open-1")
    assert "memory of rae" in boss.page.locator(".operating").inner_text()
    boss.click(".row .menu > summary")
    boss.click(boss.page.locator("[id^=off-]"))
    assert boss.said().startswith("Switched off")
    for view in ("/playbooks", "/review", "/runs", "/privacy", "/chat"):
        boss.open(view)
        assert "memory of rae" in boss.page.locator(".operating").inner_text()
    assert boss.page.locator("#message").count() == 0
    boss.click("text=What is 1/2 + 1/3?")
    assert "5/6" in boss.page.locator(".line.assistant").inner_text()
    assert boss.page.locator(".line.user .speaker").inner_text() == "rae"
    assert boss.page.locator("#message, .judge, .more").count() == 0
    spoken = boss.page.request.post(
        f"{site.url}/page/chat/send", form={"message": "I speak for rae"}, headers={"origin": site.url}
    )
    assert spoken.status == 403
    boss.click("#leave")
    assert boss.page.locator(".operating").count() == 0
    rae.open("/playbooks/default/history")
    assert "by boss as an operator" in rae.page.locator("#version-2").inner_text()


def test_who_is_no_operator_opens_nobody(site: Site, visit: Visit) -> None:
    site.add("sia", "Sia's own rule")
    cookies = f"ace_session={token('tom')}; ace_learner=sia"
    reply = site.api.get("/page/playbooks/default", headers={"cookie": cookies})
    assert reply.status_code == 401
    assert "own rule" not in reply.text
    listed = site.api.get("/page/learners", headers={"cookie": f"ace_session={token('tom')}"})
    assert (listed.status_code, "sia" in listed.text) == (403, False)
