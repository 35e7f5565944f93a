"""The trials as a page: a table by store and kind of fault, and every trial that did not pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from benchmarks.faults.trials import Trial

__all__ = ["report"]

_INTRO = """\
# Faults

A turn that reads the memory, calls a tool, streams an answer, is judged, reflects and commits is broken off
everywhere, on every store. Then it goes on, as a caller would let it: what `learning.unsaved` holds is
committed, a run that failed, was cancelled or killed is resumed from its checkpoint (`durability="sync"`).
A server is killed in the first turn of a conversation and in a later one; another one takes the turn up.
Made by `make faults`. What a crowd of learners and 10,000 turns did: [RESULTS_CROWD.md](RESULTS_CROWD.md).

- **whole**: after the fault the turn is there once or not at all, and the invariant checker is content (no
  gap between versions, nothing applied twice, the history folds to the state, the index equals a new one).
- **once**: after going on, the turn, its lesson, its statement and its vote are there exactly once. Where the
  reflector fails it costs the lesson, where the evaluator fails the vote; the turn stands.
"""


def report(trials: Mapping[tuple[str, str], Sequence[Trial]]) -> str:
    """Return the page in Markdown; `trials` by store and kind of fault."""
    rows = [_row(store, kind, done) for (store, kind), done in trials.items()]
    failed = [
        f"- {store}, {trial.fault}: ended as {trial.ended}; before {trial.before}; after {trial.after}"
        for (store, _), done in trials.items()
        for trial in done
        if not trial.passed
    ]
    head = ["| store | fault | trials | how the run ended | whole | once |", "|---|---|---:|---|---:|---:|"]
    return "\n".join([_INTRO, *head, *rows, "", "## What did not pass", "", *(failed or ["Nothing."]), ""])


def _row(store: str, kind: str, trials: Sequence[Trial]) -> str:
    ended = ", ".join(f"{name} {count}" for name, count in sorted(Counter(t.ended for t in trials).items()))
    whole = sum(trial.before.whole for trial in trials)
    return f"| {store} | {kind} | {len(trials)} | {ended} | {whole} | {sum(t.passed for t in trials)} |"
