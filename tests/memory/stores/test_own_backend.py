"""A backend of one's own is enough for a store: the example in one JSON file passes the conformance suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from ace_graph.memory import Policy
from ace_graph.memory.stores import KeyedStore, PlaybookStore, Store
from ace_graph.testing.conformance import CORE_VERBS, VERBS, Case, cases
from examples.json_store import JSONFile
from tests.memory.stores.large_cases import is_a_sample
from tests.plugins.heavy import some_heavy

_WITHOUT_ACCESS = [verb for verb in VERBS if verb not in ("damage", "traffic")]


class _Subject:
    def __init__(self, path: Path, kind: type[KeyedStore]) -> None:
        self._path, self._kind = path, kind

    def open(self, policy: Policy | None = None) -> KeyedStore:
        return self._kind(JSONFile(self._path), policy)


@pytest.mark.parametrize("case", some_heavy(cases(*_WITHOUT_ACCESS), is_a_sample), ids=str)
async def test_a_store_on_a_json_file(case: Case, tmp_path: Path) -> None:
    await case(_Subject(tmp_path / "ace.json", Store))


@pytest.mark.heavy  # the namespace differs by its name
@pytest.mark.parametrize("case", cases(*CORE_VERBS), ids=str)
async def test_playbooks_on_a_json_file(case: Case, tmp_path: Path) -> None:
    await case(_Subject(tmp_path / "ace.json", PlaybookStore))
