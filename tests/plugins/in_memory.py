"""What a run writes is kept in memory where there is room: on a disk a database waits at each commit.

A file of tests makes thousands of them, and no test asks what survives a power cut. The folder goes when all
has passed, and stays for a look when something has failed. TMPDIR names another place.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

VARIABLE = "TMPDIR"
MEMORY = Path("/dev/shm")
_ENOUGH = 4 * 2**30
_FOLDER = pytest.StashKey[Path]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Every process of the run inherits the folder."""
    if os.environ.get(VARIABLE) or not _has_room():
        return
    folder = Path(tempfile.mkdtemp(prefix="ace-", dir=MEMORY))  # short, for the paths of sockets in it
    folder.chmod(0o755)  # servers that refuse to run as root are other users
    config.stash[_FOLDER] = folder
    os.environ[VARIABLE] = tempfile.tempdir = str(folder)


def _has_room() -> bool:
    """Whether memory is a disk here that is large enough, and runs programs: a container's may not."""
    if not os.access(MEMORY, os.W_OK):
        return False
    return not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC and shutil.disk_usage(MEMORY).free >= _ENOUGH


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    folder = config.stash.get(_FOLDER, None)
    if folder is None:
        return
    del os.environ[VARIABLE]
    tempfile.tempdir = None
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not (reporter.stats.get("failed") or reporter.stats.get("error")):
        shutil.rmtree(folder, ignore_errors=True)
