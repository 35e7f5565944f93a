"""Online adaptation: test, then learn, in order, on the real graph."""

from __future__ import annotations

import asyncio

import pytest

from ace_graph import ACEContext
from ace_graph.agent.models import ModelCall
from ace_graph.base import UsageError
from ace_graph.training import Accuracy, AdaptationOptions, OnlineAdapter, Outcome, Sample
from tests.adaptation.stub_learner import KINDS, Apprentice, exact, lesson_for, options, question_of, samples
from tests.plugins.sizes import PATIENT


async def test_later_prompts_hold_earlier_lessons_and_earlier_ones_do_not() -> None:
    model = Apprentice()
    adapted = await OnlineAdapter(exact, options(model)).run(samples(9))
    asked = model.calls_of("solver")[:9]
    held = [lesson_for(question_of(call)[0]) in call.prompt for call in asked]
    assert held == [False] * 3 + [True] * 6
    assert sorted(b.content for b in adapted.playbook.bullets()) == sorted(map(lesson_for, KINDS))


async def test_accuracy_is_of_answers_before_learning_beside_controls() -> None:
    adapted = await OnlineAdapter(exact, options(Apprentice())).run(samples(9))
    counts = {name: (m.correct, m.total, m.failed) for name, m in adapted.controls.items()}
    assert (adapted.measured.correct, adapted.measured.total, adapted.measured.failed) == (6, 9, 0)
    names = ("no_playbook", "empty_playbook", "last_transcripts")
    assert counts == dict.fromkeys(names, (0, 9, 0))
    assert adapted.finished


async def test_every_step_says_what_was_answered_learned_and_paid() -> None:
    adapted = await OnlineAdapter(exact, options(Apprentice())).run(samples(6))
    steps = [step for step in adapted.steps() if step.phase == "online"]
    assert [step.answer for step in steps] == ["0", "1", "2", "3.00", "4.00", "5.00"]
    assert [step.verdict for step in steps] == ["failure"] * 3 + ["success"] * 3
    assert [step.bullets for step in steps] == [1, 2, 3, 3, 3, 3]
    assert steps[3].cited == steps[3].learned.tagged[:1]  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]
    assert set(steps[3].cited) <= set(steps[3].injected)
    assert steps[0].usage["reflector"].calls == steps[0].usage["solver"].calls == 1
    helpful = {b.content: b.helpful for b in adapted.playbook.bullets()}
    assert set(helpful.values()) == {2}, "its replay, and the turn that followed it"


async def test_the_first_answer_counts_also_where_a_revision_is_right() -> None:
    def revised(call: ModelCall, _: int) -> str | None:
        right = f"{question_of(call)[1]}.00"
        return f"<final>{right}</final>" if call.role == "solver" and "judged wrong" in call.prompt else None

    model = Apprentice(revised)
    asked = options(model, context=ACEContext(max_revisions=1))
    adapted = await OnlineAdapter(exact, asked).run(samples(3))
    steps = [step for step in adapted.steps() if step.phase == "online"]
    assert [(step.answer, step.attempts, step.correct) for step in steps] == [
        ("0", 3, False),
        ("1", 3, False),
        ("2", 3, False),
    ]
    assert adapted.measured.correct == 0, "neither a revision nor a replay"
    assert all(each.correct == 0 for each in adapted.controls.values()), "controls are not revised"


async def test_a_function_is_an_environment_and_its_text_is_reflected_on() -> None:
    async def environment(sample: Sample, answer: str) -> Outcome:
        await asyncio.sleep(0)
        return Outcome(int(answer.endswith(".00")), f"the desk sends {answer!r} back")

    model = Apprentice()
    unlabelled = [Sample(each.id, each.question) for each in samples(3)]
    adapted = await OnlineAdapter(environment, options(model)).run(unlabelled)
    prompt = model.calls_of("reflector")[0].prompt
    assert '"source": "tool"' in prompt
    assert '"verdict": "failure"' in prompt
    assert "the desk sends '0' back" in prompt
    assert adapted.measured.total == 3


