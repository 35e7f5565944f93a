"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from ace_graph.errors import UsageError

__all__ = [
    "DEFAULT_LEARNER",
    "DEFAULT_NAME",
    "Base",
    "Json",
    "Learner",
    "Named",
    "On",
    "StoreUrl",
    "VersionsShown",
    "Which",
    "check_all",
]

DEFAULT_LEARNER = "local"
DEFAULT_NAME = "default"
"""The memory that turns read and write, among a learner's playbooks."""


class Which(NamedTuple):
    """Who acts, and which playbook: one of their own, or as owner/name one of somebody else's."""

    learner: str
    name: str = DEFAULT_NAME

    def __str__(self) -> str:
        whose = f"learner {self.learner}"
        return whose if self.name == DEFAULT_NAME else f"playbook {self.name} of {whose}"


Learner = Annotated[
    str, typer.Option("--learner", "-l", "--as", metavar="ID", help="Who acts, and whose playbook.")
]
Named = Annotated[
    str,
    typer.Option(
        "--name", "-n", metavar="NAME", help="A named playbook instead of the memory; owner/name: of another."
    ),
]
VersionsShown = Annotated[int, typer.Option("--limit", min=0, help="Versions shown.")]
StoreUrl = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="sqlite:///file, memory://, neo4j://host:7687 or postgresql://user@host/database "
        "instead of the one of the settings.",
    ),
]
Base = Annotated[
    Path | None,
    typer.Option(
        "--base",
        metavar="FILE",
        help="A playbook that every learner is given, read only, in any format that import knows.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON alone on stdout.")]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="ray[://HOST:PORT]",
        help="Work on a Ray cluster: that of RAY_ADDRESS or of this machine, or the one at an address.",
    ),
]


def check_all(on: str | None, *, everybody: bool) -> None:
    """Raise UsageError where a cluster is asked for one playbook."""
    if on is not None and not everybody:
        raise UsageError("--on is for work on many learners: add --all")
