"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["DEFAULT_LEARNER", "Base", "Json", "Learner", "StoreUrl"]

DEFAULT_LEARNER = "local"

Learner = Annotated[str, typer.Option("--learner", "-l", metavar="ID", help="Whose playbook.")]
StoreUrl = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="sqlite:///file, memory:// or neo4j://host:7687 instead of the one of the settings.",
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
