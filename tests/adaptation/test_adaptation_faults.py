"""What ends an adaptation before its end, and that going on gives what an undisturbed run gives."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ace_graph.agent.models import ModelCall
from ace_graph.base import AceError, EnvironmentFailed, ModelError, ModelOutage, RunFolderError, UsageError
from ace_graph.training import (
    AdaptationResult,
    FileJournal,
    OfflineAdapter,
    OnlineAdapter,
    Outcome,
    Sample,
    report,
)
from tests.adaptation.stub_learner import Apprentice, exact, options, question_of, samples
from tests.plugins.heavy import some_heavy

DATA = samples(12)


def results(adapted: AdaptationResult) -> dict[str, object]:
    """What does not depend on the clock."""
    found = report(adapted)
    del found["timing"]
    return found


async def offline(
    out: Path, model: Apprentice, *, resume: bool = False, environment: object = exact, **more: object
) -> AdaptationResult:
    adapter = OfflineAdapter(environment, options(model, **more), epochs=2)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    return await adapter.run(DATA[:6], validation=DATA[6:9], test=DATA[9:], out=out, resume=resume)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What the run gives when nothing disturbs it: 27 steps with a memory that grows."""
    return results(asyncio.run(offline(tmp_path_factory.mktemp("undisturbed"), Apprentice())))


def after(steps: int) -> Callable[[], bool]:
    """Ask to stop after so many steps have begun."""
    asked = 0

    def should_stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > steps

    return should_stop


@pytest.mark.parametrize("steps", some_heavy((0, 5, 6, 14, 25), (6, 14).__contains__))
async def test_a_run_that_was_stopped_goes_on_to_the_same_result(
    steps: int, tmp_path: Path, undisturbed: dict[str, object]
) -> None:
    stopped = await offline(tmp_path, Apprentice(), should_stop=after(steps), concurrency=1)
    assert not stopped.finished
    assert len(list(stopped.steps())) == steps
    assert results(await offline(tmp_path, Apprentice(), resume=True)) == undisturbed


@pytest.mark.heavy
async def test_it_can_be_stopped_at_every_single_step(tmp_path: Path, undisturbed: dict[str, object]) -> None:
    adapted = await offline(tmp_path, Apprentice(), should_stop=after(1))
    while not adapted.finished:
        adapted = await offline(tmp_path, Apprentice(), resume=True, should_stop=after(1), concurrency=1)
    assert results(adapted) == undisturbed


async def test_a_finished_run_is_read_again_without_a_call(
    tmp_path: Path, undisturbed: dict[str, object]
) -> None:
    await offline(tmp_path, Apprentice())
    silent = Apprentice()
    assert results(await offline(tmp_path, silent, resume=True)) == undisturbed
    assert silent.calls == []


@pytest.mark.parametrize("torn", [b'{"phase": "tr', b"\xff\x00", b'{"phase":"train","epoch":1}'])
async def test_a_line_that_a_crash_tore_did_not_happen(
    torn: bytes, tmp_path: Path, undisturbed: dict[str, object]
) -> None:
    await offline(tmp_path, Apprentice(), should_stop=after(4))
    with (tmp_path / "steps.jsonl").open("ab") as file:
        file.write(torn)
    assert results(await offline(tmp_path, Apprentice(), resume=True)) == undisturbed


async def test_a_line_that_is_not_a_step_is_named(tmp_path: Path) -> None:
    await offline(tmp_path, Apprentice(), should_stop=after(4))
    path = tmp_path / "steps.jsonl"
    path.write_text(path.read_text().replace('"phase":"train"', '"phase":7', 1))
    with pytest.raises(RunFolderError, match=r"steps\.jsonl is not a step"):
        await offline(tmp_path, Apprentice(), resume=True)


async def test_a_run_stopped_by_a_model_outage_resumes_within_the_epoch(
    tmp_path: Path, undisturbed: dict[str, object]
) -> None:
    def down(call: ModelCall, number: int) -> str | None:
        if number > 9:
            raise ModelError("the provider is out of order", 400)
        return None

    with pytest.raises(ModelOutage, match=r"4 model calls in a row failed.*out of order.*resume"):
        await offline(tmp_path, Apprentice(down), max_failures=4)
    kept = [json.loads(line) for line in (tmp_path / "steps.jsonl").read_text().splitlines()]
    assert kept
    assert not any(step["failed"] for step in kept), "calls that an outage took are asked again"
    assert results(await offline(tmp_path, Apprentice(), resume=True)) == undisturbed


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_refused_key_stops_the_run_soon(status: int, tmp_path: Path) -> None:
    def refused(call: ModelCall, number: int) -> str | None:
        raise ModelError("the provider refused the API key", status)

    with pytest.raises(ModelOutage, match="3 model calls in a row failed"):
        await offline(tmp_path, Apprentice(refused))


async def test_a_few_failures_in_a_row_are_failures_and_no_outage() -> None:
    def broken(call: ModelCall, number: int) -> str | None:
        if question_of(call)[1] in ("3", "4", "5", "10", "11"):
            raise ModelError("a bad moment", 400)
        return None

    asked = options(Apprentice(broken), max_failures=4, concurrency=1)
    adapted = await OnlineAdapter(exact, asked).run(DATA)
    assert (adapted.measured.total, adapted.measured.failed) == (12, 5)


