"""The commands can be learned; none loads what it does not need. docs/reference has their help."""

from __future__ import annotations

from collections import Counter

import pytest
from typer.core import TyperGroup

from tests.cli.commands import Commands, program

SHOW_LOADED = """
import sys
from contextlib import suppress
from ace_graph.cli.main import app
for command in sys.argv[1:]:
    with suppress(SystemExit):
        app(command.split(), prog_name="ace-graph")
    heavy = {"langchain_core", "langgraph"} & {name.partition(".")[0] for name in sys.modules}
    if heavy:
        print("LOADED", command, *heavy)
"""
WITHOUT_A_MODEL = (
    "playbook list",
    "playbook show",
    "playbook search draw",
    "playbook history",
    "playbook edit les-00001 --pin",
    "playbook export",
    "playbook diff 0 1",
    "playbook rescreen --all --dry-run",
    "playbook consolidate --dry-run",
    "trajectory list",
    "trajectory start draw",
    "reflect --batch",
    "learner list",
    "share list",
    "share team list",
    "store check",
)


def test_a_list_of_commands_can_be_learned() -> None:
    root = program()
    groups = Counter(path.split()[0] for path in root.tree("") if len(path.split()) > 1)
    assert len(root.commands) <= 16
    assert max(groups.values()) <= 20
    panels = [
        getattr(command, "rich_help_panel", None)
        for group in (root, root.commands["playbook"])
        if isinstance(group, TyperGroup)
        for command in group.commands.values()
    ]
    assert all(isinstance(panel, str) for panel in panels)


@pytest.mark.parametrize(
    "old", ["gc", "consolidate", "team add", "feedback x good", "compare a b", "neo4j project"]
)
def test_an_unknown_command_is_wrong_usage(ace: Commands, old: str) -> None:
    done = ace(*old.split())
    assert (done.code, done.out) == (2, "")
    assert f"there is no command '{old.split()[0]}'" in done.err


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("playbok", "ace-graph playbook"),
        ("playbook serch", "ace-graph playbook search"),
        ("consolidate", "ace-graph playbook consolidate"),
        ("team", "ace-graph share team"),
        ("playbook archived", "ace-graph playbook show --archived"),
    ],
)
def test_the_nearest_command_is_named(ace: Commands, wrong: str, near: str) -> None:
    told = " ".join(ace(*wrong.split()).err.replace("│", "").split())
    assert f"did you mean `{near}`?" in told


def test_a_command_that_calls_no_model_loads_neither_langgraph_nor_langchain(ace: Commands) -> None:
    ace.ok("playbook", "add", "Draw it")
    done = ace.process(SHOW_LOADED, *WITHOUT_A_MODEL)
    assert (done.code, "les-00001" in done.out) == (0, True), done.err
    assert [line for line in done.out.splitlines() if line.startswith("LOADED")] == []
