"""The review on the page: decisions by mouse, by keys and without scripts, alone and together."""

from __future__ import annotations

import pytest

from ace_graph.memory.delta import Add
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing.conformance import rewriting, write
from tests.consolidation.planted import OTHERS, PARAPHRASES
from tests.learning.dreamed_runs import HARMFUL, PAGES, live
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


def proposed(site: Site, owner: str, proposer: str, *rules: str) -> str:
    """Let one propose rules to a playbook of the other; return its id."""
    made = site.api.post(
        "/api/playbooks", json={"name": "class rules", "description": "ours"}, headers=bearer(owner)
    ).json()
    shared = str(made["playbookId"])
    grant = {"kind": "user", "name": proposer, "relation": "contributor"}
    site.api.post(f"/api/playbooks/{shared}/grants", json=grant, headers=bearer(owner)).raise_for_status()
    for name in site.add(proposer, *rules):
        site.api.post(
            f"/api/playbooks/{shared}/proposals", json={"bullets": [name]}, headers=bearer(proposer)
        ).raise_for_status()
    return shared


@pytest.mark.parametrize("options", [{}, WITHOUT], ids=["scripts", "no scripts"])
def test_bullets_are_let_in_and_removed_alone_and_together(
    visit: Visit, site: Site, options: dict[str, bool]
) -> None:
    learner = f"uma-{len(options)}"
    rules = ("Draw the angle first", "Count the syllables", "Name the river", "Check the sign")
    names = switched_off(site, learner, *rules)
    uma = visit(learner, **options)
    uma.open("/review")
    uma.click(f"#approve-{names[0]}")
    assert uma.said() == "Switched on again."
    uma.click(f"#reject-{names[1]}")
    assert uma.said() == "Removed."
    uma.page.check(f"#tick-{names[2]}")
    uma.page.check(f"#tick-{names[3]}")
    uma.click("#reject-selected")
    assert site.contents(learner) == [rules[0]]
    uma.click("#undo")
    assert sorted(site.contents(learner)) == sorted([rules[0], *rules[2:]])


def test_the_review_is_done_by_keys(visit: Visit, site: Site) -> None:
    switched_off(site, "val", "Round at the end", "Sketch the graph")
    val = visit("val")
    val.open("/review")
    for key in ("j", "r"):
        val.page.keyboard.press(key)
    val.page.locator("#undo").wait_for()
    val.page.wait_for_load_state()  # then its keys are there, too
    assert len(site.contents("val")) == 1
    val.page.keyboard.press("u")
    val.page.locator("#status p", has_text="Undone").wait_for()
    assert len(site.contents("val")) == 2


@pytest.mark.parametrize("options", [{}, WITHOUT], ids=["scripts", "no scripts"])
def test_a_dream_is_accepted_edited_and_refused(visit: Visit, site: Site, options: dict[str, bool]) -> None:
    learner = f"wil-{len(options)}"
    site.in_store(lambda store: live(store, learner))
    wil = visit(learner, **options)
    wil.open("/review")
    assert wil.page.locator("[id^=accept-item-]").count() == 0
    wil.click("#dream")
    assert wil.said() == "This is what the answers suggest."
    assert len(site.contents(learner)) == 6
    rows = wil.page.locator("[data-row]").all_inner_texts()
    for row, parts in zip(
        rows,
        (
            ("Add:", PAGES, "answer 1 answer 2 answer 3", "the name Invoice", "1 of 1 before, 1 after"),
            ("Merge:", *PARAPHRASES, "they say the same"),
            ("Remove:", HARMFUL, "did more harm than good"),
        ),
        strict=True,
    ):
        assert [part for part in parts if part not in row] == []
    wil.click("[data-row] .more summary >> nth=0")
    wil.page.fill("#text-1", "Ask the Invoice Service for ten pages")
    wil.click("#accept-item-1")
    assert wil.said() == "Accepted."
    assert "Ask the Invoice Service for ten pages" in site.contents(learner)
    wil.click("#undo")
    assert len(site.contents(learner)) == 6
    wil.click("#refuse-item-2")
    assert wil.said() == "Refused."
    assert wil.page.locator("[id^=tick-item-]").count() == 0, "a single one has its own buttons"
    wil.click("#accept-item-1")
    assert sorted(site.contents(learner)) == sorted((PARAPHRASES[2], *OTHERS, HARMFUL))
    assert wil.page.locator("[id^=accept-item-]").count() == 0


