"""Where a Neo4j for the tests can come from on this machine.

In this order: the server that NEO4J_TEST_URI names; Docker where an engine answers; a server assembled
with Java and Maven. The second version runs only on Java 21 or newer, assembled.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

VERSIONS = ("5.26.31", "2026.02.3")
_OLDEST_JAVA = {"5.26.31": 17, "2026.02.3": 21}
_PLACES = (
    "/usr/lib/jvm",
    "/opt",
    "/Library/Java/JavaVirtualMachines",
    "~/.sdkman/candidates/java",
    "~/.jdks",
)


@dataclass(frozen=True)
class Neo4jSources:
    """What this machine has. `javas` maps a version to the Java that runs it."""

    uri: str | None = None
    docker: bool = False
    maven: bool = False
    javas: dict[str, str] = field(default_factory=dict[str, str])

    def can_assemble(self, version: str) -> bool:
        """Whether a server of our own can be put together, without a surprising download."""
        fetched = (jars_folder(version) / f"neo4j-server-{version}.jar").exists()
        return version in self.javas and (fetched or (self.maven and self.uri is None))

    def can_serve(self, version: str) -> bool:
        """Whether tests on this version can run at all."""
        if version == VERSIONS[0] and (self.uri is not None or self.docker):
            return True
        return self.uri is None and self.can_assemble(version)


def detect_sources() -> Neo4jSources:
    """Return what this machine has; asks Docker and every Java found, which takes a second.

    Nothing is asked where the tests that need a Neo4j are left out.
    """
    if os.environ.get("ACE_SKIP_NEO4J") == "1":
        return Neo4jSources()
    javas = _javas()
    chosen = {
        version: next((home for major, home in javas if major >= oldest), None)
        for version, oldest in _OLDEST_JAVA.items()
    }
    return Neo4jSources(
        uri=os.environ.get("NEO4J_TEST_URI") or None,
        docker=_docker_answers(),
        maven=shutil.which("mvn") is not None,
        javas={version: home for version, home in chosen.items() if home is not None},
    )


def jars_folder(version: str) -> Path:
    """Where dev/neo4j/get.sh puts the jars."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "ace-neo4j" / f"lib-{version}"


def _docker_answers() -> bool:
    if shutil.which("docker") is None:
        return False
    try:
        asked = subprocess.run(["docker", "info"], capture_output=True, timeout=10, check=False)
    except subprocess.TimeoutExpired:
        return False
    return asked.returncode == 0


def _javas() -> list[tuple[int, str]]:
    """Every Java found, as its major version and its home, the oldest first."""
    homes = [os.environ.get("JAVA_HOME", "")]
    on_path = shutil.which("java")
    if on_path:
        homes.append(str(Path(on_path).resolve().parents[1]))
    for place in _PLACES:
        for folder in sorted(Path(place).expanduser().glob("*")):
            homes += [str(folder), str(folder / "Contents" / "Home")]
    found = {home: _major(home) for home in dict.fromkeys(homes) if home}
    return sorted((major, home) for home, major in found.items() if major)


def _major(home: str) -> int:
    java = Path(home) / "bin" / "java"
    if not os.access(java, os.X_OK):
        return 0
    told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False)
    version = re.search(r'version "(\d+)', told.stderr)
    return int(version.group(1)) if version else 0
