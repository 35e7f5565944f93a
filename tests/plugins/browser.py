"""A real browser for the tests of pages: Chromium of this machine, driven by Playwright.

`chromium-headless-shell`, which draws no window around a page, comes first: it needs half the time.
Where there is none, the tests that ask for one are deselected, and a line says why; ACE_REQUIRE_BROWSER=1
makes that a failure. `browser` belongs to a module: Playwright's loop must not be there when other tests run.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.plugins.sizes import PATIENT

__all__ = ["CHROMIUM"]

REQUIRED = "ACE_REQUIRE_BROWSER"
CHROMIUM = (
    os.environ.get("CHROMIUM")
    or shutil.which("chromium-headless-shell")
    or shutil.which("chromium")
    or shutil.which("chromium-browser")
    or shutil.which("google-chrome")
)
_NONE_HERE = (
    "no browser for the tests of pages: install Chromium (apt install chromium-headless-shell), "
    "or name it in CHROMIUM"
)
# A container has no rights for the sandbox; nothing but our own pages is opened, and no other host is found.
_ARGUMENTS = ("--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost")
_LEFT_OUT = pytest.StashKey[int]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if CHROMIUM is not None:
        return
    left_out = [item for item in items if "browser" in getattr(item, "fixturenames", ())]
    if not left_out:
        return
    if os.environ.get(REQUIRED) == "1":
        raise pytest.UsageError(f"{REQUIRED}=1, but there is {_NONE_HERE}")
    config.stash[_LEFT_OUT] = len(left_out)
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    left_out = config.stash.get(_LEFT_OUT, 0)
    if left_out:
        terminalreporter.write_line(f"{left_out} deselected: {_NONE_HERE}", yellow=True)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, for the tests of one module."""
    expect.set_options(timeout=1000 * PATIENT)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_ARGUMENTS))
        yield browser
        browser.close()
