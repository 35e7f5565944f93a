"""`make`, the set-up and the pytest plugins do what their help says, also where something is missing."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.repository import ROOT

SKIPPING = "import pytest\ndef test_a(): pass\ndef test_b(): pytest.skip('no server here')\n"
MARKED = "import pytest\ndef test_a(): pass\n@pytest.mark.neo4j\ndef test_b(): pass\n"
COSTLY = """
import pytest
def test_a(): pass
@pytest.mark.heavy
def test_b(): pass
@pytest.mark.slow
def test_d(): pass
@pytest.mark.long
def test_c(): pass
"""
PLUGINS = ("heavy", "no_skips", "neo4j_wanted", "loopback_only")
REACHING = "import socket\ndef test_a(): socket.create_connection(('192.0.2.1', 80), 1)\n"


def _pytest(folder: Path, text: str, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_sample.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n  neo4j\n  heavy\n  slow\n  long\n")
    plugins = ("xdist", *(f"tests.plugins.{name}" for name in PLUGINS))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ACE_", "PYTEST_"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *(f"-p{name}" for name in plugins), *options, str(folder)],
        cwd=folder,
        env={**kept, **variables, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        check=False,
        capture_output=True,
        text=True,
    )


def test_make_alone_prints_every_target_with_its_help() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[0].split()
    printed = subprocess.run(["make"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert [target for target in targets if not re.search(rf"^  make {target} +\w", printed, re.M)] == []


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_skipped_test_is_reported_in_the_last_line(tmp_path: Path, workers: str) -> None:
    done = _pytest(tmp_path, SKIPPING, workers)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "1 skipped: no server here"


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_skipped_test_fails_where_neo4j_is_required(tmp_path: Path, workers: str) -> None:
    done = _pytest(tmp_path, SKIPPING, workers, ACE_REQUIRE_NEO4J="1")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("FAILED because ACE_REQUIRE_NEO4J=1")


def test_neo4j_tests_are_deselected_on_request(tmp_path: Path) -> None:
    done = _pytest(tmp_path, MARKED, ACE_SKIP_NEO4J="1", ACE_REQUIRE_NEO4J="1")
    assert done.returncode == 0
    assert "1 passed, 1 deselected" in done.stdout


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_heavy_tests_are_left_out_and_counted(tmp_path: Path, workers: str) -> None:
    done = _pytest(tmp_path, COSTLY, workers, ACE_REQUIRE_NEO4J="1")
    assert done.returncode == 0
    assert "1 passed" in done.stdout
    assert "are left out: `make test HEAVY=1`" in done.stdout
    assert "2 heavy or slow tests were left out" in done.stdout


@pytest.mark.parametrize(
    ("options", "variable", "passed"),
    [
        ((), "ACE_TEST_HEAVY", 3),
        ((), "ACE_TEST_LONG", 4),
        (("-m", "heavy"), "ANY", 1),
        (("-m", "slow"), "ANY", 1),
        (("test_sample.py::test_b",), "ANY", 3),
    ],
    ids=["heavy", "long", "the mark", "the other mark", "a node id"],
)
def test_heavy_tests_run_where_they_are_asked_for(
    tmp_path: Path, options: tuple[str, ...], variable: str, passed: int
) -> None:
    done = _pytest(tmp_path, COSTLY, *options, **{variable: "1"})
    assert f"{passed} passed" in done.stdout
    assert "left out" not in done.stdout


@pytest.mark.parametrize(
    ("options", "heavy", "passed"), [((), "", 1), ((), "1", 2), (("tests/docs",), "", 2)]
)
def test_what_is_around_the_package_is_tested_where_it_is_asked_for(
    tmp_path: Path, options: tuple[str, ...], heavy: str, passed: int
) -> None:
    for folder in ("docs", "memory"):
        (tmp_path / "tests" / folder).mkdir(parents=True)
        (tmp_path / "tests" / folder / f"test_{folder}.py").write_text("def test_it(): pass\n")
    done = _pytest(tmp_path, "", *options, ACE_TEST_HEAVY=heavy)
    assert f"{passed} passed" in done.stdout
    assert ("docs, packaging, are left out" in done.stdout) is (heavy != "1")


def test_a_test_that_reaches_another_machine_fails(tmp_path: Path) -> None:
    done = _pytest(tmp_path, REACHING)
    assert done.returncode == 1
    assert "tests stay on this machine" in done.stdout


def _setup(folder: Path, purpose: str, commands: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs a copy of the set-up where only these commands are found."""
    for name in ("pyproject.toml", "dev/constraints.txt", "dev/setup.sh"):
        (folder / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / "copy" / name)
    (folder / "bin").mkdir()
    for name in commands:
        (folder / "bin" / name).symlink_to(shutil.which(name) or name)
    return subprocess.run(
        [shutil.which("sh") or "sh", "dev/setup.sh", purpose],
        cwd=folder / "copy",
        env={"PATH": str(folder / "bin")},
        check=False,
        capture_output=True,
        text=True,
    )


