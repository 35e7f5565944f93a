"""No text is read in another way unseen: see recorded.py."""

from __future__ import annotations

from tests.memory.search.recorded import RECORD, readings, texts


def test_the_texts_are_read_as_recorded() -> None:
    assert readings(texts()) == RECORD.read_text(encoding="utf-8").splitlines()
