"""Each component of the learning loop is a module that imports alone, without a database and a network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

COMPONENTS = {
    "trajectory": "ace_graph.learning.trajectories",
    "reflector": "ace_graph.learning.reflector",
    "curator": "ace_graph.learning.curator",
    "playbook": "ace_graph.memory.playbook",
    "consolidation": "ace_graph.memory.consolidation",
    "executing": "ace_graph.learning.execution",
}

TESTED_IN = {
    "trajectory": "tests/trajectories/test_recording.py",
    "reflector": "tests/learning/test_reflection.py",
    "curator": "tests/learning/test_curate_reflections.py",
    "playbook": "tests/memory/test_bullet_and_playbook.py",
    "consolidation": "tests/memory/consolidation/test_plan.py",
    "executing": "tests/trajectories/test_execution.py",
}

# One interpreter that has imported nothing forks one child for each component: as many fresh interpreters.
_IMPORT_EACH = """
import importlib, os, socket, sqlite3, sys

def refuse(*_, **__):
    raise RuntimeError("a connection while importing")

socket.socket.connect = socket.create_connection = sqlite3.connect = refuse
failed = []
for name in sys.argv[1:]:
    assert not any(each.startswith("ace_graph") for each in sys.modules)
    child = os.fork()
    if child == 0:
        try:
            importlib.import_module(name)
        except BaseException as error:
            print(name, repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(name)
sys.exit(f"failed: {failed}" if failed else 0)
"""


def test_each_component_imports_alone_without_a_database() -> None:
    command = [sys.executable, "-c", _IMPORT_EACH, *COMPONENTS.values()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_component_has_a_module_of_tests() -> None:
    assert TESTED_IN.keys() == COMPONENTS.keys()
    root = Path(__file__).resolve().parents[2]
    texts = {file: (root / file).read_text(encoding="utf-8") for file in TESTED_IN.values()}
    assert [file for file, text in texts.items() if text.count("def test_") < 5] == []


def test_a_component_that_connects_while_it_is_imported_is_found() -> None:
    script = f"{_IMPORT_EACH}".replace("importlib.import_module(name)", "sqlite3.connect(':memory:')")
    done = subprocess.run([sys.executable, "-c", script, "x"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "a connection while importing" in done.stdout
