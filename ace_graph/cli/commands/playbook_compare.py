"""`playbook compare`: two versions of a playbook on the same rows, and how turns with them ended."""

from __future__ import annotations

import asyncio

from ace_graph import playbooks
from ace_graph.cli.commands.compare import (
    CompareOptions,
    ask_both,
    comparison_as_json,
    print_comparison,
    side_options,
)
from ace_graph.cli.environment import load_settings
from ace_graph.cli.options import Which
from ace_graph.cli.terminal import console, counted, print_json, printable
from ace_graph.errors import ConfigurationError, UsageError
from ace_graph.evaluation.comparison import Side
from ace_graph.evaluation.tasks import task_named
from ace_graph.memory.stores.base import keeps_pending
from ace_graph.playbooks.handle import open_playbook
from ace_graph.playbooks.versions import VersionOutcome, version_from
from ace_graph.settings import Settings
from ace_graph.stores import open_store

__all__ = ["compare_versions"]

Outcomes = tuple[VersionOutcome, ...]


def compare_versions(
    url: str | None,
    which: Which,
    versions: tuple[str, str],
    options: CompareOptions,
    *,
    as_json: bool,
    debug: bool,
) -> int:
    """Ask both versions, print the comparison and the observed turns; return the exit code."""
    task_named(options.task)
    settings = load_settings(quiet="ERROR", debug=debug)
    (first, second), observed = asyncio.run(_read(url, which, versions, options, settings))
    compared = ask_both(first, second, options)
    if as_json:
        print_json({**comparison_as_json(compared), "observed": _observed_json(observed)})
    else:
        print_comparison(compared)
        _print_observed(observed, which)
    return 0 if compared.comparison.finished else 1


async def _read(
    url: str | None, which: Which, versions: tuple[str, str], options: CompareOptions, settings: Settings
) -> tuple[tuple[Side, Side], Outcomes | None]:
    """Return both versions as sides, and the turns with each; None for the own memory.

    The own memory has a new version after nearly every turn, so there would be a turn or two of each.
    """
    first, second = versions
    async with open_store(url, settings=settings) as store:
        found = [
            await playbooks.get_version(store, version, which.name, which.learner)
            for version in map(version_from, versions)
        ]
        if found[0][0] == found[1][0]:
            raise UsageError(
                f"{first} and {second} are one version: name two of those that `playbook versions` lists"
            )
        if not keeps_pending(store):
            raise ConfigurationError(f"the store {store.name} keeps no trajectories of its own")
        target, observed = await open_playbook(store, which.name, which.learner), None
        if target.named is not None:
            observed = await playbooks.observe_versions(store, which.learner, target.key)
    one, other = (
        Side(f"version {text}", content, side_options({}, options.concurrency))
        for text, (_, content) in zip(versions, found, strict=True)
    )
    return (one, other), observed


def _observed_json(observed: Outcomes | None) -> dict[str, object] | None:
    if observed is None:
        return None
    rows = [
        {
            "label": each.label,
            "turns": each.turns,
            "judged": each.judged,
            "succeeded": each.succeeded,
            "success_rate": each.success_rate,
            "interval": list(each.interval),
        }
        for each in observed
    ]
    return {"randomised": False, "versions": rows}


def _print_observed(observed: Outcomes | None, which: Which) -> None:
    if observed is None:
        return
    out, whole = console(), sum(each.turns for each in observed)
    if not whole:
        out.print(printable(f"No turn of learner {which.learner} has read {which.name} yet."), soft_wrap=True)
        return
    seen = f"Observed in {counted(whole, 'turn')} of learner {which.learner}, not randomised:"
    out.print(printable(seen), soft_wrap=True)
    for each in observed:
        out.print(f"  {each.label}: {counted(each.turns, 'turn')}, {_rate(each)}", soft_wrap=True)


def _rate(each: VersionOutcome) -> str:
    if each.success_rate is None:
        return "none judged"
    low, high = each.interval
    share = f"{each.success_rate:.1%} ({low:.1%} to {high:.1%})"
    return f"{each.succeeded} of {each.judged} judged a success: {share}"
