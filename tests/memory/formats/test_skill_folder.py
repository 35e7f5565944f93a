"""The folder of a skill: SKILL.md is read, and a folder that may do harm is refused before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ace_graph.base import FormatError
from ace_graph.memory.formats import MAX_ENTRIES, checked_skill_folder, read_text

SKILL = "---\nname: pdf\ndescription: Forms.\n---\n- Read the fields\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "pdf"
    (found / "references").mkdir(parents=True)
    (found / "SKILL.md").write_text(SKILL, encoding="utf-8")
    return found


def test_other_files_are_named_and_not_opened(folder: Path) -> None:
    (folder / "LICENSE.txt").write_text("MIT", encoding="utf-8")
    (folder / "references" / "big.md").write_bytes(b"\xff\x00")
    (folder / "references" / "big.md").chmod(0)
    assert read_text(folder) == SKILL
    assert checked_skill_folder(folder).others == ("LICENSE.txt", "references/big.md")


@pytest.mark.parametrize("name", ["scripts/run.py", "a/b/RUN.SH", "setup.exe", "x.Js"])
def test_a_script_refuses_the_folder(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("", encoding="utf-8")
    with pytest.raises(FormatError, match=r"it holds a script, .*import SKILL.md itself"):
        read_text(folder)


def test_a_file_that_may_be_run_is_a_script(folder: Path) -> None:
    (folder / "tool").write_text("", encoding="utf-8")
    (folder / "tool").chmod(0o755)
    with pytest.raises(FormatError, match="it holds a script, 'tool'"):
        read_text(folder)


@pytest.mark.parametrize("name", ["SKILL.md", "references/notes.md", "more"])
def test_a_link_refuses_the_folder(folder: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text(SKILL, encoding="utf-8")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(tmp_path / "secret" if name != "more" else tmp_path)
    with pytest.raises(FormatError, match="it holds a link"):
        read_text(folder)


@pytest.mark.parametrize("name", ["SKILL.md", "pipe"])
def test_a_pipe_refuses_the_folder_and_nobody_waits(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    with pytest.raises(FormatError, match="not a file"):
        read_text(folder)


def test_a_folder_without_the_file_is_no_skill(folder: Path) -> None:
    (folder / "SKILL.md").rename(folder / "references" / "SKILL.md")
    with pytest.raises(FormatError, match=r"without a SKILL.md"):
        read_text(folder)
    (folder / "SKILL.md").mkdir()
    with pytest.raises(FormatError, match=r"without a SKILL.md"):
        read_text(folder)


def test_a_huge_file_is_refused_before_it_is_read(folder: Path) -> None:
    with (folder / "SKILL.md").open("wb") as file:
        file.truncate(200_000_000)
    with pytest.raises(FormatError, match="larger than 20 MB"):
        read_text(folder)


def test_many_files_and_deep_folders_are_refused(folder: Path) -> None:
    for number in range(MAX_ENTRIES):
        (folder / "references" / f"{number}.md").touch()
    with pytest.raises(FormatError, match="more than 1000 files"):
        read_text(folder)
    deep = folder.parent / "deep"
    (deep / "/".join("x" * 20)).mkdir(parents=True)
    with pytest.raises(FormatError, match="nested deeper"):
        read_text(deep)
