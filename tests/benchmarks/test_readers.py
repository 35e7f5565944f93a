"""The table of readers is complete, and every reader comes to an end on every hard text."""

from __future__ import annotations

import pytest

from benchmarks.readers.hard_texts import hard_texts
from benchmarks.readers.reader import Reader
from benchmarks.readers.table import READERS
from benchmarks.readers.timing import longest_call, time_reader
from dev.regexes.found import modules_of, patterns_of

SIZE, EVERY = 400, 5
NO_READERS = {
    "ace_graph.memory.serialization": "fits the id of a turn as a whole",
    "ace_graph.memory.stores.sql.state": "replaces names in statements of our own",
    "ace_graph.base.tables": "reads files of the package",
    "ace_graph.memory.stores.sql.schema": "reads a file of the package",
    "ace_graph.memory.stores.neo4j.queries": "reads a file of the package",
    "ace_graph.base.telemetry": "fits a learner's id as a whole",
    "ace_graph.base.executors": "reads what the operator types",
    "ace_graph.base.off_loop": "asks for one class of characters within 1,000",
    "ace_graph.training.samples": "asks for one class of characters in a row of a file",
    "ace_graph.server.app": "reads the operator's settings",
    "ace_graph.server.routes.trajectories": "fits a moment of fixed form as a whole",
    "ace_graph.stores": "reads the operator's settings",
    "ace_graph.agent.tools.mcp": "replaces one class of characters in a tool's name",
}
"""Modules whose patterns need no reader in the table, and why."""


def test_every_module_with_a_pattern_is_in_the_table() -> None:
    named = {module for reader in READERS for module in reader.modules}
    modules = {module.__name__ for module in modules_of("ace_graph") if patterns_of(module)}
    assert modules <= named | NO_READERS.keys(), "give its readers a line in benchmarks/readers/table.py"


@pytest.mark.parametrize("reader", READERS, ids=[reader.name for reader in READERS])
def test_a_reader_terminates_on_hard_texts(reader: Reader) -> None:
    for _, text in list(hard_texts(SIZE))[::EVERY]:
        reader.read(text)


def test_names_of_readers_and_texts_are_unique() -> None:
    assert len({reader.name for reader in READERS}) == len(READERS)
    assert len(dict(hard_texts(SIZE))) == len(list(hard_texts(SIZE)))
    assert all(len(text) == SIZE for _, text in hard_texts(SIZE))


@pytest.mark.parametrize(("power", "ratio"), [(1, 2), (2, 4)])
def test_the_ratio_of_a_reader_is_that_of_its_work(power: int, ratio: float) -> None:
    seconds = 0.0

    def read(text: str) -> None:
        nonlocal seconds
        seconds += float(len(text) ** power) / 1000

    assert time_reader(read, "a" * 300, "a" * 600, lambda: seconds).ratio == pytest.approx(ratio)


def test_the_longest_c_call_is_found() -> None:
    assert longest_call(lambda text: text.replace("a", "b").find("c"), "a" * 1_000_000) > 0
