"""`ace-graph doctor`: every check as a row, and exit code 1 when the main job can't run.

Does not: mend anything.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

from rich.text import Text

from ace_graph.cli.checks import Check, check_env_file, check_model, check_packages, check_python
from ace_graph.cli.console import console, print_json, printable
from ace_graph.cli.environment import ENV_FILE
from ace_graph.cli.logs import install_logging
from ace_graph.errors import AceError
from ace_graph.settings import Settings, export_others

__all__ = ["run_doctor"]

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def run_doctor(url: str | None, *, ask: bool, as_json: bool) -> int:
    """Print the checks and return 1 when one failed."""
    install_logging("ERROR", "text")
    checks = list(_all_checks(url, ask=ask))
    failed = [each for each in checks if each.status == "fail"]
    if as_json:
        rows = [
            {"check": each.name, "status": each.status, "found": each.found, "fix": each.fix}
            for each in checks
        ]
        print_json({"ok": not failed, "checks": rows})
        return bool(failed)
    out = console()
    for each in checks:
        fix = f"\n       -> {printable(each.fix)}" if each.fix else ""
        line = Text.assemble((f"{each.status:<5}", _STYLES[each.status]), f"  {each.name}: ")
        out.print(line.append(printable(each.found) + fix), soft_wrap=True)
    told = "The agent can't run before what failed is mended." if failed else "The agent can run."
    out.print(told, style="bold")
    return bool(failed)


def _all_checks(url: str | None, *, ask: bool) -> Iterator[Check]:
    yield from check_python()
    yield from check_packages()
    yield from check_env_file(ENV_FILE)
    try:
        settings = Settings.load(ENV_FILE)
        export_others(ENV_FILE, os.environ)
    except AceError as error:
        yield Check("settings", "fail", str(error), "mend the variable that it names")
        return
    from ace_graph.cli.store_check import check_store

    model = list(check_model(settings))
    yield from model
    yield from check_store(settings, url)
    yield from _check_graph(settings)
    if ask and all(each.status != "fail" for each in model):
        yield from _ask_model(settings)


def _check_graph(settings: Settings) -> Iterator[Check]:
    """Prompts, tools and limits: all that building the graph reads."""
    from ace_graph.assembly import offline_fallback
    from ace_graph.graph import build_ace_graph  # pyright: ignore[reportUnknownVariableType]  # as in agent

    try:
        graph = build_ace_graph(settings=offline_fallback(settings), store="memory://")
    except AceError as error:
        yield Check("graph", "fail", str(error), "mend the setting that it names")
        return
    nodes = [name for name in graph.get_graph().nodes if not name.startswith("__")]
    yield Check("graph", "ok", " -> ".join(nodes))


def _ask_model(settings: Settings) -> Iterator[Check]:
    from langchain_core.messages import HumanMessage

    from ace_graph.assembly import offline_fallback
    from ace_graph.models import call_model, close_model, make_model

    async def asked() -> str:
        model = make_model(offline_fallback(settings))
        try:
            reply = await call_model(
                model, [HumanMessage("What is 2 + 2? Answer with the number.")], timeout=settings.llm_timeout
            )
        finally:
            await close_model(model)
        return reply.text

    try:
        answer = asyncio.run(asked())
    except AceError as error:
        yield Check("model answers", "fail", str(error))
    else:
        yield Check("model answers", "ok", f"2 + 2: {answer[:60]!r}")
