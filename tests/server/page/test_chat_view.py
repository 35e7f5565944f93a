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
    rob.click("#send")
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
            ria.click("#send")
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
    sue.click("#send")
    chip = sue.page.locator(".chip")
    chip.wait_for()
    assert "Sue" in chip.inner_text()
    sue.click(chip)
    assert "Sue" in sue.page.locator("h1").inner_text()


def test_a_correction_helps_in_the_next_answer(visit: Visit, site: Site) -> None:
    site.add("tim", "To add fractions, add the tops and add the bottoms")
    tim = visit("tim")
    tim.open("/chat")
    tim.page.fill("#message", "How do I add fractions? What is 1/2 + 1/3?")
    tim.click("#send")
    tim.click(tim.page.locator(".receipt > summary"))
    tim.click(".receipt .menu > summary")
    tim.click(tim.page.locator(".receipt .menu button", has_text="Wrong").first)
    assert tim.said().startswith("Switched off")
    tim.page.fill("#message", "How do I add fractions? What is 1/4 + 1/3?")
    tim.click("#send")
    tim.page.locator(".line.assistant").nth(1).wait_for()
    tim.page.locator(".receipt").nth(1).wait_for()
    assert "Nothing remembered" in tim.page.locator(".receipt").nth(1).inner_text()


def test_an_answer_is_judged(visit: Visit) -> None:
    una = visit("una")
    una.open("/chat")
    una.page.fill("#message", "What is 2/3 of 9?")
    una.click("#send")
    una.click(una.page.locator(".receipt > summary"))
    una.click(una.page.locator("[id^=good-]"))
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
        vic.click("#send")
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
    wes.click("#send")
    wes.click("#this-chat > summary")
    wes.page.fill("#title", "Parts of eight")
    wes.click("#rename")
    assert wes.page.locator("h1").inner_text() == "Parts of eight"
    wes.click("#this-chat > summary")
    wes.click("#delete-chat")
    assert wes.said().startswith("Deleted")
    assert site.api.get("/api/conversations", headers=bearer("wes")).json()["conversations"] == []


@pytest.mark.parametrize("options", some_heavy(({}, WITHOUT), bool), ids=["scripts", "no scripts"])
def test_a_question_is_asked_again_and_the_chat_found_and_downloaded(
    visit: Visit, options: dict[str, bool]
) -> None:
    wim = visit(f"wim-{len(options)}", **options)
    for question in ("What is 3/4 of 8?", "What is 1/2 + 1/3?"):
        wim.open("/chat")
        wim.page.fill("#message", question)
        wim.click("#send")
        wim.page.locator(".receipt").wait_for()
    first = wim.page.locator(".receipt [name=turn]").get_attribute("value") or ""
    wim.click("#retry")
    wim.page.locator(f".receipt [name=turn]:not([value='{first}'])").wait_for(state="attached")
    assert wim.page.locator(".line.user .text").all_inner_texts() == ["What is 1/2 + 1/3?"]
    wim.page.fill("#find", "of 8")
    wim.page.press("#find", "Enter")
    expect(wim.page.locator(".conversations li")).to_have_count(1)
    wim.click(".conversations a")
    wim.click("#this-chat > summary")
    with wim.page.expect_download() as download:
        wim.click("#this-chat [download]")
    assert Path(download.value.path()).read_text(encoding="utf-8").startswith("Q: What is 3/4 of 8?")


@pytest.mark.parametrize("options", [{}, WITHOUT], ids=["scripts", "no scripts"])
def test_a_changed_question_takes_the_place_of_the_last_one(
    visit: Visit, site: Site, options: dict[str, bool]
) -> None:
    learner = f"xia-{len(options)}"
    xia = visit(learner, **options)
    xia.open("/chat")
    for number, question in enumerate(("What is 3/4 of 8?", "Remember that my name is Mia.")):
        xia.page.fill("#message", question)
        xia.click("#send")
        xia.page.locator(".receipt").nth(number).wait_for()
    assert "Mia" in str(site.contents(learner))
    xia.click("#again")
    assert xia.page.input_value("#message") == "Remember that my name is Mia."
    assert "takes the place of your last one" in xia.page.locator("#changing").inner_text()
    xia.page.fill("#message", "Remember that my name is Kim.")
    xia.click("#send")
    xia.page.locator("#again").wait_for()
    said = xia.page.locator(".line.user .text")
    assert said.all_inner_texts() == ["What is 3/4 of 8?", "Remember that my name is Kim."]
    known = str(site.contents(learner))
    assert ("Kim" in known, "Mia" in known) == (True, False)


