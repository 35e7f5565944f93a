"""A test that ends its worker process is named, and the others run all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.packaging.repository import ROOT

TESTS = """
import os, pytest

@pytest.mark.parametrize("number", range(4))
def test_passes(number):
    assert number < 4

def test_ends_its_worker():
    os._exit(1)
"""


def test_a_worker_that_dies_is_a_failed_test_and_the_rest_runs(tmp_path: Path) -> None:
    (tmp_path / "test_deadly.py").write_text(TESTS)
    plugins = ("xdist", "schemathesis.pytest.plugin", "tests.plugins.lost_workers", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", *(f"-p{name}" for name in plugins)]
    told = subprocess.run(
        [*command, "-n", "2", "--rootdir", tmp_path, tmp_path],
        cwd=ROOT,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # but for those that it is about
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    assert "crashed while running" in told
    assert "test_deadly.py::test_ends_its_worker" in told
    assert "1 failed, 4 passed" in told
