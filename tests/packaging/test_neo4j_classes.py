"""A server that ended leaves its archive of classes to later ones, whole or not at all."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plugins.neo4j_process import end


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as started:
        yield started
        started.kill()


def test_the_classes_are_kept_under_the_name_that_was_noted(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    archive = tmp_path / "jars" / "classes-1.jsa"
    archive.parent.mkdir()
    (tmp_path / "classes.path").write_text(str(archive))
    (tmp_path / "classes.jsa").write_bytes(b"classes")
    end(process.pid, tmp_path)
    assert process.wait() == -15
    assert [(path.name, path.read_bytes()) for path in archive.parent.iterdir()] == [
        (archive.name, b"classes")
    ]


def test_a_server_that_wrote_no_classes_leaves_none(tmp_path: Path, process: subprocess.Popen[bytes]) -> None:
    (tmp_path / "classes.path").write_text(str(tmp_path / "classes-1.jsa"))
    end(process.pid, tmp_path)
    assert process.wait() == -15
    assert [path.name for path in tmp_path.iterdir()] == ["classes.path"]


def test_a_server_that_keeps_no_classes_is_killed(tmp_path: Path, process: subprocess.Popen[bytes]) -> None:
    end(process.pid, tmp_path)
    assert process.wait() == -9
