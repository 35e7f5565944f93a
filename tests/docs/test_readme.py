"""What README shows of the program is what the program does."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from typer.testing import CliRunner

import ace_graph.cli.main as command_line
from tests.docs.blocks import SECONDS, clean_environment, not_printed, read_blocks

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_output_of_the_demo_is_what_it_prints(tmp_path: Path) -> None:
    """The lines stand in the real output in this order; `...` stands for lines left out, between any two."""
    [block] = [b for b in read_blocks(README) if b.language == "text" and "ada>" in b.text]
    done = subprocess.run(
        ["ace-graph", "demo"],
        cwd=tmp_path,
        env=clean_environment(tmp_path),
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    assert not_printed(block.text, done.stdout) == []


def test_every_command_in_its_table_exists() -> None:
    rows = re.findall(r"^\| `ace-graph ([a-z0-9 ]+)` \| (.*) \|$", README, re.MULTILINE)
    assert len(rows) > 8
    wanted = list[list[str]]()
    for command, told in rows:
        *group, _ = words = command.split()
        siblings = re.findall(r"`([a-z]+)`", told) if group else []
        wanted += [words, *([*group, sibling] for sibling in siblings)]
    refused = [w for w in wanted if CliRunner().invoke(command_line.app, [*w, "--help"]).exit_code != 0]
    assert refused == []
