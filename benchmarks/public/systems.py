"""Systems that need no model, asked the same questions about the same lines: what each shows for them.

`ours` is the prompt of the compiled graph. The others are asked for their best lines; what langmem and mem0
need is installed by hand (`benchmarks/quality/others/requirements.txt`), and they get the same word vectors
as `ours-vectors`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Protocol

from langchain_core.embeddings import Embeddings
from langchain_core.messages import HumanMessage

from ace_graph import ACEContext, build_ace_graph
from ace_graph.agent.embeddings.static_vectors import find_static_vectors
from ace_graph.base import Settings
from ace_graph.memory import Add, Bullet, Delta, Playbook, Policy
from ace_graph.memory.retrieval.retrieve import Scored, line_tokens
from ace_graph.memory.search import estimate_tokens
from ace_graph.memory.stores import Store
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing import ScriptedModel
from benchmarks.quality.others.packages import langmem_way, mem0_way, missing_packages
from benchmarks.quality.retrieval.cases import Case
from benchmarks.quality.retrieval.cases import Question as CaseQuestion
from benchmarks.quality.retrieval.methods import Shown as WayShown
from benchmarks.quality.retrieval.methods import Way
from benchmarks.quality.textbook_bm25 import ordinary_stop_words, rank

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
LEARNER = "reader"
_A_COMMIT = 20
_PROMPT_LINE = re.compile(r"^\d+\. (\[([^\]]+)\] \[[^\]]+\] (.+))$", re.MULTILINE)


@dataclass(frozen=True)
class Line:
    """A line to remember. Evidence names it by `key`; `said` is the turn that it was extracted from."""

    text: str
    key: str
    said: str | None = None
    turn: str | None = None
    conversation: str | None = None


@dataclass(frozen=True)
class Question:
    """A question, its kind in the set, and the keys of lines that answer it, or answers in words."""

    text: str
    kind: str
    evidence: frozenset[str] = frozenset()
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """What one learner remembers, in its order, and the questions about it."""

    name: str
    lines: Sequence[Line]
    questions: Sequence[Question]
    one_value: bool = False
    """Every relation of its facts holds one value."""


@dataclass(frozen=True)
class Entry:
    """A line as it was shown, and the places of the lines of the part that it stands for."""

    text: str
    places: tuple[int, ...]


@dataclass(frozen=True)
class Shown:
    """What was shown for a question, best first, and the tokens that it takes."""

    entries: Sequence[Entry]
    tokens: int

    def places(self, first: int) -> frozenset[int]:
        """Return the places of the lines among the first entries."""
        return frozenset(place for entry in self.entries[:first] for place in entry.places)


Tick = Callable[[], None]


class System(Protocol):
    """Shows something for each question of a part; `tick` is called after each."""

    async def __call__(self, part: Part, tick: Tick, /) -> list[Shown]: ...


SYSTEMS = ("ours", "ours-vectors", "bm25", "langmem", "mem0", "mem0-keywords")
_FOREIGN = ("langmem", "mem0", "mem0-keywords")


def find_systems(top: int, wanted: Sequence[str] = SYSTEMS) -> tuple[dict[str, System], list[str]]:
    """Return the systems that are installed, by name, and which of those wanted are not, with the reason.

    `top`: how many lines the others are asked for.
    """
    vectors = find_static_vectors()
    found: dict[str, System] = {"ours": partial(ask_ours, None), "bm25": _asked(lambda: _bm25(top))}
    missing = list[str]()
    if vectors is not None:
        found["ours-vectors"] = partial(ask_ours, vectors)
        if not missing_packages():
            stop = ordinary_stop_words()
            found["langmem"] = _asked(lambda: langmem_way(vectors, top=top))
            found["mem0"] = _asked(lambda: mem0_way(vectors, stop_words=None, top=top))
            found["mem0-keywords"] = _asked(lambda: mem0_way(vectors, stop_words=stop, top=top))
    for name in (name for name in wanted if name not in found):
        needed = missing_packages() if name in _FOREIGN else ["wordllama"]
        missing.append(f"{name} ({', '.join(needed)})")
    return {name: found[name] for name in wanted if name in found}, missing


async def ask_ours(vectors: Embeddings | None, part: Part, tick: Tick, /) -> list[Shown]:
    """Return what the graph's prompt holds for each question: scripted model, mode cot, nothing learned."""
    async with SQLiteStore(policy=Policy(max_bullets=len(part.lines) + 1, one_value=part.one_value)) as store:
        places = await fill(store, part.lines)
        model = ScriptedModel(["<final>so</final>"] * len(part.questions))
        settings = Settings(embeddings="off")
        graph = build_ace_graph(store=store, model=model, settings=settings, embeddings=vectors)
        context = ACEContext(learner_id=LEARNER, learning="off")
        shown = list[Shown]()
        for question in part.questions:
            await graph.ainvoke({"messages": [HumanMessage(question.text)], "mode": "cot"}, context=context)
            lines = _PROMPT_LINE.findall(model.calls[-1].prompt)
            entries = [Entry(text, tuple(places.get(key, ()))) for _, key, text in lines]
            shown.append(Shown(entries, sum(estimate_tokens(line) for line, _, _ in lines)))
            tick()
        return shown


