"""Playbooks and data sets of other projects, for the tests that ask for them by the fixture `shared_data`.

They are in the folder that ACE_TEST_DATA names, or in ../shared/data beside this project; where there is
neither, those tests are deselected.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"


def _folder() -> Path:
    return Path(os.environ.get("ACE_TEST_DATA") or _BESIDE)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with the files of other projects."""
    return _folder()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if _folder().is_dir():
        return
    left_out = [item for item in items if "shared_data" in getattr(item, "fixturenames", ())]
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
