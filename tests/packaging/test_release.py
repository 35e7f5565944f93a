"""What is published: the same bytes for the same commit, all files and no others, and texts that agree."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dev.release import __main__ as release
from dev.release import install
from dev.release.__main__ import agreement
from dev.release.agreement import disagreements
from dev.release.build import build, export, tracked_files
from dev.release.contents import (
    archive_files,
    expected_archive,
    expected_wheel,
    wheel_files,
    without_licence,
)
from tests.packaging.repository import LINKED, ROOT, pyproject

EPOCH = 1_700_000_000
PUBLISHED = ("ace_graph", *LINKED, "LICENSE", "README.md", "pyproject.toml")
CHANGES = "## [Unreleased]\n## [0.1.0] - 2026-11-22\n"
GUIDE = "# Upgrading\n## From 0.1 to 0.2\n`Old`\n"
SOURCE = '_RENAMED = {"Old": "New"}\nwarnings.warn(f"{name} goes with 0.3", DeprecationWarning)\n'


def _built(folder: Path) -> tuple[Path, Path]:
    files = [path for path in tracked_files(ROOT) if path.parts[0] in PUBLISHED]
    export(ROOT, files, folder / "source")
    return build(folder / "source", folder / "dist", EPOCH, isolated=False)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the source archive."""
    return _built(tmp_path_factory.mktemp("first"))


@pytest.mark.heavy
def test_two_builds_give_the_same_bytes(built: tuple[Path, Path], tmp_path: Path) -> None:
    """In folders of different names and times."""
    first, second = built, _built(tmp_path)
    assert [path.name for path in first] == [path.name for path in second]
    assert [path.read_bytes() == other.read_bytes() for path, other in zip(first, second, strict=True)] == [
        True,
        True,
    ]


def test_the_wheel_holds_every_file_that_git_tracks(built: tuple[Path, Path]) -> None:
    project = pyproject()["project"]
    expected = expected_wheel(tracked_files(ROOT), project["version"], project["license-files"])
    assert wheel_files(built[0]) == expected
    assert len(expected) > 400


def test_the_source_archive_holds_what_the_wheel_is_built_from(built: tuple[Path, Path]) -> None:
    expected = expected_archive(tracked_files(ROOT), pyproject()["project"]["version"])
    assert archive_files(built[1]) == expected


def test_what_others_made_has_its_licence_beside_it() -> None:
    assert without_licence(tracked_files(ROOT)) == []
    made = [Path("a/htmx.min.js"), Path("a/font.woff2"), Path("a/font.LICENSE.txt"), Path("a/own.js")]
    assert without_licence(made) == [Path("a/htmx.min.js")]


def test_version_changelog_guide_and_deprecations_agree() -> None:
    assert agreement() == []


@pytest.mark.parametrize(
    ("version", "changelog", "guide", "source", "why"),
    [
        ("0.2.0", CHANGES, GUIDE, SOURCE, "no [0.2.0] with a day"),
        ("0.1.0.dev0", CHANGES, GUIDE, SOURCE, "has released"),
        ("0.2.0.dev0", CHANGES[17:], GUIDE, SOURCE, "does not begin with [Unreleased]"),
        ("0.2.0.dev0", CHANGES, "# Upgrading\n`Old`\n", SOURCE, "no heading '## From 0.1 to 0.2'"),
        ("0.2.0.dev0", CHANGES, "## From 0.1 to 0.2\n", SOURCE, "does not name Old"),
        ("0.3.0.dev0", CHANGES, GUIDE + "## From 0.1 to 0.3\n", SOURCE, "was to go with 0.3"),
        ("0.2.0.dev0", CHANGES, GUIDE, SOURCE.replace("goes with 0.3", "is old"), "with which version"),
    ],
)
def test_what_disagrees_is_said(version: str, changelog: str, guide: str, source: str, why: str) -> None:
    (found,) = disagreements(version, changelog, guide, {Path("x.py"): source})
    assert why in found
    assert disagreements("0.2.0.dev0", CHANGES, GUIDE, {Path("x.py"): SOURCE}) == []


def test_the_workflow_publishes_what_was_checked_and_holds_no_secret() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    workflow: dict[Any, Any] = yaml.safe_load(text)  # Any: a workflow, whose key `on` YAML reads as True
    assert workflow["permissions"] == {}
    assert workflow[True] == {"push": {"tags": ["v*"]}}
    build_steps = [step.get("run", "") for step in workflow["jobs"]["build"]["steps"]]
    assert "make release" in build_steps
    publish = workflow["jobs"]["publish"]
    assert publish["needs"] == "build"
    assert publish["permissions"]["id-token"] == "write"
    assert publish["steps"][-1]["with"]["attestations"] is True
    assert "secrets." not in text


@pytest.mark.parametrize("broken", [[], ["extra ray"]], ids=["fine", "an extra fails"])
def test_a_release_has_an_sbom_and_the_sums_of_all_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: list[str]
) -> None:
    """What builds and installs is left out: other tests, and `make release` itself, do that."""
    version, made = pyproject()["project"]["version"], list[list[str]]()
    (tmp_path / "dist").mkdir()
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    files = [
        tmp_path / "dist" / f"ace_graph-{version}{ending}" for ending in ("-py3-none-any.whl", ".tar.gz")
    ]
    for file in files:
        file.write_text(file.name)

    def built(_: Path) -> list[Path]:
        return files

    def nothing_wrong(*_: object) -> list[str]:
        return []

    def tried(*_: object) -> list[str]:
        return broken

    def environment(folder: Path, *_: str) -> Path:
        return folder / "bin" / "python"

    def write_sbom(command: list[str], **_: object) -> None:
        made.append(command)
        Path(command[command.index("--output-file") + 1]).write_text("{}")

    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setattr(release, "_built", built)
    monkeypatch.setattr(release, "_wrong_files", nothing_wrong)
    monkeypatch.setattr(release, "agreement", nothing_wrong)
    monkeypatch.setattr(release, "on_every_python", nothing_wrong)
    monkeypatch.setattr(release, "extras", tried)
    monkeypatch.setattr(install, "_environment", environment)
    monkeypatch.setattr(install.subprocess, "run", write_sbom)
    with pytest.raises(SystemExit) as ended:
        release.main([])
    assert ended.value.code == (1 if broken else 0)
    (command,) = made
    assert {"--output-reproducible", "JSON"} <= set(command)
    expected = [*files, tmp_path / "dist" / f"ace_graph-{version}.cdx.json"]
    sums = (tmp_path / "dist" / "SHA256SUMS").read_text().splitlines()
    assert sorted(sums) == sorted(
        f"{sha256(each.read_bytes()).hexdigest()}  {each.name}" for each in expected
    )


def test_every_dependency_has_a_lowest_version() -> None:
    """`.ci/long lowest` installs these and runs the tests with them."""
    project = pyproject()["project"]
    extras = [each for extra in project["optional-dependencies"].values() for each in extra]
    wanted = [Requirement(each) for each in (*project["dependencies"], *extras)]
    others = [each for each in wanted if canonicalize_name(each.name) != "ace-graph"]
    assert len(others) > 30
    assert [str(each) for each in others if not any(part.operator == ">=" for part in each.specifier)] == []
