"""Every notebook runs with no key, is rendered as one file, and is committed without outputs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.blocks import clean_environment
from tests.plugins.heavy import some_heavy
from tests.plugins.sizes import PATIENT

ROOT = Path(__file__).resolve().parents[2]
RENDER = ROOT / "dev" / "render_notebooks.py"
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_there_is_a_notebook_to_begin_with() -> None:
    assert "01_quickstart.ipynb" in [path.name for path in NOTEBOOKS]


@pytest.mark.parametrize("notebook", some_heavy(NOTEBOOKS, NOTEBOOKS[0].__eq__), ids=lambda path: path.name)
def test_a_notebook_runs_and_is_rendered_as_one_file(notebook: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, RENDER, notebook, "--out", tmp_path],
        cwd=tmp_path,
        env=clean_environment(tmp_path),
        check=False,
        capture_output=True,
        text=True,
        timeout=2 * PATIENT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / f"{notebook.stem}.html").read_text(encoding="utf-8")
    assert "data:image/png;base64," in page
    assert re.findall(r"cdnjs|unpkg|jsdelivr|```mermaid", page) == []
    assert page.count("<details>") == len(_folded(notebook))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_is_committed_without_outputs(notebook: Path) -> None:
    content: dict[str, Any] = json.loads(notebook.read_text(encoding="utf-8"))  # Any: a notebook is free JSON
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert code, "a notebook has code cells"
    assert [cell for cell in code if cell["outputs"] or cell["execution_count"] is not None] == []


def _cells(notebook: Path) -> list[dict[str, Any]]:  # Any: a notebook is free JSON
    return json.loads(notebook.read_text(encoding="utf-8"))["cells"]


def _folded(notebook: Path) -> list[dict[str, Any]]:  # Any: as above
    return [cell for cell in _cells(notebook) if "folded" in cell["metadata"].get("tags", ())]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_folds_its_plotting_and_ends_with_what_to_try(notebook: Path) -> None:
    plots = [
        cell
        for cell in _cells(notebook)
        if cell["cell_type"] == "code" and "subplots(" in "".join(cell["source"])
    ]
    assert [cell for cell in plots if len(cell["source"]) > 15 and cell not in _folded(notebook)] == []
    assert "".join(_cells(notebook)[-1]["source"]).startswith("## Try next")
