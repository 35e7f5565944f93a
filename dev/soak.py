"""Many turns of several learners at once through the whole graph, and whether their memory held.

    python dev/soak.py [--turns 3000] [--learners 5] [--at-once 20] [--store URL]

Each turn tells the offline tutor one of a few facts, or asks it something. At the end every fact is there as
often as it was told, every answer came and no invariant broke, or it exits 1. On the way it prints its speed
and its size.
"""

# LangGraph leaves type arguments of its own signatures open.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from langchain_core.messages import HumanMessage

from ace_graph import ACEContext, ACEGraph, Store, build_ace_graph, open_store
from ace_graph.agent.offline_tutor import OfflineTutor
from ace_graph.testing.invariants import problems

FACTS = ("my sister is called Mina", "the exam is about fractions", "I play the cello", "our cat is grey")
QUESTIONS = ("please calculate 12*5", "What is 1/2 + 1/3?", "thanks")


@dataclass
class Told:
    """How often each learner told each fact, and the turns that gave no answer."""

    facts: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    unanswered: list[str] = field(default_factory=list[str])


def resident_mb() -> float:
    """Memory of this process in MB (Linux; 0.0 elsewhere)."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * 4096 / 1e6 if status.exists() else 0.0


async def one_turn(graph: ACEGraph, learner: str, number: int, told: Told) -> None:
    """Tells a fact in every other turn, asks in the rest."""
    fact = FACTS[number // 2 % len(FACTS)] if number % 2 == 0 else None
    text = f"Remember that {fact}." if fact else QUESTIONS[number % len(QUESTIONS)]
    out = await graph.ainvoke({"messages": [HumanMessage(text)]}, context=ACEContext(learner_id=learner))
    if not out["messages"][-1].content or out["learning"]["error"]:
        told.unanswered.append(text)
    elif fact:
        told.facts[learner, fact] += 1


async def rounds(graph: ACEGraph, learners: list[str], turns: int, at_once: int) -> Told:
    """All turns, `at_once` at a time, with a line of progress every tenth of the way."""
    told, began, batches = Told(), time.perf_counter(), max(1, turns // at_once)
    for batch in range(batches):
        numbers = range(batch * at_once, (batch + 1) * at_once)
        await asyncio.gather(*(one_turn(graph, learners[n % len(learners)], n, told) for n in numbers))
        if (batch + 1) % max(1, batches // 10) == 0:
            speed = (batch + 1) * at_once / (time.perf_counter() - began)
            sys.stdout.write(
                f"{(batch + 1) * at_once:>8} turns  {speed:6.0f} a second  {resident_mb():6.0f} MB\n"
            )
            sys.stdout.flush()
    return told


async def lost_or_doubled(store: Store, learners: list[str], told: Told) -> list[str]:
    """A line for each fact that is not there as often as it was told, and for each invariant that broke."""
    wrong: list[str] = []
    for learner in learners:
        exported = await store.export(learner)
        wrong += [f"{learner}: {problem}" for problem in problems(exported)]
        bullets = exported.snapshot.playbook.bullets()
        for fact in FACTS:
            seen = sum(bullet.seen for bullet in bullets if fact in bullet.content)
            if seen != told.facts[learner, fact]:
                wrong.append(
                    f"{learner}: '{fact}' told {told.facts[learner, fact]} times, there {seen} times"
                )
    return wrong


async def soak(url: str, learner_count: int, turns: int, at_once: int) -> int:
    """Runs it on the store at `url`; returns the exit code."""
    learners = [f"soak-{uuid4().hex[:8]}-{n}" for n in range(learner_count)]
    async with open_store(url) as store:
        told = await rounds(build_ace_graph(model=OfflineTutor(), store=store), learners, turns, at_once)
        wrong = [*(f"no answer, or not saved: {text}" for text in told.unanswered[:5])]
        wrong += await lost_or_doubled(store, learners, told)
    sys.stdout.write("".join(f"{line}\n" for line in wrong) or "Nothing was lost, nothing was doubled.\n")
    return 1 if wrong else 0


def main() -> int:
    """Reads the arguments and runs; returns the exit code."""
    parser = argparse.ArgumentParser(description="Many turns at once, and whether memory held.")
    parser.add_argument("--turns", type=int, default=3000)
    parser.add_argument("--learners", type=int, default=5)
    parser.add_argument("--at-once", type=int, default=20)
    parser.add_argument("--store", help="a store URL; without one a new SQLite file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = options.store or f"sqlite:///{folder}/soak.db"
        return asyncio.run(soak(url, options.learners, options.turns, options.at_once))


if __name__ == "__main__":
    sys.exit(main())
