"""Mutants made by mutmut, and what became of those that were tried.

Verdicts are kept in a file beside the mutants, so a run that was broken off goes on where it was.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from benchmarks.mutants.tree import WITHOUT_SERVERS

__all__ = ["CONTROL", "Change", "Verdict", "change_of", "mutants_of", "prepare", "try_mutants", "verdicts"]

Verdict = Literal["killed", "timeout", "survived", "no tests", "odd"]

Pass = Literal["first", "second"]

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


class Change(NamedTuple):
    """What a mutant changes: the lines that go and those that come, without their indentation."""

    gone: str
    new: str


def prepare(tree: Path, tests: Sequence[str], children: int = 1) -> None:
    """Make the mutants and find out which of `tests` reach which function, unless that is done.

    Raises RuntimeError with what was said when that did not work.
    """
    folder, made = tree / "mutants", tree / "made"
    if not made.exists():
        _python(tree, "-m", "benchmarks.mutants.make_mutants", str(children))
        made.touch()
    if not (folder / "reached.json").exists():
        plugins = ("-p", "benchmarks.mutants.coverage_plugin", "-p", "no:cacheprovider")
        environment = {**os.environ, "MUTANT_UNDER_TEST": "stats", "PYTHONPATH": "."}
        command = ("-m", "pytest", "--rootdir=.", "-q", *plugins, *WITHOUT_SERVERS, *tests)
        _python(folder, *command, environment=environment, codes=(0, 1))


def mutants_of(tree: Path) -> list[str]:
    """Return the names of all mutants, sorted."""
    paths = (tree / "mutants").rglob("*.py.meta")
    return sorted(name for path in paths for name in json.loads(path.read_text())["exit_code_by_key"])


def try_mutants(tree: Path, names: Sequence[str], children: int = 1) -> None:
    """Run tests on each of the mutants that has no verdict yet, and once more on those that survive.

    What ended oddly is tried once more, too. `children` mutants are tried at once. Raises RuntimeError when a
    trial stopped before its end, and when tests fail without any mutant, for then no verdict means anything.
    """
    _pass(tree, "first", names, children)
    known = _read(tree, "first")
    again = [name for name in names if known[name] in ("survived", "no tests", "odd")]
    _pass(tree, "second", again, children)
    passed = ("survived", "no tests")
    known = verdicts(tree)
    failed = [name for name in names if name.startswith(CONTROL) and known[name] not in passed]
    if failed:
        raise RuntimeError(f"tests fail without a mutant, so none can be judged: {failed}")


def verdicts(tree: Path) -> dict[str, Verdict]:
    """Return what became of every name that was tried; the second pass counts where there was one.

    What ends oddly there is killed: its tests can't even be collected, though those of the controls can.
    """
    second: dict[str, Verdict] = {
        name: "killed" if verdict == "odd" and not name.startswith(CONTROL) else verdict
        for name, verdict in _read(tree, "second").items()
    }
    return {**_read(tree, "first"), **second}


def _pass(tree: Path, which: Pass, names: Sequence[str], children: int) -> None:
    known = _read(tree, which)
    left = [name for name in names if name not in known]
    if left:
        (tree / "names.json").write_text(json.dumps(left))
        command = ("-m", "benchmarks.mutants.trial", which, "names.json", _file(tree, which).name)
        _python(tree, *command, str(children))


def _read(tree: Path, which: Pass) -> dict[str, Verdict]:
    file = _file(tree, which)
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {name: _VERDICTS.get(code, "odd") for name, code in map(json.loads, lines)}


def _file(tree: Path, which: Pass) -> Path:
    return tree / f"verdicts-{which}.jsonl"


def change_of(tree: Path, name: str) -> Change:
    """Return what the mutant changes."""
    shown = _mutmut(tree, "show", name).splitlines()
    gone = [line[1:].strip() for line in shown if line.startswith("-") and not line.startswith("---")]
    new = [line[1:].strip() for line in shown if line.startswith("+") and not line.startswith("+++")]
    return Change(" ".join(gone), " ".join(new))


def _python(
    folder: Path, *arguments: str, environment: Mapping[str, str] | None = None, codes: Sequence[int] = (0,)
) -> None:
    """Run a program of ours; its output is in the file `output.txt` beside the mutants."""
    told = folder / "output.txt"
    with told.open("w", encoding="utf-8") as file:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=folder, env=environment, stdout=file, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    if done.returncode not in codes:
        said = told.read_text(encoding="utf-8", errors="replace")
        raise RuntimeError(f"{' '.join(arguments[:3])} ended with {done.returncode}:\n{said[-4_000:]}")


def _mutmut(tree: Path, *arguments: str) -> str:
    program = Path(sys.executable).parent / "mutmut"
    return subprocess.run([program, *arguments], cwd=tree, capture_output=True, text=True, check=True).stdout
