"""The conformance suite: the specification of a store as test cases, one file per verb.

A store on a backend of your own runs it with a `Subject`, which says how to open your database once more,
and a few lines of pytest:

    import pytest
    from ace_graph.testing.conformance import Case, cases

    @pytest.mark.parametrize("case", cases(), ids=str)
    async def test_my_store(case: Case) -> None:
        await case(MySubject())

The verb `damage` needs a `DamageableSubject`, `traffic` a `MeteredSubject`; `pending`, `amend`,
`trajectories`, `references`, `cleaning`, `playbooks`, `sharing`, `proposals`, `copying` and `vectors` a store
of learners. `cases(*CORE_VERBS)` leaves these out: a `PlaybookStore` passes those, too.
`cases("load", "commit")` takes some verbs only.

Put `pytest.register_assert_rewrite("ace_graph.testing.conformance")` into the conftest to see values in
failures. Without an async plugin: `asyncio.run(case(MySubject()))`. Every case uses learners of its own,
so they can share one database, one after the other or at once. They leave their data there.
"""

from __future__ import annotations

from ace_graph.testing.conformance.case import (
    CORE_VERBS,
    VERBS,
    Case,
    DamageableSubject,
    MeteredSubject,
    StoreUnderTest,
    Traffic,
    cases,
)
from ace_graph.testing.conformance.shared_playbooks import created
from ace_graph.testing.conformance.writing import (
    NOON,
    adding,
    contents,
    new_learner,
    record,
    rewriting,
    touching,
    write,
)

__all__ = [
    "CORE_VERBS",
    "NOON",
    "VERBS",
    "Case",
    "DamageableSubject",
    "MeteredSubject",
    "StoreUnderTest",
    "Traffic",
    "adding",
    "cases",
    "contents",
    "created",
    "new_learner",
    "record",
    "rewriting",
    "touching",
    "write",
]
