"""A provider for `ace-graph adapt`: Gemini's REST on this machine, answering sums by fixed rules.

Does not: hold a test.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ace_graph.testing import GeminiRequest
from tests.plugins.warm_python import WarmPython, cold_python

Json = dict[str, Any]  # Any: what a command wrote, whose shape the tests check
Answer = Callable[[GeminiRequest], str | int]

LESSON = "State the total of a basket as a plain number"
_QUESTION = re.compile(r"What is the total of basket (\d+)\?")


def write_rows(path: Path, count: int, start: int = 0) -> Path:
    rows = (
        {"context": f"What is the total of basket {n}?", "target": f"{n}.0"}
        for n in range(start, start + count)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def basket(request: GeminiRequest) -> int:
    """The number of the basket that a request is about; the system's text may tell of others."""
    found = _QUESTION.search(json.dumps(request.body["contents"])) or _QUESTION.search(request.text)
    assert found is not None, request.text
    return int(found[1])


def reflecting(request: GeminiRequest) -> bool:
    return "<task>reflect</task>" in request.text


def is_failing(n: int) -> bool:
    return n % 5 == 3


def is_right(n: int) -> bool:
    return n % 3 != 1


def provider(request: GeminiRequest) -> str | int:
    """Every fifth basket is refused, every third is wrong; what is in the playbook changes nothing."""
    n = basket(request)
    if reflecting(request):
        return json.dumps({"reasoning": "r", "lessons": [{"content": LESSON, "section": "sums"}]})
    if is_failing(n):
        return 400
    return f"<final>{n if is_right(n) else n + 1}</final>"


def apprentice(request: GeminiRequest) -> str | int:
    """Right with the lesson in the prompt, wrong without it."""
    if reflecting(request):
        return provider(request)
    n = basket(request)
    return f"<final>{n}</final>" if LESSON in request.text else f"<final>about {n}</final>"


def expected(numbers: range) -> tuple[int, int, int]:
    """Right, all and failed: counted without the program."""
    right = sum(is_right(n) and not is_failing(n) for n in numbers)
    return right, len(numbers), sum(map(is_failing, numbers))


def counts(measured: Json) -> tuple[int, int, int]:
    return measured["correct"], measured["total"], measured["failed"]


def results(folder: Path) -> Json:
    """What is written of a run, but for what the clock says."""
    found: Json = json.loads((folder / "results.json").read_text())
    del found["timing"]
    return found


def start(
    folder: Path, *args: str | Path, python: WarmPython = cold_python, file_bytes: int | None = None
) -> subprocess.Popen[str]:
    """Start the program; with `file_bytes` no file of its can grow larger, and it must be a cold one."""

    def limited() -> None:
        if file_bytes is not None:
            import resource

            resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))

    program = (
        # A background job ignores Ctrl-C.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from ace_graph.cli.main import app; app(prog_name='ace-graph')"
    )
    return subprocess.Popen(
        python("-c", program, *map(str, args)),
        cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limited,
    )
