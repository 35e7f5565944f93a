"""Whether version, changelog, upgrade guide and deprecations say the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

__all__ = ["disagreements"]

_RELEASED = re.compile(r"## \[(\d+)\.(\d+)\.(\d+)\] - \d{4}-\d{2}-\d{2}")
_GOES = re.compile(r"\bgo(?:es)? with (\d+)\.(\d+)")
_OLD_NAMES = ("_RENAMED", "_MOVED")
"""The tables of old public names, in modules that warn about them."""


def disagreements(version: str, changelog: str, guide: str, sources: dict[Path, str]) -> list[str]:
    """Return what contradicts `version`, one sentence each.

    `guide` is docs/upgrading.md, `sources` are the Python files of the package.
    """
    major, minor = (int(part) for part in version.split(".")[:2])
    return [
        *_changelog(version, changelog),
        *_guide((major, minor), changelog, guide),
        *_deprecations((major, minor), guide, sources),
    ]


def _changelog(version: str, changelog: str) -> Iterator[str]:
    headings = [line for line in changelog.splitlines() if line.startswith("## [")]
    if not headings or headings[0] != "## [Unreleased]":
        yield "CHANGELOG.md does not begin with [Unreleased]"
    newest = next((line for line in headings if _RELEASED.fullmatch(line)), "")
    if ".dev" in version:
        if newest.startswith(f"## [{version.partition('.dev')[0]}]"):
            yield f"CHANGELOG.md has released {newest}, but pyproject.toml says {version}"
    elif not newest.startswith(f"## [{version}] - "):
        yield f"the newest release of CHANGELOG.md is no [{version}] with a day"


def _guide(version: tuple[int, int], changelog: str, guide: str) -> Iterator[str]:
    released = [(int(a), int(b)) for a, b, _ in _RELEASED.findall(changelog)]
    before = max((each for each in released if each < version), default=None)
    heading = before and f"## From {before[0]}.{before[1]} to {version[0]}.{version[1]}"
    if heading and heading not in guide.splitlines():
        yield f"docs/upgrading.md has no heading {heading!r}"


def _deprecations(version: tuple[int, int], guide: str, sources: dict[Path, str]) -> Iterator[str]:
    for path, text in sources.items():
        if "DeprecationWarning" not in text:
            continue
        goes = [(int(a), int(b)) for a, b in _GOES.findall(text)]
        if not goes:
            yield f"{path} warns and does not say with which version a name goes"
        elif min(goes) <= version:
            yield f"{path} keeps a name that was to go with {min(goes)[0]}.{min(goes)[1]}: remove it"
        yield from (
            f"docs/upgrading.md does not name {old}" for old in _old_names(text) if f"`{old}`" not in guide
        )


def _old_names(text: str) -> Iterator[str]:
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            names = {each.id for each in node.targets if isinstance(each, ast.Name)}
            if names & set(_OLD_NAMES):
                yield from (str(key.value) for key in node.value.keys if isinstance(key, ast.Constant))
