"""Every notebook runs from its first cell to its last with no key, and is committed without outputs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.blocks import SECONDS, clean_environment

ROOT = Path(__file__).resolve().parents[2]
EXECUTE = Path(sys.executable).with_name("jupyter-execute")
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_there_is_a_notebook_to_begin_with() -> None:
    assert "01_quickstart.ipynb" in [path.name for path in NOTEBOOKS]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_runs_from_the_first_cell_to_the_last(notebook: Path, tmp_path: Path) -> None:
    copy = shutil.copy(notebook, tmp_path)
    done = subprocess.run(
        [EXECUTE, copy, f"--timeout={SECONDS}", "--kernel_name=python3"],
        cwd=tmp_path,
        env={**clean_environment(tmp_path), "MPLBACKEND": "agg"},
        check=False,
        capture_output=True,
        text=True,
        timeout=2 * SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_is_committed_without_outputs(notebook: Path) -> None:
    content: dict[str, Any] = json.loads(notebook.read_text(encoding="utf-8"))  # Any: a notebook is free JSON
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert code, "a notebook has code cells"
    assert [cell for cell in code if cell["outputs"] or cell["execution_count"] is not None] == []
