"""The limits and thresholds of `resolve` and retrieval. A store has one: `open_store(url, policy=...)`."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field

from ace_graph.base.model import FrozenModel

_KEPT_FOR_UNDO = 10
"""How many times as many effects are kept while a consolidation can be undone."""

Rate = Annotated[float, AfterValidator(lambda rate: min(1.0, max(0.0, rate)))]


class DecayRates(FrozenModel):
    """The share of its strength that a bullet loses per access event, by memory type; clamped to [0, 1].

    Defaults from document 003: semantic 1 %, episodic 5 %, procedural 0.2 %.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    semantic: Rate = 0.01
    episodic: Rate = 0.05
    procedural: Rate = 0.002


class VersionRetention(FrozenModel):
    """Which versions of a named playbook stay readable: the union of the three, and always the current one.

    `keep_latest`: so many of the newest. `keep_all_major`: those that begin a major version. `keep_days`:
    those that are not older. Defaults from document 004, section 7.3.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    keep_latest: Annotated[int, Field(ge=1)] = 5
    keep_all_major: bool = True
    keep_days: Annotated[float, Field(ge=0, le=36_500)] = 90.0


class Policy(FrozenModel):
    """Limits and thresholds of one store.

    `similarity` (0-1) is the least similarity of two texts that count as the same lesson, guards aside.
    `setbacks_allowed` is how many failures on evidence a bullet may have since its last success and still be
    shown; after one more it is in no prompt until a success names it again. Pinned bullets are exempt.
    `max_instructions` is how many standing instructions and wishes are in every prompt, the newest.
    `harm_limit` is the difference of failures and successes at which a vote archives a bullet; the core is
    exempt, and `Restore` brings it back.
    `prune_threshold` keeps weaker bullets out of retrieval, but in the store; 0 is off.
    `holdout_rate` is the share of turns on which unproven bullets are withheld, so that their effect can be
    measured (trust.py); 0 turns that off. `max_turn_rewrites` is how many existing bullets a turn may edit,
    merge or remove. `max_turn_changes` is how many operations of one turn may change bullets.
    `history_kept` is how many effects of a learner can be read before older ones are compacted.
    `one_value` says that every relation of a subject holds one value, so that a newer fact replaces an older
    one; without it a table says which do (home, employer), and others may hold many (languages, likes).
    `versions` says which versions of a named playbook stay readable.
    A bullet whose importance is at least `keep_above` merges only where a person forces it, and is the last
    to go at the cap. For `undo_days` after a consolidation ten times as many effects are kept, so that its
    sources can be brought back. A commit that leaves more bullets than `consolidate_above` stores pending
    work: a consolidation, each of whose commits looks at `consolidate_batch` bullets. None: it stores none.
    So does a commit once `dream_after` turns were reflected on since the last dream: a dream. None: none.
    """

    max_bullets: Annotated[int, Field(ge=1)] = 1_000
    max_instructions: Annotated[int, Field(ge=0)] = 20
    similarity: Annotated[float, Field(ge=0, le=1)] = 0.9
    decay: DecayRates = DecayRates()
    setbacks_allowed: Annotated[int, Field(ge=0)] = 1
    harm_limit: Annotated[int, Field(ge=1)] = 3
    prune_threshold: Annotated[float, Field(ge=0)] = 0.0
    holdout_rate: Annotated[float, Field(ge=0, le=0.5)] = 0.05
    max_turn_rewrites: Annotated[int, Field(ge=0)] = 5
    max_turn_changes: Annotated[int, Field(ge=0)] = 20
    history_kept: Annotated[int, Field(ge=1)] = 500
    one_value: bool = False
    versions: VersionRetention = VersionRetention()
    keep_above: Annotated[float, Field(ge=0, le=1)] = 0.8
    undo_days: Annotated[float, Field(ge=0, le=36_500)] = 30.0
    consolidate_above: Annotated[int, Field(ge=0)] | None = None
    consolidate_batch: Annotated[int, Field(ge=1)] = 1_000
    dream_after: Annotated[int, Field(ge=1)] | None = None

    def effects_kept(self, consolidated_at: datetime | None, now: datetime) -> int:
        """Return how many effects are kept at `now`, after a last consolidation at `consolidated_at`."""
        if consolidated_at is None or now - consolidated_at > timedelta(days=self.undo_days):
            return self.history_kept
        return min(sys.maxsize, self.history_kept * _KEPT_FOR_UNDO)

    def of_playbooks(self) -> Policy:
        """Return the policy for named playbooks: their old versions are dropped by rules, not by number.

        They are consolidated and dreamed of on request only: pending work is a learner's.
        """
        unasked = {"consolidate_above": None, "dream_after": None}
        return self.model_copy(update={"history_kept": sys.maxsize, **unasked})
