"""Offline adaptation: epochs, frozen validation and test, the best playbook kept and ready to deploy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ace_graph import ACEContext, build_ace_graph
from ace_graph.agent.models import ModelCall
from ace_graph.base import Settings, UsageError
from ace_graph.training import AdaptationOptions, OfflineAdapter
from tests.adaptation.stub_learner import KINDS, Apprentice, exact, lesson_for, options, question_of, samples
from tests.graph.conftest import ask


async def test_two_epochs_change_the_memory_and_give_a_result_for_every_step() -> None:
    adapted = await OfflineAdapter(exact, options(Apprentice()), epochs=2).run(samples(3))
    trained = [step for step in adapted.steps() if step.phase == "train"]
    assert [(step.epoch, step.number) for step in trained] == [(e, n) for e in (1, 2) for n in (1, 2, 3)]
    assert [step.correct for step in trained] == [False] * 3 + [True] * 3
    assert all(step.learned and (step.learned.added or step.learned.tagged) for step in trained)
    assert [(e.trained.correct, e.bullets) for e in adapted.epochs] == [(0, 3), (3, 3)]


async def test_without_held_out_rows_the_first_answers_are_measured() -> None:
    adapted = await OfflineAdapter(exact, options(Apprentice()), epochs=2).run(samples(3))
    assert (adapted.measured_on, adapted.measured.correct, adapted.measured.total) == ("train", 0, 3)


async def test_validation_and_test_are_frozen() -> None:
    model, data = Apprentice(), samples(12)
    adapted = await OfflineAdapter(exact, options(model)).run(data[:6], validation=data[6:9], test=data[9:])
    assert len(model.calls_of("reflector")) == 6, "only training is reflected on"
    held_out = [call for call in model.calls_of("solver") if int(question_of(call)[1]) >= 6]
    assert len(held_out) == 3 + 3 + 3 * 3  # validation, test, and three controls on the test
    assert not [call for call in held_out if "reflections" in call.prompt.split("are data")[-1]]
    trained = [step for step in adapted.steps() if step.commit is not None]
    assert {step.phase for step in trained} == {"train"}
    assert adapted.measured_on == "test"
    assert (adapted.measured.correct, adapted.epochs[0].validated.correct) == (3, 3)  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]
    assert [each.correct for each in adapted.controls.values()] == [0, 0, 0]


async def test_no_solver_sees_a_ground_truth_but_in_transcripts_of_other_rows() -> None:
    model, data = Apprentice(), samples(9)
    targets = [f"{n}.00" for n in range(9)]
    await OfflineAdapter(exact, options(model)).run(data[:6], test=data[6:])
    asked = model.calls_of("solver")
    seen = [[target for target in targets if target in call.prompt] for call in asked]
    control = ["<transcript>" in call.prompt for call in asked]
    assert control == [False] * (len(asked) - 3) + [True] * 3
    assert [found for found, shown in zip(seen, control, strict=True) if not shown] == [[]] * (len(asked) - 3)
    assert seen[-3:] == [targets[:6]] * 3, "those of the rows that the playbook was learned from"
    reflected = [call.prompt for call in model.calls_of("reflector")]
    assert [sum(target in prompt for prompt in reflected) for target in targets] == [1] * 6 + [0] * 3


async def test_the_epoch_that_validates_best_is_kept_and_tested(tmp_path: Path) -> None:
    def spoiled(call: ModelCall, number: int) -> str | None:
        """In the second epoch the model forgets what it knows, so validation falls."""
        late = number > 6 * 2 + 3
        wrong = call.role == "solver" and late and question_of(call)[1] in ("7", "8")
        return "<final>?</final>" if wrong else None

    data = samples(12)
    once = Settings().model_copy(update={"replay": False})
    asked = options(Apprentice(spoiled), concurrency=1, settings=once)
    adapter = OfflineAdapter(exact, asked, epochs=2)
    adapted = await adapter.run(data[:6], validation=data[6:9], test=data[9:], out=tmp_path / "run")
    assert [e.validated.correct for e in adapted.epochs if e.validated] == [3, 1]
    assert adapted.best_epoch == 1
    kept = json.loads((tmp_path / "run" / "playbook.json").read_text())["bullets"]
    assert [b["content"] for b in kept] == [b.content for b in adapted.playbook.bullets()]
    second_epoch_votes = sum(b["helpful"] for b in kept)
    assert second_epoch_votes < adapted.epochs[0].trained.correct + 6, "the votes of epoch 2 are not in it"


async def test_the_kept_playbook_can_be_deployed_at_once(tmp_path: Path) -> None:
    await OfflineAdapter(exact, options(Apprentice())).run(samples(6), out=tmp_path)
    model = Apprentice()
    graph = build_ace_graph(
        model=model, settings=Settings(), store="memory://", base_playbook=tmp_path / "playbook.json"
    )
    out = await graph.ainvoke(
        ask("What is the gross margin of firm 77?"), context=ACEContext(learner_id="a new learner")
    )
    assert out["messages"][-1].content == "77.00"
    assert all(name.startswith("base:") for name in out["result"]["injected"])


async def test_a_seed_gives_one_order_and_another_seed_another() -> None:
    async def order(seed: int) -> list[int]:
        adapted = await OfflineAdapter(exact, options(Apprentice(), seed=seed), epochs=2).run(samples(8))
        return [step.index for step in adapted.steps() if step.phase == "train"]

    first, again, other = await order(1), await order(1), await order(2)
    assert first == again != other
    assert sorted(first[:8]) == sorted(first[8:]) == list(range(8))
    assert first[:8] != first[8:], "each epoch has its own order"


async def test_lessons_of_all_kinds_are_in_the_playbook() -> None:
    adapted = await OfflineAdapter(exact, options(Apprentice())).run(samples(6))
    assert {b.content for b in adapted.playbook.bullets()} == set(map(lesson_for, KINDS))


def test_less_than_one_epoch_is_refused() -> None:
    with pytest.raises(UsageError, match="epochs"):
        OfflineAdapter(exact, epochs=0)


async def test_a_result_says_what_was_asked_and_what_was_measured_with() -> None:
    data = samples(9)
    adapted = await OfflineAdapter(exact, options(Apprentice()), epochs=2).run(data[:6], validation=data[6:])
    assert (adapted.kind, adapted.asked["epochs"]) == ("offline", 2)
    validated = {step.bullets for step in adapted.steps() if step.phase == "validation"}
    assert validated == {len(KINDS)}, "each answer says how many bullets the playbook had"


async def test_training_takes_the_model_that_the_settings_name() -> None:
    given = AdaptationOptions(settings=Settings(model="offline"))
    adapted = await OfflineAdapter(exact, given).run(samples(1))
    trained = [step.failed for step in adapted.steps() if step.phase == "train"]
    assert trained == [False]
