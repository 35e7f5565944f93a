"""The help of every command as one text: `python -m tests.cli.help_texts > tests/cli/help.txt` writes it.

Does not: hold a test.
"""

from __future__ import annotations

import os
from contextlib import suppress
from unittest.mock import patch

from typer.testing import CliRunner

from tests.cli.commands import program

WIDTH = 100


def help_texts() -> str:
    """Return what `--help` prints for the program and for each command, in the order of the lists."""
    texts = [_help_of([])]
    texts += [_help_of(path.split()) for path in program().tree("")]
    return "\n\n".join(texts) + "\n"


def _help_of(words: list[str]) -> str:
    with (
        patch("typer.rich_utils.MAX_WIDTH", WIDTH),
        patch("typer.rich_utils.FORCE_TERMINAL", new=False),
        patch.dict(os.environ, {"COLUMNS": str(WIDTH)}),
        CliRunner().isolation() as (out, _, _),
    ):
        with suppress(SystemExit):
            program().main([*words, "--help"], prog_name="ace-graph")
        lines = out.getvalue().decode().splitlines()
    return "\n".join(line.rstrip() for line in lines).strip("\n")


if __name__ == "__main__":
    print(help_texts(), end="")