def test_setup_without_python_says_what_to_install(tmp_path: Path) -> None:
    done = _setup(tmp_path, "run", ["cat", "cksum", "date", "dirname", "rm"])
    assert done.returncode == 1
    assert "No Python 3.11 or newer" in done.stderr


def test_setup_refuses_an_unknown_purpose(tmp_path: Path) -> None:
    done = _setup(tmp_path, "everything", ["cat", "dirname"])
    assert done.returncode == 1
    assert "'everything' is neither run nor dev" in done.stderr


def test_setup_does_nothing_when_nothing_changed(tmp_path: Path) -> None:
    commands = ["cat", "cksum", "dirname"]
    venv = tmp_path / "copy" / ".venv" / "bin"
    venv.mkdir(parents=True)
    (venv / "python").symlink_to(sys.executable)
    sums = "cat pyproject.toml dev/constraints.txt dev/setup.sh | cksum"
    first = _setup(tmp_path, "run", commands)
    assert first.returncode != 0, "without a stamp it sets up, which needs more commands than these"
    wanted = subprocess.run(sums, shell=True, cwd=venv.parents[1], check=True, capture_output=True, text=True)
    (venv.parent / ".ace-ready").write_text(f"dev {venv.parents[1].resolve()} {wanted.stdout}")
    shutil.rmtree(tmp_path / "bin")
    second = _setup(tmp_path, "run", commands)
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")


def test_a_local_neo4j_is_never_somebody_elses_server(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        done = subprocess.run(
            ["bash", str(ROOT / "dev/neo4j/start.sh"), str(tmp_path), str(tmp_path / "home"), port],
            env={**os.environ, "PYTHON": sys.executable},
            check=False,
            capture_output=True,
            text=True,
        )
    assert (done.returncode, done.stdout) == (1, "")
    assert f"Port {port} is taken by another program" in done.stderr


def test_a_process_that_only_has_the_number_of_our_neo4j_is_left_alone(tmp_path: Path) -> None:
    home = tmp_path / ".local" / "neo4j"
    home.mkdir(parents=True)
    (tmp_path / "dev").mkdir()
    shutil.copy(ROOT / "dev" / "neo4j_local.sh", tmp_path / "dev")
    (tmp_path / "bin").mkdir()
    for name in ("dirname", "grep", "ps", "rm", "sed", "sleep"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or name)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        (home / "server.env").write_text(f"NEO4J_URI=bolt://127.0.0.1:7687\nNEO4J_PID={other.pid}\n")
        for action, told in (("start", "A local Neo4j needs"), ("stop", "")):
            done = subprocess.run(
                [shutil.which("sh") or "sh", "dev/neo4j_local.sh", action],
                cwd=tmp_path,
                env={"PATH": str(tmp_path / "bin")},
                check=False,
                capture_output=True,
                text=True,
            )
            assert told in done.stderr
            assert "running already" not in done.stdout
            assert "Stopped" not in done.stdout
        assert other.poll() is None
        other.communicate(b"\n")
