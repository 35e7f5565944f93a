"""What docs/learning.md shows of one life of a lesson is what its commands print, line by line."""

from __future__ import annotations

from pathlib import Path

from tests.docs.blocks import not_printed, read_blocks, run_block
from tests.plugins.warm_python import WarmPython

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "learning.md").read_text(encoding="utf-8")


def test_the_trace_is_what_the_commands_print(tmp_path: Path, warm_python: WarmPython) -> None:
    blocks = read_blocks(PAGE)
    [at] = [n for n, block in enumerate(blocks) if block.language == "text"]
    done = run_block(blocks[at - 1], tmp_path, warm_python)
    assert done.returncode == 0, done.stderr
    assert done.stdout == blocks[at].text


def test_a_line_that_is_not_printed_is_seen() -> None:
    assert not_printed("a\n...\nc\n", "a\nb\nc\n") == []
    assert not_printed("c\na\n", "a\nb\nc\n") == ["a"]
