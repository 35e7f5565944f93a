"""What is asked for leaves out versions with known holes; dev/constraints.txt has one of everything."""

from __future__ import annotations

import re
from importlib.metadata import requires
from itertools import chain
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dev.constraints import CONSTRAINTS, held_back, outdated
from tests.packaging.repository import ROOT, pyproject

_LINE = re.compile(r"[a-z0-9.-]+==[0-9a-z.]+( ; [^/@]+)?")


@pytest.mark.parametrize("name", ["langgraph-checkpoint-sqlite", "langgraph-checkpoint-postgres"])
def test_checkpointers_with_a_known_hole_are_not_installed(name: str) -> None:
    """CVE-2026-71433 is mended in 3.1.1."""
    asked = [each for each in map(Requirement, requires("ace-graph") or []) if each.name == name]
    assert len(asked) == 1
    assert "3.1.0" not in asked[0].specifier
    assert "3.1.1" in asked[0].specifier


def test_the_constraints_are_versions_without_addresses_and_fit_what_is_asked_for() -> None:
    lines = CONSTRAINTS.read_text("utf-8").splitlines()
    assert [line for line in lines if not _LINE.fullmatch(line)] == []
    kept = {each.name: each.specifier for each in map(Requirement, lines)}
    asked = pyproject()
    groups: list[list[str]] = [
        *asked["project"]["optional-dependencies"].values(),
        asked["project"]["dependencies"],
        asked["dependency-groups"]["dev"],
    ]
    for each in map(Requirement, chain(*groups)):
        if each.name != "ace-graph":
            (version,) = kept[canonicalize_name(each.name)]
            assert each.specifier.contains(version.version, prereleases=True), each


def test_what_is_held_back_says_why() -> None:
    held = dict(held_back((ROOT / "pyproject.toml").read_text("utf-8")))
    assert {Requirement(each).name for each in held} >= {"hypothesis", "zensical"}
    assert [each for each, why in held.items() if not why and "python_version" not in each] == []


def test_what_is_newer_is_named_once_for_all_pythons() -> None:
    kept = "a==1\nb==2 ; python_full_version < '3.12'\nb==3 ; python_full_version >= '3.12'\nc==1\n"
    assert outdated(kept, kept) == []
    assert outdated(kept, kept.replace("b==3", "b==4").replace("c==1", "d==1")) == [
        "b 2, 3 -> 2, 4",
        "c 1 -> none",
        "d none -> 1",
    ]


def test_a_workflow_says_it_each_month_and_may_change_nothing() -> None:
    text = (ROOT / ".github" / "workflows" / "outdated.yml").read_text("utf-8")
    workflow: dict[Any, Any] = yaml.safe_load(text)  # Any: a workflow, whose key `on` YAML reads as True
    assert workflow["permissions"] == {}
    assert workflow[True]["schedule"] == [{"cron": "17 5 1 * *"}]
    (job,) = workflow["jobs"].values()
    assert job["permissions"] == {"contents": "read"}
    assert "dev/constraints.py --outdated" in job["steps"][-1]["run"]
