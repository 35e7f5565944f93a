"""Eight things that a teacher wants to do on a phone, by what it shows, with the taps of each counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Locator, Page, expect

from tests.server.page.conftest import Site, Visit
from tests.server.serving import bearer


@dataclass
class Phone:
    """A page on a phone; taps only what is in sight, and types where somebody can type."""

    page: Page
    taps: int = 0

    def tap(self, name: str, *, role: str = "button", within: str = "main") -> None:
        found = self.page.locator(within).get_by_role(role, name=name, exact=True)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # a literal of 80 roles
        self.tap_at(found.first)

    def tap_at(self, place: Locator) -> None:
        place.tap()
        self.taps += 1

    def view(self, name: str) -> None:
        self.tap(name, role="link", within="header")

    def write(self, label: str, text: str) -> None:
        self.page.locator("main").get_by_label(label, exact=True).filter(visible=True).fill(text)

    def sees(self, text: str) -> None:
        expect(self.page.locator("main").get_by_text(text).last).to_be_in_viewport()


def ask(phone: Phone) -> None:
    phone.write("Your message", "How do I add fractions? What is 1/2 + 1/3?")
    phone.tap("Send")
    phone.sees("The answer is 5/6.")


def find_what_is_remembered(phone: Phone) -> None:
    phone.view("Memory")
    phone.sees("I prefer pictures")


def correct_a_fact(phone: Phone) -> None:
    phone.view("Memory")
    phone.tap("Edit", role="link")
    phone.write("Text", "I prefer short texts")
    phone.tap("Save")
    phone.sees("I prefer short texts")


def forget_one(phone: Phone) -> None:
    phone.view("Memory")
    phone.tap_at(phone.page.locator("[data-row] .menu > summary").first)
    phone.tap("Remove")
    phone.sees("Removed.")


def undo_it(phone: Phone) -> None:
    phone.tap("Undo")
    phone.sees("I prefer short texts")


def see_why(phone: Phone) -> None:
    phone.tap_at(phone.page.locator(".receipt > summary").last)
    phone.sees("because of:")


def share_a_playbook(phone: Phone) -> None:
    phone.view("Playbooks")
    phone.write("Name", "Fractions, class 6b")
    phone.tap("Create")
    phone.tap("People", role="link")
    phone.write("Name", "colleague")
    phone.tap("Share")
    phone.sees("may read it")


def delete_everything(phone: Phone) -> None:
    phone.tap_at(phone.page.locator("#more > summary"))
    phone.view("Privacy")
    phone.tap_at(phone.page.locator("#delete-all > summary"))
    phone.tap_at(phone.page.get_by_text("I am sure"))
    phone.tap("Delete everything now")
    phone.sees("Everything is deleted.")


TASKS: dict[Callable[[Phone], None], int] = {
    ask: 1,
    see_why: 1,
    find_what_is_remembered: 1,
    correct_a_fact: 3,
    forget_one: 3,
    undo_it: 1,
    share_a_playbook: 4,
    delete_everything: 5,
}
"""The tasks in the order of a teacher's day, and how many taps each takes."""


def test_eight_tasks_of_a_teacher(visit: Visit, site: Site) -> None:
    site.add("teacher", "I prefer pictures", kind="preference")
    site.add("teacher", "To add fractions, bring them to one denominator first")
    visitor = visit("teacher", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    phone, taps = Phone(visitor.page), dict[Callable[[Phone], None], int]()
    visitor.open("/chat")
    for task in TASKS:
        phone.taps = 0
        task(phone)
        taps[task] = phone.taps
    assert taps == TASKS
    assert site.contents("teacher") == []
    shared = site.api.get("/api/playbooks?which=shared", headers=bearer("colleague")).json()
    assert shared["playbooks"] == [], "what was shared is deleted with its owner"
