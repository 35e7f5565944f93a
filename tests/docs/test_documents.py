"""docs/documents.md: every promise has a test that exists or a reason, and what is missing is counted."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from dev.check_capabilities import collected

DOCS = Path(__file__).resolve().parents[2] / "docs"
DOCUMENTS = ("000", "001", "002", "003", "004")
LESS = ("Missing:", "Narrower:")
_NODE_ID = re.compile(r"tests/\S+\.py::\w+")
_REASON = "None: "


class Row(NamedTuple):
    promise: str
    here: str
    differs: str
    proof: str

    @property
    def tests(self) -> list[str]:
        """What the proof names, unless it is a reason why there is none."""
        given = [] if self.proof.startswith(_REASON) else self.proof.split("<br>")
        return [name.strip(" `") for name in given]


def _rows(document: str) -> list[Row]:
    page = (DOCS / "documents.md").read_text(encoding="utf-8")
    part = page.partition(f"\n## Document {document}\n")[2].partition("\n## ")[0]
    cells = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in part.splitlines()
        if line.startswith("|")
    ]
    return [Row(*row) for row in cells[2:]]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_has_a_table_of_its_promises(document: str) -> None:
    rows = _rows(document)
    assert len(rows) >= 40
    assert [row.promise for row in rows if not row.promise or not row.here] == []
    assert [name for name, count in Counter(row.promise for row in rows).items() if count > 1] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_row_names_a_test_or_a_reason(document: str) -> None:
    rows = _rows(document)
    odd = {name for row in rows for name in row.tests if not _NODE_ID.fullmatch(name)}
    assert odd == set()
    assert [row.promise for row in rows if row.proof.strip() == _REASON.strip()] == []


def test_every_named_test_is_there() -> None:
    named = {name for document in DOCUMENTS for row in _rows(document) for name in row.tests}
    assert named - collected(named) == set()


def test_what_is_missing_or_narrower_is_counted() -> None:
    """One more than these is a promise that is kept less than before."""
    found = Counter(row.differs.split()[0] for name in DOCUMENTS for row in _rows(name) if row.differs)
    assert {less: found[less] for less in LESS} == {"Missing:": 1, "Narrower:": 10}
