"""The limits and thresholds of `resolve` and retrieval. A store has one: `open_store(url, policy=...)`."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field

from ace_graph.base.frozen import Frozen

_KEPT_FOR_UNDO = 10
"""How many times as many effects are kept while a consolidation can be undone."""

Rate = Annotated[float, AfterValidator(lambda rate: min(1.0, max(0.0, rate)))]


class DecayRates(Frozen):
    """The share of its strength that a bullet loses per access event, by memory type; clamped to [0, 1].

    Defaults from document 003: semantic 1 %, episodic 5 %, procedural 0.2 %.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    semantic: Rate = 0.01
    episodic: Rate = 0.05
    procedural: Rate = 0.002


class VersionRetention(Frozen):
    """Which versions of a named playbook stay readable: the union of the three, and always the current one.

    `keep_latest`: so many of the newest. `keep_all_major`: those that begin a major version. `keep_days`:
    those that are not older. Defaults from document 004, section 7.3.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    keep_latest: Annotated[int, Field(ge=1)] = 5
    keep_all_major: bool = True
    keep_days: Annotated[float, Field(ge=0, le=36_500)] = 90.0


class Policy(Frozen):
    """Limits and thresholds of one store, each described by its field."""

    max_bullets: Annotated[
        int, Field(ge=1, description="Bullets per learner; beyond it the weakest are archived.")
    ] = 1_000
    max_instructions: Annotated[
        int, Field(ge=0, description="Standing instructions and wishes in every prompt, the newest.")
    ] = 20
    similarity: Annotated[
        float,
        Field(ge=0, le=1, description="Least similarity of two texts that are one lesson, guards aside."),
    ] = 0.9
    decay: Annotated[
        DecayRates, Field(description="Share of its strength that a bullet loses per turn without use.")
    ] = DecayRates()
    setbacks_allowed: Annotated[
        int,
        Field(
            ge=0,
            description="Failures since its last success with which a bullet is still shown. After one more "
            "it is in no prompt until a success names it again; pinned bullets always are.",
        ),
    ] = 1
    harm_limit: Annotated[
        int,
        Field(
            ge=1,
            description="This many more failures than successes archive a bullet, unless it is pinned or of "
            "the profile.",
        ),
    ] = 3
    prune_threshold: Annotated[
        float, Field(ge=0, description="Weaker bullets stay stored but are in no prompt; 0: off.")
    ] = 0.0
    holdout_rate: Annotated[
        float,
        Field(ge=0, le=0.5, description="Share of turns without unproven bullets, to measure these; 0: off."),
    ] = 0.05
    max_turn_rewrites: Annotated[
        int, Field(ge=0, description="Existing bullets that one turn may edit, merge or remove.")
    ] = 5
    max_turn_changes: Annotated[
        int,
        Field(ge=0, description="Changes of bullets by one turn; the rest is rejected and reported."),
    ] = 20
    history_kept: Annotated[
        int,
        Field(ge=1, description="Changes of a learner that stay readable before older ones are compacted."),
    ] = 500
    one_value: Annotated[
        bool,
        Field(
            description='Every relation holds one value: "speaks Italian" replaces "speaks French". By '
            "default a table says which relations do.",
        ),
    ] = False
    versions: Annotated[
        VersionRetention, Field(description="Versions of a named playbook that stay readable.")
    ] = VersionRetention()
    keep_above: Annotated[
        float,
        Field(
            ge=0, le=1, description="Bullets of this importance merge only by force, and are archived last."
        ),
    ] = 0.8
    undo_days: Annotated[
        float,
        Field(
            ge=0,
            le=36_500,
            description="Days after a consolidation for which ten times as many changes are kept, so that it "
            "can be undone.",
        ),
    ] = 30.0
    consolidate_above: Annotated[
        int | None,
        Field(
            ge=0,
            description="Bullets above which a commit stores a consolidation as pending work; unset: never.",
        ),
    ] = None
    consolidate_batch: Annotated[
        int, Field(ge=1, description="Bullets that one commit of a consolidation looks at.")
    ] = 1_000
    dream_after: Annotated[
        int | None,
        Field(ge=1, description="Turns reflected on after which a commit stores a dream as pending work."),
    ] = None

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
