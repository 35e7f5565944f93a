"""Draws the Mermaid diagrams of docs/ as SVG files for the site: a reader's browser runs no Mermaid.

    npm pack mermaid@11 && tar xzf mermaid-11.*.tgz package/dist/mermaid.min.js
    python -m dev.site.draw package/dist/mermaid.min.js [--browser /usr/bin/chromium]

A file is named by a hash of its diagram. One whose diagram is gone is deleted.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from dev.site.pages import PICTURES, diagrams, picture_name

_DRAW = """async (source) => {
  mermaid.initialize({startOnLoad: false, theme: "neutral", deterministicIds: true, htmlLabels: false,
                      flowchart: {htmlLabels: false}, fontFamily: "sans-serif"});
  return (await mermaid.render("diagram", source)).svg;
}"""


def draw(program: Path, browser: str) -> list[Path]:
    """Draw every diagram that has no picture yet; return the files written."""
    PICTURES.mkdir(exist_ok=True)
    wanted = {picture_name(diagram): diagram for diagram in diagrams()}
    for old in PICTURES.glob("*.svg"):
        if old.name not in wanted:
            old.unlink()
    missing = {name: diagram for name, diagram in wanted.items() if not (PICTURES / name).exists()}
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page()
        page.add_script_tag(path=program)
        for name, diagram in missing.items():
            (PICTURES / name).write_text(f"{page.evaluate(_DRAW, diagram)}\n", encoding="utf-8")
        chromium.close()
    return [PICTURES / name for name in missing]


def main() -> int:
    """Draw what is missing; return the exit code."""
    parser = argparse.ArgumentParser(description="Draw the Mermaid diagrams of docs/ as SVG files.")
    parser.add_argument("program", type=Path, help="mermaid.min.js of the npm package mermaid, version 11")
    parser.add_argument("--browser", default="/usr/bin/chromium")
    options = parser.parse_args()
    sys.stdout.write("".join(f"{file}\n" for file in draw(options.program, options.browser)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
