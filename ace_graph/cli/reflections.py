"""What `reflect --batch` and `playbook curate` do: find what many runs say, take it into a playbook."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from datetime import UTC, datetime

from ace_graph.background.worker import learning_resources
from ace_graph.cli.environment import load_settings
from ace_graph.cli.options import Which
from ace_graph.cli.store_access import AUTHOR, on_trajectories
from ace_graph.cli.terminal import console, counted, print_json, print_line, printable
from ace_graph.errors import ConfigurationError
from ace_graph.learning.batch_reflection import (
    MIN_TRAJECTORIES,
    BatchReflection,
    FoundPattern,
    NotEnough,
    batch_reflect,
)
from ace_graph.learning.curate_reflections import BulletText, CuratedReflections
from ace_graph.learning.curate_reflections import curate as curate_reflections
from ace_graph.memory.stores.base import PendingStore, keeps_pending
from ace_graph.models import close_model, make_model
from ace_graph.settings import Settings
from ace_graph.stores import open_store

__all__ = ["BatchQuery", "batch", "curate"]


@dataclass(frozen=True)
class BatchQuery:
    """Which runs to look at, and how many there must be."""

    agent: str | None = None
    type: str | None = None
    since: datetime | None = None
    minimum: int = MIN_TRAJECTORIES

    @property
    def given(self) -> bool:
        """Whether any option differs from its default."""
        return self != BatchQuery()


def batch(url: str | None, learner: str, query: BatchQuery, *, as_json: bool) -> None:
    """Print what the runs have in common, with the ids that `playbook curate` takes."""
    since = query.since
    if since is not None and since.tzinfo is None:
        since = since.replace(tzinfo=UTC)

    async def job(store: PendingStore) -> BatchReflection | NotEnough:
        return await batch_reflect(
            store,
            learner,
            agent=query.agent,
            since=since,
            task_type=query.type,
            min_trajectories=query.minimum,
        )

    found = on_trajectories(url, job)
    if as_json:
        print_json(_batch_json(found))
    elif found.status == "not_enough":
        print(f"Not enough: {counted(found.found, 'completed run')}, {found.needed} are needed.")
    else:
        _print_batch(found)


def _batch_json(found: BatchReflection | NotEnough) -> dict[str, object]:
    if found.status == "not_enough":
        return {"status": found.status, "found": found.found, "needed": found.needed}
    return {
        "status": found.status,
        "found": found.found,
        "trajectory_id": found.trajectory_id,
        "patterns": [_pattern_json(each) for each in found.patterns],
        "unreflected": list(found.unreflected),
        "left_out": found.left_out,
    }


def _pattern_json(found: FoundPattern) -> dict[str, object]:
    pattern = found.pattern
    return {
        "memory_id": found.memory_id,
        "text": pattern.text,
        "polarity": pattern.polarity,
        "frequency": pattern.frequency,
        "confidence": round(pattern.confidence, 3),
        "trajectory_ids": list(pattern.trajectory_ids),
    }


def _print_batch(found: BatchReflection) -> None:
    out = console()
    for each in found.patterns:
        pattern = each.pattern
        line = f"{each.memory_id}  {pattern.frequency} of {found.found}  {pattern.polarity}: {pattern.text}"
        out.print(printable(line), soft_wrap=True)
    if not found.patterns:
        console(error=True).print(f"{counted(found.found, 'run')}: their reflections found nothing to learn.")
    if found.unreflected:
        many = counted(len(found.unreflected), "run")
        told = f"{many} not reflected on yet: ace-graph worker --once, or ace-graph reflect ID."
        console(error=True).print(told)
    if found.left_out:
        console(error=True).print(f"{counted(found.left_out, 'rarer pattern')} left out.")


def curate(url: str | None, which: Which, reflection_ids: list[str], *, as_json: bool) -> None:
    """Take the lessons of reflections into a playbook, and print what changed."""
    done = asyncio.run(_curate(url, which, reflection_ids, load_settings()))
    if as_json:
        print_json(_curated_json(done))
        return
    lines = [
        *(f"+ [{each.id}] {each.text}" for each in done.added),
        *(f"~ [{each.id}] {each.text}" for each in done.updated),
        *(f"- [{each.id}] {each.text}" for each in done.removed),
    ]
    for line in lines:
        print_line(line)
    for refusal in done.refused:
        console(error=True).print(printable(f"refused: {refusal.id}: {refusal.why}"), soft_wrap=True)
    if done.problem:
        console(error=True).print(printable(done.problem), soft_wrap=True)
    print(_SUMMARIES[done.status].format(version=f"{done.version.n} ({done.version.label})"))


_SUMMARIES = {
    "curated": "version {version}",
    "unchanged": "version {version}: nothing new",
    "repeated": "version {version}: these reflections were curated before",
}


async def _curate(
    url: str | None, which: Which, reflection_ids: list[str], settings: Settings
) -> CuratedReflections:
    async with open_store(url, settings=settings) as store:
        if not keeps_pending(store):
            raise ConfigurationError(f"the store {store.name} keeps no trajectories of its own")
        if not settings.curator_use_llm:
            return await curate_reflections(store, which.learner, reflection_ids, which.name, author=AUTHOR)
        model = make_model(settings)
        try:
            resources, _ = learning_resources(model=model, store=store, settings=settings)
            return await curate_reflections(
                store,
                which.learner,
                reflection_ids,
                which.name,
                resources=resources,
                author=AUTHOR,
                progress=_show_progress,
            )
        finally:
            await close_model(model)


def _show_progress(done: int, whole: int) -> None:
    """Show how many lessons are decided on: one line that is overwritten, on a terminal only."""
    if sys.stderr.isatty():
        end = "\n" if done == whole else ""
        print(f"\r{done} of {counted(whole, 'lesson')}", end=end, file=sys.stderr, flush=True)


def _curated_json(done: CuratedReflections) -> dict[str, object]:
    def listed(bullets: tuple[BulletText, ...]) -> list[dict[str, str]]:
        return [each._asdict() for each in bullets]

    return {
        "status": done.status,
        "version": done.version.n,
        "label": str(done.version.label),
        "added": listed(done.added),
        "updated": listed(done.updated),
        "removed": listed(done.removed),
        "refused": [each.model_dump(mode="json") for each in done.refused],
        "problem": done.problem,
    }
