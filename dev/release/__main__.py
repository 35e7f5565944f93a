"""`make release`: everything that is checked before a version is published. It publishes nothing.

python -m dev.release                  all of it; the files are in dist/ afterwards
python -m dev.release quick            two builds with the same bytes, lists of files, versions that agree
python -m dev.release extras mcp ray   the wheel with these extras alone
"""

from __future__ import annotations

import hashlib
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dev.release.agreement import disagreements
from dev.release.build import build, commit_time, export, tracked_files
from dev.release.contents import (
    archive_files,
    expected_archive,
    expected_wheel,
    wheel_files,
    without_licence,
)
from dev.release.install import extras, on_every_python, sbom

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str]) -> None:
    """Run the parts that are named. Exits with 1 where one fails."""
    dist = ROOT / "dist"
    wheel, archive = _built(dist)
    if arguments[:1] == ["extras"]:
        _end(extras(wheel, ROOT, tuple(arguments[1:])))
        return
    failed = [*_wrong_files(wheel, archive), *agreement()]
    if arguments != ["quick"]:
        failed += on_every_python((wheel, archive), ROOT)
        failed += extras(wheel, ROOT)
        sbom(wheel, ROOT, dist / f"ace_graph-{_project()['version']}.cdx.json")
    sums = {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in sorted(dist.iterdir())}
    (dist / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))
    print((dist / "SHA256SUMS").read_text(), end="")
    _end(failed)


def agreement() -> list[str]:
    """Return what contradicts the version of pyproject.toml."""
    texts = {
        path: (ROOT / path).read_text(encoding="utf-8") for path in tracked_files(ROOT, "ace_graph/*.py")
    }
    changelog, guide = ROOT / "CHANGELOG.md", ROOT / "docs" / "upgrading.md"
    return disagreements(_project()["version"], changelog.read_text("utf-8"), guide.read_text("utf-8"), texts)


def _built(dist: Path) -> tuple[Path, Path]:
    """Build twice, compare, and leave one in `dist`."""
    epoch, files = commit_time(ROOT), tracked_files(ROOT)
    for old in dist.glob("*") if dist.exists() else ():
        old.unlink()
    with TemporaryDirectory() as work:
        sources = [Path(work) / "first", Path(work) / "second"]
        for source in sources:
            export(ROOT, files, source)
        first = build(sources[0], dist, epoch)
        second = build(sources[1], Path(work) / "again", epoch)
        for one, other in zip(first, second, strict=True):
            if one.read_bytes() != other.read_bytes():
                raise SystemExit(f"two builds of {one.name} differ")
            print(f"{one.name}: two builds, the same {len(one.read_bytes())} bytes")
    return first


def _wrong_files(wheel: Path, archive: Path) -> list[str]:
    project, files = _project(), tracked_files(ROOT)
    version = project["version"]
    wrong = wheel_files(wheel) ^ expected_wheel(files, version, project["license-files"])
    wrong |= archive_files(archive) ^ expected_archive(files, version)
    missing = [f"{path} has no licence beside it" for path in without_licence(files)]
    return [*(f"a file too much or too few: {name}" for name in sorted(wrong)), *missing]


def _project() -> dict[str, Any]:  # Any: TOML, whose shape the build checks
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _end(failed: list[str]) -> None:
    for each in failed:
        print(f"FAILED: {each}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
