"""The stored form read beside a playbook that is held: the same value, and nothing indexed twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ace_graph.base import CorruptPayload, NewerFormat
from ace_graph.memory import (
    Access,
    Bullet,
    Playbook,
    PlaybookRead,
    Step,
    TurnRecord,
    dump_access,
    dump_effect,
    dump_playbook,
    dump_record,
    load_access,
    load_effect,
    load_playbook,
    load_record,
    load_report,
)
from ace_graph.memory.delta import Effect, Remove, Touch, apply
from ace_graph.memory.search import Index
from tests.memory.store_scenario import Life, bullet
from tests.plugins.sizes import HEAVY

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
@settings(max_examples=100 if HEAVY else 30)
def test_loading_beside_a_known_playbook_gives_the_same_index_and_hashes(
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


def test_a_stored_bullet_without_a_quarantine_reason_is_read() -> None:
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


def test_an_access_part_and_an_effect_of_version_0_1_are_read() -> None:
    old_access = {"access_clock": 3, "stamps": {"gen-00001": 2}, "recent_turns": [], "trial": [1, 0, 0, 0]}
    read = load_access(json.dumps(old_access))
    assert (read.access_clock, dict(read.stamps), dict(read.earlier)) == (3, {"gen-00001": 2}, {})
    old = {
        "op_id": "op-1", "now": "2026-01-01T12:00:00Z", "touched": ["gen-00001"], "access_reset": False,
        "changes": [{"kind": "archived", "bullet": bullet(1).model_dump(mode="json"), "why": "removed"}],
    }  # fmt: skip
    effect = load_effect(json.dumps(old))
    assert (effect.gone, effect.restamped, effect.before.stamps) == (("gen-00001",), None, {})


def test_new_formats_are_numbered_so_that_version_0_1_refuses_them() -> None:
    life = Life(bullet(1), bullet(2))
    effect = life.does(Touch(bullet_ids=("gen-00002",)), Remove(bullet_id="gen-00001"))
    written = [json.loads(text) for text in (dump_access(life.access), dump_effect(effect))]
    assert [part["format"] for part in written] == [3, 3], "0.1 knew formats 1 and 2 only"


@pytest.mark.parametrize(("load", "stored"), [(load_access, Access()), (load_effect, None)])
def test_a_newer_format_is_refused(load: Callable[[str], object], stored: Access | None) -> None:
    text = dump_access(stored) if stored else dump_effect(Effect(op_id="op-1", now=NOON))
    newer = json.loads(text) | {"format": 4, "unheard of": True}
    with pytest.raises(NewerFormat, match="format 4, this version of ace-graph reads up to 3: upgrade"):
        load(json.dumps(newer))


@pytest.mark.parametrize(
    ("load", "what"),
    [
        (load_playbook, "playbook"),
        (load_access, "access part"),
        (load_effect, "history entry"),
        (load_record, "turn record"),
        (load_report, "report"),
    ],
)
def test_a_broken_part_is_named_and_said_to_be_left_alone(load: Callable[[str], object], what: str) -> None:
    left = "can't be read and was left as it is .*: restore it from a backup"
    for text in ('{"format": "x", "op_id": 1, "turn_id": 1, "added": 1}', "{", "[]"):
        with pytest.raises(CorruptPayload, match=f"^the stored {what} {left}"):
            load(text)


def test_a_playbook_with_one_id_twice_is_broken() -> None:
    stored = json.loads(dump_playbook(Playbook.of([bullet(1)])))
    stored["bullets"] *= 2
    with pytest.raises(CorruptPayload, match=r"^the stored playbook can't .*two bullets have one id"):
        load_playbook(json.dumps(stored))


_TURN = "0123456789abcdef0123456789abcdef"
_OF_0_1 = {
    "id": "str-00001",
    "section": "strategies",
    "content": "Draw a bar",
    "sources": [_TURN, "evidence: tool failure", "learner", "trace:7"],
}


def test_turns_among_the_sources_of_an_old_bullet_become_its_examples() -> None:
    old = load_playbook(json.dumps({"format": 1, "next_id": 2, "bullets": [_OF_0_1]}))
    (read,) = old.bullets()
    assert (read.examples, read.evidence_count) == ((_TURN,), 1)
    assert read.sources == tuple(_OF_0_1["sources"]), "nothing that was stored is lost"
    assert load_playbook(dump_playbook(old)) == old
    change = {"kind": "put", "bullet": _OF_0_1}
    effect = load_effect(
        json.dumps({"format": 2, "op_id": "op-1", "now": NOON.isoformat(), "changes": [change]})
    )
    assert apply(Playbook(next_id=2), effect) == old, "the old history gives the content that is read"
    new = load_playbook(json.dumps({"format": 2, "next_id": 2, "bullets": [_OF_0_1]}))
    assert new.bullets()[0].examples == (), "a new file says itself which ids are those of turns"


@given(PLAYBOOKS)
def test_a_bullet_without_the_new_fields_is_stored_as_it_was(stored: Playbook) -> None:
    written = json.loads(dump_playbook(stored))
    new = {"context", "examples", "evidence_count", "stated"}
    assert not any(new & bullet.keys() for bullet in written["bullets"])


STEPS = st.builds(
    Step,
    kind=st.sampled_from(("decision", "action", "observation")),
    text=st.sampled_from(("poll", "wait", '"again": 0', "\u2028ü")),
    metadata=st.sampled_from(({}, {"again": 0}, {"n": [1, None]})),
    at=st.sampled_from((None, NOON)),
    times=st.integers(1, 3),
    step_id=st.sampled_from(("", "s1")),
)


def turn_record(steps: tuple[Step, ...]) -> TurnRecord:
    return TurnRecord(
        turn_id="t", attempt_id="a", task="x", mode="cot", status="success", started_at=NOON, steps=steps
    )


@given(st.lists(STEPS, max_size=8))
def test_a_record_reads_back_whatever_its_steps_repeat(kept: list[Step]) -> None:
    record = turn_record(steps=tuple(kept))
    text = dump_record(record)
    assert load_record(text) == record
    assert dump_record(load_record(text)) == text
    said = {(step.kind, step.text, json.dumps(step.metadata)) for step in kept}
    assert sum("text" in step for step in json.loads(text)["steps"]) == len(said)


def test_a_record_names_playbooks_only_where_it_read_some() -> None:
    plain = turn_record(steps=())
    assert '"playbooks"' not in dump_record(plain), "as records were before there were named playbooks"
    assert load_record(dump_record(plain)) == plain
    read = plain.model_copy(update={"playbooks": (PlaybookRead("p", "1.0"), PlaybookRead("q", "2.3"))})
    assert json.loads(dump_record(read))["playbooks"] == [["p", "1.0"], ["q", "2.3"]]
    assert load_record(dump_record(read)) == read


@pytest.mark.parametrize("again", [7, "x", None, -1, 1, 2, {}])
def test_a_step_that_repeats_none_before_it_is_a_broken_record(again: object) -> None:
    whole = Step(kind="action", text="poll")
    twice = turn_record(steps=(whole, Step(kind="decision", text="x"), Step(kind="action", text="y")))
    document = json.loads(dump_record(twice))
    document["format"] = 2
    document["steps"][1] = {"again": again, "at": None, "times": 1, "step_id": ""}
    with pytest.raises(CorruptPayload, match="turn record can't be read and was left as it is"):
        load_record(json.dumps(document, separators=(",", ":")))


def test_a_record_with_folded_steps_names_its_format() -> None:
    poll = Step(kind="action", text="größer")
    plain, folded = (
        turn_record(steps=(poll,)),
        turn_record(steps=(poll, poll.model_copy(update={"at": NOON}))),
    )
    assert json.loads(dump_record(folded))["format"] == 2, "0.1 knew none, and asks for an upgrade"
    assert "format" not in json.loads(dump_record(plain))
    assert "größer" in dump_record(folded)
    newer = dump_record(folded).replace('"format":2', '"format":3')
    with pytest.raises(NewerFormat, match="upgrade ace-graph"):
        load_record(newer)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"content": "two  spaces\nand a line"}, {"content": "two spaces and a line"}),
        ({"tags": ["Semantic", " pizza"]}, {"tags": ("pizza",)}),
        ({"topic": "a\u200bb"}, {"topic": "a b"}),
        ({"created_at": "2026-01-01T01:00:00+01:00"}, {"created_at": datetime(2026, 1, 1, tzinfo=UTC)}),
    ],
)
def test_a_stored_text_that_this_version_would_not_write_is_mended(
    written: dict[str, object], read: dict[str, object]
) -> None:
    bullet = {"id": "a-00001", "section": "s", "content": "x", **written}
    playbook = load_playbook(json.dumps({"format": 2, "bullets": [bullet]}))
    known = playbook.entries["a-00001"]
    assert {name: getattr(known, name) for name in read} == read
    assert load_playbook(dump_playbook(playbook)) == playbook


@pytest.mark.parametrize(
    "written", [{"created_at": "2026-13-01T00:00:00Z"}, {"helpful": -1}, {"content": ""}, {"unknown": 1}]
)
def test_a_stored_value_out_of_range_is_refused(written: dict[str, object]) -> None:
    bullet = {"id": "a-00001", "section": "s", "content": "x", **written}
    with pytest.raises(CorruptPayload, match=f"bullets.0.{next(iter(written))}"):
        load_playbook(json.dumps({"format": 2, "bullets": [bullet]}))
