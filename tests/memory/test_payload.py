"""The stored form read beside a playbook that is held: the same value, and nothing indexed twice."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from ace_graph.memory import Bullet, Playbook
from ace_graph.memory.index import Index
from ace_graph.memory.payload import dump_playbook, load_playbook

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BULLETS = st.builds(
    Bullet,
    id=st.integers(0, 9).map(lambda number: f"str-{number:05d}"),
    section=st.sampled_from(["strategies", "preferences"]),
    content=st.sampled_from(["add fractions", "find the denominator", "check the sum", "draw a bar"]),
    helpful=st.integers(0, 2),
    updated_at=st.just(NOON),
)
PLAYBOOKS = st.lists(BULLETS, max_size=8, unique_by=lambda bullet: bullet.id).map(Playbook.of)


@given(PLAYBOOKS, PLAYBOOKS, st.booleans())
@settings(max_examples=100)
def test_what_is_read_beside_a_known_playbook_is_the_same_index_and_hashes_included(
    stored: Playbook, known: Playbook, warm: bool
) -> None:
    if warm:
        assert len(known.index) == len(known)
        assert len(known.hashes) <= len(known)
    read = load_playbook(dump_playbook(stored), known)
    assert read == stored
    assert list(read.entries) == list(stored.entries)
    assert read.index == Index.build(stored.entries.values())
    assert read.hashes == stored.hashes


def test_a_bullet_that_was_stored_before_there_were_reasons_is_read_without_one() -> None:
    kept = Bullet(id="les-00001", section="lessons", content="Reveal it", status="quarantined")
    whole = json.loads(dump_playbook(Playbook.of([kept])))
    del whole["bullets"][0]["quarantine_reason"]
    read = load_playbook(json.dumps(whole)).get_bullet("les-00001")
    assert read == kept
    assert kept.quarantine_reason is None


def test_bullets_that_did_not_change_stay_the_same_objects() -> None:
    known, added = Playbook().add_bullet("strategies", "find the denominator", now=NOON)
    changed, other = known.add_bullet("strategies", "draw a bar", now=NOON)
    read = load_playbook(dump_playbook(changed.tag_bullet(other.id, "helpful", now=NOON)), changed)
    assert read.get_bullet(added.id) is changed.get_bullet(added.id)
    found = read.get_bullet(other.id)
    assert found is not None
    assert found.helpful == 1
