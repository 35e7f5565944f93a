"""What is learned from as a worker gets it: a stored run as a task, and how its texts are cut."""

from __future__ import annotations

from ace_graph.learning import (
    TEXT_CHARS,
    FinishedTurn,
    LearningTask,
    PendingWork,
    Revision,
    read_work,
    task_of,
)
from ace_graph.memory import Evidence, Step
from ace_graph.testing.conformance import record


def test_the_trace_of_a_stored_run_names_repetitions_alone() -> None:
    steps = (Step(kind="action", text="open"), Step(kind="observation", text="busy", times=3))
    task = task_of(record().model_copy(update={"steps": steps}), ())
    assert list(task.subject.trace) == ["action: open", "observation: busy (x3)"]


def test_a_revised_answer_is_kept_and_cut_in_pending_work() -> None:
    seen = (Evidence(source="evaluator", verdict="success"),)
    revision = Revision("y" * (TEXT_CHARS + 1), seen)
    subject = FinishedTurn("t", "1/2 + 1/3?", "2/5", (), (), None, revision=revision)
    work = PendingWork(looks=(LearningTask(subject=subject),))
    (task,) = read_work(work.as_pending("p", "t").body).looks
    kept = task.subject.revision
    assert kept is not None
    assert (kept.answer, tuple(kept.evidence)) == ("y" * TEXT_CHARS + "…", seen)
