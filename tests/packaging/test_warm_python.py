"""A process of the warm Python is like one that started cold: what it is given, and how it ends."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.plugins.warm_python import WarmPython, cold_python

SAYS = "import os, sys; print(__name__, sys.argv, sys.stdin.read(), os.getcwd(), os.environ['GIVEN'])"
WAITS = "import signal; print('up', flush=True); signal.pause()"


@pytest.mark.parametrize("warm", [True, False])
def test_it_gets_arguments_input_folder_and_environment(
    warm: bool, warm_python: WarmPython, tmp_path: Path
) -> None:
    done = subprocess.run(
        (warm_python if warm else cold_python)("-c", SAYS, "one", "two words"),
        cwd=tmp_path,
        env={"GIVEN": "this"},
        input="typed",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"__main__ ['-c', 'one', 'two words'] typed {tmp_path} this\n"


@pytest.mark.parametrize(
    ("code", "ended", "told"),
    [
        ("raise SystemExit(3)", 3, ""),
        ("import os; os.kill(os.getpid(), 9)", -9, ""),
        ("{}['missing']", 1, "KeyError: 'missing'\n"),
    ],
)
def test_it_ends_as_its_program_does(code: str, ended: int, told: str, warm_python: WarmPython) -> None:
    done = subprocess.run(warm_python("-c", code), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (ended, "")
    assert done.stderr.endswith(told)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_a_signal(number: signal.Signals, warm_python: WarmPython) -> None:
    with subprocess.Popen(warm_python("-c", WAITS), stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "up\n"
        started.send_signal(number)
        assert started.stdout.read() == "", "it comes to an end only when nobody can write any more"
        assert started.wait() == -number


def test_two_processes_share_nothing(warm_python: WarmPython) -> None:
    code = "import json, ace_graph.base.errors as e; print(hasattr(e, 'mark')); e.mark = 1"
    for _ in range(2):
        done = subprocess.run(warm_python("-c", code), capture_output=True, text=True, check=True)
        assert done.stdout == "False\n"


def test_what_a_program_leaves_open_ends_and_is_told(warm_python: WarmPython) -> None:
    code = (
        "import atexit, sys\n"
        "class Open:\n"
        "    def __del__(self, write=sys.stdout.write): write('deleted')\n"
        "kept = Open(); kept.itself = kept\n"
        "atexit.register(lambda: sys.stdout.write('exited '))\n"
        "raise SystemExit(4)\n"
    )
    done = subprocess.run(warm_python("-c", code), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (4, "exited deleted", "")
