"""The playbook on the page, in a real browser: all that a learner can do there, with scripts and without."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.consolidation.planted import PARAPHRASES
from tests.plugins.heavy import some_heavy
from tests.server.page.conftest import Site, Visit, Visitor
from tests.server.serving import bearer

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=alert(1)> & \"quotes\""
RULE = "Adding fractions needs a common denominator first"
WITHOUT = {"java_script_enabled": False}


def choose(visitor: Visitor, action: str) -> None:
    """Choose from the menu of the first memory."""
    visitor.click(visitor.page.locator(".row .menu > summary").first)
    visitor.click(visitor.page.locator(f"[id^={action}-]").first)


def on_day(visitor: Visitor, field: str, day: str) -> None:
    """Ask what was true, or known, on a day."""
    visitor.click(".heading .menu > summary")
    visitor.page.fill(field, day)
    visitor.click("#show-day")


@pytest.mark.parametrize("options", [{}, WITHOUT], ids=["scripts", "no scripts"])
def test_a_bullet_is_added_edited_removed_and_brought_back(
    visit: Visit, site: Site, options: dict[str, bool]
) -> None:
    learner = f"ada-{len(options)}"
    ada = visit(learner, **options)
    ada.open("/playbooks/default")
    ada.page.fill("#content", "Draw a bar before you add fractions")  # open, as nothing is remembered yet
    ada.click("#add")
    assert ada.said() == "Added."
    ada.click(ada.page.locator("[id^=change-]"))
    ada.page.locator("textarea[id^=edit-]").fill("Draw a bar before you compare fractions")
    ada.click("text=Save")
    assert ada.said() == "Changed."
    assert site.contents(learner) == ["Draw a bar before you compare fractions"]
    choose(ada, "remove")
    assert (ada.said(), site.contents(learner)) == ("Removed.", [])
    ada.click("#undo")
    assert ada.said() == "Undone."
    assert site.contents(learner) == ["Draw a bar before you compare fractions"]


def test_pinned_and_switched_off_are_undone(visit: Visit, site: Site) -> None:
    site.add("ben", "Check the unit of the answer")
    ben = visit("ben")
    ben.open("/playbooks/default")
    choose(ben, "pin")
    assert ben.page.locator(".pin").inner_text() == "always in mind"
    ben.click("#undo")
    assert ben.page.locator(".pin").count() == 0
    choose(ben, "off")
    assert ben.said().startswith("Switched off")
    assert ben.page.locator(".row").count() == 0
    ben.click("#switched-off")
    choose(ben, "on")
    assert ben.said() == "Switched on again."


def test_search_filter_sort_and_pages(visit: Visit, site: Site) -> None:
    subjects = ("fractions", "angles", "volumes", "tenses", "rivers", "verbs")
    texts = [f"Rule {n} about {subjects[n % 6]} number {n * 37}" for n in range(60)]
    site.add("cem", *texts[:30], topic="school")
    site.add("cem", *texts[30:], topic="home")
    cem = visit("cem")
    cem.open("/playbooks/default?sort=text")
    total = len(site.contents("cem"))
    assert cem.page.locator(".row").count() == min(30, total)
    shown = cem.page.locator(".bullet-text").all_inner_texts()
    assert shown == sorted(shown, key=str.casefold)
    cem.click("text=Next")
    assert cem.page.locator(".row").count() == min(30, total - 30)
    cem.page.locator("#words").press_sequentially("rivers")
    expect(cem.page).to_have_url(re.compile("words=rivers"))  # the address keeps the search
    expect(cem.page.locator(".bullet-text", has_text="tenses")).to_have_count(0)
    assert all("rivers" in text for text in cem.page.locator(".bullet-text").all_inner_texts())
    cem.page.fill("#words", "")
    expect(cem.page.locator(".row")).to_have_count(min(30, total))
    cem.click(".chip >> text=home")
    homes = cem.page.locator(".bullet-text").all_inner_texts()
    assert {int(text.split()[1]) // 30 for text in homes} == {1}


def test_what_was_true_and_what_was_known_on_a_day_is_shown(visit: Visit, site: Site) -> None:
    [berlin] = site.add("uma", "Uma lives in Berlin", validUntil="2025-04-30")
    site.add("uma", "Uma lives in Rome", validFrom="2025-05-01")
    uma = visit("uma")
    uma.open("/playbooks/default?sort=text")
    assert "true until 30 Apr 2025" in uma.page.locator(f"#row-{berlin}").inner_text()
    on_day(uma, "#valid-on", "2025-05-01")
    assert uma.page.locator(".bullet-text").all_inner_texts() == ["Uma lives in Rome"]
    on_day(uma, "#valid-on", "")
    on_day(uma, "#known-on", "2020-01-01")
    assert "Nothing like that is remembered." in uma.page.locator("main").inner_text()
    on_day(uma, "#known-on", "2099-01-01")
    assert uma.page.locator(".row").count() == 2
    assert uma.page.locator(".row button, .row input").count() == 0, "what was known is not changed"


def test_hostile_texts_are_shown_and_do_nothing(visit: Visit, site: Site) -> None:
    long, turned = "x" * 2_000, "\u202eright to left\u2066 and on"
    site.add("dan", HOSTILE, long, turned)
    dan = visit("dan", viewport={"width": 320, "height": 700})
    dan.open("/playbooks/default?status=all")
    assert "Memory" in dan.page.title()
    assert dan.page.evaluate("() => document.documentElement.scrollWidth") == 320
    assert HOSTILE in dan.page.locator(".bullet-text").all_inner_texts()


def test_what_a_learner_said_is_edited_without_the_mark_of_it_and_keeps_it(visit: Visit, site: Site) -> None:
    said = {"message": "Remember that I live in Oslo."}
    site.api.post("/api/ai/chat", json=said, headers=bearer("ola")).raise_for_status()
    ola = visit("ola")
    ola.open("/memory")
    ola.click("[id^=change-]")
    field = ola.page.locator("textarea[id^=edit-]")
    assert field.input_value() == "I live in Oslo"
    field.fill("I live in Rome")
    ola.click(".edit button.main")
    assert ola.said() == "Changed."
    assert site.contents("ola") == ["Learner says: I live in Rome"]


def test_a_stale_edit_shows_both_texts_and_loses_nothing(visit: Visit, site: Site) -> None:
    [name] = site.add("eve", "Read the question twice")
    first, second = visit("eve"), visit("eve")
    first.allowed = {409}
    for tab in (first, second):
        tab.open(f"/playbooks/default?edit={name}")
    second.page.fill(f"#edit-{name}", "Read the question aloud")
    second.click("text=Save")
    first.page.fill(f"#edit-{name}", "Read the question three times")
    first.click("text=Save")
    assert "Read the question aloud" in first.page.locator("main").inner_text()
    assert first.page.input_value("#content") == "Read the question three times"
    first.click("text=Save mine")
    assert site.contents("eve") == ["Read the question three times"]


def test_what_is_refused_can_be_sent_again_and_says_why_in_german_too(visit: Visit, site: Site) -> None:
    fee = visit("fee", locale="de-DE")
    fee.allowed = {422}
    fee.open("/playbooks/default")
    fee.page.evaluate("() => document.querySelector('#content').value = 'x'.repeat(5_000)")
    fee.click(fee.page.locator(".add button.main"))
    assert fee.page.locator("[role=alert]").inner_text() == "Der Text darf höchstens 2000 Zeichen haben."
    fee.page.fill("textarea", "Die Einheit zuerst nennen")
    fee.click("main button.main")
    assert fee.said() == "Hinzugefügt."
    assert site.contents("fee") == ["Die Einheit zuerst nennen"]


def test_undo_does_not_undo_what_somebody_else_did(visit: Visit, site: Site) -> None:
    site.add("fay", "Name the rule that you use")
    fay = visit("fay")
    fay.open("/playbooks/default")
    choose(fay, "remove")
    site.add("fay", "Something that came in between")
    fay.click("#undo")
    assert "so nothing was done" in fay.said()
    assert site.contents("fay") == ["Something that came in between"]


def test_after_a_delete_the_back_button_shows_no_way_to_harm(visit: Visit, site: Site) -> None:
    [name] = site.add("gus", "Estimate before you compute")
    gus = visit("gus")
    gus.allowed = {404}
    gus.open(f"/playbooks/default/bullets/{name}")
    gus.click("#do-remove")
    gus.page.go_back()
    gus.page.wait_for_load_state()
    assert gus.page.locator("#do-pin").count() == 0
    assert "nothing at this address" in gus.page.locator("main").inner_text()
    assert site.contents("gus") == []


def test_bullets_that_say_the_same_are_merged(visit: Visit, site: Site) -> None:
    first, second = PARAPHRASES[:2]
    site.plant("hans", first, "Draw a bar for every fraction", second)
    hans = visit("hans")
    hans.open("/playbooks/default?select=1")
    for text in (first, second):
        hans.page.locator("[data-row]", has_text=text).locator("[name=ids]").check()
    hans.click("#merge-selected")
    assert hans.said() == "Merged."
    assert len(site.contents("hans")) == 2
    hans.click("#undo")
    assert len(site.contents("hans")) == 3


def test_bullets_that_do_not_say_the_same_are_not_merged(visit: Visit, site: Site) -> None:
    first = "Bring fractions to one denominator before you add them"
    ids = site.add("hal", first, "Explain the water cycle with a drawing")
    hal = visit("hal")
    hal.open("/playbooks/default?select=1")
    for name in ids:
        hal.page.check(f"#tick-{name}")
    hal.click("#merge-selected")
    assert hal.said().startswith("Nothing was merged")
    assert len(site.contents("hal")) == 2


@pytest.mark.parametrize("options", some_heavy(({}, WITHOUT), bool), ids=["scripts", "no scripts"])
def test_a_bullet_tells_its_history_and_its_turns(visit: Visit, site: Site, options: dict[str, bool]) -> None:
    learner = f"ida-{len(options)}"
    [name] = site.add(learner, "Say the unit with each number")
    ida = visit(learner, **options)
    ida.open(f"/playbooks/default/bullets/{name}")
    ida.click("#do-useful")
    assert ida.said() == "Noted: it is useful."
    assert ida.page.locator(".votes").inner_text() == "worked 1 of 1 time"
    assert ida.page.locator(".versions li").count() == 2


def test_the_history_shows_what_each_version_said(visit: Visit, site: Site) -> None:
    [name] = site.add("jil", "Old text about bars")
    site.api.patch(f"/api/playbook/{name}", json={"content": "New text about bars"}, headers=bearer("jil"))
    jil = visit("jil")
    jil.open("/playbooks/default/history")
    assert jil.page.locator(".day h2").all_inner_texts() == ["Today"]
    assert jil.page.locator(".versions .change").all_inner_texts() == [
        "Changed: New text about bars before: Old text about bars",
        "Added: Old text about bars",
    ]


@pytest.mark.parametrize("options", some_heavy(({}, WITHOUT), bool), ids=["scripts", "no scripts"])
def test_a_version_comes_back_and_a_difference_is_shown(
    visit: Visit, site: Site, options: dict[str, bool]
) -> None:
    learner = f"joe-{len(options)}"
    first, second = "Write the formula down first", "Circle the given numbers"
    site.add(learner, first, second)
    joe = visit(learner, **options)
    joe.open("/playbooks/default/history")
    joe.click(joe.page.locator("#version-1 .menu summary"))
    joe.click("#back-1")
    assert second in joe.page.locator(".diff.del").inner_text(), "what would go is shown first"
    assert site.contents(learner) == [first, second]
    joe.click("#go-back")
    assert joe.said() == "It is as it was then."
    assert site.contents(learner) == [first]
    joe.click(joe.page.locator("#version-2 .menu summary"))
    joe.click("#version-2 >> text=Compare with another point")
    joe.click("#version-1 >> text=Compare")
    assert second in joe.page.locator(".diff.ins").inner_text()
    joe.open("/playbooks/default/history")
    joe.click("#left summary")
    joe.click(joe.page.locator("[id^=restore-]"))
    assert sorted(site.contents(learner)) == sorted([first, second])


def test_the_figures_tell_how_each_own_playbook_is_used(visit: Visit, site: Site) -> None:
    for body in ({"name": "maths", "bullets": [{"content": RULE}]}, {"name": "unread"}):
        site.api.post("/api/playbooks", json=body, headers=bearer("fay")).raise_for_status()
    listed = site.api.get("/api/playbooks", headers=bearer("fay")).json()["playbooks"]
    shared = {each["name"]: each["playbookId"] for each in listed}
    grant = {"kind": "user", "name": "fox", "relation": "viewer"}
    site.api.post(f"/api/playbooks/{shared['maths']}/grants", json=grant, headers=bearer("fay"))
    for learner, name in (("fay", "maths"), ("fox", "fay/maths")):
        said = {"message": "Explain adding fractions 1/2 + 1/3", "playbooks": [name]}
        site.api.post("/api/ai/chat", json=said, headers=bearer(learner)).raise_for_status()
    fay = visit("fay", java_script_enabled=False)
    fay.open("/playbooks")
    rows = [row.locator(".facts > span").all_inner_texts() for row in fay.page.locator("[data-row]").all()]
    assert rows[-2:] == [
        ["1 memory", "used in 2 answers by 2 people", "last used: today"],
        ["0 memories", "not used yet"],
    ]
    assert "fox" not in fay.page.content()
    fay.click("text=maths")
    assert fay.page.locator(".bullet-text").all_inner_texts() == [RULE]


def test_without_a_playbook_the_figures_say_so(visit: Visit) -> None:
    new = visit("newcomer", java_script_enabled=False)
    new.open("/playbooks")
    assert "There is no playbook yet." in new.page.locator(".nothing").inner_text()
