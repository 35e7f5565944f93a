"""`steps.jsonl`: what was written whole stays, what was torn goes, however long its lines are."""

from __future__ import annotations

from pathlib import Path

import pytest

from ace_graph.training import AdaptationStep, FileJournal


def step(number: int, *, length: int = 10, phase: str = "train") -> AdaptationStep:
    return AdaptationStep(
        phase=phase, epoch=1, number=number, index=number - 1, sample="s", answer="x" * length
    )


@pytest.mark.parametrize("length", [10, 60_000, 200_000])
@pytest.mark.parametrize("torn", [b"", b"x", b"x" * 65_536, b"x" * 200_000])
def test_a_torn_end_is_cut_and_nothing_else(length: int, torn: bytes, tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    journal = FileJournal(path)
    for number in (1, 2, 3):
        journal.append(step(number, length=length))
    journal.close()
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    again = FileJournal(path)
    assert [each.number for each in again.recorded("train", 1)] == [1, 2, 3]
    again.close()
    assert path.read_bytes() == whole


def test_a_file_with_nothing_but_a_torn_line_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    path.write_bytes(b'{"phase": "tr')
    journal = FileJournal(path)
    assert list(journal.steps()) == []
    journal.append(step(1))
    assert [each.number for each in journal.steps()] == [1]
    journal.close()


def test_steps_come_back_phase_by_phase(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path / "steps.jsonl")
    for each in (step(1), step(2), step(1, phase="test")):
        journal.append(each)
    journal.close()
    again = FileJournal(tmp_path / "steps.jsonl")
    assert [each.number for each in again.recorded("train", 1)] == [1, 2]
    assert list(again.recorded("train", 2)) == []
    assert [each.phase for each in again.recorded("test", 1)] == ["test"]
    again.append(step(2, phase="test"))
    again.close()


def test_what_came_after_the_mark_can_be_taken_back(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path / "steps.jsonl")
    journal.append(step(1))
    journal.mark()
    journal.append(step(2))
    journal.rewind()
    journal.append(step(3))
    assert [each.number for each in journal.steps()] == [1, 3]
    journal.close()