async def test_the_scorers_word_is_the_only_one_about_the_ground_truth() -> None:
    model = Apprentice()
    await OnlineAdapter(exact, options(model)).run(samples(1))
    prompt = model.calls_of("reflector")[0].prompt
    assert prompt.count('ground_truth", "verdict"') == 1, "'0' equals '0.00' in general, not for this scorer"
    assert "differs from the ground truth" in prompt


async def test_a_sample_of_several_units_may_be_right_in_part() -> None:
    def halves(sample: Sample, answer: str) -> Outcome:
        return Outcome(1, "one of two")

    two = [Sample(each.id, each.question, each.target, units=2) for each in samples(2)]
    adapted = await OnlineAdapter(halves, options(Apprentice())).run(two)
    assert (adapted.measured.accuracy, adapted.measured.correct, adapted.measured.total) == (0.5, 0, 2)
    assert [step.verdict for step in adapted.steps()][:2] == ["partial", "partial"]


async def test_a_failed_call_is_wrong_in_the_denominator_and_teaches_nothing() -> None:
    def broken(call: ModelCall, _: int) -> str | None:
        if call.role == "solver" and question_of(call)[1] in ("1", "4"):
            raise ValueError("the provider refuses")
        return None

    adapted = await OnlineAdapter(exact, options(Apprentice(broken))).run(samples(9))
    measured = adapted.measured
    assert (measured.total, measured.failed, measured.correct) == (9, 2, 4)
    assert measured.accuracy == pytest.approx(4 / 9)
    failed = [step for step in adapted.steps() if step.phase == "online" and step.failed]
    assert [(step.index, step.correct, step.commit) for step in failed] == [
        (1, False, None),
        (4, False, None),
    ]
    assert all("refuses" in (step.error or "") for step in failed)
    assert [each.failed for each in adapted.controls.values()] == [2, 2, 2]


async def test_a_reflection_that_fails_is_counted_and_costs_no_answer() -> None:
    def broken(call: ModelCall, _: int) -> str | None:
        return "no JSON" if call.role == "reflector" else None

    adapted = await OnlineAdapter(exact, options(Apprentice(broken))).run(samples(3))
    assert (adapted.measured.failed, adapted.measured.reflector_errors) == (0, 3)


async def test_concurrent_calls_are_limited_and_learning_is_sequential() -> None:
    busy, most, three = 0, dict[str, int](), asyncio.Event()

    async def slow(sample: Sample, answer: str) -> bool:
        nonlocal busy
        busy += 1
        most[phase[0]] = max(most.get(phase[0], 0), busy)
        if busy == 3:
            three.set()
        if phase[0] != "online":
            async with asyncio.timeout(PATIENT):
                await three.wait()  # the first of a control are there together, whichever is first
        for _ in range(20):
            await asyncio.sleep(0)
        busy -= 1
        return exact(sample, answer)

    phase = ["online"]

    def told(progress: object) -> None:
        phase[0] = getattr(progress, "phase", "")

    await OnlineAdapter(slow, options(Apprentice(), concurrency=3, on_progress=told)).run(samples(12))
    assert most["online"] == 1
    assert max(most.values()) == 3


async def test_progress_is_told_with_the_counts_so_far() -> None:
    seen = list[tuple[str, int, int]]()

    def told(progress: object) -> None:
        measured = getattr(progress, "measured", None)
        assert isinstance(measured, Accuracy)
        seen.append((getattr(progress, "phase", ""), measured.total, measured.correct))

    await OnlineAdapter(exact, options(Apprentice(), on_progress=told)).run(samples(4))
    assert [each for each in seen if each[0] == "online"] == [("online", n, max(0, n - 3)) for n in range(5)]


@pytest.mark.parametrize(
    ("given", "said"), [({"mode": "guess"}, "unknown mode"), ({"concurrency": 0}, "at least 1")]
)
def test_options_out_of_range_are_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        AdaptationOptions(**given)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # wrong on purpose
