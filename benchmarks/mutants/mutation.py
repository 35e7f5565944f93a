"""mutmut, called as a program: makes the mutants, measures which test reaches which function, and tries some.

It keeps its verdicts in files beside the mutants, so a run that was broken off goes on where it was.

Does not: choose mutants.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

__all__ = ["Change", "Verdict", "change_of", "prepare", "try_mutants", "verdicts"]

Verdict = Literal["killed", "timeout", "survived", "no tests", "odd", "not tried"]

_VERDICTS: dict[int | None, Verdict] = {
    None: "not tried",
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

_PROGRESS = re.compile("^[\u2800-\u28ff] ")
"""A sign of Braille turns before such a line."""

_NO_MUTANT = "no-mutant-has-this-name"


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


def try_mutants(tree: Path, names: Sequence[str], children: int = 1) -> None:
    """Run the tests that reach each of the mutants' functions, for those that have no verdict yet.

    `children` mutants are tried at once. Raises RuntimeError with what mutmut said when it stopped.
    """
    known = verdicts(tree)
    left = [name for name in names if known[name] == "not tried"]
    if not left:
        return
    done = _mutmut(tree, "run", "--max-children", str(children), *left)
    if done.returncode:
        raise RuntimeError(f"mutmut stopped:\n{_said(done)}")


def verdicts(tree: Path) -> dict[str, Verdict]:
    """Return every mutant's name with what became of it."""
    return dict(_verdicts(tree))


def change_of(tree: Path, name: str) -> Change:
    """Return what the mutant changes."""
    shown = _mutmut(tree, "show", name).stdout.splitlines()
    gone = [line[1:].strip() for line in shown if line.startswith("-") and not line.startswith("---")]
    new = [line[1:].strip() for line in shown if line.startswith("+") and not line.startswith("+++")]
    return Change(" ".join(gone), " ".join(new))


def _verdicts(tree: Path) -> Iterator[tuple[str, Verdict]]:
    for path in sorted((tree / "mutants").rglob("*.py.meta")):
        codes: dict[str, int | None] = json.loads(path.read_text())["exit_code_by_key"]
        for name, code in codes.items():
            yield name, _VERDICTS.get(code, "odd")


def _said(done: subprocess.CompletedProcess[str]) -> str:
    """The end of what mutmut printed, without its lines of progress."""
    lines = f"{done.stdout}\n{done.stderr}".splitlines()
    return "\n".join(line for line in lines if line.strip() and not _PROGRESS.search(line))[-6_000:]


def _mutmut(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / "mutmut"
    return subprocess.run([program, *arguments], cwd=tree, capture_output=True, text=True, check=False)
