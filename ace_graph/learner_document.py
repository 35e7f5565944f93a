"""Everything stored about one learner, as one JSON document: what `learner export` hands out.

Does not: read a store.
"""

from __future__ import annotations

import json

from ace_graph.memory.payload import dump_access, dump_effect, dump_playbook
from ace_graph.memory.stores.base import LearnerExport

__all__ = ["learner_document"]


def learner_document(found: LearnerExport) -> dict[str, object]:
    """Return playbook, access part, history, turns and pending work, all as plain JSON."""
    snapshot, history = found.snapshot, found.history
    return {
        "learner_id": found.learner_id,
        "version": None if snapshot.absent else snapshot.version.n,
        "playbook": json.loads(dump_playbook(snapshot.playbook)),
        "access": json.loads(dump_access(snapshot.access)),
        "history": {
            "base_version": history.base_n,
            "base": json.loads(dump_playbook(history.base)),
            "entries": [
                {
                    "version": entry.n,
                    "op_id": entry.op_id,
                    "at": entry.at.isoformat(),
                    "author": entry.author,
                    "reason": entry.reason,
                    "source": entry.source,
                    "report": entry.report.model_dump(mode="json"),
                    "effect": None if entry.effect is None else json.loads(dump_effect(entry.effect)),
                }
                for entry in history.entries
            ],
        },
        "turns": [turn.model_dump(mode="json") for turn in found.turns],
        # Who works on it is a process of the operator's.
        "pending": [item.model_dump(mode="json", exclude={"lease", "owner"}) for item in found.pending],
    }
