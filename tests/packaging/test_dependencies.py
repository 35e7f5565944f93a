"""What pyproject.toml asks for leaves out versions with known holes."""

from __future__ import annotations

from importlib.metadata import requires

import pytest
from packaging.requirements import Requirement


@pytest.mark.parametrize("name", ["langgraph-checkpoint-sqlite", "langgraph-checkpoint-postgres"])
def test_checkpointers_with_a_known_hole_are_not_installed(name: str) -> None:
    """CVE-2026-71433 is mended in 3.1.1."""
    asked = [each for each in map(Requirement, requires("ace-graph") or []) if each.name == name]
    assert len(asked) == 1
    assert "3.1.0" not in asked[0].specifier
    assert "3.1.1" in asked[0].specifier
