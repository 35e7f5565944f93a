"""`ace-graph doctor`: checks packages, settings, model and store; exit code 1 when something failed.

Each check is a function that yields rows. The store is checked by writing: a learner with a random name is
stored and forgotten again.
"""

from __future__ import annotations

import asyncio
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Literal
from uuid import uuid4

import typer
from rich.text import Text

from ace_graph.cli.command import STORE, Call, by_command, command
from ace_graph.cli.environment import ENV_FILE, install_logging
from ace_graph.cli.terminal import console, print_json, printable
from ace_graph.errors import AceError, ModelNotConfigured, how_to_install
from ace_graph.memory.consolidation.schedule import is_run
from ace_graph.memory.delta.operations import Add
from ace_graph.memory.pending import PendingCounts, PendingItem
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import describe, keeps_pending
from ace_graph.settings import Settings, export_others, unknown_in_environment, unknown_names
from ace_graph.stores import open_store, redacted_url

Status = Literal["ok", "warn", "fail"]

PARTIAL = frozenset({"model reflects", "model calls tools", "model cut short"})
"""Checks of what turns can be answered without."""

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}
_NEEDED = ("langgraph", "langchain-core", "langchain-google-genai", "neo4j", "pydantic", "typer", "rich")
_EXTRAS = {
    "psycopg": ("postgres", "PostgreSQL"),
    "langchain": ("providers", "other model providers"),
    "wordllama": ("embeddings", "finding by meaning"),
    "tavily-python": ("search", "web search"),
    "langgraph-cli": ("studio", "LangGraph Studio"),
    "jupyterlab": ("notebooks", "the notebooks"),
}


@dataclass(frozen=True)
class Check:
    """One row. `fail` means that the agent can't run; `fix` says what to do."""

    name: str
    status: Status
    found: str
    fix: str = ""


def check_python() -> Iterator[Check]:
    """Check the versions of the interpreter and of this package."""
    yield Check("python", "ok" if sys.version_info >= (3, 11) else "fail", platform.python_version())
    yield Check("ace-graph", "ok", version("ace-graph"))


def check_packages() -> Iterator[Check]:
    """Check the required packages and those of the extras."""
    for name in _NEEDED:
        found = _installed(name)
        if found is None:
            yield Check(name, "fail", "not installed", "install ace-graph again, into this environment")
        else:
            yield Check(name, "ok", found)
    for name, (extra, purpose) in _EXTRAS.items():
        absent = f"not installed; only {purpose} would need it: {how_to_install(extra)}"
        yield Check(name, "ok", _installed(name) or absent)


def check_env_file(file: Path) -> Iterator[Check]:
    """Check the names in `.env` for typos."""
    if not file.is_file():
        yield Check(".env", "ok", "none in this folder; the environment alone counts")
        return
    try:
        unknown = unknown_names(file)
    except AceError as error:
        yield Check(".env", "fail", str(error), "save it as UTF-8 text that you may read")
        return
    yield from _typos(".env", unknown)
    if not unknown:
        yield Check(".env", "ok", f"{file.absolute()}, no unknown names")


def check_environment(environ: Mapping[str, str]) -> Iterator[Check]:
    """Check the names of our variables in the environment for typos."""
    yield from _typos("environment", unknown_in_environment(environ))


def _typos(place: str, unknown: Sequence[tuple[str, str | None]]) -> Iterator[Check]:
    for name, near in unknown:
        fix = f"did you mean {near}?" if near else "remove it, or look it up in .env.example"
        yield Check(place, "warn", f"{name} is read by nothing", fix)


def check_model(settings: Settings) -> Iterator[Check]:
    """Check which model answers."""
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
        yield Check("model", "fail", str(error), "correct the setting that it names")
    else:
        key = "GEMINI_API_KEY is set; " if choice.provider == "google_genai" else ""
        yield Check("model", "ok", f"{choice} ({key}not called; `doctor --ask` calls it)")


def check_embeddings(settings: Settings) -> Iterator[Check]:
    """Check that the word vectors can be read, where the settings want them."""
    from ace_graph.embeddings.static_vectors import INSTALL, find_static_vectors

    if settings.embeddings == "off":
        yield Check("embeddings", "ok", "off: bullets are found by words alone (ACE_EMBEDDINGS=auto)")
        return
    try:
        found = find_static_vectors()
        size = len(found.embed_query("doctor")) if found is not None else 0
    except AceError as error:
        yield Check("embeddings", "warn", str(error), "until then bullets are found by words alone")
        return
    if found is not None:
        yield Check("embeddings", "ok", f"{found.model}, {size} dimensions")
    elif settings.embeddings == "static":
        yield Check("embeddings", "fail", "ACE_EMBEDDINGS=static, and there are no word vectors", INSTALL)
    else:
        yield Check("embeddings", "ok", f"none: bullets are found by words alone; {INSTALL}")


