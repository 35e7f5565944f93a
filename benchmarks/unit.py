"""The unit B, whole turns in it, and where the time of a turn goes.

B is the processor time of a bare graph: five empty nodes in line, LangChain's fake model called in one of
them, no store. Milliseconds of two machines, or of two hours on one, can't be compared; ratios to B can.
"""

# LangGraph leaves type arguments of its own signatures open.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from functools import wraps
from inspect import iscoroutinefunction
from pkgutil import resolve_name
from statistics import mean, median
from typing import ParamSpec, TypeVar, cast
from unittest.mock import patch

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from ace_graph.agent.embeddings.static_vectors import find_static_vectors
from benchmarks.available_stores import Place, seeded
from benchmarks.corpus import lessons, questions
from benchmarks.goals import Goal
from benchmarks.learner import Learner, with_graph
from benchmarks.plan import Findings, Plan
from benchmarks.stub import ANSWER
from benchmarks.table import Table
from benchmarks.timing import Job, Times, number, timed_async

P = ParamSpec("P")
R = TypeVar("R")
BARE = "a bare graph: B"
_PLACES = ("Oslo", "Lima", "Porto", "Kyoto", "Accra", "Quito", "Turin", "Perth")
_TURN = "content unchanged"
_LESSON, _ELSEWHERE, _MEANING = (
    "one bullet added by a lesson",
    "changed by another process",
    f"{_TURN}, by meaning",
)
_GOALS = {_TURN: 3.2, "remembers a statement": 5.0}
"""In B, at 1,000 bullets."""
_MORE = {_LESSON: 0.6, _ELSEWHERE: 0.3, _MEANING: 0.4}
"""In B over a turn whose content is unchanged."""
_LARGE = f"{_TURN}, 10,000 bullets"
_MOST_OVER = 1.2
"""What a turn at 10,000 bullets may cost over one at 1,000."""
PHASES: Mapping[str, tuple[str, ...]] = {
    "read the message": (
        "ace_graph.nodes.router.choose_mode",
        "ace_graph.nodes.planner.plan_turn",
        "ace_graph.nodes.solver.notice_of",
        "ace_graph.nodes.ace_learning.tasks_of",
    ),
    "load": ("ace_graph.nodes.router.load_memory",),
    "retrieve": ("ace_graph.nodes.solver.inject",),
    "prompt": ("ace_graph.nodes.solver.prompt_for",),
    "model": (
        "ace_graph.agent.reasoning.streaming.ModelSession.stream_answer",
        "ace_graph.learning.reflector.structured_call",
    ),
    "evidence": ("ace_graph.nodes.critic.gather_evidence",),
    "learn": (
        "ace_graph.nodes.ace_learning.learn_now",
        "ace_graph.nodes.ace_learning.make_record",
        "ace_graph.nodes.ace_learning.committed",
    ),
    "commit": ("ace_graph.memory.stores.store.Store.commit",),
}
_REST = "LangGraph"


def bare_job(asked: tuple[str, ...]) -> Job:
    """Return a turn of the bare graph."""

    async def empty(state: MessagesState) -> dict[str, object]:
        return {}

    async def answer(state: MessagesState) -> dict[str, object]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    model, graph, before = FakeListChatModel(responses=[ANSWER]), StateGraph(MessagesState), START
    for name in ("router", "planner", "solver", "critic", "learning"):
        graph.add_node(name, answer if name == "solver" else empty)
        graph.add_edge(before, name)
        before = name
    graph.add_edge(before, END)
    compiled = graph.compile()
    return Job(lambda n: compiled.ainvoke({"messages": [HumanMessage(asked[n])]}))


async def measure_unit(plan: Plan, findings: Findings) -> None:
    """Add the table of turns in B, and that of the phases of a turn."""
    runs = [await _run(plan) for _ in range(plan.unit_runs)]
    names = list(runs[0])
    bare = median(times[BARE].cpu_p10 for times in runs)
    ratios = {name: median(run[name].cpu_p10 / run[BARE].cpu_p10 for run in runs) for name in names}
    whole = {name: median(mean(run[name].cpu) / mean(run[BARE].cpu) for run in runs) for name in names}
    rows = [
        (
            name,
            number(ratios[name]),
            number(whole[name]),
            number(median(run[name].cpu_p10 for run in runs)),
            _clock(runs, name),
        )
        for name in names
    ]
    note = (
        "Processor time, SQLite, 1,000 bullets where no other number is named; turns of all alternate in one "
        f"process, {plan.unit_turns} each; tenth percentiles, medians of {plan.unit_runs} runs. `Mean` "
        "has the turns in it that reflect on ten others, and what else ran. The stub model answers at once. "
        "`By meaning`: with the extra `embeddings`."
    )
    findings.tables.append(
        Table("A turn in B", ("turn", "B", "mean", "ms", "p50 / p95 on the clock"), rows, note)
    )
    findings.goals += [Goal(f"a turn, {name}", ratios[name], limit, "B") for name, limit in _GOALS.items()]
    findings.goals += [
        Goal(f"a turn, {name}, over one with its {_TURN}", ratios[name] - ratios[_TURN], limit, "B")
        for name, limit in _MORE.items()
        if name in ratios
    ]
    over = median(run[_LARGE].cpu_p10 / run[_TURN].cpu_p10 for run in runs)
    findings.goals.append(Goal("a turn at 10,000 bullets over one at 1,000", over, _MOST_OVER, "times"))
    findings.tables.append(await _profile(plan, bare))