async def fill(store: Store, lines: Sequence[Line]) -> dict[str, list[int]]:
    """Add the lines in their order, 20 a commit, and return the places of each bullet's lines."""
    places = dict[str, list[int]]()
    for start in range(0, len(lines), _A_COMMIT):
        batch = lines[start : start + _A_COMMIT]
        adds = tuple(
            Add(
                content=line.text,
                section="facts",
                ref=str(place),
                source_text=line.said,
                turn_id=line.turn,
                conversation_id=line.conversation,
            )
            for place, line in enumerate(batch, start)
        )
        base = await store.load(LEARNER)
        now = BEGAN + timedelta(minutes=start // _A_COMMIT)
        done = await store.commit(LEARNER, Delta(op_id=f"lines-{start}", now=now, operations=adds), base)
        for ref, key in done.report.refs.items():
            places.setdefault(key, []).append(int(ref))
    aliases = (await store.load(LEARNER)).playbook.aliases
    for gone in [key for key in places if key in aliases]:
        survivor = gone
        while survivor in aliases:
            survivor = aliases[survivor]
        places.setdefault(survivor, []).extend(places[gone])
    return places


def _asked(make: Callable[[], Way]) -> System:
    """A way of retrieval as a system: filled anew for each part."""

    async def ask(part: Part, tick: Tick, /) -> list[Shown]:
        way, case = make(), Case(part.name, Playbook.of(_bullets(part.lines)), ())
        shown = list[Shown]()
        for question in part.questions:
            found = way(case, CaseQuestion(question.text, frozenset()))
            entries = [Entry(case.playbook.entries[key].content, (_place(key),)) for key in found.ids]
            shown.append(Shown(entries, found.tokens))
            tick()
        return shown

    return ask


def _bullets(lines: Sequence[Line]) -> Iterator[Bullet]:
    for place, line in enumerate(lines):
        moment = BEGAN + timedelta(minutes=place // _A_COMMIT)
        yield Bullet(
            id=f"fac-{place:05d}", section="facts", content=line.text, created_at=moment, updated_at=moment
        )


def _place(key: str) -> int:
    return int(key.removeprefix("fac-"))


def _bm25(top: int) -> Way:
    """BM25 as the textbooks have it, with stems and the ordinary stop words of English."""

    def way(case: Case, question: CaseQuestion) -> WayShown:
        texts = {key: bullet.content for key, bullet in case.playbook.entries.items()}
        best = tuple(rank(question.text, texts, ordinary_stop_words())[:top])
        scored = (Scored(case.playbook.entries[key], 0.0, 0.0, 0.0) for key in best)
        return WayShown(best, sum(line_tokens(one, estimate_tokens) for one in scored))

    return way
