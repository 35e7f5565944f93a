"""What a turn's learning came to: the `learning` of the output, its log lines, and the counts of `ace_delta`.

Written after the commit, from the report of the effect that was committed, so it says what really changed.
"""

from __future__ import annotations

from ace_graph.errors import StoreError
from ace_graph.learning.pipeline import LearningResult
from ace_graph.memory.catalogue.foreign import is_foreign
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.effect import Report
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.pending import Pending
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.unsaved import Unsaved
from ace_graph.memory.turn import TurnRecord
from ace_graph.runtime import Run, log_text, logger
from ace_graph.state import Judged, Learning, Pair, Rejected

__all__ = ["ace_delta", "committed", "failed", "skipped"]


def skipped(turn_id: str, reason: str | None) -> Learning:
    """Return the outcome of a turn that stored nothing."""
    outcome = _empty(turn_id)
    outcome["skipped"] = reason
    return outcome


def committed(
    turn_id: str, commit: Commit, result: LearningResult, run: Run, pending: Pending | None = None
) -> Learning:
    """Return what the commit changed, and log it. `pending` is the work that it left."""
    report = commit.report
    if commit.status == "applied":
        _log(report, commit.snapshot, run)
    outcome = _empty(turn_id)
    outcome["version"] = commit.version.n
    outcome["added"] = list(report.added)
    outcome["updated"] = list(
        dict.fromkeys([*report.updated, *report.reinforced, *report.restored, *report.released])
    )
    outcome["tagged"] = list(report.tagged)
    outcome["merged"] = [Pair(kept=pair.kept, gone=pair.gone) for pair in report.merged]
    outcome["superseded"] = [Pair(kept=pair.kept, gone=pair.gone) for pair in report.superseded]
    gone = [*result.cleared, *report.removed, *(pruned.id for pruned in report.pruned)]
    outcome["removed"] = list(dict.fromkeys(gone))
    outcome["quarantined"] = list(report.quarantined)
    outcome["rejected"] = [Rejected(op=r.op, id=r.id, why=r.why) for r in report.rejected]
    outcome["rejected"] += [Rejected(op="lesson", id="", why=why) for why in result.problems]
    outcome["error"] = result.error
    outcome["replay"] = result.replay
    outcome["pending"] = pending.pending_id if pending else None
    if (judged := result.judged) is not None:
        outcome["feedback"] = Judged(turn_id=judged.turn.turn_id, verdict=judged.feedback.verdict)
    return outcome


def failed(
    turn_id: str,
    learner_id: str,
    base: Snapshot,
    delta: Delta,
    record: TurnRecord,
    error: StoreError,
    pending: Pending | None = None,
) -> Learning:
    """Return the outcome of a turn that could not be saved, with all that is needed to save it later."""
    outcome = _empty(turn_id)
    outcome["error"] = f"{type(error).__name__}: {error}"
    epoch = base.version.epoch
    unsaved = Unsaved(learner_id=learner_id, epoch=epoch, delta=delta, record=record, pending=pending)
    outcome["unsaved"] = unsaved.model_dump_json()
    return outcome


def _empty(turn_id: str) -> Learning:
    return {
        "turn_id": turn_id,
        "version": None,
        "added": [],
        "updated": [],
        "tagged": [],
        "merged": [],
        "superseded": [],
        "removed": [],
        "quarantined": [],
        "rejected": [],
        "pending": None,
        "skipped": None,
        "feedback": None,
        "replay": None,
        "error": None,
        "unsaved": None,
    }


def _log(report: Report, snapshot: Snapshot, run: Run) -> None:
    def content(bullet_id: str) -> str:
        bullet = snapshot.playbook.get_bullet(bullet_id)
        return log_text(run.resources, bullet.content) if bullet else ""

    for bullet_id in report.added:
        logger.info("[ACE Memory][Delta Add] id=%s content=%s", bullet_id, content(bullet_id))
    for bullet_id in report.reinforced:
        logger.info("[Curator][Heuristic Reinforce] id=%s content=%s", bullet_id, content(bullet_id))
        logger.info("[ACE Memory][Dedup Merge] kept=%s merged=%s", bullet_id, "(the lesson that came again)")
    for pair in report.merged:
        logger.info("[ACE Memory][Dedup Merge] kept=%s merged=%s", pair.kept, pair.gone)
    for pair in report.superseded:
        logger.info("[ACE Memory][Delta Update] id=%s supersedes=%s", pair.kept, pair.gone)
    for bullet_id in dict.fromkeys([*report.updated, *report.tagged, *report.quarantined, *report.released]):
        logger.info("[ACE Memory][Delta Update] id=%s content=%s", bullet_id, content(bullet_id))
    for bullet_id in report.removed:
        logger.info("[ACE Memory][Delta Remove] id=%s", bullet_id)
    for pruned in report.pruned:
        logger.info("[ACE Memory][Prune] Pruned id=%s score=%.3f", pruned.id, pruned.score)
    for refusal in report.rejected:
        logger.info("[ACE Memory][Delta Rejected] op=%s why=%s", refusal.op, refusal.why)
    _log_evolution(report, snapshot)


def _log_evolution(report: Report, snapshot: Snapshot) -> None:
    """Log how the playbook grew or shrank, and how many of its bullets changed."""
    came = len(report.added) + len(report.restored)
    went = len(report.removed) + len(report.pruned) + len(report.merged) + len(report.superseded)
    changed = {*report.reinforced, *report.updated, *report.tagged, *report.quarantined, *report.released}
    if came or went or changed:
        logger.info(
            "[ACE Memory][Playbook] version %d: bullets %d -> %d (%d came, %d went, %d changed)",
            snapshot.version.n,
            len(snapshot.playbook) - came + went,
            len(snapshot.playbook),
            came,
            went,
            len(changed - {*report.added, *report.restored}),
        )


def ace_delta(learning: Learning) -> dict[str, int]:
    """Return the counts. A bullet that came and went in the same commit is in none of them."""
    added = set(learning["added"])
    gone = {*learning["removed"], *(pair["gone"] for pair in (*learning["merged"], *learning["superseded"]))}
    changed = {*learning["updated"], *learning["tagged"], *learning["quarantined"]}
    changed |= {pair["kept"] for pair in learning["merged"]}
    own = {name for name in changed if not is_foreign(name)}
    return {
        "num_new_bullets": len(added - gone),
        "num_updates": len(own - added - gone),
        "num_removals": len(gone - added),
    }
