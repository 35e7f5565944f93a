"""The in-memory and the SQLite store pass the conformance suite, their named playbooks as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from ace_graph.testing.conformance import CORE_VERBS, VERBS, Case, cases
from tests.memory.stores.large_cases import is_a_sample, is_small_for_sqlite
from tests.memory.stores.stores_under_test import (
    MemoryPlaybooks,
    MemorySubject,
    SQLitePlaybooksSubject,
    SQLiteSubject,
)
from tests.plugins.heavy import some_heavy

_WITHOUT_A_FILE = [verb for verb in VERBS if verb not in ("damage", "traffic")]


@pytest.mark.heavy  # it is SQLite without a file
@pytest.mark.parametrize("case", cases(*_WITHOUT_A_FILE), ids=str)
async def test_in_memory_store(case: Case) -> None:
    await case(MemorySubject())


@pytest.mark.parametrize("case", some_heavy(cases(), is_small_for_sqlite), ids=str)
async def test_sqlite_store(case: Case, tmp_path: Path) -> None:
    await case(SQLiteSubject(tmp_path / "ace.db"))


@pytest.mark.heavy
@pytest.mark.parametrize("case", cases(*CORE_VERBS), ids=str)
async def test_in_memory_playbooks(case: Case) -> None:
    await case(MemoryPlaybooks())


@pytest.mark.parametrize("case", some_heavy(cases(*CORE_VERBS, "damage"), is_a_sample), ids=str)
async def test_sqlite_playbooks(case: Case, tmp_path: Path) -> None:
    await case(SQLitePlaybooksSubject(tmp_path / "ace.db"))
