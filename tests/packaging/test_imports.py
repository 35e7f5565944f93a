"""One way to import everything, and no import that costs what it need not."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.repository import LINKED, ROOT, tracked

HEAVY = ("langgraph", "langchain", "langchain_core", "langchain_google_genai")
# What reads a clock, draws lots, waits, or touches a disk or a net: the stores do, and two that serve them.
IMPURE = {"asyncio", "neo4j", "os", "pathlib", "random", "socket", "sqlite3", "threading", "time"}
SERVING_STORES = {"portal.py", "cache.py"}
LOADED_MODULES = "import sys; print(*sys.modules)"
LOADED = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"


def _run(arguments: list[str], folder: Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, check=False, capture_output=True, text=True, input=text
    )


def _modules_after(statements: str, folder: Path) -> set[str]:
    done = _run(["-c", f"{statements}\n{LOADED}"], folder)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def _imports(path: Path) -> list[ast.Import | ast.ImportFrom]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


def _wrong(node: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import is relative, or takes a root folder for a package of its own."""
    if isinstance(node, ast.ImportFrom):
        return node.level > 0 or (node.module or "").partition(".")[0] in LINKED
    return any(alias.name.partition(".")[0] in LINKED for alias in node.names)


def test_imports_are_absolute_and_go_through_the_package() -> None:
    found = [(path, node) for path in tracked("*.py") for node in _imports(path)]
    assert [f"{path}:{node.lineno}" for path, node in found if _wrong(node)] == []


def _names(node: ast.Import | ast.ImportFrom) -> list[str]:
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]


def test_the_core_of_memory_is_pure() -> None:
    modules = [path for path in tracked("memory/*.py") if len(path.parts) == 2]
    core = [path for path in modules if path.name not in SERVING_STORES]
    impure = [
        f"{path}: {name}"
        for path in core
        for node in _imports(path)
        for name in _names(node)
        if name.partition(".")[0] in IMPURE or name.startswith("ace_graph.memory.stores")
    ]
    assert core
    assert impure == []


@pytest.mark.parametrize(
    "statement", ["import memory.bullet", "from nodes import router", "from . import bullet"]
)
def test_ruff_refuses_the_folder_names_and_relative_imports(statement: str) -> None:
    options = ["check", "--select=TID", "--stdin-filename=ace_graph/sample.py", "-"]
    done = _run(["-m", "ruff", *options], ROOT, f"{statement}\n")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "TID25" in done.stdout


@pytest.mark.parametrize("module", ["ace_graph", "ace_graph.memory", "ace_graph.base.errors"])
def test_importing_loads_neither_langgraph_nor_langchain(module: str, tmp_path: Path) -> None:
    assert _modules_after(f"import {module}", tmp_path).isdisjoint(HEAVY)


def test_help_answers_without_loading_langgraph_or_langchain(tmp_path: Path) -> None:
    run = (
        "import sys\n"
        "sys.argv = ['ace-graph', '--help']\n"
        "from ace_graph.cli.main import app\n"
        "try:\n"
        "    app()\n"
        "except SystemExit as end:\n"
        "    assert not end.code, end.code"
    )
    assert _modules_after(run, tmp_path).isdisjoint({*HEAVY, "pydantic", "pydantic_settings"})


def test_the_chat_prompts_without_having_loaded_the_graph(tmp_path: Path) -> None:
    prompts = "import ace_graph.cli.main, ace_graph.cli.chat, prompt_toolkit.patch_stdout"
    assert _modules_after(prompts, tmp_path).isdisjoint({*HEAVY, "pydantic", "pydantic_settings"})


def test_naming_the_graph_does_not_load_what_building_it_needs(tmp_path: Path) -> None:
    """What learns, commits, stores and reads files is loaded when a graph is built, or when it is used."""
    loaded = _run(["-c", f"from ace_graph import build_ace_graph\n{LOADED_MODULES}"], tmp_path).stdout.split()
    late = ("delta.resolve", "formats", "similarity", "stores.sql", "consolidation")
    places = (
        "learning",
        "playbooks",
        "background",
        "nodes",
        "tools.mcp",
        *(f"memory.{each}" for each in late),
    )
    assert "ace_graph.graph" in loaded
    assert [each for each in loaded if each.startswith(tuple(f"ace_graph.{place}" for place in places))] == []
    assert {"yaml", "rapidfuzz", "sqlite3", "neo4j", "langchain_google_genai"}.isdisjoint(loaded)


def test_a_users_own_memory_and_nodes_do_not_clash_with_ours(tmp_path: Path) -> None:
    (tmp_path / "nodes.py").write_text("mine = True\n")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "__init__.py").write_text("mine = True\n")
    check = (
        "import memory, nodes, ace_graph.memory, ace_graph.nodes\n"
        "assert memory.mine and nodes.mine\n"
        "assert ace_graph.memory is not memory and ace_graph.nodes is not nodes"
    )
    assert "ace_graph" in _modules_after(check, tmp_path)
