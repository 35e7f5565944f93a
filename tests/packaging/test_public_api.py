"""`ace_graph.__all__` is the public API: sorted, complete, and there on first use."""

from __future__ import annotations

import inspect
import pkgutil
import subprocess
import sys
from importlib.metadata import version

import pytest

import ace_graph
from tests.packaging.repository import pyproject

PROMISED = {"ACEContext", "build_ace_graph", "open_store"}


def test_the_public_names_are_sorted_and_unique() -> None:
    assert list(ace_graph.__all__) == sorted(set(ace_graph.__all__))


def test_the_names_that_readme_and_contract_use_are_public() -> None:
    assert set(ace_graph.__all__) >= PROMISED


@pytest.mark.parametrize("name", ace_graph.__all__)
def test_every_public_name_resolves_and_is_documented(name: str) -> None:
    value: object = getattr(ace_graph, name)
    if inspect.isclass(value) or inspect.isroutine(value):
        assert (value.__doc__ or "").strip(), f"{name} has no docstring"


@pytest.mark.parametrize("name", ace_graph.__all__)
def test_every_public_name_is_listed_by_dir(name: str) -> None:
    assert name in dir(ace_graph)


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(ace_graph, "no_such_name")  # noqa: B009 - a static access would not type-check


def test_a_star_import_brings_the_public_names_without_a_warning() -> None:
    check = "from ace_graph import *; import ace_graph; assert set(ace_graph.__all__) <= set(globals())"
    subprocess.run([sys.executable, "-W", "error", "-c", check], check=True)


def test_the_version_is_the_one_of_the_package() -> None:
    assert version("ace-graph") == pyproject()["project"]["version"]


STAYS = (
    "ace_graph.agent.offline_tutor",
    "ace_graph.hosts.build_memory",
    "ace_graph.hosts.learn",
    "ace_graph.hosts.recall",
    "ace_graph.learning.patterns.ExecutionReflector",
    "ace_graph.memory.window.select_window",
    "ace_graph.middleware.ACEMemory",
    "ace_graph.nodes.router",
    "ace_graph.playbooks.update_playbook",
    "ace_graph.testing.ScriptedModel",
    "ace_graph.training.OfflineAdapter",
    "ace_graph.training.OnlineAdapter",
    "ace_graph.training.Sample",
)
"""Where programs import from. A name that moves inside a room stays at its address."""


@pytest.mark.parametrize("address", STAYS)
def test_an_address_that_programs_import_stays(address: str) -> None:
    assert pkgutil.resolve_name(address) is not None