def check_store(settings: Settings, url: str | None) -> Iterator[Check]:
    """Check that the store at `url`, or that of the settings, can be read and written."""
    shown = redacted_url(url or settings.store_url)
    try:
        about, work = asyncio.run(_probe(settings, url))
    except AceError as error:
        yield Check("store", "fail", shown, str(error))
        return
    if shown.startswith("memory://"):
        yield Check("store", "warn", f"{shown} forgets everything when a command ends", "unset ACE_STORE")
    else:
        yield Check("store", "ok", f"{shown}, read and written")
    yield Check("store versions", "ok", about)
    if work is not None:
        yield _pending(*work)


def _pending(counts: PendingCounts, dead: Sequence[PendingItem]) -> Check:
    """Return the row about turns that wait to be learned from, consolidations, and dead letters."""
    found = f"{counts.pending} waiting, {counts.dead} dead letters"
    runs = [item for item in dead if is_run(item)]
    if runs:
        fix = f"ace-graph reflect {runs[0].pending_id} --learner {runs[0].learner_id} consolidates again"
        return Check("pending learning", "warn", found, fix)
    if counts.dead:
        fix = "ace-graph trajectory list --failed shows them, ace-graph reflect ID tries again"
        return Check("pending learning", "warn", found, fix)
    if counts.pending:
        return Check("pending learning", "ok", found, "ace-graph worker works on it")
    return Check("pending learning", "ok", found)


_Work = tuple[PendingCounts, Sequence[PendingItem]]


async def _probe(settings: Settings, url: str | None) -> tuple[str, _Work | None]:
    async with open_store(url, settings=settings) as store:
        probe = f"ace-graph-doctor-{uuid4().hex}"
        try:
            delta = by_command("doctor").delta(Add(content="The doctor was here."))
            await store.commit(probe, delta, Snapshot())
        finally:
            await store.forget(probe)
        work = None
        if keeps_pending(store):
            work = await store.count_pending(), await store.list_pending(dead=True)
        return await describe(store), work


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


commands = typer.Typer()


@command(commands, *STORE)
def doctor(
    call: Call,
    ask: Annotated[bool, "Also call the model six times, and say what failed and the cost."] = False,
) -> int:
    """Check model, store, settings and versions; say what is missing and how to fix it.

    --ask tries what turns need of the model: an answer, a stream, a reflection, a tool call, a reply that is
    cut, a refusal. It costs about a thousand tokens; ACE_PRICES makes a price of them.
    """
    install_logging("ERROR", "text")
    checks = list(_all_checks(call.store, ask=ask))
    failed = [each for each in checks if each.status == "fail"]
    if call.as_json:
        rows = [
            {"check": each.name, "status": each.status, "found": each.found, "fix": each.fix}
            for each in checks
        ]
        print_json({"ok": not failed, "checks": rows})
        return int(bool(failed))
    out = console()
    for each in checks:
        fix = f"\n       -> {printable(each.fix)}" if each.fix else ""
        line = Text.assemble((f"{each.status:<5}", _STYLES[each.status]), f"  {each.name}: ")
        out.print(line.append(printable(each.found) + fix), soft_wrap=True)
    verdict = "The agent can run."
    if any(each.name not in PARTIAL for each in failed):
        verdict = "The agent can't run until what failed is fixed."
    elif failed:
        verdict = "The agent can run, without what failed."
    out.print(verdict, style="bold")
    return int(bool(failed))


def _all_checks(url: str | None, *, ask: bool) -> Iterator[Check]:
    yield from check_python()
    yield from check_packages()
    yield from check_env_file(ENV_FILE)
    yield from check_environment(os.environ)
    try:
        settings = Settings.load(ENV_FILE)
        export_others(ENV_FILE, os.environ)
    except AceError as error:
        yield Check("settings", "fail", str(error), "correct the variable that it names")
        return

    model = list(check_model(settings))
    yield from model
    yield from check_embeddings(settings)
    yield from check_store(settings, url)
    yield from _check_graph(settings)
    if ask and all(each.status != "fail" for each in model):
        yield from _ask_model(settings)


def _check_graph(settings: Settings) -> Iterator[Check]:
    """Check prompts, tools and limits by building the graph."""
    from ace_graph.build_resources import offline_fallback
    from ace_graph.graph import build_ace_graph  # pyright: ignore[reportUnknownVariableType]  # as in agent

    try:
        graph = build_ace_graph(settings=offline_fallback(settings), store="memory://")
    except AceError as error:
        yield Check("graph", "fail", str(error), "correct the setting that it names")
        return
    nodes = [name for name in graph.get_graph().nodes if not name.startswith("__")]
    yield Check("graph", "ok", " -> ".join(nodes))


def _ask_model(settings: Settings) -> Iterator[Check]:
    from ace_graph.build_resources import offline_fallback
    from ace_graph.cli.doctor_ask import try_model

    yield from asyncio.run(try_model(offline_fallback(settings)))
