"""The copy of the repository that mutmut works on.

mutmut finds no tests for code behind a symbolic link, so the copy has folders where the repository has links,
and its pyproject.toml ends with mutmut's settings.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = [
    "BUDGET",
    "MUTATED",
    "SECOND_BUDGET",
    "TESTS",
    "WITHOUT_SERVERS",
    "make_copy",
    "mutated_paths",
    "settings",
]

ROOT = Path(__file__).resolve().parents[2]

MUTATED = (
    "ace_graph/memory/*",
    "ace_graph/learning/*",
    "ace_graph/training/*",
    "ace_graph/agent/evidence.py",
)
"""What is mutated, as paths of the copy."""

_NOT_MUTATED = tuple(f"ace_graph/memory/stores/{name}" for name in ("neo4j*", "sql/postgres*", "base.py"))
"""What needs a server, and protocols, which what mutmut adds to them would change."""

TESTS = (
    "tests/memory",
    "tests/learning",
    "tests/prompts",
    "tests/reasoning",
    "tests/evaluation",
    "tests/trajectories",
    "tests/consolidation",
    "tests/playbooks",
    "tests/cleaning",
    "tests/graph",
    "tests/background",
    "tests/adaptation",
    "tests/tools",
    "tests/runtime",
    "tests/settings",
    "tests/offline_tutor",
    "tests/upgrade",
    "tests/cli",
)
"""Where the tests are that run; the others hardly touch what is mutated, take long or need a server."""

BUDGET, SECOND_BUDGET = 8.0, 15.0
"""How many seconds of tests a mutant meets at most, by the time they took without it.

A mutant that survives is tried once more with more tests, in a process that imports the code with the mutant
in it: some functions are called when their module is imported, and never again.
"""

_NO_EFFECT = ("\\bcast\\(",)
"""What mutants can't change: the type in a cast is for type checkers."""

_COPIED = (
    *("ace_graph", "tests", "benchmarks", "dev", "docs", "notebooks", "deploy"),
    *(
        "pyproject.toml",
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
        "langgraph.json",
    ),
)
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", "*.egg-info", "*.db")
_FINGERPRINT = "fingerprint"


WITHOUT_SERVERS = ("-m", "not heavy and not slow and not neo4j", "--ignore=tests/memory/stores/postgres")
"""Leaves out the tests that need a server, or very long."""

_ARGUMENTS = ("-p", "no:cacheprovider", *WITHOUT_SERVERS)


def make_copy(work: Path, only: Sequence[str] = MUTATED, tests: Sequence[str] = TESTS) -> Path:
    """Return the copy below `work`: the one that is there, and what it knows, if nothing has changed."""
    tree, note = work / "tree", work / _FINGERPRINT
    wanted = _fingerprint(only, tests)
    if note.exists() and note.read_text() == wanted:
        return tree
    shutil.rmtree(work, ignore_errors=True)
    tree.mkdir(parents=True)
    for name in _COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, symlinks=False, ignore=_LEFT_OUT)
        elif (ROOT / name).exists():
            shutil.copy2(ROOT / name, tree / name)
    with (tree / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(settings(only, tests))
    note.write_text(wanted)
    return tree


def settings(only: Sequence[str], tests: Sequence[str]) -> str:
    """Return mutmut's section of pyproject.toml."""
    return f"""
[tool.mutmut]
source_paths = ["ace_graph"]
only_mutate = {json.dumps(list(only))}
do_not_mutate = {json.dumps(_NOT_MUTATED)}
do_not_mutate_patterns = {json.dumps(_NO_EFFECT)}
also_copy = {json.dumps([name for name in _COPIED if name not in ("ace_graph", "tests", "pyproject.toml")])}
pytest_add_cli_args = {json.dumps(_ARGUMENTS)}
pytest_add_cli_args_test_selection = {json.dumps(list(tests))}
process_isolation = "forkserver"
timeout_multiplier = 4.0
timeout_constant = 10.0
"""


def mutated_paths(files: Iterable[str]) -> list[str]:
    """Return where in the copy files of the repository are: memory/x.py is ace_graph/memory/x.py there."""
    return [f"ace_graph/{name}" if name.startswith(("memory/", "nodes/")) else name for name in files]


def _fingerprint(only: Sequence[str], tests: Sequence[str]) -> str:
    """What decides which mutants there are and which tests they meet."""
    found = hashlib.sha256(settings(only, tests).encode())
    for folder in ("ace_graph", "memory", "nodes", "tests", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            found.update(f"{path.relative_to(ROOT)}\0".encode())
            found.update(path.read_bytes())
    return found.hexdigest()