def test_an_item_that_has_changed_meanwhile_stays_and_the_page_says_so(visit: Visit, site: Site) -> None:
    site.in_store(lambda store: live(store, "wyn"))
    wyn = visit("wyn")
    wyn.open("/review")
    wyn.click("#dream")
    site.api.delete("/api/playbook/gen-00009", headers=bearer("wyn")).raise_for_status()
    wyn.page.check("#tick-item-1")
    wyn.page.check("#tick-item-3")
    wyn.click("#accept-items")
    assert wyn.said().startswith("Some could not be decided")
    assert PAGES in site.contents("wyn")
    assert wyn.page.locator("[id^=tick-item-]").count() == 2


def test_a_proposal_is_accepted(visit: Visit, site: Site) -> None:
    shared = proposed(site, "xia", "yan", "Raise your hand before you speak in class")
    xia = visit("xia")
    xia.open("/review")
    xia.click("#accept-1")
    assert xia.said() == "Accepted."
    xia.open(f"/playbooks/{shared}")
    assert "Raise your hand" in xia.page.locator(".rows").inner_text()


def test_a_reviewer_sees_all_that_would_come_with_a_proposal(visit: Visit, site: Site) -> None:
    shared = proposed(site, "xaro", "yma")
    told = {"content": "Call out", "topic": "manners", "tags": ["class", "voice"]}
    told |= {"polarity": "anti_pattern"}
    made = Add.model_validate({**told, "context": "somebody else speaks"})

    async def learn(store: SQLiteStore) -> None:
        await write(store, "yma", rewriting(made))

    site.in_store(learn)
    [held] = site.api.get("/api/playbook", headers=bearer("yma")).json()["bullets"]
    where = f"/api/playbooks/{shared}/proposals"
    site.api.post(where, json={"bullets": [held["id"]]}, headers=bearer("yma")).raise_for_status()
    [waiting] = site.api.get(where, headers=bearer("xaro")).json()["proposals"]
    assert waiting["bullets"] == [{**told, "context": "somebody else speaks"}]
    xaro = visit("xaro")
    xaro.open("/review")
    row = xaro.page.locator("[data-row]").inner_text()
    for part in ("Watch out: Call out", "when: somebody else speaks", "topic: manners", "#class", "#voice"):
        assert part in row


def test_an_accepted_proposal_is_taken_back(visit: Visit, site: Site) -> None:
    shared = proposed(site, "xio", "yun", "Raise your hand before you speak in class")
    xio = visit("xio")
    xio.open("/review")
    xio.click("#accept-1")
    xio.click("#undo")
    assert xio.said() == "Undone."
    xio.open(f"/playbooks/{shared}")
    assert xio.page.locator("[data-row]").count() == 0


def test_proposals_are_decided_together(visit: Visit, site: Site) -> None:
    rules = ("Raise your hand before you speak", "Wash the test tubes", "Close the windows at noon")
    shared = proposed(site, "xan", "yael", *rules)
    xan = visit("xan")
    xan.open("/review")
    assert xan.page.locator("[id^=tick-proposal-]").count() == 3
    xan.page.check("#tick-proposal-1")
    xan.page.check("#tick-proposal-3")
    xan.click("#refuse-selected")
    assert xan.said() == "Refused."
    xan.click("#edit-proposal-1")
    xan.page.fill("#reason-1", "we have this one")
    xan.click("#refuse-1")
    assert xan.page.locator("[id^=tick-proposal-]").count() == 0
    listed = site.api.get(f"/api/playbooks/{shared}/proposals?state=refused", headers=bearer("xan")).json()
    assert sorted(each["reason"] for each in listed["proposals"]) == ["", "", "we have this one"]


def test_of_proposals_accepted_together_one_that_is_gone_stops_no_other(visit: Visit, site: Site) -> None:
    shared = proposed(site, "xeno", "yves", "Wash the test tubes", "Close the windows at noon")
    xeno = visit("xeno")
    xeno.open("/review")
    listed = site.api.get(f"/api/playbooks/{shared}/proposals", headers=bearer("xeno")).json()
    gone = listed["proposals"][0]["proposalId"]
    site.api.post(
        f"/api/playbooks/{shared}/proposals/{gone}/refuse", headers=bearer("xeno")
    ).raise_for_status()
    for tick in ("#tick-proposal-1", "#tick-proposal-2"):
        xeno.page.check(tick)
    xeno.click("#accept-selected")
    assert xeno.said().startswith("Some could not be decided")
    xeno.open(f"/playbooks/{shared}")
    assert xeno.page.locator("[data-row]").count() == 1


def test_keys_refuse_a_proposal_and_type_nothing(visit: Visit, site: Site) -> None:
    proposed(site, "xiu", "yoko", "Wash the test tubes")
    xiu = visit("xiu")
    xiu.open("/review")
    for key in ("j", "r"):
        xiu.page.keyboard.press(key)
    xiu.page.locator("#status p", has_text="Refused").wait_for()
