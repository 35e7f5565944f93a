"""Privacy on the page: a copy of all, a pause of learning, an end of all, what is said of sensitive facts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.plugins.heavy import some_heavy
from tests.server.page.conftest import Site, Visit

WITHOUT = {"java_script_enabled": False}


@pytest.mark.parametrize("options", some_heavy(({}, WITHOUT), {}.__ne__), ids=["scripts", "no scripts"])
def test_learning_pauses_and_goes_on(visit: Visit, site: Site, options: dict[str, bool]) -> None:
    learner = f"pia-{len(options)}"
    site.add(learner, "To add fractions, bring them to one denominator first")
    pia = visit(learner, **options)
    pia.open("/privacy")
    pia.click("#pause")
    assert pia.said() == "Learning is paused."
    for question, known in (("My name is Pia. What is 1/2 + 1/3?", 1), ("Remember that my name is Pia", 1)):
        pia.open("/chat")
        assert "Learning is paused." in pia.page.locator(".whoanswers").inner_text()
        pia.page.fill("#message", question)
        pia.click("#send")
        receipt = pia.page.locator(".line.marked .learned")
        receipt.wait_for()
        assert receipt.inner_text() == "Learning is paused: nothing was remembered."
        assert len(site.contents(learner)) == known
    pia.open("/privacy")
    pia.click("#pause")
    assert pia.said() == "Learning goes on."
    pia.open("/chat")
    pia.page.fill("#message", "Remember that my name is Pia")
    pia.click("#send")
    pia.page.locator(".receipt").wait_for()
    assert len(site.contents(learner)) == 2


def test_all_is_downloaded_and_deleted(visit: Visit, site: Site) -> None:
    site.add("quin", "Name the unit of every number")
    quin = visit("quin", java_script_enabled=False)
    quin.open("/chat")
    quin.page.fill("#message", "What is 1/2 + 1/3?")
    quin.click("#send")
    quin.open("/privacy")
    assert (
        "2 memories" in quin.page.locator("main").inner_text()
        or "1 memory" in quin.page.locator("main").inner_text()
    )
    assert "asks first" in quin.page.locator("#sensitive").inner_text()
    with quin.page.expect_download() as download:
        quin.click("#export")
    kept = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert (kept["learner_id"], len(kept["conversations"])) == ("quin", 1)
    assert "Name the unit" in json.dumps(kept["playbook"])
    quin.click("#delete-all summary")
    assert "Backups" in quin.page.locator("main").inner_text()
    quin.page.check("#sure")
    quin.click("#delete-all button")
    assert quin.said() == "Everything is deleted."
    assert site.contents("quin") == []
    assert "0 chats" in quin.page.locator("main").inner_text()
