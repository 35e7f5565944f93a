"""How turns with each version of a playbook ended, from the records."""

from __future__ import annotations

from datetime import timedelta

from ace_graph.memory import PlaybookRead, TurnFeedback, TurnRecord, Verdict
from ace_graph.memory.delta import Judge
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.playbooks import VersionOutcome, observe_versions
from ace_graph.testing.conformance import NOON, record, rewriting, touching, write


def _turn(number: int, label: str, verdict: Verdict, playbook: str = "shop") -> TurnRecord:
    read = (PlaybookRead("other", "7.7"), PlaybookRead(playbook, label))
    return record(number, turn_id=f"t{number}").model_copy(update={"verdict": verdict, "playbooks": read})


async def _observed(*turns: TurnRecord) -> tuple[VersionOutcome, ...]:
    async with SQLiteStore() as store:
        for turn in turns:
            await write(store, "ada", touching(), turn)
        return await observe_versions(store, "ada", "shop")


async def test_turns_are_counted_by_the_version_that_they_read() -> None:
    found = await _observed(
        _turn(1, "1.2", "success"),
        _turn(2, "1.2", "failure"),
        _turn(3, "1.2", "unknown"),
        _turn(4, "1.10", "partial"),
        _turn(5, "2.0", "unknown"),
        _turn(6, "1.2", "failure", playbook="another"),
        record(7, turn_id="t7"),
    )
    assert found == (
        VersionOutcome("1.2", turns=3, judged=2, succeeded=1),
        VersionOutcome("1.10", turns=1, judged=1, succeeded=0),
        VersionOutcome("2.0", turns=1, judged=0, succeeded=0),
    )
    assert [each.success_rate for each in found] == [0.5, 0.0, None]
    low, high = found[0].interval
    assert (round(low, 3), round(high, 3)) == (0.095, 0.905)
    assert found[2].interval == (0.0, 1.0)


async def test_a_verdict_that_came_later_is_the_one_that_counts() -> None:
    async with SQLiteStore() as store:
        await write(store, "ada", touching(), _turn(1, "1.0", "success"))
        later = Judge(turn_id="t1", source="learner", verdict="failure", bullet_ids=())
        await write(store, "ada", rewriting(later, minute=5))
        said = TurnFeedback(verdict="success", score=1.0, at=NOON + timedelta(hours=1))
        late = _turn(2, "1.0", "failure").model_copy(update={"feedback": (said,)})
        await write(store, "ada", touching(), late)
        assert await observe_versions(store, "ada", "shop") == (VersionOutcome("1.0", 2, 2, 1),)


async def test_without_any_turn_there_is_nothing() -> None:
    assert await _observed() == ()
    assert await _observed(record(1)) == ()
