"""Installs what was built into empty environments, and uses it there.

Does not download a Python: those that are found here are used, and the others are named.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["extras", "on_every_python", "pythons", "sbom"]

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
_SBOM_TOOL = "cyclonedx-bom>=7,<8"

_IMPORT_ALL = """
import importlib, sys
from importlib.metadata import packages_distributions, requires
from packaging.requirements import Requirement

extra = sys.argv[1]
homes = {}
for module, names in packages_distributions().items():
    for name in names:
        homes.setdefault(name.lower().replace("_", "-"), []).append(module)
for each in map(Requirement, requires("ace-graph")):
    if each.marker and not each.marker.evaluate({"extra": ""}) and each.marker.evaluate({"extra": extra}):
        for module in homes.get(each.name.lower().replace("_", "-"), []):
            if not module.startswith("_") and not each.name.startswith("ace-graph"):
                importlib.import_module(module)
                print("imported", module)
"""
"""Imports what an extra alone asks for."""

_OURS = {
    "mcp": "import ace_graph.agent.tools.mcp",
    "postgres": "import ace_graph.memory.stores.sql.postgres",
    "ray": "import ace_graph.base.executors",
    "server": "from ace_graph import Settings, server; server.create_app(Settings.load())",
    "embeddings": (
        "from ace_graph.agent.embeddings.static_vectors import find_static_vectors as found; assert found()"
    ),
}
"""What of this package an extra is for."""


def pythons() -> dict[str, Path | None]:
    """Return the interpreter of each version that runs here."""
    return {version: next(_candidates(version), None) for version in VERSIONS}


def on_every_python(files: tuple[Path, ...], root: Path) -> list[str]:
    """Install each file on each Python that is here and run `.ci/try-wheel`; return what failed."""
    failed: list[str] = []
    for version, python in pythons().items():
        if python is None:
            print(f"Python {version}: not here")
            continue
        for file in files:
            with TemporaryDirectory() as work:
                alone = Path(work) / "dist"
                alone.mkdir()
                shutil.copy(file, alone)
                command = [str(root / ".ci" / "try-wheel"), str(alone), f"{work}/try", str(python)]
                _report(f"Python {version}, {file.name}", command, failed)
    return failed


def extras(wheel: Path, root: Path, only: tuple[str, ...] = ()) -> list[str]:
    """Install the wheel with one extra after the other, import what it brings; return what failed."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    names: list[str] = sorted(settings["project"]["optional-dependencies"])
    failed: list[str] = []
    for extra in only or names:
        with TemporaryDirectory() as work:
            python = _environment(Path(work), f"{wheel}[{extra}]", "packaging")
            if python is None:
                failed.append(f"extra {extra}")
                continue
            _report(f"extra {extra}", [str(python), "-c", _IMPORT_ALL, extra], failed, work)
            if extra in _OURS:
                _report(f"extra {extra}, ours", [str(python), "-c", _OURS[extra]], failed, work)
    return failed


def sbom(wheel: Path, root: Path, file: Path) -> None:
    """Write what an installation of the wheel consists of, as CycloneDX JSON."""
    with TemporaryDirectory() as work:
        installed = _environment(Path(work) / "installed", str(wheel))
        tool = _environment(Path(work) / "tool", _SBOM_TOOL)
        if installed is None or tool is None:
            raise SystemExit("the environment for the SBOM could not be made")
        command = [tool.with_name("cyclonedx-py"), "environment", installed, "--output-reproducible"]
        options = ["--pyproject", root / "pyproject.toml", "--mc-type", "library", "--gather-license-texts"]
        written = ["--output-format", "JSON", "--output-file", file]
        subprocess.run([str(each) for each in (*command, *options, *written)], check=True)


def _candidates(version: str) -> Iterator[Path]:
    found = [shutil.which(f"python{version}"), *_of_pyenv(version), _of_uv(version)]
    for each in found:
        if each and subprocess.run([each, "-c", ""], check=False, capture_output=True).returncode == 0:
            yield Path(each)


def _of_pyenv(version: str) -> list[str]:
    folder = Path.home() / ".pyenv" / "versions"
    return [str(each) for each in sorted(folder.glob(f"{version}.*/bin/python"))]


def _of_uv(version: str) -> str | None:
    if shutil.which("uv") is None:
        return None
    command = ["uv", "python", "find", "--no-python-downloads", version]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.stdout.strip() or None if done.returncode == 0 else None


def _environment(folder: Path, *packages: str) -> Path | None:
    """Return the Python of a new environment with these packages, or None where they can't be installed."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    if shutil.which("uv"):
        command = ["uv", "pip", "install", "--quiet", "--python", str(python), *packages]
    else:
        command = [str(python), "-m", "pip", "install", "--quiet", *packages]
    return python if subprocess.run(command, check=False).returncode == 0 else None


def _report(what: str, command: list[str], failed: list[str], folder: str | None = None) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder)
    print(f"{what}: {'ok' if done.returncode == 0 else 'FAILED'}", flush=True)
    if done.returncode:
        print((done.stdout + done.stderr)[-2000:])
        failed.append(what)