async def test_a_phase_in_which_no_call_succeeds_is_an_outage() -> None:
    def broken(call: ModelCall, number: int) -> str | None:
        raise ModelError("a bad moment", 400)

    with pytest.raises(ModelOutage, match="3 model calls"):
        await OnlineAdapter(exact, options(Apprentice(broken))).run(DATA[:3])


async def test_an_environment_that_raises_stops_the_run_before_its_step(
    tmp_path: Path, undisturbed: dict[str, object]
) -> None:
    def exact_but_ill(sample: Sample, answer: str) -> bool:
        if sample.id == "line 5":
            raise ZeroDivisionError("division by zero")
        return exact(sample, answer)

    exact_but_ill.__name__ = "exact"
    with pytest.raises(EnvironmentFailed, match=r"line 5 \(ZeroDivisionError: division by zero\): fix it"):
        await offline(tmp_path, Apprentice(), environment=exact_but_ill)
    assert '"sample":"line 5"' not in (tmp_path / "steps.jsonl").read_text()
    assert results(await offline(tmp_path, Apprentice(), resume=True)) == undisturbed


@pytest.mark.parametrize("said", [None, "right", 2, Outcome(2), Outcome(-1)])
async def test_a_judgement_of_another_kind_is_an_error(said: object) -> None:
    def odd(sample: Sample, answer: str) -> bool:
        return said  # type: ignore[return-value]  # pyright: ignore[reportReturnType]  # wrong on purpose

    with pytest.raises(EnvironmentFailed, match="a bool, or an Outcome"):
        await OnlineAdapter(odd, options(Apprentice())).run(DATA[:1])


async def test_an_environment_that_raises_stops_all_of_a_frozen_phase(tmp_path: Path) -> None:
    def ill(sample: Sample, answer: str) -> bool:
        if sample.id == "line 8":
            raise KeyError("no such tag")
        return exact(sample, answer)

    with pytest.raises(EnvironmentFailed, match="line 8"):
        await offline(tmp_path, Apprentice(), environment=ill, concurrency=3)


async def test_a_folder_with_a_run_needs_the_word_to_resume_and_the_same_run(tmp_path: Path) -> None:
    await offline(tmp_path, Apprentice(), should_stop=after(2))
    with pytest.raises(UsageError, match="already holds a run: resume it"):
        await offline(tmp_path, Apprentice())
    with pytest.raises(UsageError, match=r"begun with another seed \(0, now 5\)"):
        await offline(tmp_path, Apprentice(), resume=True, seed=5)
    with pytest.raises(UsageError, match="begun with another mode"):
        await offline(tmp_path, Apprentice(), resume=True, mode="tot")
    with pytest.raises(UsageError, match="begun with another kind"):
        await OnlineAdapter(exact, options(Apprentice())).run(DATA, out=tmp_path, resume=True)
    other = [*DATA[:5], Sample("line 6", "What is the gross margin of firm 5?", "5.01")]
    adapter = OfflineAdapter(exact, options(Apprentice()), epochs=2)
    with pytest.raises(UsageError, match="begun with another data"):
        await adapter.run(other, validation=DATA[6:9], test=DATA[9:], out=tmp_path, resume=True)


async def test_two_runs_in_one_folder_are_refused(tmp_path: Path) -> None:
    await offline(tmp_path, Apprentice(), should_stop=after(2))
    held = FileJournal(tmp_path / "steps.jsonl")
    with pytest.raises(RunFolderError, match="another run writes to"):
        await offline(tmp_path, Apprentice(), resume=True)
    held.close()
    assert (await offline(tmp_path, Apprentice(), resume=True)).finished


async def test_a_folder_that_cannot_be_made_is_an_error_with_advice(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RunFolderError, match="choose a folder"):
        await offline(tmp_path / "file" / "run", Apprentice())


async def test_a_run_stopped_by_an_unwritable_playbook_resumes(
    tmp_path: Path, undisturbed: dict[str, object]
) -> None:
    (tmp_path / "playbook.json").mkdir()
    with pytest.raises(RunFolderError, match=r"playbook\.json.*make it writable or make room"):
        await offline(tmp_path, Apprentice())
    (tmp_path / "playbook.json").rmdir()
    assert results(await offline(tmp_path, Apprentice(), resume=True)) == undisturbed


async def test_a_step_that_does_not_fit_on_the_disk_leaves_no_trace(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    journal = FileJournal(tmp_path / "steps.jsonl")
    adapted = await OnlineAdapter(exact, options(Apprentice())).run(DATA[:2])
    first, second, *_ = adapted.steps()
    journal.append(first)
    size = os.path.getsize(tmp_path / "steps.jsonl")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, before[1]))
    try:
        with pytest.raises(RunFolderError, match="make room"):
            journal.append(second)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [step.index for step in journal.steps()] == [0]
    journal.append(second)
    assert [step.index for step in journal.steps()] == [0, 1]
    journal.close()


def test_all_of_these_are_errors_that_say_that_the_run_can_be_resumed() -> None:
    from ace_graph.base import AdaptationError

    assert all(issubclass(each, AdaptationError) for each in (EnvironmentFailed, ModelOutage, RunFolderError))
    assert issubclass(AdaptationError, AceError)
