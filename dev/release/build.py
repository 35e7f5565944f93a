"""Builds the wheel and the source archive so that the same commit gives the same bytes, whoever builds it.

Times are those of the commit, owners and permissions are fixed, and nothing is taken that git does not track.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path

__all__ = ["build", "commit_time", "export", "tracked_files"]


def commit_time(root: Path) -> int:
    """Return when the newest commit was made, in seconds since 1970."""
    return int(_git(root, "log", "-1", "--format=%ct"))


def tracked_files(root: Path, *patterns: str) -> list[Path]:
    """Return the files that git tracks or would track, links among them, relative to `root`."""
    listed = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns)
    paths = (Path(name) for name in listed.split("\0") if name)
    return sorted(path for path in paths if (root / path).is_symlink() or (root / path).is_file())


def export(root: Path, files: Iterable[Path], folder: Path) -> None:
    """Copy files with the permissions that git keeps, whatever the umask: it keeps the right to execute."""
    for path in files:
        source, target = root / path, folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(source.readlink())
            continue
        shutil.copyfile(source, target)
        target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)


def build(folder: Path, dist: Path, epoch: int, *, isolated: bool = True) -> tuple[Path, Path]:
    """Build what is in `folder` into `dist`; return the wheel and the source archive.

    `isolated`: with setuptools of its own, as installers do; else with the one that is installed.
    """
    command = [sys.executable, "-m", "build", "--outdir", str(dist), str(folder)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    done = subprocess.run(
        command if isolated else [*command, "--no-isolation"],
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"the build failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    (wheel,), (archive,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    archive.write_bytes(_normalised(archive.read_bytes(), epoch))
    return wheel, archive


def _normalised(archive: bytes, epoch: int) -> bytes:
    """Return a tar.gz with its files in order, at one time, of nobody."""
    tar = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as before,
        tarfile.open(fileobj=tar, mode="w", format=tarfile.GNU_FORMAT) as after,
    ):
        for member in sorted(before.getmembers(), key=lambda each: each.name):
            member.mtime, member.pax_headers = epoch, {}
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            after.addfile(member, before.extractfile(member) if member.isfile() else None)
    return gzip.compress(tar.getvalue(), compresslevel=9, mtime=epoch)


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip("\n")
