"""FactConsolidation of MemoryAgentBench (arXiv 2507.05257, MIT by its dataset card): facts that contradict.

A file is `{"context", "questions", "answers"}`: a numbered list of facts, of which a later one may
contradict an earlier one, questions, and for each the answers of which any counts. The facts are added in
their order, 20 a commit. Each question is asked of the compiled graph, by words alone, with a scripted model
and learning off.

`found`: a line of the prompt holds an answer; `first`: the first line does, as its current value. `outdated`:
the prompt shows a value that a later fact of that subject and relation replaced as if it were true; it is
looked for where the question asks for one fact. A prompt of more than 14 lines or 400 tokens finds nothing.

The set's rule is that every relation holds one value, which the policy of this store says (`one_value`).
Reworded, each fact keeps its words or gets others (`rewordings.toml`), and the questions stay as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean

from langchain_core.messages import HumanMessage

from ace_graph import ACEContext, build_ace_graph
from ace_graph.base import Settings
from ace_graph.memory import Add, Delta, Policy
from ace_graph.memory.search import estimate_tokens
from ace_graph.memory.stores import Store
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing import ScriptedModel
from benchmarks.public.rewording import reworded

MOST_LINES, MOST_TOKENS = 14, 400
LEARNER = "reader"
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
_A_COMMIT = 20
_FACT = re.compile(r"^\d+\. (.+)$", re.MULTILINE)
_LINE = re.compile(r"^\d+\. (\[[^\]]+\] \[[^\]]+\] (.+))$", re.MULTILINE)
_EARLIER = re.compile(r" \((?:said [\d-]+; )?(?:before|earlier|said earlier): [^)]*\)\Z")


@dataclass(frozen=True)
class FactSet:
    """The facts in their order, as published and as they are told, and the questions with their answers."""

    published: Sequence[str]
    facts: Sequence[str]
    questions: Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True)
class Asked:
    """What the prompt of one question held."""

    found: bool
    first: bool
    outdated: bool
    lines: int
    tokens: int


def read_facts(path: Path, seed: int | None = None) -> FactSet:
    """Return the set in a published file, with a seed in other words.

    Raises ValueError for a file of another shape.
    """
    try:
        held = json.loads(path.read_text("utf-8"))
        facts = tuple(match.group(1) for match in _FACT.finditer(held["context"]))
        questions = tuple(zip(held["questions"], held["answers"], strict=True))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is no FactConsolidation file: context, questions, answers") from error
    if not facts or not questions:
        raise ValueError(f"{path} has no facts, or no questions: is it a part of FactConsolidation?")
    return FactSet(facts, facts if seed is None else reworded(facts, seed), questions)


async def ask_all(held: FactSet) -> list[Asked]:
    """Return what each question's prompt holds, with a store in memory."""
    async with SQLiteStore(policy=Policy(max_bullets=len(held.facts) + 1, one_value=True)) as store:
        await _add(held.facts, store)
        model = ScriptedModel(["<final>so</final>"] * len(held.questions))
        graph = build_ace_graph(store=store, model=model, settings=Settings(embeddings="off"))
        context = ACEContext(learner_id=LEARNER, learning="off")
        asked = list[Asked]()
        for question, answers in held.questions:
            await graph.ainvoke({"messages": [HumanMessage(question)], "mode": "cot"}, context=context)
            lines = _LINE.findall(model.calls[-1].prompt)
            asked.append(judged(lines, question, answers, held))
        return asked


async def _add(facts: Sequence[str], store: Store) -> None:
    for start in range(0, len(facts), _A_COMMIT):
        base = await store.load(LEARNER)
        adds = tuple(Add(content=fact, section="facts") for fact in facts[start : start + _A_COMMIT])
        now = BEGAN + timedelta(minutes=start // _A_COMMIT)
        await store.commit(LEARNER, Delta(op_id=f"facts-{start}", now=now, operations=adds), base)


def judged(lines: Sequence[tuple[str, str]], question: str, answers: Sequence[str], held: FactSet) -> Asked:
    """Return what the lines of a prompt hold; each is given whole, and from its text on."""
    tokens = sum(estimate_tokens(line) for line, _ in lines)
    fits = len(lines) <= MOST_LINES and tokens <= MOST_TOKENS
    current = [_EARLIER.sub("", text) for _, text in lines]
    replaced = {held.facts[place].casefold() for place in _replaced(question, answers, held.published)}
    return Asked(
        found=fits and any(_holds(text, answers) for text in current),
        first=fits and bool(current) and _holds(current[0], answers),
        outdated=any(text.casefold() in replaced for text in current),
        lines=len(lines),
        tokens=tokens,
    )


def _holds(text: str, answers: Iterable[str]) -> bool:
    return any(answer.casefold() in text.casefold() for answer in answers)


def _replaced(question: str, answers: Sequence[str], facts: Sequence[str]) -> Iterable[int]:
    """Yield where the facts are that the answer's fact replaced: the same but for the answer at the end."""
    asked = set(re.findall(r"\w+", question.casefold()))
    right = [
        (len(asked & set(re.findall(r"\w+", fact.casefold()))), place) for place, fact in enumerate(facts)
    ]
    right = [(shared, place) for shared, place in right if _holds(facts[place], answers)]
    if not right:
        return
    place = max(right)[1]
    fact = facts[place].casefold()
    answer = max((one.casefold() for one in answers if one.casefold() in fact), key=len)
    if not fact.rstrip(".").endswith(answer):
        return
    before = fact.rstrip(".")[: -len(answer)]
    for at, earlier in enumerate(facts[:place]):
        if earlier.casefold().startswith(before) and not _holds(earlier, answers):
            yield at


def row(name: str, asked: Sequence[Asked]) -> list[str]:
    """Return a row of the table."""
    shares = (mean(one.found for one in asked), mean(one.first for one in asked))
    counts = (mean(one.lines for one in asked), mean(one.tokens for one in asked))
    outdated = mean(one.outdated for one in asked)
    return [name, *(f"{share:.2f}" for share in (*shares, outdated)), *(f"{count:.1f}" for count in counts)]
