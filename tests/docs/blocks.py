"""The fenced examples of a Markdown file, and how one is run.

A ```bash or ```python block is run. One that can't be (it needs a key, a server, a person) has the comment
`<!-- not run: reason -->` as the last line before its fence. `not_printed` compares a page with real output.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.plugins.sizes import PATIENT
from tests.plugins.warm_python import WarmPython, cold_python

RUNNABLE = ("bash", "python")
OTHER_NAMES = frozenset({"sh", "shell", "console", "zsh", "py", "python3", "pycon"})

_FENCE = re.compile(
    r"^(?P<fence>`{3,})(?P<language>[\w+-]*)[^`\n]*\n(?P<text>.*?)^(?P=fence)\s*$", re.MULTILINE | re.DOTALL
)
_NOT_RUN = re.compile(r"<!-- not run:((?:(?!-->).)*)-->\s*\Z", re.DOTALL)
_STRAY_FENCE = re.compile(r"^\s*```", re.MULTILINE)
_OUR_VARIABLES = ("ACE_", "NEO4J_", "GEMINI_", "GOOGLE_", "TAVILY_", "LANGSMITH_", "LANGCHAIN_", "XDG_")
_ACE_GRAPH = "from ace_graph.cli.main import app; app(prog_name='ace-graph')"
# As in a notebook, an example may await at its top level.
_RUN_PYTHON = """
import __main__, ast, asyncio, inspect, sys
code = compile(sys.stdin.read(), "example", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
result = eval(code, vars(__main__))
if inspect.iscoroutine(result):
    asyncio.run(result)
"""


@dataclass(frozen=True)
class Block:
    """One fenced block: where it begins, its language, its text, and why it is not run (None: it is)."""

    line: int
    language: str
    text: str
    not_run: str | None


def read_blocks(markdown: str) -> list[Block]:
    """Every fenced block of a page, in order; raises ValueError on a fence that is indented or open."""
    if _STRAY_FENCE.search(_FENCE.sub("", markdown)):
        raise ValueError("a fence is indented or never ends, so its example would not be run")
    blocks: list[Block] = []
    for match in _FENCE.finditer(markdown):
        mark = _NOT_RUN.search(markdown, 0, match.start())
        blocks.append(
            Block(
                line=markdown.count("\n", 0, match.start()) + 1,
                language=match["language"],
                text=match["text"],
                not_run=mark[1].strip() if mark else None,
            )
        )
    return blocks


def clean_environment(home: Path) -> dict[str, str]:
    """This process's environment without our settings, at home in `home`, this Python's commands first.

    What the pages print is what the base install prints, without embeddings.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OUR_VARIABLES)}
    commands = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", "")])
    ours = {"ACE_MODEL": "offline", "ACE_EMBEDDINGS": "off", "LANGSMITH_TRACING": "false"}
    return {**kept, **ours, "HOME": str(home), "PATH": commands}


def run_block(block: Block, home: Path, python: WarmPython = cold_python) -> subprocess.CompletedProcess[str]:
    """Runs a block in `home`, without standard input (Python's is the block itself)."""
    bash = block.language == "bash"
    environment = clean_environment(home)
    if bash and python is not cold_python:
        environment["PATH"] = os.pathsep.join([str(_commands(home, python)), environment["PATH"]])
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.text] if bash else python("-c", _RUN_PYTHON),
        cwd=home,
        env=environment,
        input="" if bash else block.text,
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENT,
    )


def _commands(home: Path, python: WarmPython) -> Path:
    """A folder beside `home` with an `ace-graph` that is started by `python`."""
    folder = home.with_name(f"{home.name}-commands")
    folder.mkdir()
    program = folder / "ace-graph"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(python("-c", _ACE_GRAPH))} "$@"\n')
    program.chmod(0o755)
    return folder


def not_printed(shown: str, printed: str) -> list[str]:
    """The lines of `shown` that do not come in `printed` in their order; `...` stands for lines left out."""
    lines = iter(line.rstrip() for line in printed.splitlines())
    wanted = [line.rstrip() for line in shown.splitlines() if line.strip() != "..."]
    return [line for line in wanted if line not in lines]  # `in` goes on from where it found the last
