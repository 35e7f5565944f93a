"""Which files the wheel and the source archive have to hold, by what git tracks, and which they do hold."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

__all__ = ["archive_files", "expected_archive", "expected_wheel", "wheel_files", "without_licence"]

LINKED = ("memory", "nodes")
"""Folders at the root that are packages inside `ace_graph`."""

_METADATA = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "top_level.txt")
_EGG_INFO = (
    *("PKG-INFO", "SOURCES.txt", "dependency_links.txt", "entry_points.txt", "requires.txt"),
    "top_level.txt",
)
_OF_OTHERS = (".min.js", ".min.css", ".min.mjs", ".woff", ".woff2", ".ttf", ".otf")
"""What files are named that others made and that are kept here as they are."""


def expected_wheel(tracked: Iterable[Path], version: str, licences: Iterable[str]) -> set[str]:
    """Return the names in the wheel: every file of the packages but their READMEs, and the metadata.

    `licences` are the patterns `license-files` of pyproject.toml.
    """
    info, files = f"ace_graph-{version}.dist-info", list(tracked)
    patterns = tuple(licences)
    inside = {str(_installed(path)) for path in files if _is_packaged(path)}
    texts = {f"licenses/{path.as_posix()}" for path in files if any(path.match(each) for each in patterns)}
    return inside | {f"{info}/{name}" for name in (*_METADATA, *texts)}


def expected_archive(tracked: Iterable[Path], version: str) -> set[str]:
    """Return the names in the source archive: what the wheel is built from, and no more."""
    files = {str(path) for path in tracked if _is_packaged(path)}
    files |= {"LICENSE", "PKG-INFO", "README.md", "pyproject.toml", "setup.cfg"}
    files |= {f"ace_graph.egg-info/{name}" for name in _EGG_INFO}
    return {f"ace_graph-{version}/{name}" for name in files}


def without_licence(tracked: Iterable[Path]) -> list[Path]:
    """Return the files of others that have no licence beside them: htmx.LICENSE.txt for htmx.min.js."""
    files = set(tracked)
    foreign = [path for path in files if path.name.lower().endswith(_OF_OTHERS)]
    return sorted(
        path for path in foreign if path.with_name(f"{path.name.partition('.')[0]}.LICENSE.txt") not in files
    )


def wheel_files(wheel: Path) -> set[str]:
    """Return the names in a wheel."""
    with zipfile.ZipFile(wheel) as opened:
        return {name for name in opened.namelist() if not name.endswith("/")}


def archive_files(archive: Path) -> set[str]:
    """Return the names of the files in a source archive."""
    with tarfile.open(archive) as opened:
        return {member.name for member in opened.getmembers() if not member.isdir()}


def _is_packaged(path: Path) -> bool:
    linked = len(path.parts) == 2 and path.parts[0] == "ace_graph" and path.name in LINKED
    return path.parts[0] in ("ace_graph", *LINKED) and path.name != "README.md" and not linked


def _installed(path: Path) -> PurePosixPath:
    inside = PurePosixPath(path.as_posix())
    return PurePosixPath("ace_graph") / inside if path.parts[0] in LINKED else inside
