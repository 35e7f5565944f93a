"""Every view with nothing, one day, three months and 1,000 memories: no fault, no shift, none too wide."""

from __future__ import annotations

import re

import pytest

from benchmarks.corpus import bullets
from dev.screenshots import live
from tests.server.page.conftest import Site, Visit, words_of_developers
from tests.server.serving import bearer

VIEWS = (
    *("/chat", "/memory", "/memory?group=works&sort=newest", "/playbooks/default/history", "/playbooks"),
    *("/review", "/runs", "/runs?per=week", "/privacy"),
)
SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""


def filled(site: Site, learner: str) -> None:
    """Give a learner what their name promises."""
    if learner == "ada":
        site.in_store(live)
    elif learner == "one-day":
        site.add(learner, "Name the unit of every number")
        said = {"message": "Remember that I like pictures. What is 1/2 + 1/3?"}
        site.api.post("/api/ai/chat", json=said, headers=bearer(learner)).raise_for_status()
    elif learner == "thousand":
        site.plant(learner, *(bullet.content for bullet in bullets(1_000)))


PHONE = {"locale": "de-DE", "color_scheme": "dark"}


@pytest.mark.parametrize("learner", ["nobody", "one-day", "ada", "thousand"])
def test_views_are_whole_whatever_is_in_them(visit: Visit, site: Site, learner: str) -> None:
    filled(site, learner)
    wrong = list[str]()
    for width, options in ((390, PHONE), (1280, {})):
        visitor = visit(learner, viewport={"width": width, "height": 800}, **options)
        visitor.context.add_init_script(SHIFTS)
        for view in VIEWS:
            visitor.open(view)
            wide = visitor.page.evaluate("document.documentElement.scrollWidth")
            shifted = visitor.page.evaluate("window.shifted")
            if shifted > 0.05:  # a loaded machine may paint a part of a page first
                visitor.open(view)
                shifted = visitor.page.evaluate("window.shifted")
            nav = visitor.page.locator(".top nav a").all()
            tops = {round((each.bounding_box() or {"y": -1})["y"]) for each in nav}
            words = words_of_developers(visitor.page.locator("body").inner_text())
            if wide > width or shifted > 0.05 or len(tops) != 1 or visitor.page.locator("h1").count() != 1:
                wrong.append(f"{view} {width}: {wide} wide, shifted {shifted}, {len(tops)} rows")
            if words:
                wrong.append(f"{view} {width}: {words}")
    assert wrong == []


def test_three_months_are_told_in_words_and_in_a_chart(visit: Visit, site: Site) -> None:
    filled(site, "ada")
    ada = visit("ada")
    ada.open("/runs")
    assert ada.page.locator("#answer").inner_text().startswith("Yes: with what was learned")
    assert ada.page.locator(".chart .mark").count() > 40
    ada.open("/memory")
    assert ada.page.locator("h2.group").all_inner_texts() == ["About me", "What works", "Watch out", "Facts"]
    told = ada.page.locator("main").inner_text()
    assert "I live in Rome" in told
    assert re.search(r"worked \d+ of \d+ times", told)
    assert not re.search(r"confidence|strength|[+−]\d", told)
    ada.click(".row .menu > summary >> nth=0")
    ada.click("text=Why, and since when >> visible=true")
    ada.page.wait_for_url("**/bullets/**")
    ada.page.locator("details").evaluate_all("all => all.forEach(each => (each.open = true))")
    told = ada.page.locator("main").inner_text()
    assert words_of_developers(told.replace(ada.page.locator("tbody td").first.inner_text(), "")) == []
    ada.open("/playbooks/default/history")
    assert "I live in Rome" in ada.page.locator("main").inner_text()


def test_nothing_is_said_to_be_nothing(visit: Visit) -> None:
    new = visit("nobody-yet", java_script_enabled=False)
    new.open("/runs")
    assert new.page.locator("#answer").inner_text() == "Not known yet."
    assert "begins with the first answer" in new.page.locator("main").inner_text()
    new.open("/memory")
    assert "Nothing is remembered yet" in new.page.locator(".nothing").inner_text()
    new.open("/chat")
    new.click(".examples button >> nth=1")
    assert "5/6" in new.page.locator(".line.assistant .text").inner_text()
    new.open("/runs")
    assert "tokens, at most" in (new.page.locator("svg.chart").get_attribute("aria-label") or "")


@pytest.mark.parametrize(("width", "options"), [(390, PHONE), (1280, {})])
def test_a_message_leaves_the_last_row_in_sight(
    visit: Visit, site: Site, width: int, options: dict[str, str]
) -> None:
    learner = f"last-row-{width}"
    site.plant(learner, *(bullet.content for bullet in bullets(40)))
    visitor = visit(learner, viewport={"width": width, "height": 800}, **options)
    for view, row in (("/memory", ".row"), ("/playbooks/default/history", ".versions > li")):
        visitor.open(f"{view}?said=held&before=1&after=x")
        visitor.page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
        last, message = (
            visitor.page.locator(each).last.bounding_box() for each in (f"main {row}:visible", "#status")
        )
        assert last is not None
        assert message is not None
        assert last["y"] + last["height"] <= message["y"], view
        undo = visitor.page.locator("#undo").bounding_box()
        assert undo is not None
        assert undo["x"] + undo["width"] <= width
