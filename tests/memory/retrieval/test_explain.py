"""Why a bullet is shown and why another one is not: every bullet has one reason, and it is the true one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ace_graph.memory import Access, Bullet, Playbook, Policy
from ace_graph.memory.retrieval import explain
from ace_graph.memory.retrieval.reasons import Reason, as_json, in_words, is_shown
from tests.memory.retrieval.queries import NOW, THEN, ask, bullet, core, ids
from tests.memory.retrieval.test_retrieval_laws import CONTENTS


def why(
    bullets: Iterable[Bullet], question: str, *, access: Access | None = None, **options: Any
) -> dict[str, Reason]:  # Any: the options of `explain` as they are
    policy = options.pop("policy", None) or Policy()
    playbook = Playbook.of(bullets)
    return explain(question, playbook, access or Access(), policy, now=NOW, **options)


_WORDY = st.lists(CONTENTS, min_size=1, max_size=3).map(". ".join)
_BULLETS = st.lists(
    st.builds(
        bullet,
        st.integers(0, 40).map(lambda number: f"str-{number:05d}"),
        CONTENTS,
        helpful=st.integers(0, 2),
        harmful=st.integers(0, 2),
        setbacks=st.integers(0, 2),
        pinned=st.sampled_from([False, False, False, True]),
        status=st.sampled_from(["active", "active", "active", "quarantined"]),
        ttl_days=st.sampled_from([None, None, 7]),
        section=st.sampled_from(["strategies", "strategies", "profile"]),
        memory_type=st.sampled_from(["semantic", "episodic"]),
        topic=st.sampled_from([None, "fraction_addition"]),
        slot=st.sampled_from([None, None, "name"]),
        source_words=st.sampled_from([(), ("pictures",), ("file", "read")]),
        turn_id=st.sampled_from([None, "t1", "t2", "t3"]),
        conversation_id=st.sampled_from(["c", "d"]),
        updated_at=st.integers(0, 5).map(lambda day: THEN + timedelta(days=day)),
        examples=st.sampled_from([(), ("t1",)]),
    ),
    max_size=25,
    unique_by=lambda b: b.id,
)
_OPTIONS = st.fixed_dictionaries(
    {
        "budget_tokens": st.sampled_from([0, 100, 200, 2_000]),
        "max_bullets": st.sampled_from([None, None, 0, 2]),
        "topic": st.sampled_from([None, "fraction_addition"]),
        "memory_types": st.sampled_from([None, None, ("semantic",)]),
        "proven_only": st.booleans(),
        "semantic": st.none()
        | st.dictionaries(
            st.integers(0, 40).map(lambda number: f"str-{number:05d}"), st.floats(0, 1), max_size=6
        ),
        "policy": st.sampled_from([Policy(), Policy(prune_threshold=0.9)]),
    }
)


@given(_BULLETS, _BULLETS, _WORDY, _OPTIONS)
@settings(max_examples=150)
def test_what_is_said_to_be_shown_is_what_is_retrieved(
    bullets: list[Bullet], given_ones: list[Bullet], question: str, options: dict[str, Any]
) -> None:
    base = Playbook.of(each.model_copy(update={"id": f"base:{each.id}"}) for each in given_ones)
    found = ask(bullets, question, base=base, **options)
    reasons = why(bullets, question, base=base, **options)
    shown = [key for key, reason in reasons.items() if is_shown(reason)]
    assert shown == [*core(found), *ids(found)]
    assert list(reasons)[: len(shown)] == shown
    assert reasons.keys() == {each.id for each in bullets} | base.entries.keys()
    for reason in reasons.values():
        assert in_words(reason)
        assert as_json(reason)["kind"] == reason.kind
