"""The pictures of the page: `python -m dev.screenshots` takes those in docs/, `--every FOLDER` all views.

It needs Chromium. Ada has used the offline tutor for three months, Ben since today, Nia not yet; Rita is an
operator.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import jwt
import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright
from pydantic import SecretStr

from ace_graph.base.settings import Settings
from ace_graph.memory.bullet import Polarity
from ace_graph.memory.delta.operations import Add, Delta, Judge, Pin, Quarantine, Touch
from ace_graph.memory.stores.sql.sqlite import SQLiteStore
from ace_graph.memory.turn import TurnRecord
from ace_graph.server import create_app

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
SECRET = "a secret of the pictures, of no server"  # noqa: S105  no server has it
NOW = datetime.now(UTC)
DAYS = 88
SAID = (
    "What is 3/4 + 1/6?",
    "That's wrong, it should be 11/12.",
    "How do I add 1/2 and 1/3?",
)


def _said(text: str, slot: str | None = None, section: str = "profile") -> Add:
    return Add(content=f"Learner says: {text}", section=section, slot=slot, ref="a", sources=("learner",))


def _learned(text: str, topic: str, polarity: Polarity = "strategy") -> Add:
    return Add(
        content=text,
        polarity=polarity,
        memory_type="procedural",
        topic=topic,
        ref="a",
        sources=("evidence: learner failure",),
    )


STORY = {
    88: _said("my name is Ada", "name"),
    86: _said("I prefer pictures to long texts", section="preferences"),
    83: _learned("Bring fractions to one denominator before you add them", "fraction_addition"),
    79: _learned("Add the tops and the bottoms of fractions", "fraction_addition", "anti_pattern"),
    75: _said("I live in Berlin", "home"),
    68: _learned("Draw a bar for each fraction before you compare them", "fraction_comparison"),
    60: _learned("Estimate the result before you compute it", "arithmetic"),
    51: Add(content="The test on fractions is on the last Friday of November", topic="school", ref="a"),
    40: _learned("Write the unit beside every number of a word problem", "word_problems"),
    33: _said("I live in Rome", "home"),
    21: _learned(
        "Multiply crosswise only to compare two fractions, never to add them",
        "fraction_comparison",
        "anti_pattern",
    ),
    12: Add(content="The class uses the book Numbers 6", topic="school", ref="a"),
    1: _said("I am in grade 6", "grade"),
}
"""What Ada's memory learned, by how many days ago."""


async def live(store: SQLiteStore) -> None:
    """Let Ada learn for three months: what she said, what answers taught, judged answers on most days."""
    known = list[str]()
    for ago in range(DAYS, -1, -1):
        at = NOW - timedelta(days=ago, hours=2)
        if ago in STORY:
            operations = (STORY[ago],)
            delta = Delta(op_id=f"learn-{ago}", now=at, operations=operations, author="ace_learning")
            done = await store.commit("ada", delta, await store.load("ada"))
            known += done.report.added
        if ago % 7 in (5, 6):
            continue
        for number in range(2 + ago % 3):
            await _answer(store, known, ago, number, at + timedelta(minutes=7 * number))
    base = await store.load("ada")
    names = [bullet.id for bullet in base.playbook.bullets() if bullet.topic == "arithmetic"]
    last = (Pin(bullet_id=names[0]), Quarantine(bullet_id=known[-2], why="not sure yet"))
    delta = Delta(op_id="last", now=NOW - timedelta(hours=1), operations=last, author="learner")
    await store.commit("ada", delta, base)


