"""Mutants made by mutmut, and what became of those that were tried.

Verdicts are kept in a file beside the mutants, so a run that was broken off goes on where it was.

Does not: choose mutants, or run tests in this process.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

__all__ = ["CONTROL", "Change", "Verdict", "change_of", "mutants_of", "prepare", "try_mutants", "verdicts"]

Verdict = Literal["killed", "timeout", "survived", "no tests", "odd"]

_VERDICTS: dict[int, Verdict] = {
    0: "survived",
    1: "killed",
    3: "killed",
    5: "no tests",
    33: "no tests",
    -24: "timeout",
    24: "timeout",
    36: "timeout",
    152: "timeout",
}
"""By the exit code of pytest, or of the time limit. Any other code is odd, and no kill."""

CONTROL = "control:"
"""Before a mutant's name: its tests without the mutant, which must pass."""

_NO_MUTANT = "no-mutant-has-this-name"
_PROGRESS = re.compile("^[\u2800-\u28ff] ")
"""A sign of Braille turns before such a line."""


class Change(NamedTuple):
    """What a mutant changes: the lines that go and those that come, without their indentation."""

    gone: str
    new: str


def prepare(tree: Path, children: int = 1) -> None:
    """Make the mutants and measure the tests, unless that is done.

    mutmut has no command for these two alone; asked to try a mutant that does not exist, it does them and
    ends. Raises RuntimeError with what mutmut said when it could not: a test fails without any mutant.
    """
    stats = tree / "mutants" / "mutmut-stats.json"
    if stats.exists():
        return
    done = _mutmut(tree, "run", "--max-children", str(children), _NO_MUTANT)
    if not stats.exists():
        raise RuntimeError(f"mutmut could not begin:\n{_said(done)}")


def mutants_of(tree: Path) -> list[str]:
    """Return the names of all mutants, sorted."""
    paths = (tree / "mutants").rglob("*.py.meta")
    return sorted(name for path in paths for name in json.loads(path.read_text())["exit_code_by_key"])


def try_mutants(tree: Path, names: Iterable[str], children: int = 1) -> None:
    """Run the tests that reach each of the mutants' functions, for those that have no verdict yet.

    `children` mutants are tried at once. Raises RuntimeError when the trial stopped before its end, and when
    tests fail without any mutant, for then no verdict means anything.
    """
    known = verdicts(tree)
    left = [name for name in names if name not in known]
    if left:
        (tree / "names.json").write_text(json.dumps(left))
        command = [
            sys.executable,
            "-m",
            "benchmarks.mutants.trial",
            "names.json",
            _file(tree).name,
            str(children),
        ]
        done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"the trial stopped:\n{_said(done)}")
    failed = [
        name for name, verdict in verdicts(tree).items() if name.startswith(CONTROL) and verdict != "survived"
    ]
    if failed:
        raise RuntimeError(f"tests fail without a mutant, so none can be judged: {failed}")


def verdicts(tree: Path) -> dict[str, Verdict]:
    """Return what became of every name that was tried."""
    file = _file(tree)
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {name: _VERDICTS.get(code, "odd") for name, code in map(json.loads, lines)}


def change_of(tree: Path, name: str) -> Change:
    """Return what the mutant changes."""
    shown = _mutmut(tree, "show", name).stdout.splitlines()
    gone = [line[1:].strip() for line in shown if line.startswith("-") and not line.startswith("---")]
    new = [line[1:].strip() for line in shown if line.startswith("+") and not line.startswith("+++")]
    return Change(" ".join(gone), " ".join(new))


def _file(tree: Path) -> Path:
    return tree / "verdicts.jsonl"


def _said(done: subprocess.CompletedProcess[str]) -> str:
    """The end of what mutmut printed, without its lines of progress."""
    lines = f"{done.stdout}\n{done.stderr}".splitlines()
    return "\n".join(line for line in lines if line.strip() and not _PROGRESS.search(line))[-6_000:]


def _mutmut(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / "mutmut"
    return subprocess.run([program, *arguments], cwd=tree, capture_output=True, text=True, check=False)
