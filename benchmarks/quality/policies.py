"""What each policy injects for a task: this memory's retrieval, and the policies it is compared with.

A chooser returns bullet ids, best first, within the budget of tokens. The ceilings and the oracle are told
what no memory can know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import NamedTuple

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.decay import decay_score
from ace_graph.memory.retrieval.retrieve import Scored, line_tokens, retrieve
from ace_graph.memory.search.index import idf
from ace_graph.memory.search.tokenize import estimate_tokens, terms
from ace_graph.memory.trust import arm_of
from ace_graph.memory.turn import Arm
from benchmarks.quality.learner_memory import LearnerMemory
from benchmarks.quality.textbook_bm25 import ordinary_stop_words, rank
from benchmarks.quality.transcript_log import BUDGETS
from benchmarks.quality.world import Lesson, Task

__all__ = ["CHOOSERS", "TEXTBOOK_CHOOSERS", "TRANSCRIPT_CHOOSERS", "Choice", "Chooser"]

BUDGET = BUDGETS[0]
TOP = 10


class Choice(NamedTuple):
    """The bullets of one prompt, what they cost, and whether unproven ones were shown or withheld."""

    ids: tuple[str, ...]
    tokens: int
    arm: Arm | None = None


Chooser = Callable[[LearnerMemory, Task], Choice]


def within_budget(bullets: Sequence[Bullet], limit: int | None = None) -> Choice:
    """Return the first of these bullets, as many as the budget holds."""
    ids, tokens = list[str](), 0
    for bullet in bullets[:limit]:
        cost = line_tokens(Scored(bullet, 0.0, 0.0, 0.0), estimate_tokens)
        if tokens + cost > BUDGET:
            break
        ids.append(bullet.id)
        tokens += cost
    return Choice(tuple(ids), tokens)


def nothing(memory: LearnerMemory, task: Task) -> Choice:
    return Choice((), 0)


def whole_playbook(memory: LearnerMemory, task: Task) -> Choice:
    """As kayba and ace-agent: all there is, in its order, here as far as the budget goes."""
    return within_budget(memory.snapshot.playbook.bullets())


def last_transcripts(memory: LearnerMemory, task: Task, budget: int) -> Choice:
    """Naive in-context learning: no lessons, the last turns as they were, as many as the budget holds."""
    return Choice(*memory.transcripts.shown(budget))


def last_five_lessons(memory: LearnerMemory, task: Task) -> Choice:
    return within_budget(memory.snapshot.playbook.bullets()[::-1], 5)


def most_recently_used(memory: LearnerMemory, task: Task) -> Choice:
    access = memory.snapshot.access
    bullets = sorted(memory.snapshot.playbook.bullets(), key=lambda b: access.idle(b.id))
    return within_budget(bullets, TOP)


def plain_bm25(memory: LearnerMemory, task: Task) -> Choice:
    """The ten best by BM25, no gate, no counters, no rivals."""
    playbook = memory.snapshot.playbook
    index = playbook.index
    weights = {term: idf(index.frequency(term), len(index)) for term in set(terms(task.question))}
    scores = index.scores(list(playbook.entries), weights)
    best = sorted((b for b in playbook.bullets() if scores[b.id] > 0), key=lambda b: -scores[b.id])
    return within_budget(best, TOP)


def textbook_bm25(memory: LearnerMemory, task: Task, stop: Collection[str]) -> Choice:
    """The ten best by a textbook's BM25 without these words."""
    entries = memory.snapshot.playbook.entries
    best = rank(task.question, {key: bullet.content for key, bullet in entries.items()}, stop)
    return within_budget([entries[key] for key in best], TOP)


def without_stop_words(memory: LearnerMemory, task: Task) -> Choice:
    return textbook_bm25(memory, task, ())


def with_ordinary_stop_words(memory: LearnerMemory, task: Task) -> Choice:
    return textbook_bm25(memory, task, ordinary_stop_words())


def told_the_chat_words(memory: LearnerMemory, task: Task) -> Choice:
    """BM25 that is told which words of this world are chat."""
    return textbook_bm25(memory, task, ordinary_stop_words() | memory.world.chat)


def document_003(memory: LearnerMemory, task: Task) -> Choice:
    """Decayed strength and plain word overlap, half and half; the ten best, stamped as they are read."""
    snapshot, asked = memory.snapshot, Counter(task.question.casefold().split())
    bullets = snapshot.playbook.bullets()
    strength = {b.id: decay_score(b, snapshot.access, memory.policy.decay) for b in bullets}
    top = max(strength.values(), default=0) or 1

    def score(bullet: Bullet) -> float:
        words = Counter(bullet.content.casefold().split())
        return strength[bullet.id] / top + (words & asked).total() / max(1, len(words))

    return within_budget(sorted(bullets, key=score, reverse=True), TOP)


def oracle(memory: LearnerMemory, task: Task) -> Choice:
    """Knows every rule from the first turn; see simulate.py, where its success is set."""
    return Choice((), 0)


def told_the_truth(memory: LearnerMemory, task: Task) -> Choice:
    """Ceiling: is told of every lesson already written whether it is true now; injects one that is."""
    true = [n for n, lesson in _on_subject(memory, task) if lesson.claim == task.truth]
    return Choice((str(true[-1]),), 30) if true else Choice((), 0)


def newest_on_subject(memory: LearnerMemory, task: Task) -> Choice:
    """Ceiling: knows of every lesson what it is about, and trusts the newest."""
    about = _on_subject(memory, task)
    return Choice((str(about[-1][0]),), 30) if about else Choice((), 0)


def _on_subject(memory: LearnerMemory, task: Task) -> list[tuple[int, Lesson]]:
    return [(n, lesson) for n, lesson in enumerate(memory.written) if lesson.skill == task.skill.number]


def ours(memory: LearnerMemory, task: Task) -> Choice:
    """This memory as the graph uses it."""
    ask = partial(
        retrieve,
        task.question,
        memory.snapshot.playbook,
        memory.snapshot.access,
        memory.policy,
        now=memory.now(task),
        budget_tokens=BUDGET,
    )
    found, access = ask(), memory.snapshot.access
    bullets = [scored.bullet for scored in found.retrieved]
    rate = memory.policy.holdout_rate
    arm = arm_of(bullets, access.trial, access.access_clock, memory.turn_id(task), rate)
    if arm == "without":
        found = ask(proven_only=True)
    return Choice(tuple(s.bullet.id for s in (*found.core, *found.retrieved)), found.tokens, arm)


TRANSCRIPT_CHOOSERS: dict[str, Chooser] = {
    f"last transcripts, {budget:,} tokens": partial(last_transcripts, budget=budget) for budget in BUDGETS
}
CHOOSERS: dict[str, Chooser] = {
    "no memory": nothing,
    "whole playbook": whole_playbook,
    **TRANSCRIPT_CHOOSERS,
    "last five lessons": last_five_lessons,
    "most recently used": most_recently_used,
    "plain BM25": plain_bm25,
    "document 003": document_003,
    "ours": ours,
    "ceiling: told the truth": told_the_truth,
    "ceiling: newest on the subject": newest_on_subject,
    "oracle": oracle,
}
TEXTBOOK_CHOOSERS: dict[str, Chooser] = {
    "BM25, no stop words": without_stop_words,
    "BM25, ordinary stop words": with_ordinary_stop_words,
    "BM25, told the chat words": told_the_chat_words,
}
