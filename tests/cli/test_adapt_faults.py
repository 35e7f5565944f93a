"""What ends `ace-graph adapt` half way: kills, Ctrl-C, a full disk, an outage. --resume makes up for it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ace_graph.testing import GeminiRequest, GeminiServer
from tests.cli.adaptation_runs import Json, apprentice, results, start, write_rows
from tests.cli.commands import Commands
from tests.plugins.heavy import some_heavy
from tests.plugins.warm_python import WarmPython

pytestmark = pytest.mark.slow

ROWS = 4


@dataclass
class Provider:
    """Answers like an apprentice; at the request named it sends a signal to the program that asks."""

    at: int = 0
    send: int = 0
    process: subprocess.Popen[str] | None = None
    ready: threading.Event = field(default_factory=threading.Event)
    arrived: threading.Event = field(default_factory=threading.Event)
    requests: int = 0
    down: bool = False

    def __call__(self, request: GeminiRequest) -> str | int:
        self.requests += 1
        if self.at and self.requests == self.at:
            self.arrived.set()
            self.ready.wait()
            if self.process is not None:
                os.kill(self.process.pid, self.send)
        return 400 if self.down else apprentice(request)


@pytest.fixture
def provider(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    provider = Provider()
    with GeminiServer(provider) as server:
        monkeypatch.setenv("GEMINI_API_KEY", "any")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        yield provider
        provider.ready.set()


def command_in(folder: Path) -> tuple[str, ...]:
    train, test = (write_rows(folder / f"{n}.jsonl", ROWS, n * 100) for n in (1, 2))
    return (
        *("adapt", "offline", "--task", "formula", "--train", str(train), "--test", str(test)),
        *("--epochs", "2", "--concurrency", "1", "--out"),
    )


@pytest.fixture
def command(ace: Commands) -> tuple[str, ...]:
    return command_in(ace.folder)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Json:
    """What the run gives when nothing disturbs it: in all 4 * 4 + 3 * 4 calls."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with GeminiServer(apprentice) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEMINI_API_KEY", "any")
        patch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        Commands(folder).ok(*command_in(folder), folder / "run")
    return results(folder / "run")


@pytest.mark.parametrize("request_number", some_heavy((13, 22), (13).__eq__))
def test_a_killed_run_goes_on_to_the_same_results(
    request_number: int,
    ace: Commands,
    provider: Provider,
    command: tuple[str, ...],
    undisturbed: Json,
    warm_python: WarmPython,
) -> None:
    provider.at, provider.send = request_number, signal.SIGKILL
    provider.process = start(ace.folder, *command, "run", python=warm_python)
    provider.ready.set()
    provider.process.communicate()
    assert provider.process.returncode == -signal.SIGKILL
    assert not (ace.folder / "run" / "results.json").exists()
    ace.ok(*command, "run", "--resume")
    assert results(ace.folder / "run") == undisturbed


@pytest.mark.parametrize("request_number", [3])
def test_ctrl_c_stops_after_the_answer_under_way_and_the_run_goes_on(
    request_number: int,
    ace: Commands,
    provider: Provider,
    command: tuple[str, ...],
    undisturbed: Json,
    warm_python: WarmPython,
) -> None:
    provider.at, provider.send = request_number, signal.SIGINT
    provider.process = start(ace.folder, *command, "run", python=warm_python)
    provider.ready.set()
    _, told = provider.process.communicate()
    assert provider.process.returncode == 1
    assert "stopping when the answers under way are in" in told
    assert "stopped; the same command with --resume continues" in told
    assert "Traceback" not in told
    assert provider.requests <= request_number + 1, "the step's reflection, and nothing after it"
    ace.ok(*command, "run", "--resume")
    assert results(ace.folder / "run") == undisturbed


def test_ctrl_c_twice_stops_at_once_and_the_run_goes_on(
    ace: Commands, provider: Provider, command: tuple[str, ...], undisturbed: Json
) -> None:
    provider.at = 5
    with ace.terminal(*command, "run") as terminal:
        assert provider.arrived.wait(120)
        terminal.type("\x03")
        terminal.expect("stopping when the answers under way are in")
        terminal.type("\x03")
        terminal.expect("stopped at once; --resume goes on")
        assert terminal.end() == 1
    provider.at = 0
    provider.ready.set()
    ace.ok(*command, "run", "--resume")
    assert results(ace.folder / "run") == undisturbed


def test_a_full_disk_is_explained_and_the_run_goes_on(
    ace: Commands, provider: Provider, command: tuple[str, ...], undisturbed: Json
) -> None:
    process = start(ace.folder, *command, "run", file_bytes=5_000)
    _, told = process.communicate()
    assert process.returncode == 1
    assert re.search(r"steps\.jsonl: File too large: make it writable or make room, and resume the run", told)
    assert "the same command with --resume" in told
    assert "Traceback" not in told
    ace.ok(*command, "run", "--resume")
    assert results(ace.folder / "run") == undisturbed


def test_results_that_cannot_be_written_are_written_when_they_can(
    ace: Commands, provider: Provider, command: tuple[str, ...], undisturbed: Json
) -> None:
    (ace.folder / "run" / "results.json").mkdir(parents=True)
    done = ace(*command, "run")
    assert done.code == 1
    assert "results.json: Is a directory: make it writable or make room" in done.err
    (ace.folder / "run" / "results.json").rmdir()
    provider.requests = 0
    ace.ok(*command, "run", "--resume")
    assert provider.requests == 0
    assert results(ace.folder / "run") == undisturbed


def test_an_outage_is_explained_and_the_run_goes_on(
    ace: Commands, provider: Provider, command: tuple[str, ...], undisturbed: Json
) -> None:
    provider.down = True
    done = ace(*command, "run", "--max-failures", "4")
    assert done.code == 1
    assert "4 model calls in a row failed" in done.err
    assert "(the same command with --resume)" in done.err
    provider.down = False
    ace.ok(*command, "run", "--resume")
    assert results(ace.folder / "run") == undisturbed
