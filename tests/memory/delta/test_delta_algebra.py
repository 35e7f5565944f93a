"""Laws of the delta algebra, over random sequences of deltas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from ace_graph.memory import (
    EVIDENCE_SOURCES,
    Bullet,
    EvidenceSource,
    Playbook,
    Policy,
    Snapshot,
    Verdict,
    dump_access,
    dump_effect,
    dump_playbook,
    load_access,
    load_effect,
    load_playbook,
    tag_of,
    touched,
)
from ace_graph.memory.delta import Add, Delta, Effect, Judge, Tag, apply
from ace_graph.memory.delta.resolve import resolve
from ace_graph.memory.search import Index
from ace_graph.testing.conformance import NOON, rewriting
from tests.memory.delta.generated_deltas import BULLET_IDS, TURNS, deltas, judgements, silent_operations
from tests.memory.store_scenario import bullet

policies = st.builds(
    Policy, max_bullets=st.sampled_from((1, 3, 1_000)), similarity=st.sampled_from((0.7, 0.9))
)


def _live(
    sequence: Sequence[Delta], policy: Policy, start: Snapshot | None = None
) -> list[tuple[Effect, Snapshot]]:
    """Return every effect with the state after it."""
    snapshot = start or Snapshot()
    life: list[tuple[Effect, Snapshot]] = []
    for delta in sequence:
        effect = resolve(snapshot, delta, policy)
        access = touched(snapshot.access, effect)
        snapshot = Snapshot(apply(snapshot.playbook, effect), access)
        life.append((effect, snapshot))
    return life


def _reread(snapshot: Snapshot) -> Snapshot:
    """The state as another process reads it: nothing derived is there yet."""
    return Snapshot(
        load_playbook(dump_playbook(snapshot.playbook)), load_access(dump_access(snapshot.access))
    )


@given(deltas(), policies)
def test_resolving_is_deterministic_and_does_not_depend_on_what_is_cached(
    sequence: Sequence[Delta], policy: Policy
) -> None:
    snapshot = Snapshot()
    for delta in sequence:
        effect = resolve(snapshot, delta, policy)
        assert resolve(snapshot, delta, policy) == effect
        assert resolve(_reread(snapshot), delta, policy) == effect
        access = touched(snapshot.access, effect)
        snapshot = Snapshot(apply(snapshot.playbook, effect), access)


@given(deltas(), policies)
def test_folding_the_effects_of_a_history_gives_the_state_byte_for_byte(
    sequence: Sequence[Delta], policy: Policy
) -> None:
    folded = Playbook()
    for effect, snapshot in _live(sequence, policy):
        folded = apply(folded, load_effect(dump_effect(effect)))
        assert dump_playbook(folded) == dump_playbook(snapshot.playbook)


@given(deltas(), policies)
def test_what_is_stored_reads_back_and_is_stored_again_byte_for_byte(
    sequence: Sequence[Delta], policy: Policy
) -> None:
    for effect, snapshot in _live(sequence, policy):
        content, access, history = (
            dump_playbook(snapshot.playbook),
            dump_access(snapshot.access),
            dump_effect(effect),
        )
        assert dump_playbook(load_playbook(content)) == content
        assert dump_access(load_access(access)) == access
        assert dump_effect(load_effect(history)) == history
        assert load_playbook(content) == snapshot.playbook
        assert load_access(access) == snapshot.access
        assert load_effect(history) == effect


@given(deltas())
def test_a_delta_survives_a_round_trip_as_json(sequence: Sequence[Delta]) -> None:
    for delta in sequence:
        assert Delta.model_validate_json(delta.model_dump_json()) == delta


@given(deltas(), policies)
def test_the_index_after_any_sequence_equals_one_built_from_scratch(
    sequence: Sequence[Delta], policy: Policy
) -> None:
    start = Playbook()
    _ = start.index, start.hashes
    for _effect, snapshot in _live(sequence, policy, Snapshot(start)):
        playbook = snapshot.playbook
        assert {"index", "hashes"} <= vars(playbook).keys(), "they were carried over, not built now"
        assert playbook.index == Index.build(playbook.entries.values())
        assert playbook.hashes == Playbook(entries=playbook.entries).hashes


@given(deltas(), policies)
def test_an_id_is_never_reused(sequence: Sequence[Delta], policy: Policy) -> None:
    given_out = [key for effect, _ in _live(sequence, policy) for key in effect.report.added]
    assert len(set(given_out)) == len(given_out)


@given(deltas(), policies)
def test_what_is_stored_is_always_in_order(sequence: Sequence[Delta], policy: Policy) -> None:
    for effect, snapshot in _live(sequence, policy):
        playbook, access = snapshot.playbook, snapshot.access
        links = {**playbook.aliases, **playbook.tombstones}
        assert not links.keys() & playbook.entries.keys()
        assert max(len(playbook.aliases), len(playbook.tombstones)) <= 2 * policy.max_bullets
        assert len([b for b in playbook.bullets() if not b.core]) <= policy.max_bullets
        assert all(key in playbook.entries or key.startswith("base:") for key in access.stamps)
        assert all(stamp <= access.access_clock for stamp in access.stamps.values())
        assert effect.access_reset == (access.access_clock == 0)
        assert all(value in playbook.entries for value in effect.report.added if value not in effect.gone)


@given(deltas(), policies)
def test_every_operation_is_applied_or_refused(sequence: Sequence[Delta], policy: Policy) -> None:
    for delta, (effect, _) in zip(sequence, _live(sequence, policy), strict=True):
        wanted = Counter(operation.op for operation in delta.operations)
        report = effect.report
        assert all(refusal.why and wanted[refusal.op] for refusal in report.rejected)
        refused = Counter(refusal.op for refusal in report.rejected)
        accounted = {
            "add": len(report.added) + len(report.reinforced),
            "remove": len(report.removed),
            "supersede": len(report.superseded),
        }
        for op, done in accounted.items():
            assert bool(wanted[op] > refused[op]) <= bool(done), op


@given(deltas(), deltas(silent_operations()), policies)
def test_counters_never_move_without_an_operation_that_says_so(
    before: Sequence[Delta], silent: Sequence[Delta], policy: Policy
) -> None:
    life = _live(before, policy)
    snapshot = life[-1][1] if life else Snapshot()
    for _, after in _live(silent, policy, snapshot):
        for key, bullet_now in after.playbook.entries.items():
            bullet_then = snapshot.playbook.entries.get(key)
            assert _counters(bullet_now) == (_counters(bullet_then) if bullet_then else (0, 0, 0))


def _counters(one: Bullet) -> tuple[int, int, int]:
    return one.helpful, one.harmful, one.neutral


# Votes


def _judged(votes: Sequence[Judge]) -> Playbook:
    """Four bullets after these votes, one delta each."""
    start = Snapshot(Playbook.of(bullet(n) for n in range(1, 5)))
    sequence = [Delta(op_id=f"op-{n}", now=NOON, operations=(vote,)) for n, vote in enumerate(votes)]
    life = _live(sequence, Policy(harm_limit=99), start)
    return life[-1][1].playbook if life else start.playbook


own_votes = st.lists(judgements(st.sampled_from((*BULLET_IDS[:4], "base:ab12"))), max_size=20)
Standing = dict[tuple[str, EvidenceSource], Judge]


def _expected(standing: Standing, bullet_id: str) -> Counter[str]:
    """Per turn, the strongest source that names the bullet and has a verdict moves one counter."""
    moved: Counter[str] = Counter()
    for turn in TURNS:
        spoken = [standing[turn, source] for source in EVIDENCE_SOURCES if (turn, source) in standing]
        tags = [tag_of(vote.verdict) for vote in spoken if bullet_id in vote.bullet_ids]
        strongest = next((tag for tag in tags if tag), None)
        if strongest:
            moved[strongest] += 1
    return moved


@given(own_votes)
def test_counters_are_the_sum_of_the_standing_votes_whatever_came_before(votes: list[Judge]) -> None:
    standing: Standing = {(vote.turn_id, vote.source): vote for vote in votes}
    playbook = _judged(votes)
    for one in playbook.bullets():
        assert +Counter(helpful=one.helpful, harmful=one.harmful, neutral=one.neutral) == _expected(
            standing, one.id
        )
        assert sum(_counters(one)) <= len(TURNS), "a turn moves a bullet at most once"
    base = playbook.base_votes.get("base:ab12")
    assert +Counter(base._asdict() if base else {}) == _expected(standing, "base:ab12")


@given(own_votes)
def test_a_repeated_vote_moves_nothing(votes: list[Judge]) -> None:
    standing = {(vote.turn_id, vote.source): vote for vote in votes}
    playbook = _judged(votes)
    for vote in standing.values():
        assert resolve(Snapshot(playbook), rewriting(vote), Policy()).changes == ()


@given(own_votes, judgements(st.sampled_from(BULLET_IDS[:4])))
def test_a_withdrawn_vote_leaves_no_trace_in_the_counters(votes: list[Judge], late: Judge) -> None:
    others = [v for v in votes if (v.turn_id, v.source) != (late.turn_id, late.source)]
    taken_back = late.model_copy(update={"verdict": "unknown"})
    with_it, without = _judged([*others, late, taken_back]), _judged(others)
    assert [_counters(b) for b in with_it.bullets()] == [_counters(b) for b in without.bullets()]


@given(st.permutations(range(6)), st.sampled_from(("helpful", "harmful")))
def test_votes_and_lessons_commute(order: list[int], tag: Literal["helpful", "harmful"]) -> None:
    """Whatever the order in which writers come, the same lessons are there with the same counters."""
    wanted = [
        Tag(bullet_id="gen-00001", tag=tag),
        Tag(bullet_id="gen-00001", tag="neutral", by=2),
        Judge(turn_id="t1", source="tool", verdict="success", bullet_ids=("gen-00001",)),
        Add(content="The least common multiple of 2 and 3 is 6"),
        Add(content="Check the answer by subtracting"),
        Add(content="The least common multiple of 2 and 5 is 10"),
    ]
    start = Snapshot(Playbook.of([bullet(1)]))
    sequence = [rewriting(wanted[n]) for n in order]
    result = _live(sequence, Policy(), start)[-1][1].playbook
    verdict: Verdict = "success"
    assert sum(_counters(result.entries["gen-00001"])) == 4
    assert result.votes["t1"]["tool"].verdict == verdict
    assert sorted(b.content for b in result.bullets()) == sorted(
        [bullet(1).content, *(add.content for add in wanted if isinstance(add, Add))]
    )
