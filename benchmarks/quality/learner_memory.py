"""The real memory of one simulated learner: resolve, apply, touch and retrieve, as the graph drives them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Literal

from ace_graph.learning.curator import credit_lessons, failed_advice, judge_bullets, lessons_to_operations
from ace_graph.learning.llm_curator import Decided
from ace_graph.learning.reflection import Lesson as Told
from ace_graph.memory.classify import infer_topic
from ace_graph.memory.commit import CommitPlan, plan
from ace_graph.memory.delta.operations import Add, Delta, Touch
from ace_graph.memory.evidence import Evidence, Verdict
from ace_graph.memory.policy import Policy
from ace_graph.memory.search.tokenize import estimate_tokens
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.turn import Arm, Replay, TurnRecord
from benchmarks.quality.bill import Bill, Schedule
from benchmarks.quality.solver import Outcome, solve
from benchmarks.quality.transcript_log import TranscriptLog
from benchmarks.quality.world import Lesson, Task, World

__all__ = ["LearnerMemory"]

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class LearnerMemory:
    """What is remembered, and (for counting only) which lesson each text was.

    Without `evidence` no verdict becomes a vote. `origin` is that of its commits; a turn's are limited.
    `schedule` says when the reflector is called, `bill` what that cost.
    """

    world: World
    policy: Policy
    contests: bool = True
    replays: bool = False
    evidence: bool = True
    origin: Literal["host", "turn"] = "host"
    schedule: Schedule = Schedule()  # noqa: RUF009  a frozen value
    bill: Bill = Bill()  # noqa: RUF009  a frozen value
    waiting: list[list[Add]] = field(default_factory=list[list[Add]])
    snapshot: Snapshot = field(default_factory=Snapshot)
    written: list[Lesson] = field(default_factory=list[Lesson])
    lessons: dict[str, Lesson] = field(default_factory=dict[str, Lesson])
    transcripts: TranscriptLog = field(default_factory=TranscriptLog)

    @property
    def texts_of_model(self) -> tuple[int, int]:
        """How many texts of a rewriting model became a line of the memory, and how many did not."""
        return 0, 0

    def known(self, ids: Iterable[str]) -> dict[str, Lesson]:
        """Return id -> lesson of these bullets or transcripts; a number is a place among all lessons."""
        return {key: self._lesson(key) for key in ids}

    def _lesson(self, key: str) -> Lesson:
        bullet = self.snapshot.playbook.entries.get(key)
        if bullet is not None:
            return self.lessons[bullet.content]
        return self.written[int(key)] if key.isdigit() else self.transcripts.drawn[key]

    def learn(self, task: Task, outcome: Outcome, injected: tuple[str, ...], arm: Arm | None) -> None:
        """Commit the turn: what was used, the verdict if there is feedback, the lesson if one comes of it."""
        setting, dice = self.world.setting, task.dice
        verdict: Verdict = "unknown"
        if dice.told < setting.feedback:
            verdict = "success" if outcome.success else "failure"
        share = setting.reflect_on_success if outcome.success else setting.reflect_on_failure
        asked = self.schedule.asks(task.number, verdict)
        reflected = task.lessons if asked and dice.reflected < share else ()
        replay: Replay | None = None
        if self.replays and verdict == "failure" and reflected:
            uncited = [key for key in injected if key not in outcome.cited]
            replay = "kept" if self._helps(task, reflected, uncited) else "refused"
            reflected = reflected if replay == "kept" else ()
        self.written.extend(reflected)
        self.lessons.update((lesson.text, lesson) for lesson in reflected)
        self.transcripts.add(task, success=outcome.success, verdict=verdict, reflected=reflected)
        injected = tuple(key for key in injected if key in self.snapshot.playbook.entries)
        turn = self.turn_id(task)
        judged = self.evidence and verdict != "unknown"
        evidence = [Evidence(source="evaluator", verdict=verdict)] if judged else []
        votes = judge_bullets(turn, evidence, injected=injected, cited=outcome.cited)
        adds = lessons_to_operations(
            [Told(content=lesson.text) for lesson in reflected],
            topic=infer_topic(task.question),
            source=turn,
            contests=failed_advice(votes, evidence) if self.contests else (),
        )
        if replay == "kept":
            adds = [add.model_copy(update={"helpful": 1}) for add in adds]
        waits = self.schedule.waits(task.number, verdict)
        if asked:
            adds = self._told(adds, sum(map(self._tokens, injected)), waits=waits)
        decided = self.curated(task, adds, reflected, injected)
        if not waits:
            votes = credit_lessons(votes, decided.lessons)
        blame = [vote for vote in votes if vote.verdict != "success"]
        credit = [vote for vote in votes if vote.verdict == "success"]
        operations = (Touch(bullet_ids=injected), *blame, *decided.lessons, *credit, *decided.proposals)
        delta = Delta(op_id=turn, now=self.now(task), operations=operations, origin=self.origin)
        self.commit(delta, self._record(turn, task, injected, verdict, arm, replay))

    def curated(
        self, task: Task, adds: Sequence[Add], lessons: Sequence[Lesson], shown: Sequence[str]
    ) -> Decided:
        """Return what becomes of the lessons of a turn, each an Add, after `shown` were in its prompt."""
        return Decided(tuple(adds))

    def commit(self, delta: Delta, record: TurnRecord | None) -> CommitPlan:
        """Apply a delta, and return what it came to."""
        planned = plan(self.snapshot, delta, self.policy, record, lambda: "token")
        self.snapshot = planned.snapshot
        return planned

    def _told(self, adds: list[Add], shown: int, *, waits: bool) -> list[Add]:
        """Pay for a reflection, and return the lessons that are there now, of this or of earlier turns."""
        if not waits:
            self.bill = self.bill.with_call(1, len(adds), shown)
            return adds
        self.waiting.append(adds)
        if len(self.waiting) < self.schedule.batch + bool(self.schedule.late):
            return []
        due, self.waiting = self.waiting[: self.schedule.batch], self.waiting[self.schedule.batch :]
        told = [add for lessons in due for add in lessons]
        self.bill = self.bill.with_call(len(due), len(told), shown * len(due))
        return [add.model_copy(update={"ref": f"n{n}"}) for n, add in enumerate(told, 1)]

    def _tokens(self, key: str) -> int:
        return estimate_tokens(self.snapshot.playbook.entries[key].content)

    def _helps(self, task: Task, lessons: Sequence[Lesson], injected: Sequence[str]) -> bool:
        """Whether the solver is right when it answers again with the lessons; of the chance of its own."""
        chance = Random(f"replay {self.world.seed} {task.number}")
        again = replace(task, dice=replace(task.dice, solved=chance.random(), followed=chance.random()))
        known = {f"new {n}": lesson for n, lesson in enumerate(lessons)} | self.known(injected)
        return solve(again, tuple(known), known).success

    def turn_id(self, task: Task) -> str:
        """Return the id of a task's turn."""
        return f"t{task.number}-{self.world.seed}"

    def now(self, task: Task) -> datetime:
        """Return the moment of a task: one an hour."""
        return START + timedelta(hours=task.number)

    def _record(
        self,
        turn: str,
        task: Task,
        injected: tuple[str, ...],
        verdict: Verdict,
        arm: Arm | None,
        replay: Replay | None,
    ) -> TurnRecord:
        return TurnRecord(
            turn_id=turn,
            attempt_id=turn,
            task=task.question,
            mode="cot",
            status="success",
            verdict=verdict,
            injected=injected,
            arm=arm,
            replay=replay,
            started_at=self.now(task),
        )
