"""Playbooks and people on the page: two who share, propose, review and leave, without scripts, too."""

from __future__ import annotations

import pytest

from tests.plugins.heavy import some_heavy
from tests.server.page.conftest import Site, Visit
from tests.server.serving import bearer

WITHOUT = {"java_script_enabled": False}
RULE = "Fold a strip of paper before you add fractions"


@pytest.mark.parametrize("options", some_heavy(({}, WITHOUT), {}.__ne__), ids=["scripts", "no scripts"])
def test_two_people_share_propose_review_and_leave(
    visit: Visit, site: Site, options: dict[str, bool]
) -> None:
    ann, ben = f"ann-{len(options)}", f"ben-{len(options)}"
    site.add(ben, RULE)
    owner, other = visit(ann, **options), visit(ben, viewport={"width": 390, "height": 800}, **options)
    owner.open("/playbooks")
    owner.page.fill("#name", "Fractions, class 5b")
    owner.click("text=tutoring")
    owner.click("#create button")
    assert owner.said() == "The playbook is there."
    assert owner.page.locator("[data-row]").count() > 2
    owner.click("#people")
    owner.page.fill("#who", ben)
    owner.click("text=may propose changes")
    owner.click("#share button")
    assert owner.said() == "Shared."
    assert "may propose changes" in owner.page.locator("#grants").inner_text()
    other.open("/memory")
    other.click(".bullet-text a")
    other.click("#propose summary")
    other.click("#propose button")
    assert other.said() == "Proposed. Its owners decide."
    owner.open("/review")
    assert owner.page.locator("ins").inner_text() == RULE
    owner.click("#edit-proposal-1")
    owner.page.fill("#text-1-1", f"{RULE} of one kind")
    owner.click("#accept-1")
    assert owner.said() == "Accepted."
    other.open("/review")
    assert "accepted" in other.page.locator("#mine").inner_text()
    other.open("/playbooks")
    other.click("#shared a >> nth=0")
    assert f"{RULE} of one kind" in other.page.locator("main").inner_text()
    assert other.page.locator("#add, [id^=change-]").count() == 0, "who may propose changes nothing"
    other.click("#people")
    assert other.page.locator("#share").count() == 0
    other.click("#leave-playbook")
    assert other.said() == "You have left the playbook."
    assert other.page.locator("#shared").count() == 0


def test_a_chat_is_answered_with_the_playbook_of_a_chip(visit: Visit, site: Site) -> None:
    body = {
        "name": "sums",
        "bullets": [{"content": "Bring fractions to one denominator before you add them"}],
    }
    site.api.post("/api/playbooks", json=body, headers=bearer("cyd")).raise_for_status()
    cyd = visit("cyd")
    cyd.open("/chat")
    cyd.click(".compose .choice >> text=sums")
    cyd.page.fill("#message", "How do I add fractions? What is 1/2 + 1/3?")
    cyd.click("#send")
    cyd.page.locator(".receipt").wait_for()
    assert "Remembered 1 thing" in cyd.page.locator(".receipt").inner_text()
    assert cyd.page.locator(".compose [name=playbooks]").is_checked(), "it stays for the next question"


def test_a_role_is_taken_away_and_a_playbook_deleted(visit: Visit, site: Site) -> None:
    made = site.api.post("/api/playbooks", json={"name": "to go"}, headers=bearer("dee")).json()
    where = f"/api/playbooks/{made['playbookId']}"
    site.api.post(f"{where}/grants", json={"kind": "team", "name": "5b"}, headers=bearer("dee"))
    dee = visit("dee", java_script_enabled=False)
    dee.open(f"/playbooks/{made['playbookId']}/people")
    dee.click("#remove-1")
    assert dee.said() == "No longer shared."
    dee.click("#delete summary")
    dee.click("#delete button")
    assert dee.said() == "Removed."
    assert site.api.get(where, headers=bearer("dee")).status_code == 404
