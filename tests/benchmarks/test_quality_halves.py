"""Benchmarks of quality look at the half for tuning unless the held-out half is asked for, and say when."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from langchain_core.embeddings import Embeddings

import benchmarks.quality.__main__ as quality
from benchmarks.quality.duplicates.pairs import Part


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the page of the one set that there is, whose report is the name of the half."""

    def report(part: Part, embeddings: Embeddings | None = None) -> str:
        return f"figures of the {part} half"

    page = tmp_path / "RESULTS.md"
    monkeypatch.setattr(quality, "SPLIT", {"conversations": (report, page, "Set")})
    monkeypatch.delenv("QUICK", raising=False)
    return page


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["quality", *arguments])
    quality.main()


def test_a_run_shows_the_half_for_tuning(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(monkeypatch, "conversations")
    text = page.read_text("utf-8")
    assert "figures of the tuning half" in text
    assert "The held-out half has not been looked at." in text


def test_a_look_at_the_held_out_half_is_recorded(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(monkeypatch, "conversations")
    run(monkeypatch, "--held-out")
    run(monkeypatch, "conversations")
    text = page.read_text("utf-8")
    (look,) = re.findall(
        r"^## Set: the held-out half, looked at on (\d{4}-\d\d-\d\d \d\d:\d\d UTC)$", text, re.M
    )
    assert "figures of the held-out half" in text
    assert f"The held-out half was looked at on {look}; see below." in text


def test_a_set_without_halves_has_none_to_look_at(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit):
        run(monkeypatch, "duplicates", "--held-out")
    assert not page.exists()
