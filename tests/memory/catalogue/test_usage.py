"""Use of playbooks: the counts are those of the turns, however they came and were judged."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from ace_graph.memory import (
    Access,
    PlaybookUsage,
    TurnRecord,
    Verdict,
    dump_access,
    load_access,
    playbook_of,
)
from ace_graph.testing.conformance import NOON
from tests.memory.touching import touch

VERDICTS = st.sampled_from(("success", "failure", "partial", "unknown"))
NAMES = {"gen-00001": "default", "base:1f8e": "base", "ada/api_client:gen-00001": "ada/api_client"}
TURNS = st.lists(
    st.tuples(
        st.sampled_from(("t1", "t2", "t3")), st.lists(st.sampled_from(tuple(NAMES)), unique=True), VERDICTS
    ),
    max_size=12,
)


def made(number: int, turn_id: str, injected: list[str], verdict: Verdict) -> TurnRecord:
    return TurnRecord(
        turn_id=turn_id,
        attempt_id=str(number),
        task="x",
        mode="cot",
        status="success",
        verdict=verdict,
        injected=tuple(injected),
        started_at=NOON + timedelta(minutes=number),
    )


@given(TURNS, st.dictionaries(st.sampled_from(("t1", "t2", "t3")), VERDICTS))
def test_usage_is_a_recount_over_the_turns(
    turns: list[tuple[str, list[str], Verdict]], judged: dict[str, Verdict]
) -> None:
    access, newest = Access(), dict[str, TurnRecord]()
    for number, (turn_id, injected, verdict) in enumerate(turns):
        newest[turn_id] = made(number, turn_id, injected, verdict)
        access = touch(access, (), newest[turn_id])
    access = touch(access, (), verdicts=judged)
    for name in NAMES.values():
        uses = [turn for turn in newest.values() if name in map(playbook_of, turn.injected)]
        verdicts = [judged.get(turn.turn_id, turn.verdict) for turn in uses]
        found = access.usage.get(name, PlaybookUsage())
        known = len(verdicts) - verdicts.count("unknown")
        assert found[:3] == (len(uses), known, verdicts.count("success"))
        last = [turn[0] for turn in enumerate(turns) if name in map(playbook_of, turn[1][1])]
        assert found.last_used_at == (NOON + timedelta(minutes=last[-1]) if last else None)
    assert load_access(dump_access(access)) == access


def test_use_in_version_0_1_begins_with_its_recent_turns() -> None:
    old = Access(recent_turns=(made(1, "t1", ["gen-00001"], "success").recent(),), access_clock=1)
    read = load_access(dump_access(old).replace('"format":3', '"format":2'))
    assert dict(read.usage) == {"default": PlaybookUsage(1, 1, 1, None)}
    again = touch(read, (), verdicts={"t1": "failure"})
    assert again.own_usage == PlaybookUsage(1, 1, 0, None)


def test_only_the_playbooks_used_last_are_kept() -> None:
    access = Access()
    for number in range(70):
        turn = made(number, f"t{number}", [f"ada/book{number}:gen-00001", "gen-00001"], "success")
        access = touch(access, (), turn)
    assert len(access.usage) == 64
    assert access.own_usage.turns == 70
    assert "ada/book0" not in access.usage
