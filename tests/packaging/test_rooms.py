"""The house: few rooms, imports that point down, and a picture of it that is true."""

from __future__ import annotations

from dev.rooms import ROOT, arrows, floors, picture


def test_there_are_few_rooms_on_few_floors_with_few_arrows() -> None:
    assert len(arrows()) <= 16
    assert len(floors()) <= 11  # raises where rooms import in a circle
    assert sum(map(len, arrows().values())) <= 80


def test_the_picture_in_the_architecture_is_drawn_from_the_imports() -> None:
    assert f"```text\n{picture()}\n```" in (ROOT / "docs/architecture.md").read_text("utf-8")