async def _answer(store: SQLiteStore, known: list[str], ago: int, number: int, at: datetime) -> None:
    turn, base = f"turn-{ago}-{number}", await store.load("ada")
    advice = [bullet for bullet in base.playbook.bullets() if not bullet.profile]
    without = (ago * 3 + number) % 4 == 0
    right = (ago * 7 + number * 5) % 10 < (4 if without else 8)
    used = () if without or not advice else (advice[(ago + number) % len(advice)].id,)
    record = TurnRecord(
        turn_id=turn,
        attempt_id=turn,
        task=f"What is {1 + ago % 4}/{5 + number} + 1/{2 + ago % 5}?",
        answer="It is worked out step by step.",
        mode="cot",
        topic="fraction_addition",
        status="success",
        verdict="success" if right else "failure",
        calls=2,
        input_tokens=900 + 11 * ago,
        output_tokens=240 + 7 * ago,
        cost=0.0012 + 0.00002 * ago,
        injected=used,
        cited=used,
        arm="without" if without else "with",
        started_at=at,
        completed_at=at + timedelta(seconds=3),
    )
    votes = tuple(
        Judge(turn_id=turn, source="learner", verdict=record.verdict, bullet_ids=used) for _ in used
    )
    delta = Delta(
        op_id=turn, now=at, operations=(Touch(bullet_ids=used), *votes), author="ace_learning", source=turn
    )
    await store.commit("ada", delta, base, record)


@contextmanager
def served(folder: Path) -> Generator[str]:
    """Yield the address of a server whose learners sign in."""
    settings = Settings().model_copy(
        update={
            "model": "offline",
            "store": f"sqlite:///{folder / 'ace.db'}",
            "conversations": f"sqlite:///{folder / 'talk.db'}",
            "learning": "inline",
            "jwt_secret": SecretStr(SECRET),
            "jwt_operator_claim": "operates",
            "server_rate": 1_000_000,
        }
    )
    server = uvicorn.Server(uvicorn.Config(create_app(settings), log_config=None))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def token(learner: str) -> str:
    """Return a token of a learner; Rita's is an operator's."""
    claims = {"sub": learner, "exp": datetime.now(UTC) + timedelta(hours=1), "operates": learner == "rita"}
    return jwt.encode(claims, SECRET, algorithm="HS256")


def talk(url: str) -> dict[str, str]:
    """Let Ada and Ben talk, share and propose; return the addresses of what Ada has of it, by view."""
    conversation, newest = "", dict[str, str]()
    with httpx.Client(base_url=url, timeout=60) as api:

        def send(learner: str, path: str, body: Mapping[str, object]) -> dict[str, str]:
            reply = api.post(path, json=body, headers={"Authorization": f"Bearer {token(learner)}"})
            return reply.raise_for_status().json() if reply.content else {}

        for message in SAID:
            more = {"conversationId": conversation} if conversation else {}
            conversation = send("ada", "/api/ai/chat", {"message": message, **more})["conversationId"]
        for question in (
            "What is 2/3 of 9?",
            "How many minutes are 3/4 h?",
            "How do I add the fractions 2/5 and 1/3?",
        ):
            newest = send("ada", "/api/ai/chat", {"message": question})
        made = send("ada", "/api/playbooks", {"name": "Fractions, class 6b", "template": "tutoring"})
        shared = f"/api/playbooks/{made['playbookId']}"
        send("ada", f"{shared}/grants", {"kind": "user", "name": "ben", "relation": "contributor"})
        send("ada", f"{shared}/grants", {"kind": "team", "name": "6b", "relation": "viewer"})
        rule = {"content": "Let them fold a strip of paper before they add fractions", "kind": "strategy"}
        name = send("ben", "/api/playbook", rule)["id"]
        send("ben", f"{shared}/proposals", {"bullets": [name]})
        send("ben", "/api/ai/chat", {"message": "Remember that I like short answers. What is 1/2 + 1/3?"})
    return {
        "chat": f"/chat/{conversation}",
        "receipt": f"/chat/{newest['conversationId']}",
        "run": f"/runs/{newest['turnId']}",
        "shared": f"/playbooks/{made['playbookId']}",
        "people": f"/playbooks/{made['playbookId']}/people",
    }


