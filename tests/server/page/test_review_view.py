"""The review and the runs on the page: decisions by mouse, by keys and without scripts; figures."""

from __future__ import annotations

import pytest

from tests.consolidation.planted import OTHERS, PARAPHRASES
from tests.server.page.conftest import Site, Visit
from tests.server.serving import bearer

WITHOUT = {"java_script_enabled": False}


def switched_off(site: Site, learner: str, *contents: str) -> list[str]:
    names = site.add(learner, *contents)
    for name in names:
        site.api.post(
            f"/api/playbook/{name}/quarantine", json={"why": "not sure"}, headers=bearer(learner)
        ).raise_for_status()
    return names


@pytest.mark.parametrize("options", [{}, WITHOUT], ids=["scripts", "no scripts"])
def test_bullets_are_let_in_and_removed_alone_and_together(
    visit: Visit, site: Site, options: dict[str, bool]
) -> None:
    learner = f"uma-{len(options)}"
    rules = ("Draw the angle first", "Count the syllables", "Name the river", "Check the sign")
    names = switched_off(site, learner, *rules)
    uma = visit(learner, **options)
    uma.open("/review")
    uma.page.click(f"#approve-{names[0]}")
    assert uma.said() == "Switched on again."
    uma.page.click(f"#reject-{names[1]}")
    assert uma.said() == "Removed."
    uma.page.check(f"#tick-{names[2]}")
    uma.page.check(f"#tick-{names[3]}")
    uma.page.click("#reject-selected")
    assert site.contents(learner) == [rules[0]]
    uma.page.click("#undo")
    assert sorted(site.contents(learner)) == sorted([rules[0], *rules[2:]])


def test_the_review_is_done_by_keys(visit: Visit, site: Site) -> None:
    switched_off(site, "val", "Round at the end", "Sketch the graph")
    val = visit("val")
    val.open("/review")
    for key in ("j", "r"):
        val.page.keyboard.press(key)
    val.page.locator("#undo").wait_for()
    assert len(site.contents("val")) == 1
    val.page.keyboard.press("u")
    val.page.locator("#status p", has_text="Undone").wait_for()
    assert len(site.contents("val")) == 2


def test_bullets_that_say_the_same_are_merged_or_kept_apart(visit: Visit, site: Site) -> None:
    site.plant("wil", *PARAPHRASES[:2], *OTHERS)
    wil = visit("wil")
    wil.open("/review")
    wil.page.click("#merge-1")
    assert wil.said() == "Merged."
    assert len(site.contents("wil")) == 3
    wil.page.click("#undo")
    wil.page.click("#differ-1")
    assert wil.said().startswith("They are kept apart")
    assert wil.page.locator("#differ-1").count() == 0
    assert len(site.contents("wil")) == 4


def test_a_proposal_is_accepted(visit: Visit, site: Site) -> None:
    made = site.api.post(
        "/api/playbooks", json={"name": "class rules", "description": "ours"}, headers=bearer("xia")
    ).json()
    shared = made["playbook_id"]
    grant = {"kind": "user", "name": "yan", "relation": "contributor"}
    site.api.post(f"/api/playbooks/{shared}/grants", json=grant, headers=bearer("xia")).raise_for_status()
    [rule] = site.add("yan", "Raise your hand before you speak in class")
    proposed = site.api.post(
        f"/api/playbooks/{shared}/proposals", json={"bullets": [rule]}, headers=bearer("yan")
    )
    assert proposed.status_code == 201, proposed.text
    xia = visit("xia")
    xia.open("/review")
    xia.page.click("#accept-1")
    assert xia.said() == "Accepted."
    xia.open(f"/playbooks/{shared}")
    assert "Raise your hand" in xia.page.locator("#rows").inner_text()


def test_runs_have_steps_and_figures(visit: Visit, site: Site) -> None:
    zoe = visit("zoe")
    zoe.open("/chat")
    zoe.page.fill("#message", "What is 5/6 + 1/2?")
    zoe.page.click("#send")
    zoe.page.locator(".receipt").wait_for()
    zoe.open("/runs")
    assert zoe.page.locator("svg.bars rect").count() == 1
    zoe.page.click("text=The figures as a table")
    assert zoe.page.locator("tbody tr").count() == 1
    zoe.page.click("text=5/6 + 1/2")
    assert zoe.page.locator(".turns li").count() > 0
    zoe.page.click("#retry")
    assert zoe.said() == "It will be learned from again."
    zoe.open("/runs?show=failure")
    assert "No run is like that" in zoe.page.locator("main").inner_text()
