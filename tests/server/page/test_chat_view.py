"""The chat on the page: streaming, receipts, corrections that help in the next answer, temporary chats."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from ace_graph.server.page.render import marked
from tests.plugins.heavy import some_heavy
from tests.server.page.conftest import Site, Visit
from tests.server.serving import bearer

WITHOUT = {"java_script_enabled": False}


@pytest.mark.parametrize("options", [{}, WITHOUT], ids=["scripts", "no scripts"])
def test_an_answer_has_a_receipt(visit: Visit, site: Site, options: dict[str, bool]) -> None:
    learner = f"rob-{len(options)}"
    site.add(learner, "To add fractions, bring them to one denominator first")
    rob = visit(learner, **options)
    rob.open("/chat")
    rob.page.fill("#message", "How do I add fractions? What is 1/2 + 1/3?")
    rob.page.click("#send")
    receipt = rob.page.locator(".receipt")
    receipt.wait_for()
    assert receipt.get_attribute("open") is None
    assert not receipt.locator(".facts").is_visible()
    lines = "each => each.getBoundingClientRect().height / parseFloat(getComputedStyle(each).lineHeight)"
    assert receipt.evaluate(lines) < 2, "it is one line"
    receipt.locator("> summary").click()
    assert "5/6" in rob.page.locator(".line.assistant .text").inner_text()
    assert "Remembered 1 thing" in receipt.inner_text()
    why = receipt.locator(".facts").first.text_content() or ""
    assert "fractions" in why.partition("because of: ")[2]
    assert "/page/chat/" in rob.page.url


@pytest.mark.parametrize("width", some_heavy((1280, 390), (390).__eq__))
@pytest.mark.parametrize("options", [{}, WITHOUT], ids=["scripts", "no scripts"])
def test_after_sending_the_answer_is_in_view(visit: Visit, width: int, options: dict[str, bool]) -> None:
    learner = f"ria-{width}-{len(options)}"
    ria = visit(learner, viewport={"width": width, "height": 700}, **options)
    ria.open("/chat")
    for number in range(5):
        question = "\n".join([f"What is {number + 1}/7 + 1/3?", *["I ask for a friend."] * 6])
        ria.page.fill("#message", question)
        if options:
            ria.page.click("#send")
        else:
            ria.page.press("#message", "Enter")
        ria.page.locator(".receipt").nth(number).wait_for()
        ria.page.locator("#send:enabled").wait_for()
        answer = ria.page.locator(".line.assistant").last
        expect(answer.locator(".text")).to_be_in_viewport(ratio=1)
        expect(answer.locator(".receipt")).to_be_in_viewport(ratio=1)
    assert ria.page.evaluate("document.documentElement.scrollHeight > 2 * innerHeight")


def test_enter_sends_and_shift_and_enter_begin_a_new_line(visit: Visit) -> None:
    ulf = visit("ulf")
    ulf.open("/chat")
    message = ulf.page.locator("#message")
    message.press("Enter")
    message.type("What is")
    message.press("Shift+Enter")
    message.type("1/2 + 1/3?")
    assert message.input_value() == "What is\n1/2 + 1/3?"
    message.dispatch_event("keydown", {"key": "Enter", "isComposing": True})
    assert message.input_value() == "What is\n1/2 + 1/3?"
    assert ulf.page.locator(".line").count() == 0
    message.press("Enter")
    ulf.page.locator(".receipt").wait_for()
    assert ulf.page.locator(".line").count() == 2
    assert ulf.page.locator("#message").input_value() == ""
    assert ulf.page.evaluate("document.activeElement.id") == "message"


def test_what_was_learned_is_shown_and_opens(visit: Visit) -> None:
    sue = visit("sue")
    sue.open("/chat")
    sue.page.fill("#message", "Remember that my name is Sue")
    sue.page.click("#send")
    chip = sue.page.locator(".chip")
    chip.wait_for()
    assert "Sue" in chip.inner_text()
    chip.click()
    assert "Sue" in sue.page.locator("h1").inner_text()


def test_a_correction_helps_in_the_next_answer(visit: Visit, site: Site) -> None:
    site.add("tim", "To add fractions, add the tops and add the bottoms")
    tim = visit("tim")
    tim.open("/chat")
    tim.page.fill("#message", "How do I add fractions? What is 1/2 + 1/3?")
    tim.page.click("#send")
    tim.page.locator(".receipt > summary").click()
    tim.page.click(".receipt .menu > summary")
    tim.page.locator(".receipt .menu button", has_text="Wrong").first.click()
    assert tim.said().startswith("Switched off")
    tim.page.fill("#message", "How do I add fractions? What is 1/4 + 1/3?")
    tim.page.click("#send")
    tim.page.locator(".line.assistant").nth(1).wait_for()
    tim.page.locator(".receipt").nth(1).wait_for()
    assert "Nothing remembered" in tim.page.locator(".receipt").nth(1).inner_text()


def test_an_answer_is_judged(visit: Visit) -> None:
    una = visit("una")
    una.open("/chat")
    una.page.fill("#message", "What is 2/3 of 9?")
    una.page.click("#send")
    una.page.locator(".receipt > summary").click()
    una.page.locator("[id^=good-]").click()
    assert "judged" in una.said()
    assert "right" in una.page.locator(".receipt .verdict").inner_text()


@pytest.mark.parametrize("options", [{}, WITHOUT], ids=["scripts", "no scripts"])
def test_a_temporary_chat_keeps_nothing(visit: Visit, site: Site, options: dict[str, bool]) -> None:
    learner = f"vic-{len(options)}"
    site.add(learner, "To add fractions, bring them to one denominator first")
    vic = visit(learner, **options)
    vic.open("/chat/temporary")
    sent: list[str] = []
    vic.page.on("request", lambda request: sent.append(request.post_data or ""))
    for question in ("My name is Victoria", "What is 1/2 + 1/3?"):
        vic.page.fill("#message", question)
        vic.page.click("#send")
        vic.page.locator(".line.user", has_text=question).wait_for()
        vic.page.locator("#send:enabled").wait_for()
        vic.page.locator(".line.assistant:not([aria-busy])").last.wait_for()
    assert vic.page.locator(".line").count() == 4
    assert "5/6" in vic.page.locator(".line.assistant").last.inner_text()
    assert "My+name+is+Victoria" in [each for each in sent if each][-1], "what was said before came along"
    assert vic.page.locator(".receipt").count() == 0
    listed = site.api.get("/api/conversations", headers=bearer(learner)).json()
    assert listed["conversations"] == []
    assert len(site.contents(learner)) == 1
    vic.open("/chat/temporary")
    assert vic.page.locator(".line").count() == 0


def test_a_conversation_is_renamed_and_deleted(visit: Visit, site: Site) -> None:
    wes = visit("wes")
    wes.open("/chat")
    wes.page.fill("#message", "What is 3/4 of 8?")
    wes.page.click("#send")
    wes.page.click("#this-chat > summary")
    wes.page.fill("#title", "Parts of eight")
    wes.page.click("#rename")
    assert wes.page.locator("h1").inner_text() == "Parts of eight"
    wes.page.click("#this-chat > summary")
    wes.page.click("#delete-chat")
    assert wes.said().startswith("Deleted")
    assert site.api.get("/api/conversations", headers=bearer("wes")).json()["conversations"] == []


@pytest.mark.parametrize("options", some_heavy(({}, WITHOUT), bool), ids=["scripts", "no scripts"])
def test_a_question_is_asked_again_and_changed_and_the_chat_found_and_downloaded(
    visit: Visit, options: dict[str, bool]
) -> None:
    wim = visit(f"wim-{len(options)}", **options)
    for question in ("What is 3/4 of 8?", "What is 1/2 + 1/3?"):
        wim.open("/chat")
        wim.page.fill("#message", question)
        wim.page.click("#send")
        wim.page.locator(".receipt").wait_for()
    wim.page.click("#retry")
    wim.page.locator(".receipt").nth(1).wait_for()
    assert wim.page.locator(".line.user .text").all_inner_texts() == ["What is 1/2 + 1/3?"] * 2
    wim.page.click("#again")
    assert wim.page.input_value("#message") == "What is 1/2 + 1/3?"
    wim.page.fill("#find", "of 8")
    wim.page.press("#find", "Enter")
    expect(wim.page.locator(".conversations li")).to_have_count(1)
    wim.page.click(".conversations a")
    wim.page.click("#this-chat > summary")
    with wim.page.expect_download() as download:
        wim.page.click("#this-chat [download]")
    assert Path(download.value.path()).read_text(encoding="utf-8").startswith("Q: What is 3/4 of 8?")


def test_markdown_is_shown_and_html_is_text() -> None:
    shown = marked("**bold** `x` <b>no</b> ![p](https://evil.example/p.png) [l](javascript:alert(1))")
    assert "<strong>bold</strong> <code>x</code> &lt;b&gt;no&lt;/b&gt;" in shown
    assert [part for part in ("<img", "<b>", 'href="javascript') if part in shown] == []
    assert "<pre><code>1/2 [###...]\n</code></pre>" in marked("1. Add\n1/2 [###...]\nDone")
    assert "<strong>" not in marked("**long** " * 10_000)
