"""Runs every notebook and writes it with its outputs as one HTML file each, for a reader who has no Jupyter.

    python dev/render_notebooks.py [--out build/notebooks] [NOTEBOOK ...]

A file stands alone: pictures are inside of it, and it loads nothing from elsewhere. Exit 1 with the
notebook's error when a cell fails.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import cast

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter
from nbformat import NotebookNode
from rich.console import Console
from rich.progress import Progress

_FOLDED = """{%- extends 'lab/index.html.j2' -%}
{% block input_group %}
{%- if 'folded' in cell.metadata.get('tags', []) %}<details><summary>Code</summary>{{ super() }}</details>
{%- else %}{{ super() }}{% endif %}
{% endblock input_group %}"""
"""The code of a cell with the tag `folded` is shown on a click."""
ROOT = Path(__file__).resolve().parent.parent
SECONDS_A_CELL = 180
_NOTHING_FOREIGN = dict.fromkeys(
    (
        "mathjax_url",
        "require_js_url",
        "jquery_url",
        "jupyter_widgets_base_url",
        "mermaid_js_url",
        "mermaid_layout_elk_js_url",
        "widget_renderer_url",
    ),
    "",
)


def render(notebook: Path, out: Path) -> Path:
    """Run `notebook` in a temporary folder and return the HTML file. Raises CellExecutionError."""
    content = cast("NotebookNode", nbformat.read(notebook, as_version=4))
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            content,
            timeout=SECONDS_A_CELL,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
        )
        client.execute()
    page, _ = HTMLExporter(raw_template=_FOLDED, **_NOTHING_FOREIGN).from_notebook_node(content)
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"{notebook.stem}.html"
    file.write_text(page, encoding="utf-8")
    return file


def main() -> int:
    """Render the notebooks named, or all; return the exit code."""
    parser = argparse.ArgumentParser(description="Run notebooks and write them as HTML.")
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: all of notebooks/")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "notebooks")
    options = parser.parse_args()
    wanted: list[Path] = options.notebooks or sorted((ROOT / "notebooks").glob("*.ipynb"))
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    with Progress(console=Console(stderr=True)) as progress:
        for notebook in progress.track(wanted, description="running"):
            try:
                sys.stdout.write(f"{render(notebook, options.out)}\n")
            except CellExecutionError as error:
                sys.stderr.write(f"{notebook}: {error}\n")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
