"""What docs/start.md shows of the first lesson is what its commands print."""

from __future__ import annotations

from pathlib import Path

from tests.docs.blocks import not_printed, read_blocks, run_block
from tests.plugins.warm_python import WarmPython

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "start.md").read_text(encoding="utf-8")


def test_the_first_lesson_is_what_the_commands_print(tmp_path: Path, warm_python: WarmPython) -> None:
    blocks = read_blocks(PAGE)
    [at] = [n for n, block in enumerate(blocks) if block.language == "text"]
    done = run_block(blocks[at - 1], tmp_path, warm_python)
    assert done.returncode == 0, done.stderr
    assert not_printed(blocks[at].text, done.stdout) == []
