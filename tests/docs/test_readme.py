"""The output that README shows is the output of the program."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.docs.blocks import clean_environment, not_printed, read_blocks
from tests.plugins.sizes import PATIENT

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
        timeout=PATIENT,
    )
    assert done.returncode == 0, done.stderr
    assert not_printed(block.text, done.stdout) == []
