"""`ace-graph mcp` as a process: another one finds what was remembered; the server ends with its client.

Does not: try every tool; they are the same over all transports.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import mcp

from ace_graph import open_store
from ace_graph.base import variable_names
from tests.cli.commands import PROGRAM
from tests.mcp_server.clients import Client
from tests.plugins.sizes import PATIENT
from tests.plugins.warm_python import WarmPython


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in variable_names()}
    return {**kept, "ACE_MEMORY_FILE": str(folder / "ace.db"), "LANGSMITH_TRACING": "false"}


async def test_another_process_sees_what_was_remembered(tmp_path: Path, warm_python: WarmPython) -> None:
    command, *args = warm_python("-c", PROGRAM, "mcp", "--learner", "ada")
    server = mcp.StdioServerParameters(command=command, args=args, cwd=tmp_path, env=_environment(tmp_path))
    async with mcp.Client(server) as session:
        assert session.server_info is not None
        assert session.server_info.name == "ace-graph"
        await Client(session).call("remember", statement="Learner says: call me Ada", kind="fact")
    async with open_store(f"sqlite:///{tmp_path / 'ace.db'}") as store:
        held = (await store.load("ada")).playbook
    assert [bullet.content for bullet in held.bullets()] == ["Learner says: call me Ada"]


def test_the_server_ends_when_the_client_hangs_up(tmp_path: Path, warm_python: WarmPython) -> None:
    half = b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "par'
    ended = subprocess.run(
        warm_python("-c", PROGRAM, "mcp"),
        input=b"no json\n" + half,
        cwd=tmp_path,
        env=_environment(tmp_path),
        capture_output=True,
        check=False,
        timeout=PATIENT,
    )
    assert ended.returncode == 0, ended.stderr
    assert b"Traceback (most recent call last)" not in ended.stdout
