"""The runs on the page: what was recorded, what waits to be learned from or could not be, and the figures."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from ace_graph.base import read_prices
from ace_graph.memory.stores.sql import SQLiteStore
from tests.plugins.heavy import some_heavy
from tests.server.page.conftest import Site, Visit, site_in
from tests.server.serving import bearer

WITHOUT = {"java_script_enabled": False}
NOW = datetime.now(UTC) + timedelta(hours=1)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server that leaves learning to a worker, which there is not."""
    folder = tmp_path_factory.mktemp("runs")
    prices = read_prices("OfflineTutor=1/2")
    with site_in(folder, learning="background", server_worker=False, prices=prices) as running:
        yield running


def ask(site: Site, learner: str, *questions: str) -> list[str]:
    replies = [
        site.api.post("/api/ai/chat", json={"message": each}, headers=bearer(learner)) for each in questions
    ]
    return [reply.json()["turnId"] for reply in replies]


def give_up(site: Site, learner: str) -> None:
    """Let the learning of the oldest turn that waits fail for good."""

    async def fail(store: SQLiteStore) -> None:
        item = await store.claim("test", NOW, 60, learner)
        assert item is not None
        assert await store.fail(item, "the model said nothing", None)

    site.in_store(fail)


def test_an_answer_that_was_judged_wrong_is_listed_as_wrong(visit: Visit, site: Site) -> None:
    first, _ = ask(site, "una", "What is 1/2 + 1/3?", "What is 5/6 + 1/2?")
    body = {"turnId": first, "verdict": "bad"}
    assert site.api.post("/api/feedback", json=body, headers=bearer("una")).status_code == 200
    una = visit("una")
    una.open("/runs?show=failure")
    assert una.page.locator(".bullet-text").all_inner_texts() == ["What is 1/2 + 1/3?"]
    assert una.page.locator(".row .verdict").all_inner_texts() == ["wrong"]
    una.click(".bullet-text a")
    assert una.page.locator(".facts .verdict").inner_text() == "wrong"


@pytest.mark.parametrize("options", some_heavy(({}, WITHOUT), bool), ids=["scripts", "no scripts"])
def test_what_waits_and_what_failed_is_listed_and_tried_again(
    visit: Visit, site: Site, options: dict[str, bool]
) -> None:
    learner = f"zac-{len(options)}"
    ask(site, learner, "What is 1/2 + 1/3?", "What is 5/6 + 1/2?")
    give_up(site, learner)
    zac = visit(learner, **options)
    zac.open("/runs")
    zac.click("#show-dead")
    assert zac.page.locator(".bullet-text").all_inner_texts() == ["What is 1/2 + 1/3?"]
    zac.click(".bullet-text a")
    zac.click("text=What the program says")
    assert "the model said nothing" in zac.page.locator(".notice").inner_text()
    zac.page.go_back()
    zac.click("#retry-1")
    assert zac.said() == "It will be learned from again."
    zac.open("/runs")
    zac.click("#show-pending")
    assert zac.page.locator("[data-row]").count() == 2
    assert zac.page.locator("#show-dead").count() == 0


def test_runs_come_in_pages_and_links_keep_the_choice(visit: Visit, site: Site) -> None:
    ask(site, "zia", *(f"What is {n} + 1?" for n in range(32)))
    zia = visit("zia")
    zia.open("/runs")
    assert zia.page.locator("[data-row]").count() == 30
    zia.click("#per")
    assert zia.page.locator("#show-all").get_attribute("aria-current") == "true"
    zia.click("[rel=next]")
    assert zia.page.locator("[data-row]").count() == 2
    assert "per=week" in zia.page.url
    zia.click("[rel=prev]")
    assert zia.page.locator("[data-row]").count() == 30
    zia.click("#show-success")
    assert "per=week" in zia.page.url


def test_charts_say_in_a_sentence_what_they_show(visit: Visit, site: Site) -> None:
    ask(site, "zed", "What is 1/2 + 1/3?")
    zed = visit("zed")
    zed.open("/runs")
    labels = [each.get_attribute("aria-label") or "" for each in zed.page.locator("svg.chart").all()]
    assert len(labels) == 1
    assert "a cost of 0.0" in labels[0]
    times = zed.page.locator("time").all_inner_texts()
    assert times
    assert all(each.endswith(" UTC") for each in times), "no browser has said its zone yet"
    zed.open("/runs")
    assert not any("UTC" in each for each in zed.page.locator("time").all_inner_texts())


@pytest.mark.parametrize("options", some_heavy(({}, WITHOUT), bool), ids=["scripts", "no scripts"])
def test_runs_have_steps_and_figures(visit: Visit, options: dict[str, bool]) -> None:
    zoe = visit(f"zoe-{len(options)}", **options)
    zoe.open("/chat")
    zoe.page.fill("#message", "What is 5/6 + 1/2?")
    zoe.click("#send")
    zoe.page.locator(".receipt").wait_for()
    zoe.open("/runs")
    assert zoe.page.locator("svg .bar").count() == 1
    zoe.click("text=The figures as a table")
    assert zoe.page.locator("tbody tr").count() == 1
    zoe.click("text=5/6 + 1/2")
    zoe.click("text=Steps")
    assert zoe.page.locator(".turns li").first.is_visible()
    zoe.click("#retry")
    assert zoe.said() == "It will be learned from again."
    zoe.open("/runs?show=failure")
    assert "No answer is like that" in zoe.page.locator("main").inner_text()
