"""No test opens the memory of whoever runs it: what names no file is kept in a folder of the run."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest

VARIABLE = "XDG_DATA_HOME"
_FOLDER = pytest.StashKey[str]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Every process of the run gets a folder of its own; the processes that tests start inherit it."""
    config.stash[_FOLDER] = os.environ[VARIABLE] = tempfile.mkdtemp(prefix="ace-test-data-")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Nothing is left behind."""
    shutil.rmtree(config.stash[_FOLDER], ignore_errors=True)