def views(who: str, own: Mapping[str, str]) -> dict[str, str]:
    """Return the address of every view; `own` are those of what only Ada has."""
    found = {
        "chat": "/chat",
        "memory": "/memory",
        "changes": "/playbooks/default/history",
        "playbooks": "/playbooks",
        "review": "/review",
        "helps": "/runs",
        "privacy": "/privacy",
    }
    if who == "ada":
        found |= {
            **own,
            "one": "/playbooks/default/bullets/gen-00003",
            "compare": "/playbooks/default/diff?from=3&to=9",
            "back": "/playbooks/default/diff?from=9&to=3&back=1",
            "audit": "/playbooks/default/audit",
            "temporary": "/chat/temporary",
        }
    return found


def shoot(
    browser: Browser, url: str, who: str, file: Path, path: str, look: dict[str, str], width: int
) -> None:
    """Take one view as one learner sees it."""
    context = browser.new_context(
        viewport={"width": width, "height": 860 if width > 500 else 844},
        color_scheme="dark" if look["theme"] == "dark" else "light",
        locale=look["language"],
        reduced_motion="reduce",
    )
    kept = {"ace_session": token(who), "ace_zone": "Europe/Berlin"}
    context.add_cookies([{"name": n, "value": v, "url": f"{url}/page/"} for n, v in kept.items()])
    page = context.new_page()
    page.goto(f"{url}/page{path}")
    _open(page, file.stem)
    page.screenshot(path=file)
    context.close()


def _open(page: Page, name: str) -> None:
    """Open what a picture shows open: the receipt of an answer, then whole; the menu of a memory."""
    if "receipt" in name or name.startswith("page-chat"):
        page.locator(".receipt > summary").last.click()
        page.set_viewport_size(
            {
                "width": page.evaluate("window.innerWidth"),
                "height": page.evaluate("document.documentElement.scrollHeight"),
            }
        )
    if "menu" in name:
        page.locator(".row .menu > summary").first.click()


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(prog="python -m dev.screenshots")
    parser.add_argument(
        "--every", type=Path, metavar="FOLDER", help="all views, widths, languages and themes"
    )
    every: Path | None = parser.parse_args().every
    program = (
        os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium")
    )

    async def seed(file: Path) -> None:
        async with SQLiteStore(file) as store:
            await live(store)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(seed(Path(folder) / "ace.db"))
        with served(Path(folder)) as url:
            own = talk(url)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
                if every is None:
                    take_for_docs(browser, url, own)
                else:
                    take_every(browser, url, own, every)
                browser.close()


def take_for_docs(browser: Browser, url: str, own: Mapping[str, str]) -> None:
    """Take the pictures in docs/, in both themes."""
    PICTURES.mkdir(exist_ok=True)
    shown = views("ada", own)
    shown["chat"] = own["receipt"]
    for theme in ("light", "dark"):
        for name in ("chat", "memory", "changes", "review", "helps"):
            file = PICTURES / f"page-{name}-{theme}.png"
            shoot(browser, url, "ada", file, shown[name], {"theme": theme, "language": "en-GB"}, 1280)


def take_every(browser: Browser, url: str, own: Mapping[str, str], folder: Path) -> None:
    """Take every view of every learner, at two widths, in two themes, and in German on a dark phone."""
    folder.mkdir(parents=True, exist_ok=True)
    looks = (
        (1280, "light", "en-GB"),
        (1280, "dark", "en-GB"),
        (390, "light", "en-GB"),
        (390, "dark", "de-DE"),
    )
    for who in ("ada", "ben", "nia", "rita"):
        shown = {"learners": "/learners?search=a"} if who == "rita" else views(who, own)
        if who == "ada":
            shown |= {"menu": "/memory", "edit": "/memory?edit=gen-00003"}
        for name, path in shown.items():
            for width, theme, language in looks:
                file = folder / f"{who}-{name}-{width}-{theme}-{language[:2]}.png"
                shoot(browser, url, who, file, path, {"theme": theme, "language": language}, width)


if __name__ == "__main__":
    main()
