"""The page for everybody: axe finds nothing, the keyboard is enough, two languages and themes, any width."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import pytest
from axe_playwright_python.sync_playwright import Axe
from babel.messages.catalog import Catalog
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po

from dev.translations import LANGUAGES, PAGE, found_texts
from tests.plugins.heavy import some_heavy
from tests.server.page.conftest import Site, Visit, Visitor, words_of_developers

WCAG = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
VIEWS = (
    "/chat",
    "/chat/temporary",
    "/playbooks/default?status=all",
    "/memory?select=1&edit=gen-00001",
    "/playbooks/default/history",
    "/playbooks/default/diff?from=2&to=1&back=1",
    "/playbooks/default/people",
    "/playbooks/default/audit",
    "/playbooks",
    "/privacy",
    "/review",
    "/runs",
)


def filled(visit: Visit, site: Site, learner: str, **options: object) -> Visitor:
    """A learner with a memory, a conversation and a bullet that is switched off."""
    names = site.add(learner, "Draw a bar before you add fractions", "Name the unit", topic="sums")
    site.add(learner, "Ada lives in Berlin", "Ada lives in Rome")
    visitor = visit(learner, **options)
    visitor.open(f"/playbooks/default/bullets/{names[1]}")
    visitor.click("#do-off")
    visitor.open("/chat")
    visitor.page.fill("#message", "How do I add fractions? What is 1/2 + 1/3?")
    visitor.click("#send")
    visitor.page.locator(".receipt").wait_for()
    return visitor


def violations(visitor: Visitor) -> list[str]:
    answer: object = Axe().run(visitor.page, options=WCAG).response  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # untyped
    told = cast("dict[str, list[dict[str, Any]]]", answer)  # Any: what axe tells of elements
    assert len(told["passes"]) > 10, "it looked at the page"
    return [f"{each['id']}: {node['html']}" for each in told["violations"] for node in each["nodes"]]


def is_dark(visitor: Visitor) -> bool:
    """Whether what stands behind the text is dark; what is neither dark nor light fails."""
    colour: str = visitor.page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    brightest = max(map(int, re.findall(r"\d+", colour)[:3]))
    assert brightest < 80 or brightest > 230, colour
    return brightest < 80


@pytest.mark.parametrize("scheme", some_heavy(("light", "dark"), "light".__eq__))
def test_axe_finds_no_violation(visit: Visit, site: Site, scheme: str) -> None:
    # Axe comes as a script from outside, which the policy of the page would refuse.
    abe = filled(visit, site, f"abe-{scheme}", color_scheme=scheme, bypass_csp=True)
    assert is_dark(abe) == (scheme == "dark")
    found = violations(abe)
    for view in VIEWS:
        abe.open(view)
        found += [f"{view} {each}" for each in violations(abe)]
    abe.page.goto(f"{site.url}/page/playbooks/default")
    abe.click(abe.page.locator(".bullet-text a").first)
    found += violations(abe)
    assert found == []


OPENED = (
    ("/chat", "#more > summary"),
    ("/chat", "[popovertarget=chats]"),
    ("/chat?find=", "#listed a", ".receipt > summary", ".receipt .menu > summary"),
    ("/chat?find=", "#listed a", "#this-chat > summary"),
    ("/memory", "#new"),
    ("/memory", ".heading .menu > summary"),
    ("/memory", ".row .menu > summary"),
    ("/memory", ".row .menu > summary", ".row .menu[open] button[id^=remove]"),
    ("/memory?said=held", "#new"),
    ("/playbooks/default/history", ".versions .menu > summary"),
    ("/playbooks/default/history", "#left > summary"),
    ("/privacy", "#delete-all > summary"),
    ("/runs", "details > summary >> nth=-1"),
)
"""What opens a menu, a form, the drawer of the chats or the notice of a change: a view, and clicks there."""


@pytest.mark.parametrize("scheme", some_heavy(("light", "dark"), "light".__eq__))
def test_axe_finds_no_violation_in_what_is_opened(visit: Visit, site: Site, scheme: str) -> None:
    phone = {"width": 390, "height": 844}
    gil = filled(visit, site, f"gil-{scheme}", color_scheme=scheme, bypass_csp=True, viewport=phone)
    found = list[str]()
    for view, *clicks in OPENED:
        gil.open(view)
        if clicks[0] == "#listed a":
            gil.click("[popovertarget=chats]")
        for place in clicks:
            gil.page.locator(place).first.click()
        found += [f"{view} {clicks[-1]}: {each}" for each in violations(gil)]
    assert found == []


def test_a_bullet_is_changed_by_the_keyboard_alone(visit: Visit, site: Site) -> None:
    site.add("bea", "Read the question aloud")
    bea = visit("bea")
    bea.open("/playbooks/default")
    keys = bea.page.keyboard
    keys.press("Tab")
    assert bea.page.evaluate("() => document.activeElement.className") == "skip"
    keys.press("Enter")
    keys.press("j")
    assert bea.page.locator("[data-chosen]").count() == 1
    while not bea.page.evaluate("() => document.activeElement.id").startswith("change-"):
        keys.press("Tab")
    keys.press("Enter")
    bea.page.locator("textarea[id^=edit-]:focus").wait_for()
    bea.page.wait_for_load_state()  # or Tab would lead to what is not there yet
    assert bea.page.evaluate("() => document.activeElement.id").startswith("edit-")
    keys.press("Control+A")
    keys.type("Read the question twice")
    keys.press("Tab")
    keys.press("Enter")
    bea.page.locator("#status p").wait_for()
    assert site.contents("bea") == ["Read the question twice"]


def _choose(visitor: Visitor, field: str, value: str) -> None:
    visitor.click("#more > summary")
    visitor.click(f"#{field}-{value}")


@pytest.mark.parametrize(
    ("scheme", "theme"), some_heavy((("light", "dark"), ("dark", "light")), ("light", "dark").__eq__)
)
def test_the_theme_that_is_chosen_wins_over_that_of_the_system(visit: Visit, scheme: str, theme: str) -> None:
    fay = visit("fay", color_scheme=scheme)
    fay.open("/chat")
    assert is_dark(fay) == (scheme == "dark")
    _choose(fay, "theme", theme)
    assert is_dark(fay) == (theme == "dark")


def test_language_and_theme_are_chosen_and_kept(visit: Visit, site: Site) -> None:
    cal = visit("cal")
    cal.open("/playbooks/default")
    _choose(cal, "language", "de")
    _choose(cal, "theme", "dark")
    assert cal.page.locator("html").get_attribute("lang") == "de"
    assert cal.page.locator("html").get_attribute("data-theme") == "dark"
    cal.open("/chat")
    assert "Neuer Chat" in cal.page.locator("aside").inner_text()


def test_the_browsers_language_is_taken_first(visit: Visit) -> None:
    don = visit(locale="de-AT")
    don.open("/login")
    assert don.page.locator("h1").inner_text() == "Anmelden"


@pytest.mark.parametrize("width", some_heavy((320, 768, 1920), (320).__eq__))
def test_nothing_is_wider_than_the_screen(visit: Visit, site: Site, width: int) -> None:
    eli = filled(visit, site, f"eli-{width}", viewport={"width": width, "height": 800})
    for view in VIEWS:
        eli.open(view)
        assert eli.page.evaluate("() => document.documentElement.scrollWidth") <= width, view


def test_no_text_has_a_word_of_developers() -> None:
    texts = [str(message.id) for message in found_texts() if message.id]
    for language in LANGUAGES:
        with (Path(PAGE) / "locale" / language / "LC_MESSAGES" / "page.po").open("rb") as opened:
            texts += [" ".join(each) for each in _strings(read_po(opened, locale=language)).values()]
    assert {text: words for text in texts if (words := words_of_developers(text))} == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_is_translated_and_the_catalogue_is_compiled(language: str) -> None:
    folder = Path(PAGE) / "locale" / language / "LC_MESSAGES"
    with (folder / "page.po").open("rb") as opened:
        written = read_po(opened, locale=language)
    wanted = {str(message.id) for message in found_texts() if message.id}
    assert wanted == {str(message.id) for message in written if message.id and message.string}
    with (folder / "page.mo").open("rb") as opened:
        compiled = read_mo(opened)  # without its header, which names the version of Babel
    assert _strings(compiled) == _strings(written)


def _strings(catalog: Catalog) -> dict[str, tuple[str, ...]]:
    """Return the translations of each text, one or those of its plural."""
    return {
        message.id if isinstance(message.id, str) else message.id[0]: (message.string,)
        if isinstance(message.string, str)
        else tuple(message.string)
        for message in catalog
        if message.id and message.string
    }
