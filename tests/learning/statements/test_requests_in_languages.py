"""Denials, requests to forget and not to keep, and what is none of these, in ten languages."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ace_graph.learning.statements import is_yes
from ace_graph.memory import Playbook, Policy, Snapshot
from ace_graph.memory.delta import Delta, apply
from ace_graph.memory.delta.resolve import resolve
from ace_graph.memory.languages import languages
from tests.learning.statements.operations import explicit_operations

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _rows() -> list[list[str]]:
    lines = (Path(__file__).parent / "requests.tsv").read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def _left(*messages: str) -> str:
    playbook = Playbook()
    for number, message in enumerate(messages):
        operations = explicit_operations(message, playbook, f"t{number}")
        delta = Delta(op_id=f"d{number}", now=NOW, operations=tuple(operations), origin="turn")
        playbook = apply(playbook, resolve(Snapshot(playbook), delta, Policy()))
    kept = [bullet.content.removeprefix("Learner says: ") for bullet in playbook.bullets()]
    return " | ".join(kept) or "-"


@pytest.mark.parametrize("language", languages("statements"))
def test_a_request_leaves_the_statements_that_the_table_says(language: str) -> None:
    wrong = [
        f"{first} {second}: {left}"
        for spoken, first, second, expected in _rows()
        if spoken == language and (left := _left(first, second)) != expected
    ]
    assert wrong == []


def test_every_language_has_ten_requests() -> None:
    assert min(Counter(row[0] for row in _rows()).values()) >= 10


@pytest.mark.parametrize(
    "message",
    ["yes", "ja", "oui", "sí", "sim", "sì", "да", "好的", "はい", "Ja, bitte.", "Oui !"],
)
def test_a_yes_is_understood_in_ten_languages(message: str) -> None:
    assert is_yes(message)


@pytest.mark.parametrize("message", ["no", "nein", "non", "não", "nee", "нет", "不", "いいえ", "👍", ""])
def test_a_no_is_no_yes(message: str) -> None:
    assert not is_yes(message)
