"""What `doctor` looks at: each check is a function that returns rows.

Does not: print, or show the value of a secret.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from ace_graph.errors import AceError, ModelNotConfigured
from ace_graph.settings import Settings, unknown_names

__all__ = ["Check", "check_env_file", "check_model", "check_packages", "check_python"]

Status = Literal["ok", "warn", "fail"]

_NEEDED = ("langgraph", "langchain-core", "langchain-google-genai", "neo4j", "pydantic", "typer", "rich")
_EXTRAS = {
    "langchain": ("providers", "other model providers"),
    "tavily-python": ("search", "web search"),
    "langgraph-cli": ("studio", "LangGraph Studio"),
    "jupyterlab": ("notebooks", "the notebooks"),
}


@dataclass(frozen=True)
class Check:
    """One row. `fail` means that the main job can't run; `fix` says what to do."""

    name: str
    status: Status
    found: str
    fix: str = ""


def check_python() -> Iterator[Check]:
    """The interpreter and this package."""
    yield Check("python", "ok" if sys.version_info >= (3, 11) else "fail", platform.python_version())
    yield Check("ace-graph", "ok", version("ace-graph"))


def check_packages() -> Iterator[Check]:
    """The packages that are needed, and those of the extras."""
    for name in _NEEDED:
        found = _installed(name)
        if found is None:
            yield Check(name, "fail", "not installed", "pip install ace-graph again, into this environment")
        else:
            yield Check(name, "ok", found)
    for name, (extra, purpose) in _EXTRAS.items():
        absent = f"not installed; only {purpose} would need it: pip install 'ace-graph[{extra}]'"
        yield Check(name, "ok", _installed(name) or absent)


def check_env_file(file: Path) -> Iterator[Check]:
    """The names in `.env`: a name that nobody reads looks like a typo."""
    if not file.is_file():
        yield Check(".env", "ok", "none in this folder; the environment alone counts")
        return
    try:
        unknown = unknown_names(file)
    except AceError as error:
        yield Check(".env", "fail", str(error), "save it as UTF-8 text that you may read")
        return
    for name, near in unknown:
        fix = f"did you mean {near}?" if near else "remove it, or look it up in .env.example"
        yield Check(".env", "warn", f"{name} is read by nothing", fix)
    if not unknown:
        yield Check(".env", "ok", f"{file.absolute()}, no unknown names")


def check_model(settings: Settings) -> Iterator[Check]:
    """Which model answers."""
    from ace_graph.models import choose_model, make_model

    try:
        choice = choose_model(settings)
        make_model(settings)
    except ModelNotConfigured:
        yield Check(
            "model",
            "warn",
            "none is configured: the offline tutor answers, which is no language model",
            "set GEMINI_API_KEY, or ACE_MODEL=provider:name; ACE_MODEL=offline if that is what you want",
        )
    except AceError as error:
        yield Check("model", "fail", str(error), "mend the setting that it names")
    else:
        key = "GEMINI_API_KEY is set; " if choice.provider == "google_genai" else ""
        yield Check("model", "ok", f"{choice} ({key}not asked: doctor --ask does)")


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
