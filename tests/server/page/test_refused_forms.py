"""A form that is refused is shown in its view again: with what was typed, and at the field what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping

import httpx
import pytest

from tests.plugins.heavy import some_heavy
from tests.plugins.sizes import PATIENT
from tests.server.page.conftest import Site, Visit, words_of_developers
from tests.server.page.test_accessible import violations
from tests.server.serving import bearer, token

LONG = "x" * 4_001
FORMS: dict[str, tuple[str, str, Mapping[str, str], int]] = {
    "create": ("/playbooks", "/playbooks", {"name": "a/b", "description": "for us"}, 422),
    "create again": ("/playbooks", "/playbooks", {"name": "taken", "template": "tutoring"}, 409),
    "share": (
        "/playbooks/{book}/people",
        "/playbooks/{book}/people",
        {"name": "ida", "relation": "editor"},
        409,
    ),
    "add": ("/memory?words=unit", "/playbooks/default/add", {"content": LONG, "kind": "strategy"}, 422),
    "edit in the list": (
        "/memory",
        "/playbooks/default/bullets/{bullet}/edit",
        {"content": LONG, "shown": "a"},
        422,
    ),
    "edit": (
        "/playbooks/default/bullets/{bullet}",
        "/playbooks/default/bullets/{bullet}/edit",
        {"content": LONG, "shown": "a"},
        422,
    ),
    "send": ("/chat/{talk}", "/chat/send", {"message": "y" * 100_001}, 422),
    "rename": ("/chat/{talk}", "/chat/{talk}/rename", {"title": LONG[:201]}, 422),
    "judge": (
        "/chat/{talk}",
        "/chat/{talk}/feedback",
        {"why": LONG, "turn": "{turn}", "verdict": "success"},
        422,
    ),
}
"""By what somebody wants: the view, where its form is sent, what is typed, and the status of the refusal."""


@pytest.fixture(scope="module")
def names(site: Site) -> dict[str, str]:
    """What Ida has: a memory, a playbook, a chat."""
    [bullet] = site.add("ida", "Name the unit")
    headers = bearer("ida")
    book = site.api.post("/api/playbooks", json={"name": "taken"}, headers=headers).json()["playbookId"]
    said = site.api.post("/api/ai/chat", json={"message": "What is 1/2 + 1/3?"}, headers=headers).json()
    return {"bullet": bullet, "book": book, "talk": said["conversationId"], "turn": said["turnId"]}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("language", ["en", "de"])
def test_a_refused_form_keeps_what_was_typed_and_says_why(
    site: Site, names: dict[str, str], name: str, language: str
) -> None:
    view, path, typed, status = FORMS[name]
    given = {field: value.format(**names) for field, value in typed.items()}
    headers = {
        "cookie": f"ace_session={token('ida')}; ace_language={language}",
        "origin": site.url,
        "referer": f"{site.url}/page{view.format(**names)}",
        "accept": "text/html",
    }
    action = f"/page{path.format(**names)}"
    reply = httpx.post(site.url + action, data=given, headers=headers, timeout=PATIENT)
    assert reply.status_code == status
    form = next(
        each
        for each in reply.text.split("<form")[1:]
        if f'action="{action}"' in each and 'role="alert"' in each
    )
    form = form.partition("</form>")[0]
    assert re.search(r'aria-invalid="true" aria-describedby="problem', form)
    for value in given.values():
        assert f">{value}<" in form or f'value="{value}"' in form, value[:40]
    assert 'aria-current="page"' in reply.text, "it is the view, not a page of its own"
    assert words_of_developers(form.partition('role="alert"')[2].partition("</div>")[0]) == []


def test_a_refused_form_says_nothing_of_the_step_before(site: Site, names: dict[str, str]) -> None:
    people = f"{site.url}/page/playbooks/{names['book']}/people"
    headers = {"cookie": f"ace_session={token('ida')}", "origin": site.url, "accept": "text/html"}
    headers["referer"] = f"{people}?said=shared"
    typed = {"name": "ida", "relation": "viewer"}
    reply = httpx.post(people, data=typed, headers=headers, timeout=PATIENT)
    assert "This playbook can&#39;t be shared like this: this is yourself: name somebody else." in reply.text
    assert "Shared." not in reply.text


SUBMIT = """([action, fields]) => {
  const form = document.createElement("form");
  Object.assign(form, { method: "post", action });
  for (const [name, value] of Object.entries(fields)) {
    const field = document.createElement("textarea");
    Object.assign(field, { name, value });
    form.append(field);
  }
  document.body.append(form);
  form.submit();
}"""


@pytest.mark.parametrize("scheme", some_heavy(("light", "dark"), "light".__eq__))
def test_axe_finds_no_violation_in_a_refused_form(
    visit: Visit, site: Site, names: dict[str, str], scheme: str
) -> None:
    ida = visit("ida", color_scheme=scheme, bypass_csp=True)
    ida.allowed = {409, 422}
    found = list[str]()
    for name, (view, path, typed, _) in FORMS.items():
        ida.open(view.format(**names))
        given = {field: value.format(**names) for field, value in typed.items()}
        with ida.page.expect_navigation():
            ida.page.evaluate(SUBMIT, [f"/page{path.format(**names)}", given])
        assert ida.page.locator("form [role=alert]").is_visible(), name
        found += [f"{name}: {each}" for each in violations(ida)]
    assert found == []


def test_a_form_of_a_view_that_is_gone_is_shown_alone(site: Site) -> None:
    headers = {"cookie": f"ace_session={token('ida')}", "origin": site.url, "accept": "text/html"}
    for referer in ("/page/nothing", "/page/review", "//evil.example/page/memory", "/api/playbook"):
        reply = httpx.post(
            f"{site.url}/page/playbooks/default/add",
            data={"content": LONG},
            headers={**headers, "referer": f"{site.url}{referer}"},
            timeout=PATIENT,
        )
        assert (reply.status_code, "What you typed" in reply.text, LONG in reply.text) == (422, True, True)


@pytest.mark.parametrize("options", [{}, {"java_script_enabled": False}], ids=["scripts", "no scripts"])
def test_the_field_is_ready_to_be_mended(visit: Visit, site: Site, options: dict[str, bool]) -> None:
    learner = f"jan-{len(options)}"
    site.api.post("/api/playbooks", json={"name": "taken"}, headers=bearer(learner)).raise_for_status()
    jan = visit(learner, **options)
    jan.open("/playbooks")
    jan.page.fill("#name", "taken")
    jan.click("#create button")
    assert "choose another one" in jan.page.locator("#create [role=alert]").inner_text()
    assert jan.page.locator("#name").evaluate("field => field === document.activeElement")
    jan.problems.clear()  # Chromium names every answer that is no success
    jan.page.fill("#name", "free")
    jan.click("#create button")
    assert jan.said() == "The playbook is there."


def test_a_message_that_is_not_answered_stays_in_its_field(visit: Visit, site: Site) -> None:
    kit = visit("kit")
    kit.open("/chat")
    kit.page.locator("#message").evaluate(
        "field => { field.removeAttribute('maxlength'); field.value = 'z'.repeat(100_001); }"
    )
    kit.click("#send")
    kit.page.locator("#problem").wait_for()
    assert len(kit.page.input_value("#message")) == 100_001
    assert kit.page.locator(".line").count() == 0
    kit.problems.clear()
