"""The notebooks as Markdown, with their outputs."""

from __future__ import annotations

import base64
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any, cast

import nbformat
from nbclient import NotebookClient
from nbconvert import MarkdownExporter
from nbformat import NotebookNode

from dev.site.pages import ROOT

NOTEBOOKS = ROOT / "notebooks"
SECONDS_A_CELL = 180
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_FOLDED = """{%- extends 'markdown/index.md.j2' -%}
{% block input %}
{%- if 'folded' in cell.metadata.get('tags', []) %}
<details><summary>Code</summary>
{{ super() }}
</details>
{%- else %}{{ super() }}{% endif %}
{% endblock input %}"""
"""The code of a cell with the tag `folded` is shown on a click."""
_TO_A_PAGE = re.compile(r"\]\(\.\./docs/")


def write_notebooks(out: Path, *, run: bool) -> None:
    """Write every notebook as a page into `out`, after running it if `run`; else without outputs.

    Raises:
        CellExecutionError: a cell failed.
    """
    out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    for notebook in sorted(NOTEBOOKS.glob("*.ipynb")):
        content = cast("NotebookNode", nbformat.read(notebook, as_version=4))
        if run:
            execute(content)
        write_notebook(content, notebook.stem, out)
        shutil.copy(notebook, out / notebook.name)


def execute(content: NotebookNode) -> None:
    """Run a notebook in a temporary folder; its outputs are then in `content`."""
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(content, timeout=SECONDS_A_CELL, kernel_name="python3", resources=resources).execute()


def write_notebook(content: NotebookNode, name: str, out: Path) -> None:
    """Write one notebook as `name.md` into `out`, its pictures beside it."""
    resources: dict[str, Any] = {"output_files_dir": f"{name}_files"}  # Any: nbconvert's own form
    body, resources = MarkdownExporter(raw_template=_FOLDED).from_notebook_node(content, resources=resources)
    for file, data in resources["outputs"].items():
        picture = out / file
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_bytes(data if isinstance(data, bytes) else base64.b64decode(data))
    text = _TO_A_PAGE.sub("](../", _COLOURS.sub("", body))
    head, heading, rest = text.partition("\n\n")
    note = f"*This page is a notebook: [download it]({name}.ipynb), and run it in Jupyter.*"
    (out / f"{name}.md").write_text(f"{head}{heading}{note}\n\n{rest}", encoding="utf-8")