def _clock(runs: list[dict[str, Times]], name: str) -> str:
    p50, p95 = (median(getattr(run[name], part) for run in runs) for part in ("p50", "p95"))
    return f"{number(p50)} / {number(p95)}"


async def _run(plan: Plan) -> dict[str, Times]:
    """Time turns of all scenarios, each with a learner of its own in one new file."""
    asked, new = questions(plan.unit_turns), iter(lessons(2 * plan.unit_turns + 10))
    with tempfile.TemporaryDirectory(prefix="ace-unit-") as folder:
        place = Place("SQLite", f"sqlite:///{folder}/unit.db")
        unchanged, large = await _learner(place, 1_000), await _learner(place, 10_000)
        stating, adding = await _learner(place, 1_000), await _learner(place, 1_000)
        reader = await _learner(place, 1_000)
        writer = with_graph(place.open(), reader.learner_id)
        jobs = {
            BARE: bare_job(asked),
            _TURN: _turns(unchanged, asked),
            "learning off": Job(lambda n: unchanged.turn(asked[n], learning="off")),
            "memory off": Job(lambda n: unchanged.turn(asked[n], memory="off")),
            "remembers a statement": Job(lambda n: stating.turn(_statement(n), states=True)),
            _LESSON: Job(lambda n: adding.turn(asked[n], next(new))),
            _ELSEWHERE: Job(
                lambda n: reader.turn(asked[n]), prepare=lambda n: writer.turn(asked[n], next(new))
            ),
            _LARGE: _turns(large, asked),
        }
        learners = [unchanged, large, stating, adding, writer, reader]
        if find_static_vectors() is not None:
            near = place.open()
            learners.append(with_graph(near, await seeded(near, 1_000), by_meaning=True))
            jobs[_MEANING] = _turns(learners[-1], asked)
        times = await timed_async(plan.unit_turns, list(jobs.values()))
        for learner in learners:
            await learner.store.close()
    return dict(zip(jobs, times, strict=True))


async def _learner(place: Place, size: int) -> Learner:
    store = place.open()
    return with_graph(store, await seeded(store, size))


def _turns(learner: Learner, asked: tuple[str, ...]) -> Job:
    return Job(lambda n: learner.turn(asked[n]))


def _statement(n: int) -> str:
    """A message that states a fact of a new subject."""
    return f"Remember that my cousin {chr(65 + n % 26)}{'aeiou'[n % 5]}{n} lives in {_PLACES[n % 8]}."


async def _profile(plan: Plan, bare: float) -> Table:
    """Return the table of the phases of a turn whose content is unchanged."""
    spent = defaultdict[str, float](float)
    asked = questions(plan.unit_turns)
    with tempfile.TemporaryDirectory(prefix="ace-unit-") as folder:
        learner = await _learner(Place("SQLite", f"sqlite:///{folder}/unit.db"), 1_000)
        clock = _Clock(spent)
        with _timed_phases(clock):
            for n in range(-3, plan.unit_turns):
                if n == 0:
                    clock.charge()
                    spent.clear()
                await learner.turn(asked[n])
            clock.charge()
        await learner.store.close()
    total = sum(spent.values())
    rows = [
        (
            name,
            f"{spent[name] / total:.0%}",
            number(spent[name] / plan.unit_turns * 1000),
            number(spent[name] / plan.unit_turns * 1000 / bare),
        )
        for name in (*PHASES, _REST)
    ]
    note = (
        "Mean processor time of all threads, without that of a phase inside of it; LangGraph is the rest: "
        "its steps, asyncio, the nodes themselves. The share of a phase is worth more than its milliseconds."
    )
    return Table("Where the time of a turn goes", ("phase", "share", "ms", "B"), rows, note)


class _Clock:
    """Adds the processor time to the phase that is open; one turn runs at a time."""

    def __init__(self, spent: defaultdict[str, float]) -> None:
        self._spent = spent
        self._open = [_REST]
        self._since = time.process_time()

    @contextmanager
    def phase(self, name: str) -> Generator[None]:
        self.charge()
        self._open.append(name)
        try:
            yield
        finally:
            self.charge()
            self._open.pop()

    def charge(self) -> None:
        now = time.process_time()
        self._spent[self._open[-1]] += now - self._since
        self._since = now


@contextmanager
def _timed_phases(clock: _Clock) -> Generator[None]:
    """Charge the calls inside to their phases."""
    with ExitStack() as stack:
        for name, functions in PHASES.items():
            for function in functions:
                stack.enter_context(patch(function, _timed(resolve_name(function), clock, name)))
        yield


def _timed(function: Callable[P, R], clock: _Clock, name: str) -> Callable[P, object]:
    """Return the function with its time charged to a phase."""

    @wraps(function)
    async def awaited(*args: P.args, **kwargs: P.kwargs) -> object:
        with clock.phase(name):
            return await cast("Awaitable[object]", function(*args, **kwargs))

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> object:
        with clock.phase(name):
            return function(*args, **kwargs)

    return awaited if iscoroutinefunction(function) else called
