"""Which cases of the conformance suite run in a plain `make test` on which stores.

The store in SQLite passes all of them there but one of 10,000 bullets: what its reader reads is bounded at
1,000, and `test_sqlite_jobs.py` counts what a turn does at 3,000. The others leave out what is large,
servers most of what is no turn of a learner, and what is the same again in the namespaces of named
playbooks. The gate runs every case on every store.
"""

from __future__ import annotations

from ace_graph.testing.conformance import VERBS, Case, cases

__all__ = ["is_a_sample", "is_first", "is_of_many_at_once", "is_small", "is_small_for_sqlite"]

_LARGE = frozenset(
    {
        "a_commit_writes_what_changed",
        "a_playbook_may_have_ten_thousand_grants",
        "a_reader_of_any_age_gets_the_state",
        "batches_are_bounded",
        "every_state_is_read_as_it_was_committed",
        "it_holds_all_turns",
        "it_is_compacted",
    }
)
"""Hundreds of commits or thousands of rows."""

_SAMPLE = frozenset({"commit", "conflict", "damage", "isolation"})
"""The verbs that show that a namespace is a store, and one of its own."""


_TURNS_OF_A_LEARNER = frozenset({"commit", "concurrency", "conflict", "idempotency", "isolation"})
"""The verbs whose cases depend most on how a server locks and what it holds together."""

_FIRST = frozenset(case for verb in VERBS for case in cases(verb)[:2])


def is_first(case: Case) -> bool:
    """Whether its verb depends on the server, or it is one of the first two of its verb, and no large one."""
    return (case.verb in _TURNS_OF_A_LEARNER or case in _FIRST) and is_small(case)


def is_small(case: Case) -> bool:
    """Whether it is no large one."""
    return case.check.__name__ not in _LARGE


def is_small_for_sqlite(case: Case) -> bool:
    """Whether a file of SQLite passes it in less than some seconds."""
    return case.check.__name__ != "a_commit_writes_what_changed"


def is_a_sample(case: Case) -> bool:
    """Whether it is among those that a copy of a store passes every time."""
    return case.verb in _SAMPLE and is_small(case)


def is_of_many_at_once(case: Case) -> bool:
    """Whether it is of many writers, or the first of its verb, as another way to the same tables needs."""
    return case.verb == "concurrency" or case in cases(case.verb)[:1]
