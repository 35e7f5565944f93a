"""Adding the bullets of a file to a playbook: in one delta, or in several where they are many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ace_graph.memory.clock import utc_now
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.operations import Add
from ace_graph.memory.formats.base import Reading
from ace_graph.memory.formats.importing import ImportOutcome, batches, outcome_of
from ace_graph.memory.snapshot import Snapshot
from ace_graph.off_loop import Steps, in_slices, off_loop
from ace_graph.playbooks.content import without_turns
from ace_graph.playbooks.manage import Change
from ace_graph.playbooks.target import Target
from ace_graph.playbooks.versions import drop_old_versions

__all__ = ["import_bullets"]


async def import_bullets(
    target: Target,
    base: Snapshot,
    reading: Reading,
    change: Change,
    progress: Callable[[int], None] = lambda _: None,
) -> tuple[ImportOutcome, Snapshot]:
    """Add what was read, and return what became of each bullet, and the playbook after it.

    `progress` is called after each delta with the number of its bullets. The etag that the change expects
    is that of the first delta; with an op id, the deltas have ids made of it. Raises what the store raises.
    """
    bullets = reading.bullets if target.named is None else without_turns(reading.bullets)
    numbered = await in_slices(_numbered(reading, bullets))
    done = list[Commit]()
    for place, batch in enumerate(batches(numbered.bullets)):
        part = replace(
            change,
            op_id=change.op_id if change.op_id is None or not place else f"{change.op_id}-{place}",
            expected_etag=None if place else change.expected_etag,
        )
        committed = await target.store.commit(target.key, part.delta(*batch), base)
        base = committed.snapshot
        done.append(committed)
        progress(len(batch))
    if done:
        await drop_old_versions(target, change.now or utc_now())
    reports = [each.report for each in done]
    return await off_loop(outcome_of, numbered, reports, base.playbook), base


def _numbered(reading: Reading, bullets: Sequence[Add]) -> Steps[Reading]:
    """The reading with a ref for each bullet."""
    named = list[Add]()
    for n, bullet in enumerate(bullets):
        named.append(bullet.model_copy(update={"ref": f"b{n}"}))
        yield
    return replace(reading, bullets=tuple(named))
