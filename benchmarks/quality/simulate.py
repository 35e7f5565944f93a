"""One simulated life under one policy: what was right, what was injected, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass, field

from ace_graph.memory.policy import Policy
from benchmarks.quality.bill import Bill, Schedule
from benchmarks.quality.learner_memory import LearnerMemory
from benchmarks.quality.lies import Lies
from benchmarks.quality.policies import CHOOSERS, TEXTBOOK_CHOOSERS
from benchmarks.quality.rewriting_memory import Rewriter, RewritingMemory
from benchmarks.quality.solver import WITH_RIGHT, Outcome, solve
from benchmarks.quality.world import Setting, Task, World, make_world

__all__ = ["Life", "Variant", "live"]


@dataclass(frozen=True)
class Variant:
    """A policy to try: who chooses, whether lessons contest failed advice, and the memory's settings.

    With `replays` the lessons of a failure with feedback are tried on its question before they are kept.
    `rewriter` is a model that writes lines of the memory anew. Without `evidence` no verdict is a vote.
    `schedule` says when there is a reflection.
    """

    name: str
    chooser: str = "ours"
    contests: bool = True
    policy: Policy = field(default_factory=Policy)
    replays: bool = False
    rewriter: Rewriter | None = None
    evidence: bool = True
    schedule: Schedule = Schedule()  # noqa: RUF009  a frozen value


@dataclass(frozen=True)
class Life:
    """What one policy made of one world, turn by turn. `on_changed`: the task's rule had changed.

    `outdated` counts turns with an outdated bullet in the prompt. `late_lies` are bullets that were shown
    although their claim was wrong then and had failed on evidence twice or more since it last did well;
    `lucky_lies` those that had failed twice in all, but did well by chance in between. `rewritten` and
    `refused` count texts of a rewriting model that became a line, and those that did not.
    """

    successes: tuple[bool, ...]
    on_changed: tuple[bool, ...]
    tokens: tuple[int, ...]
    outdated: int
    late_lies: int
    lucky_lies: int
    bullets: int
    rewritten: int = 0
    refused: int = 0
    bill: Bill = Bill()  # noqa: RUF009  a frozen value

    def mean(self, start: int = 0, end: int | None = None) -> float:
        """Return the share of right answers in these turns."""
        part = self.successes[start:end]
        return sum(part) / len(part)

    def changed(self, start: int, end: int | None = None) -> tuple[int, int]:
        """Return (right answers, tasks) on changed rules in these turns."""
        part = [s for s, c in zip(self.successes[start:end], self.on_changed[start:end], strict=True) if c]
        return sum(part), len(part)


def live(setting: Setting, seed: int, variant: Variant) -> Life:
    """Live through the world of `seed` under one policy."""
    world = make_world(setting, seed)
    memory = _memory(world, variant)
    choose = {**CHOOSERS, **TEXTBOOK_CHOOSERS}[variant.chooser]
    successes, tokens, outdated = list[bool](), list[int](), 0
    lies = Lies(world)
    for task in world.tasks:
        choice = choose(memory, task)
        outcome = (
            _oracle(task)
            if variant.chooser == "oracle"
            else solve(task, choice.ids, memory.known(choice.ids))
        )
        lies.count(task, outcome, memory.known(choice.ids))
        if variant.chooser != "no memory":
            memory.learn(task, outcome, choice.ids, choice.arm)
        successes.append(outcome.success)
        tokens.append(choice.tokens)
        outdated += outcome.outdated > 0
    return Life(
        tuple(successes),
        tuple(task.changed for task in world.tasks),
        tuple(tokens),
        outdated,
        lies.late,
        lies.lucky,
        len(memory.snapshot.playbook),
        *memory.texts_of_model,
        bill=memory.bill,
    )


def _memory(world: World, variant: Variant) -> LearnerMemory:
    options = (world, variant.policy, variant.contests, variant.replays, variant.evidence)
    if variant.rewriter is None:
        return LearnerMemory(*options, schedule=variant.schedule)
    return RewritingMemory(*options, rewriter=variant.rewriter)


def _oracle(task: Task) -> Outcome:
    return Outcome(task.dice.solved < WITH_RIGHT, (), 1, 0, 0)
