"""Every file of examples/ runs without a key, and prints what examples/README.md shows."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.blocks import clean_environment, read_blocks
from tests.plugins.sizes import PATIENT
from tests.plugins.warm_python import WarmPython

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PAGE = (EXAMPLES / "README.md").read_text(encoding="utf-8")
_RUN_FILE = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"


def _shown() -> dict[str, str]:
    """What the page shows under the heading of each file."""
    _, *rest = re.split(r"^## (\w+\.py)$", PAGE, flags=re.MULTILINE)
    return {
        name: "".join(block.text for block in read_blocks(text) if block.language == "text")
        for name, text in zip(rest[::2], rest[1::2], strict=True)
    }


def _printed(name: str, folder: Path, python: WarmPython) -> str:
    """Run an example in an empty folder, warnings being errors; return what it prints."""
    done = subprocess.run(
        python("-W", "error", "-c", _RUN_FILE, str(EXAMPLES / name)),
        cwd=folder,
        env={**clean_environment(folder), "ACE_MODEL": "none:none"},  # asking the settings' model would fail
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENT,
    )
    assert done.returncode == 0, done.stderr
    assert list(folder.iterdir()) == [], "an example leaves nothing behind"
    return done.stdout


def test_every_file_has_its_part_of_the_page() -> None:
    assert sorted(_shown()) == sorted(path.name for path in EXAMPLES.glob("*.py"))


def test_the_basic_loop_runs_offline(tmp_path: Path, warm_python: WarmPython) -> None:
    assert _printed("basic_loop.py", tmp_path, warm_python) == _shown()["basic_loop.py"]


def test_the_manual_loop_runs_with_its_failure(tmp_path: Path, warm_python: WarmPython) -> None:
    printed = _printed("manual_loop.py", tmp_path, warm_python)
    assert printed == _shown()["manual_loop.py"]
    assert printed.startswith("failure: 504 Gateway Timeout")


def test_a_workflow_learns_when_it_ends(tmp_path: Path, warm_python: WarmPython) -> None:
    assert _printed("workflow.py", tmp_path, warm_python) == _shown()["workflow.py"]


def test_ten_runs_are_reflected_on_and_curated(tmp_path: Path, warm_python: WarmPython) -> None:
    assert _printed("batch.py", tmp_path, warm_python) == _shown()["batch.py"]


def test_a_consolidation_says_what_it_lost(tmp_path: Path, warm_python: WarmPython) -> None:
    assert _printed("consolidate.py", tmp_path, warm_python) == _shown()["consolidate.py"]


def test_a_playbook_is_shared_and_taken_back(tmp_path: Path, warm_python: WarmPython) -> None:
    assert _printed("sharing.py", tmp_path, warm_python) == _shown()["sharing.py"]


@pytest.mark.parametrize(
    "name",
    [
        *("tool_agent.py", "retrieval_agent.py", "own_graph.py", "supervisor.py", "team_agent.py"),
        *("pydantic_ai_agent.py", "openai_agent.py"),
        "json_store.py",
    ],
)
def test_an_agent_of_another_kind_remembers(name: str, tmp_path: Path, warm_python: WarmPython) -> None:
    assert _printed(name, tmp_path, warm_python) == _shown()[name]


@pytest.mark.parametrize("name", sorted(_shown()))
def test_an_example_is_short(name: str) -> None:
    most = 190 if name == "json_store.py" else 100  # it is a whole store
    assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) <= most
