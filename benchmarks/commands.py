"""What commands and imports take of the processor, over an import of LangGraph.

Bytecode is cached: each command runs once before it is measured.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.corpus import lessons
from benchmarks.goals import Goal
from benchmarks.plan import Findings, Plan
from benchmarks.table import Table
from benchmarks.timing import number

__all__ = ["command", "measure_commands", "run_command", "write_lines"]

_LANGGRAPH = "import langgraph.graph (not ours)"
_IMPORTS = {
    _LANGGRAPH: "import langgraph.graph",
    "python -c pass": "pass",
    "import ace_graph": "import ace_graph",
    "import ace_graph.memory": "import ace_graph.memory",
    "from ace_graph import build_ace_graph": "from ace_graph import build_ace_graph",
}
_COMMANDS = ("--help", "playbook list", "playbook show", "trajectory list")
_LIST = "ace-graph playbook list"
_LIST_OVER = 0.4


def measure_commands(plan: Plan, findings: Findings) -> None:
    """Add the table: each command as often as the plan starts processes, all in turns."""
    with tempfile.TemporaryDirectory(prefix="ace-bench-") as folder:
        commands = {name: [sys.executable, "-c", code] for name, code in _IMPORTS.items()}
        for words in _COMMANDS:
            store = [] if words == "--help" else ["--store", f"sqlite:///{folder}/ace.db"]
            commands[f"ace-graph {words}"] = command(*words.split(), *store)
        _, *runs = [
            {name: run_command(words) for name, words in commands.items()} for _ in range(plan.starts + 1)
        ]
    rows = [
        (
            name,
            number(_over(runs, name)),
            number(median(run[name] for run in runs) * 1000),
        )
        for name in commands
    ]
    note = f"Processor time of the whole process, over that of `{_LANGGRAPH}`; medians of {len(runs)} runs."
    findings.tables.append(Table("Commands and imports", ("command", "ratio", "ms"), rows, note))
    what = f"{_LIST}, over {_LANGGRAPH}"
    findings.goals.append(Goal(what, _over(runs, _LIST), _LIST_OVER, "times"))


def _over(runs: Sequence[Mapping[str, float]], name: str) -> float:
    return median(run[name] / run[_LANGGRAPH] for run in runs)


def command(*words: str) -> list[str]:
    """Return the command line of `ace-graph` with these words, from the package that is on the path."""
    return [sys.executable, "-P", "-c", "from ace_graph.cli.main import app; app()", *words]


def write_lines(file: Path, count: int) -> None:
    """Write a file of unlike lessons that `playbook import` reads."""
    file.write_text("## lessons\n" + "".join(f"- {text}\n" for text in lessons(count)), "utf-8")


def run_command(words: Sequence[str], folder: Path | None = None, **environment: str) -> float:
    """Run a command, with `folder` first on Python's path; return its seconds of the processor.

    Raises RuntimeError with the end of what it wrote to stderr where it fails.
    """
    path = {} if folder is None else {"PYTHONPATH": str(folder)}
    with tempfile.TemporaryFile() as said:
        running = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            cwd=folder,
            env={**os.environ, **path, **environment},
        )
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        if running.returncode:
            said.seek(0)
            raise RuntimeError(f"{words} failed: {said.read().decode(errors='replace')[-2_000:]}")
    return used.ru_utime + used.ru_stime
