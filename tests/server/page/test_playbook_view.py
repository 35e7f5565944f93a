"""The playbook on the page, in a real browser: all that a learner can do there, with scripts and without."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.consolidation.planted import PARAPHRASES
from tests.plugins.heavy import some_heavy
from tests.server.page.conftest import Site, Visit
from tests.server.serving import bearer

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=alert(1)> & \"quotes\""
RULE = "Adding fractions needs a common denominator first"
WITHOUT = {"java_script_enabled": False}


@pytest.mark.parametrize("options", [{}, WITHOUT], ids=["scripts", "no scripts"])
def test_a_bullet_is_added_edited_removed_and_brought_back(
    visit: Visit, site: Site, options: dict[str, bool]
) -> None:
    learner = f"ada-{len(options)}"
    ada = visit(learner, **options)
    ada.open("/playbooks/default")
    ada.page.fill("#content", "Draw a bar before you add fractions")
    ada.page.click("text=Add >> nth=-1")
    assert ada.said() == "Added."
    ada.page.click("text=Edit")
    ada.page.locator("textarea[id^=edit-]").fill("Draw a bar before you compare fractions")
    ada.page.click("text=Save")
    assert ada.said() == "Changed."
    assert site.contents(learner) == ["Draw a bar before you compare fractions"]
    ada.page.click("text=Remove")
    assert (ada.said(), site.contents(learner)) == ("Removed.", [])
    ada.page.click("#undo")
    assert ada.said() == "Undone."
    assert site.contents(learner) == ["Draw a bar before you compare fractions"]


def test_pinned_and_switched_off_are_undone(visit: Visit, site: Site) -> None:
    [name] = site.add("ben", "Check the unit of the answer")
    ben = visit("ben")
    ben.open("/playbooks/default")
    ben.page.click(f"#pin-{name}")
    assert ben.page.locator(".pin").inner_text() == "pinned"
    ben.page.click("#undo")
    assert ben.page.locator(".pin").count() == 0
    ben.page.click(f"#off-{name}")
    assert ben.said().startswith("Switched off")
    assert ben.page.locator(".row").count() == 0
    ben.page.click("text=1 switched off")
    ben.page.click(f"#on-{name}")
    assert ben.said() == "Switched on again."


def test_search_filter_sort_and_pages(visit: Visit, site: Site) -> None:
    subjects = ("fractions", "angles", "volumes", "tenses", "rivers", "verbs")
    texts = [f"Rule {n} about {subjects[n % 6]} number {n * 37}" for n in range(60)]
    site.add("cem", *texts[:30], topic="school")
    site.add("cem", *texts[30:], topic="home")
    cem = visit("cem")
    cem.open("/playbooks/default?sort=text")
    total = len(site.contents("cem"))
    assert cem.page.locator(".row").count() == min(50, total)
    shown = cem.page.locator(".bullet-text").all_inner_texts()
    assert shown == sorted(shown, key=str.casefold)
    cem.page.click("text=Next")
    assert cem.page.locator(".row").count() == total - 50
    cem.page.fill("#words", "rivers")
    cem.page.click("#find")
    assert all("rivers" in text for text in cem.page.locator(".bullet-text").all_inner_texts())
    cem.page.fill("#words", "")
    cem.page.select_option("#topic", "home")
    cem.page.click("#find")
    homes = cem.page.locator(".bullet-text").all_inner_texts()
    assert {int(text.split()[1]) // 30 for text in homes} == {1}


def test_what_was_true_and_what_was_known_on_a_day_is_shown(visit: Visit, site: Site) -> None:
    [berlin] = site.add("uma", "Uma lives in Berlin", validUntil="2025-04-30")
    site.add("uma", "Uma lives in Rome", validFrom="2025-05-01")
    uma = visit("uma")
    uma.open("/playbooks/default?sort=text")
    assert "true until 2025-04-30" in uma.page.locator(f"#row-{berlin}").inner_text()
    uma.page.fill("#valid-on", "2025-05-01")
    uma.page.click("#find")
    assert uma.page.locator(".bullet-text").all_inner_texts() == ["Uma lives in Rome"]
    uma.page.fill("#valid-on", "")
    uma.page.fill("#known-on", "2020-01-01")
    uma.page.click("#find")
    assert "No bullet is like that." in uma.page.locator("main").inner_text()
    uma.page.fill("#known-on", "2099-01-01")
    uma.page.click("#find")
    assert uma.page.locator(".row").count() == 2
    assert uma.page.locator(".row button, .row input").count() == 0, "what was known is not changed"


def test_hostile_texts_are_shown_and_do_nothing(visit: Visit, site: Site) -> None:
    long, turned = "x" * 2_000, "\u202eright to left\u2066 and on"
    site.add("dan", HOSTILE, long, turned)
    dan = visit("dan", viewport={"width": 320, "height": 700})
    dan.open("/playbooks/default?status=all")
    assert "Playbook" in dan.page.title()
    assert dan.page.evaluate("() => document.documentElement.scrollWidth") == 320
    assert HOSTILE in dan.page.locator(".bullet-text").all_inner_texts()


def test_a_stale_edit_shows_both_texts_and_loses_nothing(visit: Visit, site: Site) -> None:
    [name] = site.add("eve", "Read the question twice")
    first, second = visit("eve"), visit("eve")
    first.allowed = {409}
    for tab in (first, second):
        tab.open(f"/playbooks/default?edit={name}")
    second.page.fill(f"#edit-{name}", "Read the question aloud")
    second.page.click("text=Save")
    first.page.fill(f"#edit-{name}", "Read the question three times")
    first.page.click("text=Save")
    assert "Read the question aloud" in first.page.locator("main").inner_text()
    assert first.page.input_value("#content") == "Read the question three times"
    first.page.click("text=Store mine")
    assert site.contents("eve") == ["Read the question three times"]


def test_what_is_refused_can_be_sent_again_and_says_why_in_german_too(visit: Visit, site: Site) -> None:
    fee = visit("fee", locale="de-DE")
    fee.allowed = {422}
    fee.open("/playbooks/default")
    fee.page.evaluate("() => document.querySelector('#content').value = 'x'.repeat(5_000)")
    fee.page.locator(".add button.main").click()
    assert "Etwas davon ist nicht brauchbar" in fee.page.locator("[role=alert]").inner_text()
    assert fee.page.locator("[role=alert] [lang=en]").count() == 1
    fee.page.fill("textarea", "Die Einheit zuerst nennen")
    fee.page.click("main button.main")
    assert fee.said() == "Hinzugefügt."
    assert site.contents("fee") == ["Die Einheit zuerst nennen"]


def test_undo_does_not_undo_what_somebody_else_did(visit: Visit, site: Site) -> None:
    [name] = site.add("fay", "Name the rule that you use")
    fay = visit("fay")
    fay.open("/playbooks/default")
    fay.page.click(f"#remove-{name}")
    site.add("fay", "Something that came in between")
    fay.page.click("#undo")
    assert "so nothing was done" in fay.said()
    assert site.contents("fay") == ["Something that came in between"]


def test_after_a_delete_the_back_button_shows_no_way_to_harm(visit: Visit, site: Site) -> None:
    [name] = site.add("gus", "Estimate before you compute")
    gus = visit("gus")
    gus.allowed = {404}
    gus.open(f"/playbooks/default/bullets/{name}")
    gus.page.click("#do-remove")
    gus.page.go_back()
    gus.page.wait_for_load_state()
    assert gus.page.locator("#do-pin").count() == 0
    assert "no such bullet" in gus.page.locator("main").inner_text()
    assert site.contents("gus") == []


def test_bullets_that_say_the_same_are_merged(visit: Visit, site: Site) -> None:
    first, second = PARAPHRASES[:2]
    site.plant("hans", first, "Draw a bar for every fraction", second)
    hans = visit("hans")
    hans.open("/playbooks/default")
    for text in (first, second):
        hans.page.locator("[data-row]", has_text=text).locator("[name=ids]").check()
    hans.page.click("text=Merge the selected")
    assert hans.said() == "Merged."
    assert len(site.contents("hans")) == 2
    hans.page.click("#undo")
    assert len(site.contents("hans")) == 3


def test_bullets_that_do_not_say_the_same_are_not_merged(visit: Visit, site: Site) -> None:
    first = "Bring fractions to one denominator before you add them"
    ids = site.add("hal", first, "Explain the water cycle with a drawing")
    hal = visit("hal")
    hal.allowed = {409}
    hal.open("/playbooks/default")
    for name in ids:
        hal.page.check(f"#tick-{name}")
    hal.page.click("text=Merge the selected")
    assert hal.page.locator("[role=alert]").count() == 1
    assert len(site.contents("hal")) == 2


@pytest.mark.parametrize("options", some_heavy(({}, WITHOUT), bool), ids=["scripts", "no scripts"])
def test_a_bullet_tells_its_history_and_its_turns(visit: Visit, site: Site, options: dict[str, bool]) -> None:
    learner = f"ida-{len(options)}"
    [name] = site.add(learner, "Say the unit with each number")
    ida = visit(learner, **options)
    ida.open(f"/playbooks/default/bullets/{name}")
    ida.page.click("#do-useful")
    assert ida.said() == "Your vote counts."
    assert "+1" in ida.page.locator(".votes").inner_text()
    assert ida.page.locator("tbody tr").count() == 2


def test_the_history_shows_what_each_version_said(visit: Visit, site: Site) -> None:
    [name] = site.add("jil", "Old text about bars")
    site.api.patch(f"/api/playbook/{name}", json={"content": "New text about bars"}, headers=bearer("jil"))
    jil = visit("jil")
    jil.open("/playbooks/default/history")
    told = jil.page.locator(".versions .change").all_inner_texts()
    assert [line.split(maxsplit=2)[1:] for line in told] == [
        ["changed", "New text about bars"],
        ["added", "Old text about bars"],
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
    joe.page.click("#back-1")
    assert "as it was in that version" in joe.said()
    assert site.contents(learner) == [first]
    joe.page.locator("text=What changed").first.click()
    assert second in joe.page.locator(".diff.del").inner_text()
    joe.open("/playbooks/default/history")
    joe.page.locator("[id^=restore-]").click()
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
    fay.open("/playbooks/default")
    fay.page.click("#figures")
    rows = [row.inner_text().split("\t") for row in fay.page.locator("[data-row]").all()]
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    assert rows[-2:] == [
        ["maths", "1", "2", "2", "not judged", "not known", today],
        ["unread", "0", "0", "0", "not judged", "not known", "never"],
    ]
    assert "fox" not in fay.page.content()
    fay.page.click("text=maths")
    assert fay.page.locator(".bullet-text").all_inner_texts() == [RULE]


def test_without_a_playbook_the_figures_say_so(visit: Visit) -> None:
    new = visit("newcomer", java_script_enabled=False)
    new.open("/playbooks")
    assert "There is no playbook yet." in new.page.locator(".nothing").inner_text()
