"""What docs/deploy shows of PostgreSQL alone works, its backup and restore among it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.docs.blocks import read_blocks, run_block
from tests.plugins.warm_python import WarmPython

PAGES = Path(__file__).resolve().parents[2] / "docs" / "deploy"
URL = "postgresql://ace@127.0.0.1:5433/postgres"


def _page(name: str) -> str:
    return (PAGES / name).read_text(encoding="utf-8")


def test_everything_in_postgresql_is_backed_up_and_restored(
    tmp_path: Path, warm_python: WarmPython, empty_postgres: str
) -> None:
    [block] = [block for block in read_blocks(_page("postgresql.md")) if f"ACE_STORE={URL}" in block.text]
    there = replace(block, text=block.text.replace(URL, empty_postgres))
    done = run_block(there, tmp_path, warm_python)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Draw the fractions first" in done.stdout.splitlines()[-1]


def test_a_memory_moves_to_postgresql_as_shown(
    tmp_path: Path, warm_python: WarmPython, empty_postgres: str
) -> None:
    [block] = [block for block in read_blocks(_page("moving.md")) if f" TO={URL}" in block.text]
    there = replace(block, text=block.text.replace(URL, empty_postgres))
    done = run_block(there, tmp_path, warm_python)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Copied 1 of 1 to postgresql://" in done.stdout
    assert "Then name the unit" in done.stdout.splitlines()[-1]