@pytest.mark.parametrize("options", [{}, WITHOUT], ids=["scripts", "no scripts"])
def test_what_is_built_on_since_stays_and_the_page_says_so(
    visit: Visit, site: Site, options: dict[str, bool]
) -> None:
    learner = f"yan-{len(options)}"
    yan = visit(learner, **options)
    yan.open("/chat")
    yan.page.fill("#message", "Remember that my name is Mia.")
    yan.click("#send")
    yan.page.locator(".chip").wait_for()
    known = site.api.get("/api/playbook", headers=bearer(learner)).json()["bullets"][0]["id"]
    changed = {"content": "Called Mia by friends"}
    site.api.patch(f"/api/playbook/{known}", json=changed, headers=bearer(learner)).raise_for_status()
    yan.click("#again")
    yan.page.fill("#message", "What is 1/2 + 1/3?")
    yan.click("#send")
    assert "was changed since and stays" in yan.said()


def test_markdown_is_shown_and_html_is_text() -> None:
    shown = marked("**bold** `x` <b>no</b> ![p](https://evil.example/p.png) [l](javascript:alert(1))")
    assert "<strong>bold</strong> <code>x</code> &lt;b&gt;no&lt;/b&gt;" in shown
    assert [part for part in ("<img", "<b>", 'href="javascript') if part in shown] == []
    assert "<pre><code>1/2 ■■■□□□\n</code></pre>" in marked("1. Add\n1/2 [###...]\nDone")
    assert "<strong>" not in marked("**long** " * 10_000)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("$\\frac{1}{2}$", "<mfrac><mrow><mn>1</mn></mrow><mrow><mn>2</mn></mrow></mfrac>"),
        ("so **\\(x^2\\)**", "<msup><mi>x</mi><mn>2</mn></msup></mrow></math></strong>"),
        ("$$\na_1\n$$", '<math display="block"><mrow><msub><mi>a</mi><mn>1</mn></msub>'),
        ("\\[\\begin{aligned}a&=b\\\\c&=d\\end{aligned}\\]", "<mtr><mtd "),
        ("$5$ apples", "<mn>5</mn>"),
        ("$\\text{<b onclick=x>}$", "<mtext>&lt;b\xa0onclick=x&gt;</mtext>"),
        ("$\\color{red}{x}$", "<mstyle><mrow><mi>x</mi></mrow></mstyle>"),
    ],
)
def test_a_formula_is_mathml(written: str, shown: str) -> None:
    assert shown in marked(written)


@pytest.mark.parametrize(
    "written",
    [
        *("$5 and $6", "from $5-$6", "US$5 or AU$6", "$20 per month (or 30$)", "$ x $", "5$"),
        *("$\\href{javascript:alert(1)}{x}$", "$\\style{a:b}{x}$", "$\\class{a}{x}$", "$\\frac{$"),
        *("\\(\\frac{\\)", "$\\def\\x{\\x\\x}\\x$", f"${'x' * 600}$", f"${'{' * 400}$"),
    ],
)
def test_what_is_no_formula_or_a_hostile_one_stays_text(written: str) -> None:
    assert marked(written) == f"<p>{written}</p>\n"


def test_code_has_no_formulas_and_an_answer_not_too_many() -> None:
    assert marked("`$x$`\n\n```\n$x$\n```") == "<p><code>$x$</code></p>\n<pre><code>$x$\n</code></pre>\n"
    assert marked("$x+y+z+1234$ " * 1_000).count("<math") == 400


def test_a_formula_is_drawn_under_the_strict_policy(visit: Visit, site: Site) -> None:
    xan = visit("xan")
    xan.open("/chat/temporary")
    said = {"roles": "assistant", "texts": "So $\\frac{1}{2}$.", "message": " "}
    fields = "".join(f"<input name={name} value='{value}'>" for name, value in said.items())
    xan.page.evaluate(
        "html => { const form = document.createElement('form'); form.method = 'post'; form.innerHTML = html;"
        " form.action = '/page/chat/temporary'; document.body.append(form); form.submit(); }",
        fields,
    )
    xan.page.locator("mfrac").wait_for()
    above, below = (one.bounding_box() or {} for one in xan.page.locator("mfrac mn").all())
    assert above["y"] + above["height"] <= below["y"] + 1, "one stands above two"
