"""What a run's folder says: its description, which a resumed run must match, and the digest of its data."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ace_graph.agent import ACEContext
from ace_graph.base import EnvironmentFailed, RunFolderError, UsageError
from ace_graph.testing import ScriptedModel
from ace_graph.training import (
    AdaptationOptions,
    Outcome,
    Sample,
    StepPosition,
    describe,
    digest_of,
    judge,
    new_step,
    open_journal,
)

SAMPLES = [Sample("s1", "1 + 1?", "2"), Sample("s2", "Name two colours", "red, blue", units=2)]


def _right(_sample: Sample, _answer: str) -> bool:
    return True


def _described(**more: object) -> dict[str, object]:
    options = AdaptationOptions(model=ScriptedModel([]), context=ACEContext(learner_id="ada"))
    return describe("online", _right, options, {"train": SAMPLES, "empty": []}, **more)


def test_a_description_names_all_that_changes_a_result() -> None:
    found = _described(epochs=2)
    assert found["kind"] == "online"
    assert found["environment"] == "_right"
    assert found["epochs"] == 2
    assert found["data"] == {"train": {"samples": 2, "digest": digest_of(SAMPLES)}}
    assert {"mode", "seed", "system_prompt", "context", "model", "policy", "temperature"} <= found.keys()
    assert json.loads(json.dumps(found)) == found, "it is stored as JSON"


def test_a_context_is_described_in_values_of_json() -> None:
    options = AdaptationOptions(context=ACEContext(learner_id="ada", playbooks=("ada/api",)))
    described = options.as_json()["context"]
    assert json.loads(json.dumps(described)) == described


def test_a_digest_is_that_of_everything_a_sample_holds() -> None:
    first = digest_of(SAMPLES)
    assert first == digest_of([*SAMPLES])
    for other in (
        replace(SAMPLES[0], id="s0"),
        replace(SAMPLES[0], question="1 + 2?"),
        replace(SAMPLES[0], target=None),
        replace(SAMPLES[0], units=3),
        replace(SAMPLES[0], form="written"),
    ):
        assert digest_of([other, SAMPLES[1]]) != first
    assert digest_of(SAMPLES[::-1]) != first
    assert digest_of(SAMPLES) == "00dc623cc88374d5ff833697207699c6396a29c1a61d67b45bd8ef9f17e3e56f"


class _Named(list[Sample]):
    digest = "known"


def test_data_that_knows_its_digest_is_named_by_it() -> None:
    assert digest_of(_Named(SAMPLES)) == "known"


def test_a_run_is_described_in_run_json_and_resumed_by_it(tmp_path: Path) -> None:
    open_journal(tmp_path / "run", _described(), resume=False).close()
    stored = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert {name: stored[name] for name in _described()} == _described()
    open_journal(tmp_path / "run", _described(), resume=True).close()
    with pytest.raises(UsageError, match="already holds a run"):
        open_journal(tmp_path / "run", _described(), resume=False)
    with pytest.raises(UsageError, match="another epochs"):
        open_journal(tmp_path / "run", _described(epochs=3), resume=True)
    (tmp_path / "run" / "run.json").unlink()
    (tmp_path / "run" / "steps.jsonl").touch()
    with pytest.raises(UsageError, match=r"steps\.jsonl without its run\.json"):
        open_journal(tmp_path / "run", _described(), resume=True)


def test_a_step_says_which_sample_it_is_of() -> None:
    step = new_step(SAMPLES[1], StepPosition("train", 3, 7, 5), -0.5)
    told = (step.phase, step.epoch, step.number, step.index, step.sample, step.target, step.units)
    assert told == ("train", 3, 7, 5, "s2", "red, blue", 2)
    assert step.seconds == 0
    assert new_step(SAMPLES[0], StepPosition("train", 1, 1, 0), 2.5).seconds == 2.5


@pytest.mark.parametrize(("right", "units"), [(0, 2), (1, 2), (2, 2), (-1, None), (3, None)])
async def test_an_environment_counts_from_none_to_all_units(right: int, units: int | None) -> None:
    def environment(_sample: Sample, _answer: str) -> Outcome:
        return Outcome(right, "so")

    if units is None:
        with pytest.raises(EnvironmentFailed, match="0 to 2 units right"):
            await judge(environment, SAMPLES[1], "x")
    else:
        assert await judge(environment, SAMPLES[1], "x") == Outcome(right, "so")


def test_a_run_json_that_is_damaged_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{", encoding="utf-8")
    with pytest.raises(RunFolderError, match=r"run\.json can't be read .*: begin again in another folder"):
        open_journal(tmp_path, _described(), resume=True)


def test_another_value_is_quoted_as_it_was_written(tmp_path: Path) -> None:
    open_journal(tmp_path, _described(note="schön"), resume=False).close()
    with pytest.raises(UsageError, match='another note \\("schön", now "日本"\\)'):
        open_journal(tmp_path, _described(note="日本"), resume=True)
