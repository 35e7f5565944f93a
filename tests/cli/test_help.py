"""The commands can be learned; none loads what it does not need. docs/reference has their help."""

from __future__ import annotations

from collections import Counter

import pytest
from typer.core import TyperGroup

from tests.cli.commands import Commands, program

REFUSING = """
import sys
from ace_graph.cli.main import app

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("langchain", "langgraph", "langsmith")):
            raise RuntimeError(f"{name} is loaded")

sys.meta_path.insert(0, Refuse())
for line in sys.argv[1:]:
    print("BEGUN", line, file=sys.stderr)
    try:
        app(line.split(), prog_name="ace-graph")
    except SystemExit:
        pass
"""
NEED_LANGGRAPH = {
    **dict.fromkeys(("chat", "run", "demo", "worker", "doctor"), "runs a model, or makes one to check it"),
    **dict.fromkeys(("adapt compare", "adapt offline", "adapt online"), "runs a model on examples"),
    **dict.fromkeys(("serve", "mcp"), "serves what runs a model"),
}
"""Why a command loads LangGraph. `reflect --batch`, `playbook curate` and `consolidate` run no model."""
WITHOUT_A_MODEL = (
    *("playbook add Draw", "playbook list", "playbook list --figures", "playbook show"),
    *("playbook show les-00001", "playbook search draw", "playbook stats", "playbook audit"),
    *("playbook history", "playbook diff 0 1", "playbook edit les-00001 --pin", "playbook add Paint"),
    *("playbook merge les-00001 les-00002", "playbook export --output book.json"),
    *("playbook import book.json", "playbook create maths", "playbook rollback 1"),
    *("playbook remove les-00002", "playbook rescreen --all --dry-run", "playbook consolidate --dry-run"),
    *("playbook consolidate", "playbook consolidate undo", "playbook curate ref-1", "playbook dream"),
    *("playbook dream --accept", "trajectory start draw --id run-1", "trajectory list"),
    *("trajectory log run-1 decision think", "trajectory complete run-1 success", "trajectory show run-1"),
    *("trajectory feedback run-1 bad", "trajectory import book.json", "trajectory trim"),
    *("trajectory delete run-1", "reflect --batch", "learner list", "learner export local", "share list"),
    *("share grant maths --to user:eve", "share revoke maths --from user:eve", "share leave eve/maths"),
    *("share team list", "share team add blue eve", "share team remove blue eve", "share show-use eve/maths"),
    *("share propose eve/maths les-00001", "share proposals maths", "share collect maths"),
    *("share accept maths 1", "share refuse maths 1", "share withdraw maths --by eve"),
    *("playbook delete --name maths", "store check", "store clean --dry-run", "store backup copy.db"),
    *("store copy sqlite:///ace.db sqlite:///other.db", "store copy-conversations none.db other.db"),
    *("store project", "token --learner ada", "learner forget local --yes"),
)
"""Conversations, which LangGraph keeps, are loaded where there are any."""


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


def test_each_command_is_known_to_run_a_model_or_none() -> None:
    known = program().tree("")
    commands = {path.strip() for path, command in known.items() if not isinstance(command, TyperGroup)}
    tried = {path for path in commands for line in WITHOUT_A_MODEL if f"{line} ".startswith(f"{path} ")}
    assert commands - tried == NEED_LANGGRAPH.keys()


def test_a_command_that_runs_no_model_loads_neither_langgraph_nor_langchain(ace: Commands) -> None:
    done = ace.process(REFUSING, *WITHOUT_A_MODEL)
    begun = done.err.split("BEGUN ")[1:]
    assert (done.code, len(begun)) == (0, len(WITHOUT_A_MODEL)), done.err
    assert [line for line in begun if " is loaded" in line] == []
    assert "les-00001" in done.out
