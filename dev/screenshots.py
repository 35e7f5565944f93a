"""The pictures of the page in docs/: `python -m dev.screenshots`. It needs Chromium (or CHROMIUM).

A server with the offline tutor, a learner who has talked to it for a while, and every view in both themes.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import uvicorn
from playwright.sync_api import Page, sync_playwright

from ace_graph.base.settings import Settings
from ace_graph.server import create_app

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
WIDTH, HEIGHT = 1280, 860
SAID = (
    "Call me Ada, and remember that I prefer short answers",
    "What is 3/4 + 1/6?",
    "That's wrong, it should be 11/12.",
    "How do I add fractions? What is 1/2 + 1/3?",
)
KNOWN = (
    ("Estimate the result before you compute it", "strategy", "arithmetic"),
    ("Write the unit beside every number of a word problem", "strategy", "word problems"),
    ("Adding tops and bottoms of fractions gives a wrong sum", "anti_pattern", "fractions"),
    ("The test on fractions is on Friday", "fact", "school"),
)


@contextmanager
def served(folder: Path) -> Generator[str]:
    """Yield the address of a server in development mode."""
    settings = Settings().model_copy(
        update={
            "model": "offline",
            "store": f"sqlite:///{folder / 'ace.db'}",
            "conversations": f"sqlite:///{folder / 'talk.db'}",
            "learning": "inline",
        }
    )
    server = uvicorn.Server(uvicorn.Config(create_app(settings), log_config=None))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join()


def live(url: str) -> str:
    """Let a learner add bullets and talk; return the id of the conversation."""
    with httpx.Client(base_url=url, timeout=60) as api:
        for content, kind, topic in KNOWN:
            api.post(
                "/api/playbook", json={"content": content, "kind": kind, "topic": topic}
            ).raise_for_status()
        conversation = ""
        for message in SAID:
            body = {"message": message, **({"conversationId": conversation} if conversation else {})}
            reply = api.post("/api/ai/chat", json=body).raise_for_status()
            conversation = str(reply.json()["conversationId"])
        bullets = api.get("/api/playbook").json()["bullets"]
        api.post(f"/api/playbook/{bullets[-1]['id']}/quarantine", json={"why": "not sure yet"})
    return conversation


def shoot(page: Page, url: str, conversation: str, theme: str) -> None:
    """Take every view."""
    views = {
        "chat": f"/chat/{conversation}",
        "playbook": "/playbooks/default",
        "history": "/playbooks/default/history",
        "review": "/review",
        "runs": "/runs",
    }
    for name, path in views.items():
        if page.goto(f"{url}/page{path}").status == 200:  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]  # it is a new page
            if name == "chat":
                page.locator("#latest .receipt summary").click()
                page.mouse.wheel(0, 2_000)
            page.screenshot(path=PICTURES / f"page-{name}-{theme}.png")
    page.goto(f"{url}/page/playbooks/default")
    page.locator(".bullet-text a").nth(1).click()
    page.screenshot(path=PICTURES / f"page-bullet-{theme}.png")


def main() -> None:
    """Take all pictures."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    PICTURES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder)) as url,
        sync_playwright() as playwright,
    ):
        conversation = live(url)
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for theme in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": WIDTH, "height": HEIGHT},
                color_scheme="dark" if theme == "dark" else "light",
                locale="en-GB",
            )
            shoot(context.new_page(), url, conversation, theme)
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
